//! Arrow in the version that Lath's interfaces have, so that a program needs no dependency of its own on it.
//!
//! These are the crates `arrow-array`, `arrow-buffer` and `arrow-schema`, whose types are those of the `arrow` crate of the same
//! version.

#[doc(no_inline)]
pub use arrow_array as array;
#[doc(no_inline)]
pub use arrow_buffer as buffer;
#[doc(no_inline)]
pub use arrow_schema as schema;
