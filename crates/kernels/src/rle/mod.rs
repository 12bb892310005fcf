//! The [RLE/bit-packing hybrid](https://parquet.apache.org/docs/file-format/data-pages/encodings/#run-length-encoding--bit-packing-hybrid-rle--3)
//! of levels, booleans and dictionary indices.
//!
//! ```text
//! run           header | payload                            header: ULEB128
//! repeated      length << 1      | one value, in ceil(width / 8) bytes, little-endian
//! bit-packed    groups << 1 | 1  | groups × 8 values of width bits, least significant bit first
//! ```
//!
//! What surrounds the runs (a byte length before levels, a width byte before dictionary indices) is the caller's.
//!
//! [`encode_u8`], [`encode_u32`] and [`encode_bits`] write all values of a page at once.
//!
//! Dictionary indices are looked up as they are decoded by [`Decoder::decode_entries_u32`] and [`Decoder::decode_entries_u64`].
//!
//! [`Decoder`] resumes anywhere, within a run too, so that a page can be decoded in batches of any size.
//! Short runs are the hard case: they cost a mispredicted branch each if a branch tells the two kinds apart.
#![expect(unsafe_code, reason = "calls the tier that the processor has")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bits;
mod decode;
mod decoder;
mod encode;
mod entries;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(test)]
mod reference;
mod scalar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod short_runs;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
pub use encode::{encode_bits, encode_u8, encode_u32, max_encoded_len};
