//! Compares a server on loopback with the same statements in this process.
//!
//!     cargo run --release -p lath-flight --example figures [ROWS]
//!
//! Prints lookups of a row by its key with a prepared statement, rows of a scan, and upserts of 1 and 32 connections, each of which is durable. Every answer
//! is checked.
#![expect(clippy::unwrap_used, reason = "a measurement ends at the first fault")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_flight::sql::client::FlightSqlServiceClient;
use datafusion::common::ScalarValue;
use futures_util::{StreamExt, TryStreamExt};
use lath_flight::{FlightOptions, FlightServer};
use lath_sql::{Session, Stop};
use tonic::transport::{Channel, Endpoint};

const LOOKUPS: i64 = 2000;
const UPSERT_TIME: Duration = Duration::from_secs(3);
const LOOKUP: &str = "SELECT n FROM t WHERE id = ?";
const UPSERT: &str = "INSERT OR REPLACE INTO t VALUES (?, ?, 'a text of an upsert')";

async fn client(address: &str) -> FlightSqlServiceClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let endpoint =
        endpoint.initial_stream_window_size(8 << 20).initial_connection_window_size(16 << 20).tcp_nodelay(true);
    FlightSqlServiceClient::new(endpoint.connect().await.unwrap())
}

fn values(numbers: &[i64]) -> RecordBatch {
    let columns = numbers.iter().enumerate();
    let columns = columns.map(|(at, &number)| (format!("p{at}"), Arc::new(Int64Array::from(vec![number])) as ArrayRef));
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The sum of the first column.
fn sum(batch: &RecordBatch) -> i64 {
    batch.column(0).as_primitive::<Int64Type>().values().iter().sum()
}

async fn fetch(client: &mut FlightSqlServiceClient<Channel>, info: arrow_flight::FlightInfo) -> (i64, usize) {
    let mut rows = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
    let (mut total, mut count) = (0, 0);
    while let Some(batch) = rows.try_next().await.unwrap() {
        total += sum(&batch);
        count += batch.num_rows();
    }
    (total, count)
}

fn print(what: &str, served: f64, own: f64, unit: &str) {
    println!("{what:<44} {served:>12.1} {own:>12.1} {unit:<12} {:>6.2}", served / own);
}

/// Upserts per second with a number of connections.
async fn upserts(address: &str, connections: i64) -> f64 {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..connections)
        .map(|connection| {
            let address = address.to_owned();
            tokio::spawn(async move {
                let mut client = client(&address).await;
                let mut prepared = client.prepare(UPSERT.to_owned(), None).await.unwrap();
                let mut count = 0;
                while begun.elapsed() < UPSERT_TIME {
                    prepared.set_parameters(values(&[-1 - connection * 1_000_000 - count, count])).unwrap();
                    assert_eq!(prepared.execute_update().await.unwrap(), 1);
                    count += 1;
                }
                count
            })
        })
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await.unwrap();
    }
    count as f64 / begun.elapsed().as_secs_f64()
}

#[tokio::main]
async fn main() {
    let row_count: i64 = std::env::args().nth(1).map_or(1_000_000, |rows| rows.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("shop");
    let server = FlightServer::bind("127.0.0.1:0", &database, FlightOptions::new()).unwrap();
    let running = server.start();
    let address = running.address().to_string();
    let mut client = client(&address).await;
    client
        .execute_update("CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT, name VARCHAR)".to_owned(), None)
        .await
        .unwrap();
    let fill =
        format!("INSERT INTO t SELECT value, value * 7, 'name ' || value FROM generate_series(0, {})", row_count - 1);
    assert_eq!(client.execute_update(fill, None).await.unwrap(), row_count);
    client.execute_update("CALL flush('t')".to_owned(), None).await.ok();
    println!("{:<44} {:>12} {:>12} {:<12} {:>6}", "", "by Flight", "in process", "", "ratio");

    let own = Session::builder().read_only_database(&database).build().unwrap();
    let stop = Stop::new();
    let statement = own.prepare(LOOKUP).await.unwrap();
    let keys: Vec<i64> = (0..LOOKUPS).map(|at| at * 7919 % row_count).collect();
    let begun = Instant::now();
    for &key in &keys {
        let plan = own.plan_with_values(&statement, &[ScalarValue::from(key)], &stop).await.unwrap();
        let found: Vec<RecordBatch> = plan.execute(&stop).unwrap().try_collect().await.unwrap();
        assert_eq!(found.iter().map(sum).sum::<i64>(), key * 7);
    }
    let in_process = begun.elapsed().as_secs_f64() * 1e6 / LOOKUPS as f64;
    let mut prepared = client.prepare(LOOKUP.to_owned(), None).await.unwrap();
    let begun = Instant::now();
    for &key in &keys {
        prepared.set_parameters(values(&[key])).unwrap();
        let info = prepared.execute().await.unwrap();
        assert_eq!(fetch(&mut client, info).await, (key * 7, 1));
    }
    print("prepared lookup by key", begun.elapsed().as_secs_f64() * 1e6 / LOOKUPS as f64, in_process, "µs");

    for (what, text) in
        [("two columns of numbers", "SELECT id, n FROM t"), ("all columns, with a text", "SELECT * FROM t")]
    {
        let expected = row_count * (row_count - 1) / 2;
        let begun = Instant::now();
        let mut rows = own.plan_text(text, &stop).await.unwrap().execute(&stop).unwrap();
        let mut total = 0;
        while let Some(batch) = rows.next().await {
            total += sum(&batch.unwrap());
        }
        assert_eq!(total, expected);
        let in_process = row_count as f64 / begun.elapsed().as_secs_f64() / 1e6;
        let begun = Instant::now();
        let info = client.execute(text.to_owned(), None).await.unwrap();
        assert_eq!(fetch(&mut client, info).await, (expected, row_count as usize));
        print(what, row_count as f64 / begun.elapsed().as_secs_f64() / 1e6, in_process, "M rows/s");
    }
    drop(own);

    let (one, many) = (upserts(&address, 1).await, upserts(&address, 32).await);
    println!("{:<44} {one:>12.0} {:>12} per second", "upserts of 1 connection", "");
    println!("{:<44} {many:>12.0} {:>12} per second   {:>6.2}", "upserts of 32 connections", "", many / one);
    running.stop().unwrap();
}
