//! Parquet files that statements write: one, or a folder of them by partition.

mod file;
mod options;
mod partitioned;
mod sink;
mod target;

pub(crate) use options::{WriteSettings, is_true, option_text, written_path};
pub(crate) use sink::{Place, file_sink};
pub(crate) use target::{CopyTarget, file_schema};
