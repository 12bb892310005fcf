//! Errors of commands, and exit codes.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use arrow_schema::ArrowError;
use lath_parquet::{Error, Location, OtherFormat};

use crate::console::terminal::wants_colour;

/// The result of a step of a command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Exit code of an internal error (`EX_SOFTWARE` of `sysexits.h`).
const INTERNAL: u8 = 70;

/// The outcome of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Success.
    Done,
    /// No row was found, or data and metadata differ.
    Nothing,
    /// Something is encrypted and its key was not given; this has been reported.
    Encrypted,
    /// A file could not be decoded; the problem has been reported.
    Corrupt,
    /// A bug in Lath; it has been reported.
    Internal,
}

impl Outcome {
    /// The exit code of the process.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Nothing => 1,
            Self::Encrypted => 2,
            Self::Corrupt => 3,
            Self::Internal => INTERNAL,
        }
    }
}

/// The error of a scan, which names the file.
pub(crate) fn scan_failure(error: Error) -> Failure {
    let Some(name) = error.location().and_then(|at| at.file.clone()) else {
        return match error {
            Error::Invalid { what } => Failure::Usage(what),
            // The text names the file, as for one of the metadata of Iceberg.
            Error::Corrupt { what, .. } => Failure::Corrupt(format!("corrupt data: {what}")),
            Error::Unsupported { feature, .. } => Failure::Corrupt(format!("Lath cannot read {feature}")),
            other => Failure::reading("the files", other),
        };
    };
    Failure::reading(&name, error)
}

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments are wrong, or do not fit these files.
    Usage(String),
    /// Something is encrypted and its key was not given.
    Encrypted(String),
    /// A file cannot be decoded, or is not Parquet.
    Corrupt(String),
    /// A bug in Lath.
    Internal(String),
    /// The operating system reported an error.
    Io(String),
    /// A signal came, which will end the process.
    Interrupted,
    /// The output pipe was closed by its reader: the command stops without an error.
    ClosedPipe,
}

impl Failure {
    /// Writes the message to standard error, unless there is nothing to say.
    pub(crate) fn report(&self) {
        if !matches!(self, Self::ClosedPipe | Self::Interrupted) {
            let colour = io::stderr().is_terminal() && wants_colour();
            let (start, end) = if colour { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
            // If standard error is closed, too, only the exit code remains.
            let _ = writeln!(io::stderr(), "{start}error:{end} {self}");
        }
    }

    /// The exit code of the process.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Interrupted => 130,
            Self::Usage(_) | Self::Encrypted(_) => 2,
            Self::Corrupt(_) => 3,
            Self::Internal(_) => INTERNAL,
            Self::Io(_) => 4,
        }
    }

    /// A failure to write to `target`.
    pub(crate) fn writing(target: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            // A malformed URL.
            io::ErrorKind::InvalidInput => Self::Usage(format!("{target}: {error}")),
            _ => Self::Io(format!("{target}: cannot write: {error}")),
        }
    }

    /// A failure of an encoder that writes to `target`.
    pub(crate) fn encoding(target: &str, error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, source) => Self::writing(target, &source),
            other => Self::Usage(format!("{target}: cannot write these columns in this format: {other}")),
        }
    }

    /// A failure of the library that writes to `target`.
    pub(crate) fn writing_file(target: &str, error: Error) -> Self {
        match error {
            Error::Io { op, source, .. } => match Self::writing(target, &source) {
                Self::Io(_) => Self::Io(format!("{target}: cannot {op}: {source}")),
                other => other,
            },
            Error::Cancelled => Self::Interrupted,
            Error::Invalid { what } => Self::Usage(format!("{target}: cannot write this as Parquet: {what}")),
            Error::Internal { .. } => Self::reading(target, error),
            other => Self::Usage(format!("{target}: cannot write this as Parquet: {other}")),
        }
    }

    /// A predicate that is malformed, or does not fit the columns.
    pub(crate) fn filtering(error: impl Into<Error>) -> Self {
        match error.into() {
            Error::Invalid { what } => Self::Usage(format!("--where: {what}")),
            error @ Error::Internal { .. } => Self::reading("--where", error),
            other => Self::Corrupt(format!("--where: {other}")),
        }
    }

    /// A failure to sort rows.
    pub(crate) fn sorting(error: Error) -> Self {
        match error {
            Error::Io { op, source, .. } => Self::Io(format!("sorting: cannot {op}: {source}")),
            Error::Invalid { what } => Self::Usage(format!("--sort-by: {what}")),
            Error::Internal { .. } => Self::reading("sorting", error),
            other => Self::Corrupt(format!("sorting: {other}")),
        }
    }

    /// A bug in Lath, which showed at `name`.
    pub(crate) fn internal(name: &str, what: &str) -> Self {
        Self::Internal(format!("{name}: {}", bug(what)))
    }

    /// A failure to reach `path`.
    pub(crate) fn reaching(path: &Path, error: &io::Error) -> Self {
        Self::Io(format!("{}: {error}", path.display()))
    }

    /// A failure to read the file called `name`.
    pub(crate) fn reading(name: &str, error: Error) -> Self {
        let place = |at: &Location| {
            let place = Location { file: None, ..at.clone() }.to_string();
            if place.is_empty() { place } else { format!(" ({place})") }
        };
        match error {
            Error::Corrupt { what, at } => Self::Corrupt(format!("{name}: corrupt data: {what}{}", place(&at))),
            Error::NotParquet { looks_like, .. } => {
                let what = Error::NotParquet { looks_like, at: Box::default() };
                Self::Corrupt(format!("{name}: {what}{}", looks_like.map_or("", way_to_parquet)))
            }
            Error::Encrypted { what, at } => Self::Encrypted(format!(
                "{name}: {what} is encrypted: give its key with --footer-key and --column-key{}",
                place(&at)
            )),
            Error::Internal { what, at } => Self::Internal(format!("{name}: {}{}", bug(&what), place(&at))),
            Error::Unsupported { feature, at } => {
                Self::Corrupt(format!("{name}: Lath cannot read {feature}{}", place(&at)))
            }
            Error::OutOfRange { what, at } => Self::Corrupt(format!("{name}: {what}{}", place(&at))),
            Error::Limit { what, limit, needed, at } => {
                Self::Corrupt(format!("{name}: {what}: {needed} needed, limit is {limit}{}", place(&at)))
            }
            Error::Io { op, source, .. } => Self::Io(format!("{name}: cannot {op}: {source}")),
            Error::Invalid { what } => Self::Usage(format!("{name}: {what}")),
            Error::Cancelled => Self::Interrupted,
            other => Self::Corrupt(format!("{name}: {other}")),
        }
    }
}

/// Advice for converting another format to Parquet.
fn way_to_parquet(format: OtherFormat) -> &'static str {
    match format {
        OtherFormat::Csv | OtherFormat::Json | OtherFormat::ArrowFile | OtherFormat::ArrowStream => {
            "; lath convert makes a Parquet file of it"
        }
        OtherFormat::Zip => "; extract it first",
        OtherFormat::Gzip | OtherFormat::Zstandard | OtherFormat::Bzip2 | OtherFormat::Xz => "; decompress it first",
        _ => "",
    }
}

/// The message for a bug in Lath.
fn bug(what: &str) -> String {
    format!("a bug in Lath, please report it: {what}")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message)
            | Self::Encrypted(message)
            | Self::Corrupt(message)
            | Self::Internal(message)
            | Self::Io(message) => f.write_str(message),
            Self::Interrupted => f.write_str("interrupted"),
            Self::ClosedPipe => f.write_str("the output pipe was closed"),
        }
    }
}
