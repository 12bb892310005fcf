//! Writes the rows of statements to files of Parquet, CSV or JSON lines: one file, or a folder by partition.

#[cfg(feature = "remote")]
mod divided;
mod file;
mod options;
mod partitioned;
mod sink;
mod target;

#[cfg(feature = "remote")]
pub use divided::RemoteWrite;
#[cfg(feature = "remote")]
pub(crate) use divided::{CompleteFilesExec, PartFiles, WritePartExec};
pub(crate) use file::FileFormat;
pub(crate) use options::{WriteSettings, is_true, option_text, written_folder};
pub(crate) use sink::{Destination, file_sink};
pub(crate) use target::{CopyTarget, file_schema};
