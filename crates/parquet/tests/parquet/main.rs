//! Files read, searched and written, beside the `parquet` crate as the oracle. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod bit_packed_levels;
mod errors;
mod int96;
mod intervals;
mod memory;
mod old_lists;
mod property;
mod pruning;
mod reading;
mod registry;
mod scan;
mod search;
mod tiers;
mod write_atomic;
mod write_copy;
mod write_layout;
mod write_memory;
mod write_pairwise;
mod write_round_trip;
mod write_stored_types;
mod writing;
