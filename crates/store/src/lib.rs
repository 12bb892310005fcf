//! An embedded, ordered key-value store: a persistent copy-on-write trie whose nodes are searched by SIMD.
#![allow(dead_code, reason = "the crate is being built from its parts up")]

mod error;
mod extent;
mod log;
mod space;
mod storage;

pub use error::{Error, Result};
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub use storage::{DEFAULT_CAPACITY_BYTES, FileStorage};
pub use storage::{Data, LogFile, MAX_PROCESSES, MemoryStorage, Shared, Storage};
#[cfg(any(test, feature = "simulation"))]
pub use storage::{Moment, Operation, SECTOR_BYTES, SimulatedStorage};
