use std::fmt;

/// An error of a cluster or a worker.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// An address that cannot be used.
    Address(String),
    /// A setting that cannot be used.
    Setting(String),
    /// The worker cannot listen, or threads cannot be started.
    Io(String),
}

/// A result with [`enum@Error`] as its error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(message) | Self::Setting(message) | Self::Io(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl From<lath_grpc::Error> for Error {
    fn from(error: lath_grpc::Error) -> Self {
        match error {
            lath_grpc::Error::Io(message) => Self::Io(message),
            other => Self::Setting(other.to_string()),
        }
    }
}
