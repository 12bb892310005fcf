use std::fmt;

/// An error of a server.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// A setting that cannot be used.
    Setting(String),
    /// The database cannot be opened.
    Database(lath_sql::Error),
    /// The server cannot listen, or threads cannot be started.
    Io(String),
}

/// A result with [`enum@Error`] as its error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<lath_grpc::Error> for Error {
    fn from(error: lath_grpc::Error) -> Self {
        match error {
            lath_grpc::Error::Io(message) => Self::Io(message),
            other => Self::Setting(other.to_string()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(message) | Self::Io(message) => f.write_str(message),
            Self::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            _ => None,
        }
    }
}
