//! Files written and read back, compared with the `parquet` crate. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod alp;
mod atomic;
mod check;
mod copy;
mod encryption;
mod layout;
mod memory;
mod pairwise;
#[path = "../../../parquet/tests/parquet/reading/mod.rs"]
mod reading;
mod round_trip;
mod stored_types;
mod writing;
