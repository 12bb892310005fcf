//! Footers held against what the `parquet` crate reads.

mod against_crate;
mod random_schema;
mod written_again;
mod written_at_random;
