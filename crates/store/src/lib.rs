//! An embedded, ordered key-value store: a persistent copy-on-write trie whose nodes are searched by SIMD.
#![allow(dead_code, reason = "the crate is being built from its parts up")]

mod error;
mod extent;
mod storage;

pub use error::{Error, Result};
pub use storage::{Data, LogFile, Shared, Storage};
