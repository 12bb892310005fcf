//! Writes the rows of statements to Parquet files: one file, or a folder by partition.

mod file;
mod options;
mod partitioned;
mod sink;
mod target;

pub(crate) use options::{WriteSettings, is_true, option_text, written_path};
pub(crate) use sink::{Destination, file_sink};
pub(crate) use target::{CopyTarget, file_schema};
