//! Keyed tables as their users see them. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod background;
mod backup;
mod bulk;
mod changes;
mod concurrent;
mod constraints;
mod database;
mod gets;
mod indexes;
mod kill;
mod merge;
mod model;
mod processes;
mod repair;
mod rows;
mod schema;
mod types;
