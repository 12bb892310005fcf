use std::fmt;
use std::io;

/// An error of reading JSON lines.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The text cannot be read.
    Io(io::Error),
    /// A line is not an object of the schema.
    Line {
        /// Number of the line, counted from 1.
        line: u64,
        /// The problem.
        what: String,
    },
    /// An object has two fields of the same name; readers disagree on which value counts.
    RepeatedName {
        /// Number of the line with the second one, counted from 1.
        line: u64,
        /// The name, without escapes.
        name: String,
    },
    /// JSON cannot be read with this schema.
    Schema {
        /// The unsupported type.
        what: String,
    },
}

/// A result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Maximum number of characters of a name in a message.
const MAX_CHARS: usize = 60;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read: {error}"),
            Self::Line { line, what } => write!(f, "line {line}: {what}"),
            Self::RepeatedName { line, name } => {
                let shown: String = name.chars().take(MAX_CHARS).collect();
                let rest = if shown.len() < name.len() { "…" } else { "" };
                write!(f, "line {line}: an object has two fields {shown:?}{rest}; give each field a different name")
            }
            Self::Schema { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
