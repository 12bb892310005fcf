//! What the tests of Lath are made with: guard pages, length ladders, seeded random numbers, corpora.
//!
//! The default features depend on nothing of Arrow, so that the kernels' tests can use them.
//!
//! ```
//! use lath_testkit::{GuardedBytes, Seeded, lengths};
//!
//! let mut random = Seeded::new("sums are the same from guarded memory");
//! for len in lengths() {
//!     let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
//!     let guarded = GuardedBytes::ending_at_guard(&bytes);
//!     assert_eq!(guarded.iter().map(|&b| u64::from(b)).sum::<u64>(), bytes.iter().map(|&b| u64::from(b)).sum());
//! }
//! ```

mod corpus;
#[cfg(unix)]
mod guard;
mod ladder;
mod seeded;

pub use corpus::parquet_test_data;
#[cfg(unix)]
pub use guard::{Guarded, GuardedBytes, Plain};
pub use ladder::lengths;
pub use seeded::Seeded;
