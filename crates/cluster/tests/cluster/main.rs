//! Queries on workers answer as in one process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

#[cfg(unix)]
mod copies;
mod faults;
mod objects;
#[cfg(unix)]
mod processes;
mod reports;
mod suites;
mod tables;
mod tls;
mod tpch;

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_cast::pretty::pretty_format_batches;
use lath_cluster::{Cluster, ClusterOptions, RunningWorker, WorkerOptions, WorkerServer};
use lath_parquet::{Dataset, DatasetOptions, Runtime};
use lath_sql::{BlockingSession, Session};

/// Workers of one thread that may open files below a folder.
struct Workers {
    running: Vec<RunningWorker>,
    addresses: Vec<String>,
}

impl Workers {
    fn start(count: usize, folder: &Path) -> Self {
        Self::start_for(count, folder.to_str().unwrap())
    }

    fn start_for(count: usize, allow: &str) -> Self {
        let (mut running, mut addresses) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let options = WorkerOptions::new().allow(allow).threads(1);
            let server = WorkerServer::bind("127.0.0.1:0", options).unwrap();
            addresses.push(server.address().to_string());
            running.push(server.start());
        }
        Self { running, addresses }
    }

    /// A session on these workers, however small a query is.
    fn session(&self) -> BlockingSession {
        let cluster = Cluster::new(&self.addresses, ClusterOptions::new().min_bytes(0)).unwrap();
        let runtime = Runtime::builder().threads(2).build();
        BlockingSession::new(cluster.extend(Session::builder().runtime(&runtime)).build().unwrap()).unwrap()
    }

    fn stop(self) {
        self.running.into_iter().for_each(|worker| worker.stop().unwrap());
    }
}

/// A session in this process alone.
fn alone() -> BlockingSession {
    BlockingSession::new(Session::builder().runtime(&Runtime::builder().threads(2).build()).build().unwrap()).unwrap()
}

fn register(session: &BlockingSession, name: &str, folder: &Path) {
    session.session().register(name, Dataset::open([folder], DatasetOptions::new()).unwrap()).unwrap();
}

fn register_url(session: &BlockingSession, name: &str, url: &str) {
    session.session().register(name, Dataset::open([url], DatasetOptions::new()).unwrap()).unwrap();
}

fn rows(session: &BlockingSession, query: &str) -> lath_sql::Result<Vec<RecordBatch>> {
    session.run(query)?.collect()
}

/// The answer as text, its rows in a fixed order.
fn text(session: &BlockingSession, query: &str) -> String {
    let batches = rows(session, query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let table = pretty_format_batches(&batches).unwrap().to_string();
    let mut lines: Vec<&str> = table.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}
