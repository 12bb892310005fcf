//! Tokens, and limits that end one client's statement while others go on.

use std::time::Duration;

use arrow_flight::sql::EndTransaction;
use futures_util::TryStreamExt;
use lath_flight::{FlightOptions, FlightServer};
use tonic::Code;

use crate::{TestServer, fetch, query, refused, try_query, update};

/// A query that takes longer than a lifetime, and has no row before.
const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 1000000000000000) WHERE value < 0";
/// One whose rows come at once.
const ENDLESS_ROWS: &str = "SELECT value FROM generate_series(1, 1000000000000000)";

#[tokio::test(flavor = "multi_thread")]
async fn requests_need_the_token() {
    let served = TestServer::with(FlightOptions::new().token("s3cret"));
    let mut client = served.client().await;
    refused(client.execute("SELECT 1".to_owned(), None).await, Code::Unauthenticated, "asks for a token");
    client.set_token("wrong".to_owned());
    refused(client.execute("SELECT 1".to_owned(), None).await, Code::Unauthenticated, "asks for a token");
    client.set_token("s3cret".to_owned());
    assert_eq!(query(&mut client, "SELECT 1").await, "1");
    // The token as a password, for which the server returns a bearer token.
    let mut other = served.client().await;
    assert!(other.handshake("anyone", "wrong").await.is_err());
    other.handshake("anyone", "s3cret").await.unwrap();
    assert_eq!(other.token().map(String::as_str), Some("s3cret"));
    assert_eq!(query(&mut other, "SELECT 2").await, "2");
}

#[test]
fn other_machines_need_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let bind = |options| FlightServer::bind("0.0.0.0:0", &folder.path().join("shop"), options);
    let error = bind(FlightOptions::new()).unwrap_err().to_string();
    assert!(error.contains("set a token"), "{error}");
    assert!(bind(FlightOptions::new().token("s3cret")).is_ok());
    assert!(bind(FlightOptions::new().token("not visible")).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_served_read_only() {
    let served = TestServer::new();
    update(&mut served.client().await, "CREATE TABLE t (id BIGINT PRIMARY KEY)").await;
    let reading = crate::serve(&served.folder.path().join("shop"), FlightOptions::new().read_only());
    let mut client = crate::client(reading.address()).await;
    assert_eq!(query(&mut client, "SELECT count(*) FROM t").await, "0");
    refused(
        client.execute_update("INSERT INTO t VALUES (1)".to_owned(), None).await,
        Code::InvalidArgument,
        "read-only",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_ends_when_its_time_is_over_and_others_go_on() {
    let served = TestServer::with(FlightOptions::new().statement_time(Duration::from_millis(300)));
    let (mut one, mut other) = (served.client().await, served.client().await);
    refused(try_query(&mut one, ENDLESS).await, Code::DeadlineExceeded, "--statement-time");
    // Also if its client takes no rows.
    let info = one.execute(ENDLESS_ROWS.to_owned(), None).await.unwrap();
    let mut rows = one.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
    assert!(rows.try_next().await.unwrap().is_some());
    assert_eq!(query(&mut other, "SELECT 1").await, "1");
    let error = loop {
        match rows.try_next().await {
            Ok(batch) => assert!(batch.is_some(), "the rows have no end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("--statement-time"), "{error}");
    assert_eq!(query(&mut other, "SELECT 2").await, "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_client_holds_up_no_other() {
    let served = TestServer::with(FlightOptions::new().idle_time(Duration::from_millis(100)));
    let (mut stalled, mut other) = (served.client().await, served.client().await);
    let info = stalled.execute(ENDLESS_ROWS.to_owned(), None).await.unwrap();
    let mut rows = stalled.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
    assert!(rows.try_next().await.unwrap().is_some());
    // It takes nothing more, until the server has ended its statement, which is then not there to be cancelled.
    let handle = info.endpoint[0].ticket.clone().unwrap();
    refused(other.do_get(handle).await.map(drop), Code::NotFound, "run the statement again");
    update(&mut other, "CREATE TABLE t (id BIGINT PRIMARY KEY)").await;
    update(&mut other, "INSERT INTO t VALUES (1)").await;
    assert_eq!(query(&mut other, "SELECT count(*) FROM t").await, "1");
    drop(rows);
    assert_eq!(query(&mut stalled, "SELECT 1").await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_that_are_not_used_are_forgotten() {
    let served = TestServer::with(FlightOptions::new().idle_time(Duration::from_millis(50)));
    let (mut one, mut other) = (served.client().await, served.client().await);
    update(&mut one, "CREATE TABLE t (id BIGINT PRIMARY KEY)").await;
    let mut prepared = one.prepare("SELECT 1".to_owned(), None).await.unwrap();
    let result = one.execute("SELECT 1".to_owned(), None).await.unwrap();
    let transaction = one.begin_transaction().await.unwrap();
    one.execute_update("INSERT INTO t VALUES (1)".to_owned(), Some(transaction.clone())).await.unwrap();
    // It waits until the transaction of the other is forgotten, and with it, its changes.
    update(&mut other, "INSERT INTO t VALUES (1)").await;
    refused(one.end_transaction(transaction, EndTransaction::Commit).await, Code::NotFound, "rolls it back");
    // A request in between would count as use.
    tokio::time::sleep(Duration::from_millis(500)).await;
    refused(prepared.execute().await, Code::NotFound, "prepare it again");
    refused(fetch(&mut one, result).await, Code::NotFound, "run the statement again");
    assert_eq!(query(&mut other, "SELECT count(*) FROM t").await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_beyond_the_memory_fails_and_others_go_on() {
    let served = TestServer::with(FlightOptions::new().memory_budget_bytes(16 << 20));
    let (mut one, mut other) = (served.client().await, served.client().await);
    // An array of all rows cannot be spilled.
    let large = "SELECT array_length(array_agg('a text that takes memory ' || value)) FROM generate_series(1, 3000000)";
    let (failed, count) =
        tokio::join!(try_query(&mut one, large), query(&mut other, "SELECT count(*) FROM generate_series(1, 100000)"));
    refused(failed, Code::ResourceExhausted, "--memory");
    assert_eq!(count, "100000");
    assert_eq!(query(&mut one, "SELECT 1").await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_are_refused() {
    let served = TestServer::with(FlightOptions::new().connections(2));
    let (mut one, mut two) = (served.client().await, served.client().await);
    assert_eq!(query(&mut one, "SELECT 1").await, "1");
    assert_eq!(query(&mut two, "SELECT 1").await, "1");
    let mut three = served.client().await;
    refused(three.execute("SELECT 1".to_owned(), None).await, Code::ResourceExhausted, "--connections");
    drop((two, three));
    // The server sees their end at some time.
    loop {
        let mut next = served.client().await;
        match try_query(&mut next, "SELECT 3").await {
            Ok(_) => break,
            Err(error) => assert!(error.to_string().contains("--connections"), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(query(&mut one, "SELECT 1").await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_tells_the_clients_of_statements_that_run() {
    let served = TestServer::new();
    let mut client = served.client().await;
    let info = client.execute(ENDLESS_ROWS.to_owned(), None).await.unwrap();
    let mut rows = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
    assert!(rows.try_next().await.unwrap().is_some());
    let stopping = tokio::task::spawn_blocking(move || served.running.stop());
    let error = loop {
        match rows.try_next().await {
            Ok(batch) => assert!(batch.is_some(), "the rows have no end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("the server is stopping"), "{error}");
    stopping.await.unwrap().unwrap();
}
