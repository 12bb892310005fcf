//! The [RLE/bit-packing hybrid](https://parquet.apache.org/docs/file-format/data-pages/encodings/#run-length-encoding--bit-packing-hybrid-rle--3)
//! of levels, booleans and dictionary indices.
//!
//! ```text
//! run           header | payload                            header: ULEB128
//! repeated      length << 1      | one value, in ceil(width / 8) bytes, little-endian
//! bit-packed    groups << 1 | 1  | groups × 8 values of width bits, least significant bit first
//! ```
//!
//! The caller handles the bytes around the runs (a byte length before levels, a width byte before dictionary indices).
//!
//! [`encode_u8`], [`encode_u32`] and [`encode_bits`] write all values of a page at once.
//!
//! [`Decoder::decode_entries_u32`] and [`Decoder::decode_entries_u64`] look up dictionary indices as they are decoded.
//!
//! [`Decoder`] resumes anywhere, even within a run, so a page can be decoded in batches of any size. Short runs are the
//! hard case: each costs a mispredicted branch if a branch distinguishes the two kinds.
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
