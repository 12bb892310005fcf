//! Tests of the ordered store through its public interface, on disk, in memory and on storage that fails. One program,
//! so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod backup;
mod changes;
mod check;
mod compact;
mod crash;
mod damage;
mod faults;
#[cfg(unix)]
mod file_limit;
mod format;
mod full_disk;
mod history;
mod kill;
mod log_damage;
mod model;
mod nested;
mod operations;
mod optimistic;
mod processes;
mod reading;
mod remove_range;
mod repair;
mod replicas;
mod stats;
mod tiers;
mod writers;
