//! Tools for the tests of Lath: guard pages, length ladders, seeded random numbers, corpora, killed processes, memory.
//!
//! The default features do not depend on Arrow, so that the kernels' tests can use them; feature `arrow` adds random
//! Parquet files ([`random`]) and the comparison of readers' results ([`equality`]), feature `server` a web server with
//! faults ([`server`]) and an S3 server ([`s3`]).
//!
//! ```
//! use lath_testkit::{GuardedBytes, Seeded, lengths};
//!
//! let mut random = Seeded::new("bytes are the same between guard pages");
//! for len in lengths() {
//!     let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
//!     let guarded = GuardedBytes::ending_at_guard(&bytes);
//!     assert_eq!(guarded.iter().max(), bytes.iter().max());
//! }
//! ```

mod corpus;
mod damage;
mod digests;
#[cfg(feature = "arrow")]
pub mod equality;
#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod killed;
mod ladder;
#[cfg(target_os = "linux")]
mod memory;
mod modules;
#[cfg(feature = "arrow")]
pub mod random;
#[cfg(feature = "server")]
pub mod s3;
mod seeded;
#[cfg(feature = "server")]
pub mod server;

pub use corpus::parquet_test_data;
pub use damage::damage_a_file;
pub use digests::{DIGEST_MARK, digests_at};
#[cfg(unix)]
pub use guard::{GuardedBytes, GuardedSlice, Plain};
#[cfg(unix)]
pub use killed::{lines_until_killed, say};
pub use ladder::lengths;
#[cfg(target_os = "linux")]
pub use memory::memory_bytes;
pub use modules::circles_of_modules;
pub use seeded::{Seeded, seed};
