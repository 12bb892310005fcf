//! The interface of a cluster for programs.

use std::fmt;
use std::sync::Arc;

use datafusion::execution::context::QueryPlanner;
use lath_grpc::{NetworkThreads, bearer};
use lath_parquet::Runtime;
use lath_sql::SessionBuilder;
use lath_sql::remote::PlanCodec;
use url::Url;

use crate::address::worker_url;
use crate::channel::{Channels, worker_name};
use crate::error::{Error, Result};
use crate::info::WorkerInfo;
use crate::local::{local_count, random_token, start_local};
use crate::planner::ClusterPlanner;
use crate::tls::Authorities;
use crate::workers::Workers;

type Planner = dyn QueryPlanner + Send + Sync;

/// Workers that compute the queries of sessions.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Workers>,
    partitions: usize,
}

/// Settings of a [`Cluster`].
#[derive(Debug, Clone)]
#[must_use]
pub struct ClusterOptions {
    token: Option<String>,
    authorities: Option<Vec<u8>>,
    min_bytes: u64,
    partitions: usize,
}

/// The state of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerStatus {
    /// `HOST:PORT`.
    pub address: String,
    /// Why it cannot be used; `None` if it can.
    pub problem: Option<String>,
    /// Its threads, if it answered.
    pub threads: Option<usize>,
}

impl ClusterOptions {
    /// Compressed bytes that a query has to read to run on workers.
    pub const DEFAULT_MIN_BYTES: u64 = 16 << 20;

    /// Creates the default settings.
    pub fn new() -> Self {
        Self { token: None, authorities: None, min_bytes: Self::DEFAULT_MIN_BYTES, partitions: 2 }
    }

    /// The token that workers ask for.
    pub fn token(self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self }
    }

    /// The certificates, in PEM, of the authorities that signed the certificates of workers at `https://HOST:PORT`, instead of the
    /// system's.
    pub fn authorities(self, pem: impl Into<Vec<u8>>) -> Self {
        Self { authorities: Some(pem.into()), ..self }
    }

    /// Runs queries whose scans read fewer compressed bytes at the coordinator alone, instead of [`Self::DEFAULT_MIN_BYTES`].
    pub fn min_bytes(self, bytes: u64) -> Self {
        Self { min_bytes: bytes, ..self }
    }

    /// Number of partitions of a query on each worker; at least 2.
    pub fn partitions(self, partitions: usize) -> Self {
        Self { partitions: partitions.max(2), ..self }
    }
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl Cluster {
    /// A cluster of the workers at addresses `HOST:PORT`, or `https://HOST:PORT` for a worker with TLS. It connects when a query needs it.
    ///
    /// `local:4` starts four workers of one thread in this process, for trying; they live as long as the cluster and its sessions.
    ///
    /// # Errors
    /// If an address cannot be used, there is none, the token has characters that no header may have, the certificates of authorities cannot be
    /// read, or no thread can be started.
    pub fn new<A: AsRef<str>>(addresses: impl IntoIterator<Item = A>, options: ClusterOptions) -> Result<Self> {
        let (mut urls, mut token, mut local) = (Vec::new(), options.token, Vec::new());
        for address in addresses {
            let address = address.as_ref().trim();
            let Some(count) = local_count(address)? else {
                urls.push(worker_url(address)?);
                continue;
            };
            for (worker, address) in start_local(count, token.get_or_insert_with(random_token))? {
                urls.push(worker_url(&address)?);
                local.push(worker);
            }
        }
        urls.sort();
        urls.dedup();
        if urls.is_empty() {
            return Err(Error::Address("a cluster needs the address of a worker: HOST:PORT".to_owned()));
        }
        let codec = PlanCodec::new(&Runtime::global());
        let network = NetworkThreads::start()?;
        let authorities = Authorities::new(options.authorities.as_deref())?;
        let token = token.as_deref().map(bearer).transpose()?;
        let channels = Channels::new(token, authorities, codec.clone(), &network);
        Ok(Self {
            inner: Arc::new(Workers::new(urls, channels, codec, network, options.min_bytes, local)),
            partitions: options.partitions,
        })
    }

    /// Makes a session run its larger queries on the workers.
    pub fn extend(&self, session: SessionBuilder) -> SessionBuilder {
        let workers = Arc::clone(&self.inner);
        let wrap = move |planner: Arc<Planner>| -> Arc<Planner> {
            Arc::new(ClusterPlanner::new(Arc::clone(&workers), planner))
        };
        session.planner(Arc::new(wrap), self.partitions)
    }

    /// Asks all workers for their state. It waits at most a few seconds for one that does not answer.
    pub async fn status(&self) -> Vec<WorkerStatus> {
        let answers = self.inner.ask_all().await;
        let status = |(url, answer): (Url, Result<WorkerInfo, String>)| {
            let address = worker_name(&url);
            match answer {
                Ok(info) => WorkerStatus { address, problem: None, threads: Some(info.threads) },
                Err(problem) => WorkerStatus { address, problem: Some(problem), threads: None },
            }
        };
        answers.into_iter().map(status).collect()
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("workers", &self.inner.len()).finish_non_exhaustive()
    }
}
