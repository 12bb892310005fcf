//! Settings of a server.

use std::fmt;
use std::time::Duration;

use lath_table::EncryptionKey;
use lath_writer::UncommittedFiles;

/// Time after which a handle that no client uses is forgotten, and a client that takes no rows is cut off.
const DEFAULT_IDLE: Duration = Duration::from_secs(600);
/// Number of connections at a time.
const DEFAULT_CONNECTIONS: usize = 1000;

/// Settings of a [`FlightServer`](crate::FlightServer).
#[derive(Clone)]
#[must_use]
pub struct FlightOptions {
    pub(crate) token: Option<String>,
    /// Certificate and key.
    pub(crate) tls: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) threads: Option<usize>,
    pub(crate) memory_budget_bytes: Option<usize>,
    pub(crate) is_read_only: bool,
    pub(crate) key: Option<EncryptionKey>,
    pub(crate) uncommitted: UncommittedFiles,
    pub(crate) statement_time: Option<Duration>,
    pub(crate) idle_time: Duration,
    pub(crate) connections: usize,
}

impl fmt::Debug for FlightOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without its token and its keys.
        f.debug_struct("FlightOptions")
            .field("is_read_only", &self.is_read_only)
            .field("statement_time", &self.statement_time)
            .field("idle_time", &self.idle_time)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

impl Default for FlightOptions {
    fn default() -> Self {
        Self {
            token: None,
            tls: None,
            threads: None,
            memory_budget_bytes: None,
            is_read_only: false,
            key: None,
            uncommitted: UncommittedFiles::new(),
            statement_time: None,
            idle_time: DEFAULT_IDLE,
            connections: DEFAULT_CONNECTIONS,
        }
    }
}

impl FlightOptions {
    /// Creates the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers only clients that send this token, as a bearer token or as the password of any user.
    pub fn token(self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self }
    }

    /// Answers by TLS alone, with this certificate and this private key, both in PEM. The certificate may be followed by others, up to one that
    /// an authority signed.
    pub fn tls(self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self { tls: Some((certificate.into(), key.into())), ..self }
    }

    /// Number of threads that compute, instead of as many as there are processors.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads.max(1)), ..self }
    }

    /// Limits the memory of sorting, joining and grouping, in all statements together. Beyond it, operators spill to disk if they can, and fail
    /// otherwise.
    pub fn memory_budget_bytes(self, bytes: usize) -> Self {
        Self { memory_budget_bytes: Some(bytes), ..self }
    }

    /// Refuses statements that change the database, which another process may change meanwhile.
    pub fn read_only(self) -> Self {
        Self { is_read_only: true, ..self }
    }

    /// The key of an encrypted database.
    pub fn encryption_key(self, key: EncryptionKey) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Deletes the files that statements write or spill to when `files` is abandoned, as by a signal.
    pub fn uncommitted(self, files: &UncommittedFiles) -> Self {
        Self { uncommitted: files.clone(), ..self }
    }

    /// Ends statements that take longer than this, with the time in which a client takes their rows.
    pub fn statement_time(self, time: Duration) -> Self {
        Self { statement_time: Some(time), ..self }
    }

    /// Forgets prepared statements, transactions and results that no client has used for this time, and ends statements whose client takes or
    /// sends no rows for as long. The default is ten minutes.
    pub fn idle_time(self, time: Duration) -> Self {
        Self { idle_time: time, ..self }
    }

    /// Number of connections at a time; the requests of others are refused. The default is 1000.
    pub fn connections(self, connections: usize) -> Self {
        Self { connections: connections.max(1), ..self }
    }
}
