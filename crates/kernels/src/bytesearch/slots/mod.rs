//! Nodes with few slots: one of 16 numbers, references of a byte, the occupied ones of 16 slots, the minimum of some
//! ages.
//!
//! ```text
//! branch   7      4 3      0      the high nibble says in which of 16 tables entries of the node, the low one where there
//!          │ table │ entry │
//!
//! bitmap (bit 0 first)   0 1 1 0 1 …      ranks   0 0 1 2 2 3 …      how many slots before each are taken
//! ```
//!
//! [`slot_ranks`] is a multiplication, at all tiers: eight bytes of 0 and 1 times `0x0101…00` are the sums before each.
//!
//! Nothing in Lath calls these functions: they are for tries whose nodes have few slots and references of one byte, and
//! the ordered store's nodes have neither. They are tested and measured like all others. The figures are nanoseconds a
//! call by throughput, including 2.1 for choosing the node; `docs/kernels.md` has the figures by latency.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use crate::KernelError;

/// The index of the first value that equals `wanted`, 16 if there is none.
///
/// Not called by Lath. Scalar 6.5 ns, AVX2 3.3, AVX-512 2.4.
#[inline]
pub fn find_u32x16(values: &[u32; 16], wanted: u32) -> usize {
    find(values, wanted)
}

/// The index of the first minimum of 32 values.
///
/// Not called by Lath. Scalar 28 ns, AVX2 3.6, AVX-512 2.3.
#[inline]
pub fn min_index_32(values: &[u16; 32]) -> usize {
    least_of_32(values)
}

/// The index of the first minimum of 64 values.
///
/// Not called by Lath. Scalar 30 ns, AVX2 8, AVX-512 2.7.
#[inline]
pub fn min_index_64(values: &[u16; 64]) -> usize {
    least_of_64(values)
}

/// For each of 16 slots, the number of occupied slots before it: bit `i` of `taken` tells whether slot `i` is occupied.
///
/// Not called by Lath. 6.9 ns at every tier.
#[inline]
pub fn slot_ranks(taken: u16) -> [u8; 16] {
    scalar::slot_ranks(taken)
}

/// Copies references of one byte each. The low nibble stays unchanged; the high one becomes the low nibble of its entry
/// in `table`.
///
/// Not called by Lath. 16 references: scalar 17 ns, AVX2 6; 64: 47 and 8; 128: 120 and 9.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if `out` and `branches` differ in length.
#[inline]
pub fn remap_branches(branches: &[u8], table: &[u8; 16], out: &mut [u8]) -> Result<(), KernelError> {
    if branches.len() != out.len() {
        return Err(KernelError::LengthMismatch { expected: branches.len(), actual: out.len() });
    }
    remap(branches, table, out);
    Ok(())
}

short_functions! {
    find, find_at_any(values: &[u32; 16], wanted: u32) -> usize;
    least_of_32, least_of_32_at_any(values: &[u16; 32]) -> usize;
    least_of_64, least_of_64_at_any(values: &[u16; 64]) -> usize;
    remap, remap_at_any(branches: &[u8], table: &[u8; 16], out: &mut [u8]);
}
