//! Rows that clients send into tables.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    CommandStatementIngest, EndTransaction, TableDefinitionOptions, TableExistsOption, TableNotExistOption,
};
use futures_util::stream;
use tonic::Code;

use crate::{Client, TestServer, query, refused, update};

fn rows(ids: std::ops::Range<i64>) -> RecordBatch {
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(ids.clone().map(|id| format!("n{id}"))));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    RecordBatch::try_from_iter([("name", names), ("id", ids)]).unwrap()
}

fn into(table: &str, if_not_exist: TableNotExistOption, if_exists: TableExistsOption) -> CommandStatementIngest {
    let options = TableDefinitionOptions { if_not_exist: if_not_exist.into(), if_exists: if_exists.into() };
    CommandStatementIngest {
        table_definition_options: Some(options),
        table: table.to_owned(),
        schema: None,
        catalog: None,
        temporary: false,
        transaction_id: None,
        options: Default::default(),
    }
}

fn appending(table: &str) -> CommandStatementIngest {
    into(table, TableNotExistOption::Fail, TableExistsOption::Append)
}

async fn send(
    client: &mut Client,
    command: CommandStatementIngest,
    batches: Vec<RecordBatch>,
) -> Result<i64, FlightError> {
    client.execute_ingest(command, stream::iter(batches.into_iter().map(Ok::<_, FlightError>))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_appended_by_the_names_of_their_columns() {
    let served = TestServer::new();
    let mut client = served.client().await;
    update(&mut client, "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR, n BIGINT DEFAULT 7)").await;
    assert_eq!(send(&mut client, appending("t"), vec![rows(0..1000), rows(1000..2500)]).await.unwrap(), 2500);
    assert_eq!(
        query(&mut client, "SELECT count(*), sum(id), sum(n), max(name) FROM t").await,
        "2500 3123750 17500 n999"
    );
    // All or nothing.
    refused(
        send(&mut client, appending("t"), vec![rows(2500..2600), rows(9..10)]).await,
        Code::InvalidArgument,
        "there is a row",
    );
    assert_eq!(query(&mut client, "SELECT count(*) FROM t").await, "2500");
    refused(send(&mut client, appending("missing"), vec![rows(0..1)]).await, Code::NotFound, "create it first");
    refused(
        send(&mut client, CommandStatementIngest { temporary: true, ..appending("t") }, vec![rows(0..1)]).await,
        Code::Unimplemented,
        "temporary",
    );
    refused(
        send(
            &mut client,
            CommandStatementIngest { schema: Some("other".to_owned()), ..appending("t") },
            vec![rows(0..1)],
        )
        .await,
        Code::InvalidArgument,
        "leave out",
    );
    // Nothing of it is left in the session.
    assert_eq!(
        query(&mut client, "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'lath%'").await,
        "0"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_created_and_replaced() {
    let served = TestServer::new();
    let mut client = served.client().await;
    let create = || into("New", TableNotExistOption::Create, TableExistsOption::Fail);
    assert_eq!(send(&mut client, create(), vec![rows(0..10)]).await.unwrap(), 10);
    assert_eq!(query(&mut client, "SELECT count(*), max(id) FROM \"New\"").await, "10 9");
    refused(send(&mut client, create(), vec![rows(0..10)]).await, Code::AlreadyExists, "already");
    let replace = into("New", TableNotExistOption::Create, TableExistsOption::Replace);
    assert_eq!(send(&mut client, replace, vec![rows(5..7)]).await.unwrap(), 2);
    drop(client);
    let served = served.again();
    let mut client = served.client().await;
    assert_eq!(query(&mut client, "SELECT name, id FROM \"New\" ORDER BY id").await, "n5 5, n6 6");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_sent_within_a_transaction() {
    let served = TestServer::new();
    let (mut client, mut other) = (served.client().await, served.client().await);
    update(&mut client, "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR)").await;
    for (end, expected) in [(EndTransaction::Rollback, "0"), (EndTransaction::Commit, "5")] {
        let transaction = client.begin_transaction().await.unwrap();
        let command = CommandStatementIngest { transaction_id: Some(transaction.clone()), ..appending("t") };
        assert_eq!(send(&mut client, command, vec![rows(0..5)]).await.unwrap(), 5);
        assert_eq!(query(&mut other, "SELECT count(*) FROM t").await, "0");
        client.end_transaction(transaction, end).await.unwrap();
        assert_eq!(query(&mut other, "SELECT count(*) FROM t").await, expected);
    }
}
