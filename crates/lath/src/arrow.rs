//! Arrow in the version of Lath's interfaces, so that a program needs no separate dependency on it.
//!
//! These are the crates `arrow-array`, `arrow-buffer` and `arrow-schema`, whose types are identical to the `arrow`
//! crate's of the same version.

#[doc(no_inline)]
pub use arrow_array as array;
#[doc(no_inline)]
pub use arrow_buffer as buffer;
#[doc(no_inline)]
pub use arrow_schema as schema;
