use std::fmt;

/// An error of a server or of its settings.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// A setting that cannot be used.
    Setting(String),
    /// Threads cannot be started.
    Io(String),
}

/// A result with [`enum@Error`] as its error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(message) | Self::Io(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
