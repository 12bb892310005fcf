//! Portable code, shaped so that it vectorises where that is possible.

/// One in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

pub(super) fn find(values: &[u32; 16], wanted: u32) -> usize {
    let mut found = 1 << 16;
    for (i, &value) in values.iter().enumerate() {
        found |= u32::from(value == wanted) << i;
    }
    found.trailing_zeros() as usize
}

pub(super) fn least_of_32(values: &[u16; 32]) -> usize {
    min_index(values)
}

pub(super) fn least_of_64(values: &[u16; 64]) -> usize {
    min_index(values)
}

/// The minimum first, then its index: one pass that keeps both does not vectorise.
#[inline]
fn min_index<const N: usize>(values: &[u16; N]) -> usize {
    let least = values.iter().fold(u16::MAX, |least, &value| least.min(value));
    values.iter().position(|&value| value == least).unwrap_or(0)
}

#[inline]
pub(super) fn slot_ranks(taken: u16) -> [u8; 16] {
    let [low, high] = taken.to_le_bytes();
    let before_high = u64::from(low.count_ones()) * ONES;
    let mut ranks = [0; 16];
    ranks[..8].copy_from_slice(&sums_before(low).to_le_bytes());
    ranks[8..].copy_from_slice(&(sums_before(high) + before_high).to_le_bytes());
    ranks
}

/// For each bit, the number of bits set below it, in its byte.
#[inline]
fn sums_before(bits: u8) -> u64 {
    // Bit `i` alone in byte `i`, then moved to the byte's lowest bit: any non-zero value carries into the upper bit.
    let places = (u64::from(bits) * ONES) & 0x8040_2010_0804_0201;
    let set = (places + 0x7F * ONES) >> 7 & ONES;
    // The product sums all bytes below in each byte.
    set.wrapping_mul(ONES << 8)
}

pub(super) fn remap(branches: &[u8], table: &[u8; 16], out: &mut [u8]) {
    for (to, branch) in out.iter_mut().zip(branches) {
        *to = table[usize::from(branch >> 4)] << 4 | branch & 15;
    }
}
