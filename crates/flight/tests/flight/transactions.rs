//! Transactions.

use arrow_flight::sql::EndTransaction;
use bytes::Bytes;
use tonic::Code;

use crate::{Client, TestServer, fetch, query, refused, shown, update};

async fn table(client: &mut Client) {
    update(client, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)").await;
    update(client, "INSERT INTO t VALUES (1, 10)").await;
}

async fn query_in(client: &mut Client, text: &str, transaction: &Bytes) -> String {
    let info = client.execute(text.to_owned(), Some(transaction.clone())).await.unwrap();
    shown(&fetch(client, info).await.unwrap())
}

async fn update_in(
    client: &mut Client,
    text: &str,
    transaction: &Bytes,
) -> Result<i64, arrow_flight::error::FlightError> {
    client.execute_update(text.to_owned(), Some(transaction.clone())).await
}

const ALL: &str = "SELECT * FROM t ORDER BY id";

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_seen_by_others_once_they_are_committed() {
    let served = TestServer::new();
    let (mut one, mut other) = (served.client().await, served.client().await);
    table(&mut one).await;
    let transaction = one.begin_transaction().await.unwrap();
    assert_eq!(update_in(&mut one, "INSERT INTO t VALUES (2, 20)", &transaction).await.unwrap(), 1);
    assert_eq!(update_in(&mut one, "UPDATE t SET n = n + 1", &transaction).await.unwrap(), 2);
    assert_eq!(query_in(&mut one, ALL, &transaction).await, "1 11, 2 21");
    // Neither another client nor another statement of this one is in the transaction.
    assert_eq!(query(&mut other, ALL).await, "1 10");
    assert_eq!(query(&mut one, ALL).await, "1 10");
    one.end_transaction(transaction.clone(), EndTransaction::Commit).await.unwrap();
    assert_eq!(query(&mut other, ALL).await, "1 11, 2 21");
    refused(update_in(&mut one, "DELETE FROM t", &transaction).await, Code::NotFound, "the transaction has ended");
    refused(
        one.end_transaction(transaction, EndTransaction::Commit).await,
        Code::NotFound,
        "the transaction has ended",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_undone_by_rollback() {
    let served = TestServer::new();
    let mut client = served.client().await;
    table(&mut client).await;
    let transaction = client.begin_transaction().await.unwrap();
    update_in(&mut client, "DELETE FROM t", &transaction).await.unwrap();
    update_in(&mut client, "CREATE TABLE u (id BIGINT PRIMARY KEY)", &transaction).await.unwrap();
    // A statement that fails is undone alone.
    refused(
        update_in(&mut client, "INSERT INTO u VALUES (1), (1)", &transaction).await,
        Code::InvalidArgument,
        "there is a row",
    );
    assert_eq!(query_in(&mut client, "SELECT count(*) FROM u", &transaction).await, "0");
    client.end_transaction(transaction, EndTransaction::Rollback).await.unwrap();
    assert_eq!(query(&mut client, ALL).await, "1 10");
    refused(client.execute("SELECT * FROM u".to_owned(), None).await, Code::InvalidArgument, "there is no table");
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_that_only_read_see_one_commit_and_hold_up_no_one() {
    let served = TestServer::new();
    let (mut one, mut other) = (served.client().await, served.client().await);
    table(&mut one).await;
    let (reading, unused) = (one.begin_transaction().await.unwrap(), one.begin_transaction().await.unwrap());
    assert_eq!(query_in(&mut one, ALL, &reading).await, "1 10");
    update(&mut other, "UPDATE t SET n = 11").await;
    assert_eq!(query_in(&mut one, ALL, &reading).await, "1 10");
    assert_eq!(query_in(&mut one, ALL, &unused).await, "1 11");
    one.end_transaction(reading, EndTransaction::Commit).await.unwrap();
    one.end_transaction(unused, EndTransaction::Rollback).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_has_read_an_older_commit_cannot_change_rows() {
    let served = TestServer::new();
    let (mut one, mut other) = (served.client().await, served.client().await);
    table(&mut one).await;
    let transaction = one.begin_transaction().await.unwrap();
    assert_eq!(query_in(&mut one, ALL, &transaction).await, "1 10");
    update(&mut other, "UPDATE t SET n = n + 1").await;
    let lost = update_in(&mut one, "UPDATE t SET n = 10 + 1", &transaction).await;
    refused(lost, Code::Aborted, "roll it back");
    one.end_transaction(transaction, EndTransaction::Rollback).await.unwrap();
    // Without a commit in between, it can.
    let transaction = one.begin_transaction().await.unwrap();
    assert_eq!(query_in(&mut one, ALL, &transaction).await, "1 11");
    assert_eq!(update_in(&mut one, "UPDATE t SET n = 12", &transaction).await.unwrap(), 1);
    one.end_transaction(transaction, EndTransaction::Commit).await.unwrap();
    assert_eq!(query(&mut other, ALL).await, "1 12");
}

#[tokio::test(flavor = "multi_thread")]
async fn prepared_statements_belong_to_their_transaction() {
    let served = TestServer::new();
    let (mut one, mut other) = (served.client().await, served.client().await);
    table(&mut one).await;
    let transaction = one.begin_transaction().await.unwrap();
    let mut prepared = one.prepare("INSERT INTO t VALUES (3, 30)".to_owned(), Some(transaction.clone())).await.unwrap();
    assert_eq!(prepared.execute_update().await.unwrap(), 1);
    assert_eq!(query(&mut other, ALL).await, "1 10");
    one.end_transaction(transaction, EndTransaction::Commit).await.unwrap();
    assert_eq!(query(&mut other, ALL).await, "1 10, 3 30");
    refused(prepared.execute_update().await, Code::NotFound, "the transaction has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_ends_with_its_connection() {
    let served = TestServer::new();
    let (mut one, mut other) = (served.client().await, served.client().await);
    table(&mut other).await;
    let transaction = one.begin_transaction().await.unwrap();
    update_in(&mut one, "DELETE FROM t", &transaction).await.unwrap();
    // One as statements, too, which belongs to the session.
    let mut third = served.client().await;
    drop(one);
    // It waits until the writer is free.
    assert_eq!(update(&mut other, "UPDATE t SET n = n + 1").await, 1);
    update(&mut third, "BEGIN").await;
    update(&mut third, "DELETE FROM t").await;
    assert_eq!(query(&mut third, ALL).await, "");
    drop(third);
    assert_eq!(update(&mut other, "UPDATE t SET n = n + 1").await, 1);
    assert_eq!(query(&mut other, ALL).await, "1 12");
}
