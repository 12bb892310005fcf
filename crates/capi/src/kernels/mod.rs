//! Kernels over the caller's memory. They do not allocate (except for decoders, which are handles), and never read or
//! write outside of the given lengths.
//!
//! Unless a function says otherwise: inputs may be anything; pointers to typed values are aligned to their type, which
//! is checked; outputs do not overlap inputs, which is not checked; a null pointer is an error unless its length is
//! zero.

mod bits;
mod bloom;
mod bytes;
mod delta;
mod hash;
mod rle;
mod split;

pub use bits::*;
pub use bloom::*;
pub use bytes::*;
pub use delta::*;
pub use hash::*;
pub use rle::*;
pub use split::*;
