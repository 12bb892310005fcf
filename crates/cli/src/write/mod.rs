//! Writing Parquet: options, and copies of row groups.

mod copy;
mod footer_keys;
mod options;

pub(crate) use copy::{CopiedFile, are_copyable, are_in_file_order};
pub use footer_keys::adapt_footer_key;
pub(crate) use options::{ParquetRequest, write_options};
