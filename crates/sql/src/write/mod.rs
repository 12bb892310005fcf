//! Writes the rows of statements to files of Parquet, CSV or JSON lines: one file, or a folder by partition.

mod file;
mod options;
mod partitioned;
mod sink;
mod target;

pub(crate) use file::FileFormat;
pub(crate) use options::{WriteSettings, is_true, option_text, written_folder};
pub(crate) use sink::{Destination, file_sink};
pub(crate) use target::{CopyTarget, file_schema};
