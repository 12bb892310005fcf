//! Tests of keyed tables through their public interface. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod background;
mod backup;
mod bulk;
mod casts;
mod categories;
mod changes;
mod checks;
mod clustering;
#[cfg(feature = "object-store")]
mod cold;
mod concurrent;
mod constraints;
mod consumers;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod crash;
mod creation;
mod damage;
mod database;
mod dictionaries;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod disk;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod encryption;
mod faults;
mod float_keys;
mod foreign_key_actions;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod foreign_keys;
mod full_disk;
mod generated;
mod gets;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod history;
mod hot_columns;
mod import;
mod indexes;
mod kill;
mod merge;
mod model;
mod old_format;
mod old_layout;
mod processes;
mod publish;
mod repair;
mod replica;
mod rows;
mod schema;
mod sequences;
mod short_ranges;
mod soak;
mod ttl;
mod types;
mod verified_files;
