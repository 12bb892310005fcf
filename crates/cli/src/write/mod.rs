//! From what was asked for to a Parquet file.

mod options;

pub(crate) use options::write_options;
