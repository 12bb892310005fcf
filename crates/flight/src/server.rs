//! A server that listens.

use std::fmt;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use lath_grpc::{NetworkThreads, acceptor, connections, threads};
use lath_parquet::Runtime as ScanRuntime;
use lath_sql::Session;
use tokio::sync::watch;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;

use crate::access::Access;
use crate::client::Clients;
use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::options::FlightOptions;
use crate::service::FlightSql;
use crate::state::{Limits, ServerState};
use crate::statements::Statements;

/// Statements that run when a server is stopped get this time to tell their clients.
const GRACE: Duration = Duration::from_secs(5);
/// Interval at which a silent connection is checked.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Threads get this time to end.
const PATIENCE: Duration = Duration::from_secs(1);
/// Handles that are not in use are looked for this often, in a part of the time after which they are forgotten.
const IDLE_CHECKS: u32 = 8;
/// Shortest time between two such looks.
const MIN_IDLE_CHECK: Duration = Duration::from_millis(10);
/// Maximum size of a message from a client in bytes: a batch of rows. Some drivers send all rows as one.
const MAX_MESSAGE_BYTES: usize = 512 << 20;

/// A server that listens, but does not answer yet.
pub struct FlightServer {
    listener: TcpListener,
    address: SocketAddr,
    session: Session,
    options: FlightOptions,
    access: Access,
    acceptor: Option<lath_grpc::TlsAcceptor>,
    computing: tokio::runtime::Runtime,
}

impl fmt::Debug for FlightServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlightServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A server that answers on separate threads.
#[derive(Debug)]
pub struct RunningFlightServer {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl FlightServer {
    /// Opens the database in a folder, or creates it unless it is only read, and listens at `HOST:PORT`; port 0 takes a free one.
    ///
    /// # Errors
    /// If the database cannot be opened, the address cannot be used, a certificate or key cannot be used, or the address is not of this machine
    /// alone and there is no token.
    pub fn bind(address: &str, database: &Path, options: FlightOptions) -> Result<Self> {
        let failed = |error: std::io::Error| Error::Io(format!("cannot listen at {address}: {error}"));
        let access = Access::new(options.token.as_deref(), options.connections)?;
        let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();
        if options.token.is_none() && !addresses.iter().all(|address| address.ip().is_loopback()) {
            return Err(Error::Setting(format!(
                "{address} accepts connections from other machines, and every client can read and change the database: set a token"
            )));
        }
        let acceptor = options.tls.as_ref();
        let acceptor = acceptor.map(|(certificate, key)| server_acceptor(certificate, key)).transpose()?;
        let threads_count = options.threads.unwrap_or_else(|| ScanRuntime::global().threads());
        let runtime = ScanRuntime::builder().threads(threads_count).build();
        let mut session = Session::builder().runtime(&runtime).uncommitted(&options.uncommitted);
        session = match options.is_read_only {
            true => session.read_only_database(database),
            false => session.database(database),
        };
        session = options.key.clone().into_iter().fold(session, lath_sql::SessionBuilder::encryption_key);
        if let Some(bytes) = options.memory_budget_bytes {
            session = session.memory_budget_bytes(bytes);
        }
        let session = session.build().map_err(|error| Error::Database(error.into()))?;
        let computing = threads("lath-flight", threads_count)?;
        let listener = TcpListener::bind(addresses.as_slice()).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, session, options, access, acceptor, computing })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether clients connect by TLS.
    pub fn uses_tls(&self) -> bool {
        self.acceptor.is_some()
    }

    /// Answers on separate threads.
    pub fn start(self) -> RunningFlightServer {
        let (stop, stopped) = watch::channel(false);
        let address = self.address;
        let thread = std::thread::spawn(move || self.serve(stopped));
        RunningFlightServer { address, stop, thread: Some(thread) }
    }

    fn serve(self, mut stopped: watch::Receiver<bool>) -> Result<()> {
        let Self { listener, address, session, options, access, acceptor, computing } = self;
        let failed = |error: String| Error::Io(format!("the server at {address} failed: {error}"));
        let network = NetworkThreads::start()?;
        let limits = Limits {
            statement_time: options.statement_time,
            idle_time: options.idle_time,
            is_read_only: options.is_read_only,
            connections: options.connections,
        };
        let state = ServerState::new(session, computing.handle().clone(), limits, stopped.clone());
        computing.spawn(forget_idle(Arc::downgrade(&state), limits.idle_time));
        let flight = FlightSql { statements: Statements::new(Arc::clone(&state)), access: access.clone() };
        let service = FlightServiceServer::new(Endpoint(flight)).max_decoding_message_size(MAX_MESSAGE_BYTES);
        let service = InterceptedService::new(service, move |request| access.check(request));
        let (clients, counted_state) = (Clients::default(), Arc::clone(&state));
        let served = async move {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
            let incoming = connections(listener, acceptor, move || clients.open(&counted_state));
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
        // Connections end first: rows that end without the last ones must not seem complete.
        network.end(PATIENCE);
        state.handles().clear();
        computing.shutdown_timeout(PATIENCE);
        ended
    }
}

fn server_acceptor(certificate: &[u8], key: &[u8]) -> Result<lath_grpc::TlsAcceptor> {
    Ok(acceptor(certificate, key, "the server's")?)
}

/// Forgets handles that no client uses, as long as the server is there.
async fn forget_idle(state: std::sync::Weak<ServerState>, idle: Duration) {
    loop {
        tokio::time::sleep((idle / IDLE_CHECKS).max(MIN_IDLE_CHECK)).await;
        let Some(state) = state.upgrade() else { return };
        let ended = state.handles().remove_idle(idle);
        if !ended.is_empty() {
            let undone = move || ended.iter().for_each(|transaction| transaction.undo());
            let _ = tokio::task::spawn_blocking(undone).await;
        }
    }
}

impl RunningFlightServer {
    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the server. Statements that run end with an error that says so.
    ///
    /// # Errors
    /// If it could not listen or answer.
    pub fn stop(mut self) -> Result<()> {
        let _ = self.stop.send(true);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(Error::Io("the server ended by a panic".to_owned())),
            None => Ok(()),
        }
    }

    /// Whether the server has ended by itself, which is an error that [`stop`](Self::stop) returns.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for RunningFlightServer {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
    }
}
