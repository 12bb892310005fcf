//! Compares footers with the `parquet` crate.

mod against_crate;
mod alike;
mod by_hand;
mod conformity;
mod random_schema;
mod written_again;
mod written_at_random;
