//! A worker: executes parts of plans for coordinators.

use std::fmt;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use datafusion::execution::SessionState;
use datafusion_distributed::{
    DistributedExt, Worker, WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, WorkerQueryContext,
};
use http::HeaderValue;
use lath_grpc::{NetworkThreads, acceptor, bearer, connections, is_token};
use lath_parquet::is_store;
use lath_sql::remote::PlanCodec;
use lath_sql::{Session, Stop};
use lath_writer::UncommittedFiles;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::{Request, Status};

use crate::access::{Access, check_operators};
use crate::calls::OpenCalls;
use crate::channel::Channels;
use crate::error::{Error, Result};
use crate::info::WorkerInfo;
use crate::panics::CaughtPanics;
use crate::settings::{read_settings, with_options_from};
use crate::threads::OnComputing;
use crate::tls::Authorities;

/// Queries that still run when a worker is stopped get this time.
const GRACE: Duration = Duration::from_secs(30);
/// Interval at which a silent connection is checked.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Threads get this time to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Settings of a [`WorkerServer`].
#[derive(Clone, Default)]
#[must_use]
pub struct WorkerOptions {
    allow: Vec<String>,
    allow_write: Vec<String>,
    token: Option<String>,
    /// Certificate and key.
    tls: Option<(Vec<u8>, Vec<u8>)>,
    authorities: Option<Vec<u8>>,
    threads: Option<usize>,
    uncommitted: UncommittedFiles,
    memory_budget_bytes: Option<usize>,
}

impl fmt::Debug for WorkerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without its token and its key.
        let mut shown = f.debug_struct("WorkerOptions");
        shown.field("allow", &self.allow).field("allow_write", &self.allow_write).finish_non_exhaustive()
    }
}

/// A worker that listens, but does not answer yet.
pub struct WorkerServer {
    listener: TcpListener,
    address: SocketAddr,
    options: WorkerOptions,
    acceptor: Option<TlsAcceptor>,
    authorities: Authorities,
    computing: Runtime,
}

impl fmt::Debug for WorkerServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A worker that answers on separate threads.
#[derive(Debug)]
pub struct RunningWorker {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl WorkerOptions {
    /// Creates the default settings: no file may be opened.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens files below a folder, or objects below a URL such as `s3://bucket/prefix`, for every coordinator. It can be given several times.
    pub fn allow(mut self, prefix: impl Into<String>) -> Self {
        self.allow.push(prefix.into());
        self
    }

    /// Writes objects below a URL such as `s3://bucket/prefix`, for every coordinator. It can be given several times. This
    /// does not [allow](Self::allow) to read them.
    pub fn allow_write(mut self, url: impl Into<String>) -> Self {
        self.allow_write.push(url.into());
        self
    }

    /// Answers only who sends this token.
    pub fn token(self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self }
    }

    /// Answers by TLS alone, with this certificate and this private key, both in PEM. The certificate may be followed by others, up to one that
    /// an authority signed.
    pub fn tls(self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self { tls: Some((certificate.into(), key.into())), ..self }
    }

    /// The certificates, in PEM, of the authorities that signed the certificates of the other workers, instead of the system's.
    pub fn authorities(self, pem: impl Into<Vec<u8>>) -> Self {
        Self { authorities: Some(pem.into()), ..self }
    }

    /// Number of threads, instead of as many as there are processors.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads.max(1)), ..self }
    }

    /// Deletes the files that queries spill to when `files` is abandoned, as by a signal.
    pub fn uncommitted(self, files: &UncommittedFiles) -> Self {
        Self { uncommitted: files.clone(), ..self }
    }

    /// Limits the memory of sorting, joining and grouping, in all queries together. Beyond it, operators spill to disk.
    pub fn memory_budget_bytes(self, bytes: usize) -> Self {
        Self { memory_budget_bytes: Some(bytes), ..self }
    }
}

/// The prefixes as they are compared: folders absolute and without links.
fn normalized(allow: &[String]) -> Result<Vec<String>> {
    let one = |prefix: &String| {
        if prefix.contains("://") {
            return Ok(prefix.clone());
        }
        let real =
            Path::new(prefix).canonicalize().map_err(|error| Error::Setting(format!("--allow {prefix}: {error}")))?;
        let text = real.to_str().ok_or_else(|| Error::Setting(format!("--allow {prefix}: its path is not Unicode")))?;
        Ok(text.to_owned())
    };
    allow.iter().map(one).collect()
}

/// Refuses folders: the files of several workers appear together in object stores alone.
fn check_urls(allow_write: &[String]) -> Result<()> {
    let is_url = |prefix: &&String| is_store(prefix) && !prefix.starts_with("http");
    match allow_write.iter().find(|prefix| !is_url(prefix)) {
        Some(other) => Err(Error::Setting(format!(
            "--allow-write {other}: expected the URL of a folder in an object store, such as s3://lake/trips; the coordinator itself writes local files"
        ))),
        None => Ok(()),
    }
}

impl WorkerServer {
    /// Listens at `HOST:PORT`; port 0 takes a free one.
    ///
    /// # Errors
    /// If the address cannot be used, an allowed folder does not exist, a certificate or key cannot be used, or the address is not of this machine
    /// alone and there is no token.
    pub fn bind(address: &str, options: WorkerOptions) -> Result<Self> {
        let failed = |error: std::io::Error| Error::Io(format!("cannot listen at {address}: {error}"));
        check_urls(&options.allow_write)?;
        let options = WorkerOptions { allow: normalized(&options.allow)?, ..options };
        if let Some(token) = &options.token {
            bearer(token)?;
        }
        let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();
        if options.token.is_none() && !addresses.iter().all(|address| address.ip().is_loopback()) {
            return Err(Error::Setting(format!(
                "{address} accepts connections from other machines, and every client can read the files that the worker may open: set a token"
            )));
        }
        let acceptor =
            options.tls.as_ref().map(|(certificate, key)| acceptor(certificate, key, "the worker's")).transpose()?;
        let authorities = Authorities::new(options.authorities.as_deref())?;
        let threads = options.threads.unwrap_or_else(|| lath_parquet::Runtime::global().threads());
        let computing = lath_grpc::threads("lath-worker", threads)?;
        let listener = TcpListener::bind(addresses.as_slice()).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let options = WorkerOptions { threads: Some(threads), ..options };
        Ok(Self { listener, address, options, acceptor, authorities, computing })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.options.threads.unwrap_or(1)
    }

    /// Answers on separate threads.
    pub fn start(self) -> RunningWorker {
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::spawn(move || self.serve(stopped));
        RunningWorker { stop, thread: Some(thread) }
    }

    fn serve(self, mut stopped: watch::Receiver<bool>) -> Result<()> {
        let Self { listener, address, options, acceptor, authorities, computing } = self;
        let failed = |error: String| Error::Io(format!("the worker at {address} failed: {error}"));
        let network = NetworkThreads::start()?;
        let token = options.token.as_deref().map(bearer).transpose()?;
        let calls = OpenCalls::default();
        let worker =
            worker(&options, authorities, &network, calls.clone()).map_err(|error| failed(error.to_string()))?;
        let check = move |request: Request<()>| match &token {
            Some(token) if !has_token(&request, token) => Err(Status::unauthenticated(
                "the worker asks for a token, and this is not it; set LATH_CLUSTER_TOKEN to the worker's",
            )),
            _ => Ok(request),
        };
        let computed = OnComputing { inner: worker.into_worker_server(), computing: computing.handle().clone(), calls };
        let service = InterceptedService::new(computed, check);
        let served = async move {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
            let incoming = connections(listener, acceptor, || ());
            let mut again = stopped.clone();
            let server = Server::builder()
                .http2_keepalive_interval(Some(KEEP_ALIVE))
                .add_service(service)
                .serve_with_incoming_shutdown(incoming, async move {
                    let _ = stopped.wait_for(|stopped| *stopped).await;
                });
            let late = async move {
                let _ = again.wait_for(|stopped| *stopped).await;
                tokio::time::sleep(GRACE).await;
            };
            tokio::select! {
                served = server => served.map_err(|error| error.to_string()),
                () = late => Ok(()),
            }
        };
        let ended = network.block_on(served).map_err(failed);
        // Connections end first: a part of a plan that ends without its rows must not seem complete.
        network.end(PATIENCE);
        computing.shutdown_timeout(PATIENCE);
        ended
    }
}

/// The service of datafusion-distributed with the session of Lath.
fn worker(
    options: &WorkerOptions,
    authorities: Authorities,
    network: &NetworkThreads,
    calls: OpenCalls,
) -> datafusion::common::Result<Worker> {
    let threads = options.threads.unwrap_or(1);
    let runtime = lath_parquet::Runtime::builder().threads(threads).build();
    let (access, write_access) = (Access::new(options.allow.clone()), Access::new(options.allow_write.clone()));
    let info = WorkerInfo::new(&access, &write_access, threads);
    let mut session = Session::builder().runtime(&runtime).uncommitted(&options.uncommitted);
    if let Some(bytes) = options.memory_budget_bytes {
        session = session.memory_budget_bytes(bytes);
    }
    let session = session.build()?;
    let codec = PlanCodec::new(&runtime)
        .refusing(Arc::new(move |task| access.refusal(task)))
        .writing(Arc::new(move |url| write_access.write_refusal(url)), options.memory_budget_bytes);
    let token = options.token.as_deref().map(bearer).transpose();
    let token = token.map_err(|error| datafusion::error::DataFusionError::External(Box::new(error)))?;
    let channels = Channels::new(token, authorities, codec.clone(), network);
    let state = Arc::new(session.context().state());
    let env = session.context().runtime_env();
    let build = move |query: WorkerQueryContext| {
        let (state, codec, channels) = (Arc::clone(&state), codec.clone(), channels.clone());
        let stop = calls.stop(&query.headers);
        async move { query_state(query, &state, codec, channels, stop) }
    };
    Ok(Worker::from_session_builder(build).with_runtime_env(env).with_version(info.write()))
}

/// Whether a request has the token.
fn has_token(request: &Request<()>, token: &HeaderValue) -> bool {
    is_token(request.metadata().get("authorization").map_or(&[][..], |value| value.as_encoded_bytes()), token)
}

fn query_state(
    query: WorkerQueryContext,
    own: &SessionState,
    codec: PlanCodec,
    channels: Channels,
    stop: Stop,
) -> datafusion::common::Result<SessionState> {
    let mut builder = with_options_from(query.builder, own);
    if let Some(config) = builder.config().as_mut() {
        read_settings(&query.headers, config.options_mut())?;
        config.set_extension(Arc::new(stop));
    }
    Ok(builder
        .with_scalar_functions(own.scalar_functions().values().cloned().collect())
        .with_aggregate_functions(own.aggregate_functions().values().cloned().collect())
        .with_distributed_user_codec(codec.clone())
        .with_distributed_channel_resolver(channels)
        .with_distributed_worker_plan_rewrite_handler(move |event: WorkerPlanRewriteEvent<'_>| {
            check_operators(&event.plan, &codec)?;
            CaughtPanics::above(event.plan).map(WorkerPlanRewriteEventResponse::new)
        })
        .build())
}

impl RunningWorker {
    /// Ends the worker. Queries that run get half a minute to end.
    ///
    /// # Errors
    /// If it could not listen or answer.
    pub fn stop(mut self) -> Result<()> {
        let _ = self.stop.send(true);
        self.wait()
    }

    /// Whether the worker has ended by itself, which is an error that [`wait`](Self::wait) returns.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until the worker has ended.
    ///
    /// # Errors
    /// If it could not listen or answer.
    pub fn wait(&mut self) -> Result<()> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(Error::Io("the worker ended by a panic".to_owned())),
            None => Ok(()),
        }
    }

    /// Ends the worker when it is called from another thread.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + 'static {
        let stop = self.stop.clone();
        move || {
            let _ = stop.send(true);
        }
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
    }
}
