//! A server on loopback, and clients of Flight SQL.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod ingest;
mod limits;
mod metadata;
mod prepared;
#[cfg(unix)]
mod processes;
mod shared;
mod statements;
mod tls;
mod transactions;

use std::net::SocketAddr;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_cast::pretty::pretty_format_batches;
use arrow_flight::FlightInfo;
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use futures_util::TryStreamExt;
use lath_flight::{FlightOptions, FlightServer, RunningFlightServer};
use tempfile::TempDir;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

/// A client, with its own connection.
type Client = FlightSqlServiceClient<Channel>;

/// A server of a new database, which is removed with it.
struct TestServer {
    running: RunningFlightServer,
    folder: TempDir,
}

impl TestServer {
    fn new() -> Self {
        Self::with(FlightOptions::new())
    }

    fn with(options: FlightOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let running = serve(&folder.path().join("shop"), options);
        Self { running, folder }
    }

    fn address(&self) -> SocketAddr {
        self.running.address()
    }

    async fn client(&self) -> Client {
        client(self.address()).await
    }

    /// Ends the server, and serves the database again.
    fn again(self) -> Self {
        let Self { running, folder } = self;
        running.stop().unwrap();
        let running = serve(&folder.path().join("shop"), FlightOptions::new());
        Self { running, folder }
    }
}

fn serve(database: &Path, options: FlightOptions) -> RunningFlightServer {
    FlightServer::bind("127.0.0.1:0", database, options.threads(2)).unwrap().start()
}

async fn client(address: SocketAddr) -> Client {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    FlightSqlServiceClient::new(endpoint.connect().await.unwrap())
}

/// The batches of a result.
async fn fetch(client: &mut Client, info: FlightInfo) -> Result<Vec<RecordBatch>, FlightError> {
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let schema = info.clone().try_decode_schema().unwrap();
    let stream = client.do_get(ticket).await?;
    let batches: Vec<RecordBatch> = stream.try_collect().await?;
    assert!(batches.iter().all(|batch| *batch.schema_ref().fields() == schema.fields), "the columns are as announced");
    Ok(batches)
}

async fn try_query(client: &mut Client, text: &str) -> Result<Vec<RecordBatch>, FlightError> {
    let info = client.execute(text.to_owned(), None).await?;
    fetch(client, info).await
}

/// The rows of a query: values divided by spaces, rows by commas.
async fn query(client: &mut Client, text: &str) -> String {
    let batches = try_query(client, text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    shown(&batches)
}

async fn update(client: &mut Client, text: &str) -> i64 {
    client.execute_update(text.to_owned(), None).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn shown(batches: &[RecordBatch]) -> String {
    if batches.iter().all(|batch| batch.num_columns() == 0 || batch.num_rows() == 0) {
        return String::new();
    }
    let table = pretty_format_batches(batches).unwrap().to_string();
    let lines = table.lines().skip(3).filter(|line| line.starts_with('|'));
    let row = |line: &str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>().join(" ");
    lines.map(row).collect::<Vec<_>>().join(", ")
}

/// The code of an error, and its text.
fn code(error: &FlightError) -> (Code, String) {
    match error {
        FlightError::Tonic(status) => (status.code(), status.message().to_owned()),
        other => (Code::Unknown, other.to_string()),
    }
}

/// Checks that a call fails with this code, and that its text has this part.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, FlightError>, expected: Code, part: &str) {
    let error = result.unwrap_err();
    let (found, text) = code(&error);
    assert!(found == expected && text.contains(part), "{found:?}: {text}");
}

/// One row of values.
fn values(numbers: &[i64]) -> RecordBatch {
    let columns = numbers.iter().enumerate().map(|(at, &number)| {
        let column = std::sync::Arc::new(arrow_array::Int64Array::from(vec![number])) as arrow_array::ArrayRef;
        (format!("p{at}"), column)
    });
    RecordBatch::try_from_iter(columns).unwrap()
}
