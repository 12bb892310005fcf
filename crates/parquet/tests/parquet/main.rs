//! Files read, searched and written, with the `parquet` crate as the oracle. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod bit_packed_levels;
mod dictionary_columns;
mod errors;
mod evolution;
mod int96;
mod intervals;
mod mapping;
mod memory;
mod modules;
mod old_lists;
mod property;
mod pruning;
mod reading;
mod registry;
mod runtime;
mod scan;
mod search;
mod slow_source;
mod tasks;
mod tiers;
#[path = "../../../writer/tests/writer/writing/mod.rs"]
mod writing;
