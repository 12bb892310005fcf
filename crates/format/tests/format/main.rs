//! Footers held against what the `parquet` crate reads.

mod against_crate;
