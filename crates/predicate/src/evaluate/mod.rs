//! Evaluates a [`Test`](crate::Test) on arrays: whole arrays in, true, false or null for each row out.
//!
//! Each kind of operand has a file. The type of an array is matched before the loop over its values, never within it.

mod bitmap;
mod boolean;
mod bytes;
mod columns;
mod float;
mod integer;
mod list;
#[cfg(test)]
mod tests;
mod tree;
mod truth_cache;
mod values;

pub use bytes::byte_strings;
pub(crate) use bytes::bytes_at;
pub(crate) use float::float_at;
pub(crate) use integer::{Integer, integer_at};
pub(crate) use tree::Evaluation;
pub(crate) use truth_cache::TruthCache;
pub use values::test_values;
