//! Tables of other systems, made by hand by the rules of their formats.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod delta;
mod delta_checkpoints;
mod delta_damage;
mod delta_features;
mod delta_table;
mod iceberg;
#[cfg(feature = "object-store")]
mod object_store;
#[cfg(feature = "object-store")]
mod rest;
