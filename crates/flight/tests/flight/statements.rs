//! Queries and changes.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_flight::sql::{Any, CommandStatementQuery};
use arrow_flight::{Action, CancelFlightInfoRequest, FlightDescriptor};
use futures_util::TryStreamExt;
use prost::Message;
use tonic::Code;

use crate::{TestServer, fetch, query, refused, try_query, update};

#[tokio::test(flavor = "multi_thread")]
async fn statements_define_change_and_read_tables() {
    let served = TestServer::new();
    let mut client = served.client().await;
    assert_eq!(query(&mut client, "SELECT 6 * 7 AS answer").await, "42");
    assert_eq!(
        update(&mut client, "CREATE TABLE stock (item BIGINT PRIMARY KEY, name VARCHAR, count BIGINT)").await,
        0
    );
    assert_eq!(
        update(&mut client, "INSERT INTO stock VALUES (1, 'nail', 10), (2, 'nut', 20), (3, 'bolt', 30)").await,
        3
    );
    assert_eq!(update(&mut client, "UPDATE stock SET count = count + 1 WHERE item > 1").await, 2);
    assert_eq!(update(&mut client, "DELETE FROM stock WHERE item = 3 RETURNING item, name").await, 1);
    assert_eq!(query(&mut client, "SELECT * FROM stock ORDER BY item").await, "1 nail 10, 2 nut 21");
    // Drivers also send other statements as queries.
    assert_eq!(query(&mut client, "INSERT INTO stock VALUES (4, 'cog', 40)").await, "1");
    assert_eq!(query(&mut client, "CREATE VIEW many AS SELECT name FROM stock WHERE count > 20").await, "");
    assert_eq!(query(&mut client, "DELETE FROM stock WHERE item = 1 RETURNING name").await, "nail");
    assert_eq!(query(&mut client, "SELECT * FROM many ORDER BY name").await, "cog, nut");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_acknowledged_is_there_when_the_server_is_started_again() {
    let served = TestServer::new();
    let mut client = served.client().await;
    update(&mut client, "CREATE TABLE t (id BIGINT PRIMARY KEY)").await;
    update(&mut client, "INSERT INTO t SELECT value FROM generate_series(1, 1000)").await;
    drop(client);
    let served = served.again();
    assert_eq!(query(&mut served.client().await, "SELECT count(*), sum(id) FROM t").await, "1000 500500");
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_explained() {
    let served = TestServer::new();
    let mut client = served.client().await;
    update(&mut client, "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL)").await;
    update(&mut client, "INSERT INTO t VALUES (1, 'a')").await;
    for (text, part) in [
        ("SELEC 1", "SELEC"),
        ("SELECT nam FROM t", "there is no column \"nam\""),
        ("SELECT * FROM missing", "there is no table \"missing\""),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("", "there is no statement"),
        ("SELECT id / (id - 1) FROM t", "ivide"),
        ("INSERT INTO t VALUES (1, 'b')", "there is a row with"),
        ("INSERT INTO t VALUES (2, NULL)", "allows no nulls"),
    ] {
        refused(try_query(&mut client, text).await, Code::InvalidArgument, part);
        refused(client.execute_update(text.to_owned(), None).await, Code::InvalidArgument, part);
    }
    assert_eq!(query(&mut client, "SELECT * FROM t").await, "1 a");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_computed_as_they_are_read_and_no_longer() {
    let served = TestServer::new();
    let mut client = served.client().await;
    // It would not end, nor fit into memory.
    let endless = "SELECT value FROM generate_series(1, 1000000000000000)";
    let info = client.execute(endless.to_owned(), None).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let mut rows = client.do_get(ticket.clone()).await.unwrap();
    assert!(rows.try_next().await.unwrap().unwrap().num_rows() > 0);
    drop(rows);
    // A result is read once.
    refused(client.do_get(ticket).await.map(drop), Code::NotFound, "run the statement again");
    assert_eq!(query(&mut client, "SELECT 1").await, "1");
    // The server would wait for a statement that runs.
    served.running.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_are_cancelled_before_and_while_their_rows_are_read() {
    let served = TestServer::new();
    let mut client = served.client().await;
    let endless = "SELECT value FROM generate_series(1, 1000000000000000)";
    let cancel = |info| Action::new("CancelFlightInfo", CancelFlightInfoRequest::new(info).encode_to_vec());
    let info = client.execute(endless.to_owned(), None).await.unwrap();
    let mut other = served.client().await;
    let mut answers = other.inner_mut().do_action(cancel(info.clone())).await.unwrap().into_inner();
    assert_eq!(answers.message().await.unwrap().unwrap().body.as_ref(), [0x08, 0x01], "it is cancelled");
    refused(fetch(&mut client, info).await, Code::NotFound, "cancelled");

    let info = client.execute(endless.to_owned(), None).await.unwrap();
    let mut rows = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
    assert!(rows.try_next().await.unwrap().is_some());
    other.inner_mut().do_action(cancel(info.clone())).await.unwrap();
    let failed = loop {
        match rows.try_next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the rows have no end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(failed.contains("cancelled"), "{failed}");
    // There is nothing more to cancel.
    let mut answers = other.inner_mut().do_action(cancel(info)).await.unwrap().into_inner();
    assert_eq!(answers.message().await.unwrap().unwrap().body.as_ref(), [0x08, 0x03], "it cannot be cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_columns_of_a_query_are_known_without_running_it() {
    let served = TestServer::new();
    let mut client = served.client().await;
    update(&mut client, "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR)").await;
    for (text, columns) in
        [("SELECT name, id + 1 AS next FROM t", "name next"), ("INSERT INTO t VALUES (1, 'a')", "count")]
    {
        let command = CommandStatementQuery { query: text.to_owned(), transaction_id: None };
        let descriptor = FlightDescriptor::new_cmd(Any::pack(&command).unwrap().encode_to_vec());
        let schema = client.inner_mut().get_schema(descriptor).await.unwrap().into_inner();
        let schema = arrow_schema::Schema::try_from(&schema).unwrap();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names.join(" "), columns, "{text}");
    }
    assert_eq!(query(&mut client, "SELECT count(*) FROM t").await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_rows_arrive() {
    let served = TestServer::new();
    let mut client = served.client().await;
    let batches =
        try_query(&mut client, "SELECT value, 'v' || value AS text FROM generate_series(1, 1000000)").await.unwrap();
    let sum: i64 =
        batches.iter().map(|batch| batch.column(0).as_primitive::<Int64Type>().values().iter().sum::<i64>()).sum();
    let bytes: usize = batches.iter().map(|batch| batch.column(1).as_string::<i32>().value_data().len()).sum();
    assert_eq!((sum, bytes), (500_000_500_000, 6_888_896));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_keeps_its_session_and_shows_it_to_no_other() {
    let served = TestServer::new();
    let (mut one, mut other) = (served.client().await, served.client().await);
    update(&mut one, "CREATE TEMPORARY VIEW mine AS SELECT 7 AS n").await;
    assert_eq!(query(&mut one, "SELECT n FROM mine").await, "7");
    refused(try_query(&mut other, "SELECT n FROM mine").await, Code::InvalidArgument, "there is no table");
    let closed = one.inner_mut().do_action(Action::new("CloseSession", "")).await.unwrap();
    assert_eq!(closed.into_inner().message().await.unwrap().unwrap().body.as_ref(), [0x08, 0x01]);
    refused(try_query(&mut one, "SELECT n FROM mine").await, Code::InvalidArgument, "there is no table");
}
