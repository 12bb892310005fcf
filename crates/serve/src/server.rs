//! Listens, and answers requests.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use lath_table::Database;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{self, JoinHandle};
use tokio::time;

use crate::answer::Answer;
use crate::catalog::Catalog;
use crate::token::Token;

/// Threads that wait for requests. Databases are read on others.
const THREADS: usize = 2;

/// Maximum number of threads that read databases, and so of requests that are answered at the same time.
const READING_THREADS: usize = 16;

/// Maximum number of connections. Others wait until one is closed.
const MAX_CONNECTIONS: usize = 512;

/// A connection without a request for this time is closed.
const IDLE: Duration = Duration::from_secs(75);

/// The time that requests have to be answered when the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// The pause after a connection could not be accepted, as when the process has too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// The address of a server, and the token of its clients.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    address: SocketAddr,
    token: Option<Token>,
}

impl ServeOptions {
    /// Listens at an address; port 0 is a free port. Every request is answered.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, token: None }
    }

    /// Answers only requests with this bearer token.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(Token::new(token));
        self
    }
}

/// A server, which stops when it is dropped.
#[derive(Debug)]
pub struct IcebergServer {
    address: SocketAddr,
    catalog: Arc<Catalog>,
    runtime: Runtime,
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
}

/// State that all connections share.
#[derive(Debug)]
struct Service {
    catalog: Arc<Catalog>,
    token: Option<Token>,
    /// Whether names of other hosts than this one are refused.
    is_local: bool,
}

impl IcebergServer {
    /// Listens and answers, on separate threads.
    ///
    /// # Errors
    /// If the address cannot be listened at.
    pub fn start(database: Database, options: &ServeOptions) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(READING_THREADS)
            .thread_name("lath-serve")
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind(options.address))?;
        let address = listener.local_addr()?;
        let catalog = Arc::new(Catalog::new(database));
        // A page in a browser on this machine could reach a server without a token by a name that resolves to loopback.
        let is_local = options.token.is_none() && address.ip().is_loopback();
        let service = Service { catalog: Arc::clone(&catalog), token: options.token.clone(), is_local };
        let (stop, stopped) = oneshot::channel();
        let accepting = runtime.spawn(accept(listener, Arc::new(service), stopped));
        Ok(Self { address, catalog, runtime, stop, accepting })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The names of the published tables.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn published_tables(&self) -> lath_table::Result<Vec<String>> {
        self.catalog.published()
    }

    /// Accepts no more connections, finishes the answers that were begun, and ends.
    pub fn stop(self) {
        // Fails if the task has ended already.
        let _ = self.stop.send(());
        let _ = self.runtime.block_on(self.accepting);
        self.runtime.shutdown_background();
    }
}

/// Serves connections until `stopped`.
async fn accept(listener: TcpListener, service: Arc<Service>, mut stopped: oneshot::Receiver<()>) {
    let connections = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = async {
            let slot = Arc::clone(&slots).acquire_owned().await;
            (listener.accept().await, slot)
        };
        let (accepted, slot) = tokio::select! {
            accepted = accepted => accepted,
            _ = &mut stopped => break,
        };
        let Ok((stream, _)) = accepted else {
            time::sleep(PAUSE).await;
            continue;
        };
        let service = Arc::clone(&service);
        let answer = service_fn(move |request| {
            let service = Arc::clone(&service);
            async move { Ok::<_, Infallible>(service.respond(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .serve_connection(TokioIo::new(stream), answer);
        let connection = connections.watch(connection);
        task::spawn(async move {
            // A client that closes its connection early is no failure of the server.
            let _ = connection.await;
            drop(slot);
        });
    }
    drop(listener);
    let _ = time::timeout(LAST_ANSWERS, connections.shutdown()).await;
}

impl Service {
    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if let Err(answer) = self.check(&request) {
            return answer.into_response();
        }
        let answered = task::spawn_blocking(move || {
            let uri = request.uri();
            self.catalog.answer(request.method(), uri.path(), uri.query())
        });
        let answer = answered.await.unwrap_or_else(|_| {
            let message = "the request could not be answered";
            Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "ServiceFailureException", message)
        });
        answer.into_response()
    }

    /// Whether the request may be answered.
    fn check(&self, request: &Request<Incoming>) -> Result<(), Answer> {
        if let Some(token) = &self.token {
            let header = request.headers().get(AUTHORIZATION);
            return match header.is_some_and(|header| token.is_in(header.as_bytes())) {
                true => Ok(()),
                false => Err(Answer::not_authorized()),
            };
        }
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        if self.is_local && !host.is_some_and(is_local_name) {
            let message = "this catalog answers only requests for this machine: name it localhost or 127.0.0.1";
            return Err(Answer::error(StatusCode::FORBIDDEN, "ForbiddenException", message));
        }
        Ok(())
    }
}

/// Whether the value of the header `Host` names this machine without asking a name server.
fn is_local_name(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    let plain = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || plain.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_literal() {
        for host in ["localhost", "LOCALHOST:8181", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8181"] {
            assert!(is_local_name(host), "{host}");
        }
        for host in
            ["", "example.org", "example.org:8181", "10.0.0.1:80", "localhost.example.org", "127.0.0.1.example.org"]
        {
            assert!(!is_local_name(host), "{host}");
        }
    }
}
