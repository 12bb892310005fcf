//! SIMD kernels for Parquet data: slices in, slices out; no I/O, no Arrow, no allocation.
//!
//! One module per family. Every function has a scalar implementation that is the contract, and further tiers ([`Tier`])
//! that give bit-identical results; the best tier of the processor is chosen at run time.
//! `LATH_SIMD=scalar|sse41|avx2|avx512|neon` lowers the choice, never raises it.

pub mod alp;
pub mod bitpack;
pub mod bloom;
pub mod byte_array;
pub mod byte_stream_split;
pub mod bytes;
pub mod bytesearch;
pub mod compare;
pub mod delta;
pub mod dictionary;
pub mod gather;
pub mod levels;
pub mod rle;
pub mod select;
pub mod snappy;
pub mod statistics;
pub mod xxhash;

mod byte_strings;
mod error;
mod tier;
mod varint;

pub use byte_strings::ByteStrings;
pub use error::KernelError;
pub use tier::Tier;
