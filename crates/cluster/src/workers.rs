//! The workers of a cluster, and which of them answer.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use datafusion::common::exec_err;
use futures_util::future::join_all;
use lath_grpc::NetworkThreads;
use lath_sql::remote::PlanCodec;
use url::Url;

use crate::access::Access;
use crate::channel::{Channels, reason, worker_name};
use crate::info::WorkerInfo;
use crate::tls::speaks_tls;
use crate::worker::RunningWorker;

/// Time after which a worker that was lost is checked again.
const REST: Duration = Duration::from_secs(10);

/// The workers of a cluster.
pub(crate) struct Workers {
    workers: Mutex<Vec<Worker>>,
    pub(crate) channels: Channels,
    pub(crate) codec: PlanCodec,
    /// Compressed bytes that a query has to read to run on workers.
    pub(crate) min_bytes: u64,
    /// The threads of the channels.
    _network: NetworkThreads,
    /// The workers of this process.
    _local: Vec<RunningWorker>,
}

#[derive(Clone)]
struct Worker {
    url: Url,
    /// When it was lost.
    lost: Option<Instant>,
}

/// A worker that has answered.
#[derive(Debug, Clone)]
pub(crate) struct LiveWorker {
    pub(crate) url: Url,
    pub(crate) access: Access,
    pub(crate) write_access: Access,
    pub(crate) threads: usize,
    /// Differs each time the process is started.
    started: String,
}

#[cfg(all(test, target_os = "linux"))]
impl LiveWorker {
    /// A worker of eight threads that was never asked.
    pub(crate) fn simulated(url: Url, access: Access) -> Self {
        Self { url, access, write_access: Access::default(), threads: 8, started: String::new() }
    }
}

impl Workers {
    pub(crate) fn new(
        urls: Vec<Url>,
        channels: Channels,
        codec: PlanCodec,
        network: NetworkThreads,
        min_bytes: u64,
        local: Vec<RunningWorker>,
    ) -> Self {
        let workers = urls.into_iter().map(|url| Worker { url, lost: None }).collect();
        Self { workers: Mutex::new(workers), channels, codec, min_bytes, _network: network, _local: local }
    }

    pub(crate) fn len(&self) -> usize {
        self.all().len()
    }

    /// The answers of all workers.
    pub(crate) async fn ask_all(&self) -> Vec<(Url, Result<WorkerInfo, String>)> {
        join_all(self.all().into_iter().map(|worker| async move {
            let answer = self.ask(&worker.url).await;
            (worker.url, answer)
        }))
        .await
    }

    fn all(&self) -> Vec<Worker> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The workers that answer, in the order of their addresses.
    pub(crate) async fn live(&self) -> datafusion::common::Result<Vec<LiveWorker>> {
        let rested = |worker: &Worker| worker.lost.is_none_or(|lost| lost.elapsed() > REST);
        let all = self.all();
        // If all were lost, all are checked.
        let tried: Vec<&Worker> = match all.iter().any(rested) {
            true => all.iter().filter(|worker| rested(worker)).collect(),
            false => all.iter().collect(),
        };
        let answers = join_all(tried.iter().map(|worker| self.ask(&worker.url))).await;
        let (mut live, mut problems) = (Vec::new(), Vec::new());
        for (worker, answer) in tried.into_iter().zip(answers) {
            match answer {
                Ok(info) => {
                    self.mark(&worker.url, None);
                    live.push(LiveWorker {
                        url: worker.url.clone(),
                        access: Access::new(info.allow),
                        write_access: Access::new(info.allow_write),
                        threads: info.threads,
                        started: info.started,
                    });
                }
                Err(problem) => {
                    self.mark(&worker.url, Some(Instant::now()));
                    problems.push(format!("{}: {problem}", worker_name(&worker.url)));
                }
            }
        }
        if live.is_empty() {
            return exec_err!("no worker of the cluster can be used: {}", problems.join("; "));
        }
        Ok(live)
    }

    /// Whether one of these workers does not answer any more, or is another process.
    pub(crate) async fn has_lost(&self, workers: &[LiveWorker]) -> bool {
        let answers = join_all(workers.iter().map(|worker| self.ask(&worker.url))).await;
        let mut any = false;
        for (worker, answer) in workers.iter().zip(answers) {
            if answer.is_err() {
                self.mark(&worker.url, Some(Instant::now()));
            }
            any |= answer.map_or(true, |info| info.started != worker.started);
        }
        any
    }

    fn mark(&self, url: &Url, lost: Option<Instant>) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.iter_mut().filter(|worker| worker.url == *url).for_each(|worker| worker.lost = lost);
    }

    async fn ask(&self, url: &Url) -> Result<WorkerInfo, String> {
        let client = self.channels.client(url);
        let mut client = client.map_err(|error| error.to_string())?;
        match client.info().await {
            Ok(text) => WorkerInfo::read(&text),
            Err(_) if url.scheme() == "http" && speaks_tls(url).await => {
                Err("the worker uses TLS; write https:// before its address".to_owned())
            }
            Err(error) => Err(reason(&error)),
        }
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").finish_non_exhaustive()
    }
}
