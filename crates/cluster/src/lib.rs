//! Runs queries of [`lath_sql`] on several machines: a coordinator plans them, workers read the files and compute.
//!
//! A [`Cluster`] makes sessions whose larger queries run on workers; a [`WorkerServer`] is one of the workers. The parts of a plan travel by
//! [datafusion-distributed](https://docs.rs/datafusion-distributed), with the scans and functions of Lath written by
//! [`lath_sql::remote`].
//!
//! Keyed tables, text files and files that the workers may not open are read at the coordinator, which also runs everything above them in
//! the plan.
//!
//! ```
//! use lath_cluster::{Cluster, ClusterOptions, WorkerOptions, WorkerServer};
//! use lath_sql::{BlockingSession, Session};
//!
//! let examples = std::fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data"))?;
//! let worker = WorkerServer::bind("127.0.0.1:0", WorkerOptions::new().allow(examples.display().to_string()))?;
//! let address = worker.address().to_string();
//! let running = worker.start();
//!
//! let cluster = Cluster::new([address], ClusterOptions::new().min_bytes(0))?;
//! let session = BlockingSession::new(cluster.extend(Session::builder()).build()?)?;
//! let trips = examples.join("trips");
//! let counted = session.run(&format!("SELECT minutes, count(*) FROM '{}' GROUP BY minutes", trips.display()))?;
//! assert!(counted.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<usize, _>>()? > 1);
//! running.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod address;
mod calls;
mod channel;
mod cluster;
mod coordinator;
mod error;
mod exec;
mod file_error;
mod info;
mod local;
mod panics;
mod planner;
mod planning;
mod settings;
#[cfg(test)]
mod simulation;
mod split;
mod threads;
mod tls;
mod wire;
mod worker;
mod workers;

pub use self::cluster::{Cluster, ClusterOptions, WorkerStatus};
pub use self::error::{Error, Result};
pub use self::worker::{RunningWorker, WorkerOptions, WorkerServer};
