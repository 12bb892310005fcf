//! Footers held against what the `parquet` crate reads.

mod against_crate;
mod alike;
mod by_hand;
mod conformity;
mod random_schema;
mod written_again;
mod written_at_random;
