use std::fmt;
use std::io;

use crate::origin::Origin;

/// Why a file of text cannot be read.
///
/// The texts say what is wrong and where. They name no option, because a command spells options differently from SQL: [`Error::Malformed`]
/// and [`Error::Value`] have what is needed to name the one that helps.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system reported an error.
    Io {
        /// The name of the file.
        file: String,
        /// The operation that failed: `open` or `read`.
        op: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// The file is not of the format, or not with these options.
    Malformed {
        /// The name of the file.
        file: String,
        /// Number of the line, counted from 1, if it is known.
        line: Option<u64>,
        /// The fault.
        what: String,
        /// The option that may have to change.
        setting: Option<Setting>,
    },
    /// A value is not of its column's type.
    Value {
        /// The name of the file.
        file: String,
        /// Number of the line, counted from 1.
        line: u64,
        /// The column.
        column: String,
        /// The text of the value.
        value: Box<str>,
        /// A description of valid values.
        expected: Box<str>,
        /// Why the column has its type.
        origin: Origin,
        /// Whether values of the type are dates or times, which may have other formats.
        is_temporal: bool,
    },
    /// The options do not fit the file, or each other.
    Options {
        /// The conflict.
        what: String,
        /// The column that would have to be read as text, if that helps.
        as_text: Option<String>,
    },
}

/// An option that says how text is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Setting {
    /// The quote character.
    Quote,
    /// The delimiter.
    Delimiter,
    /// The type of a column.
    Type {
        /// The number of rows from which types were inferred, if not from all.
        inferred_rows: Option<usize>,
    },
}

/// A result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure to read an open file.
    pub(crate) fn reading(file: &str, source: io::Error) -> Self {
        Self::Io { file: file.to_owned(), op: "read", source }
    }

    /// A file that is not of the format.
    pub(crate) fn malformed(file: &str, what: impl Into<String>) -> Self {
        Self::Malformed { file: file.to_owned(), line: None, what: what.into(), setting: None }
    }
}

/// A value in a message.
fn quoted(value: &str) -> String {
    const MAX_CHARS: usize = 60;
    match value.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, op, source } => write!(f, "{file}: cannot {op}: {source}"),
            Self::Malformed { file, line: None, what, .. } => write!(f, "{file}: {what}"),
            Self::Malformed { file, line: Some(line), what, .. } => write!(f, "{file}: line {line}: {what}"),
            Self::Value { file, line, column, value, expected, .. } => {
                write!(f, "{file}: line {line}, column {column}: {} is not {expected}", quoted(value))
            }
            Self::Options { what, .. } => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
