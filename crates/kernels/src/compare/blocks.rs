//! The loops: 64 values a word, the last ones from a zero-padded copy.

/// The number of values per word.
pub(super) const BLOCK: usize = 64;

/// Writes `mask` of each block, or its inverse.
#[inline(always)]
pub(super) fn test<T: Copy + Default>(
    values: &[T],
    inverted: bool,
    out: &mut [u64],
    mask: impl Fn(&[T; BLOCK]) -> u64,
) {
    let turn = if inverted { u64::MAX } else { 0 };
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    for (block, word) in blocks.iter().zip(&mut *out) {
        *word = mask(block) ^ turn;
    }
    if let Some(word) = out.get_mut(blocks.len()) {
        *word = (mask(&padded(rest)) ^ turn) & low_bits(rest.len());
    }
}

/// Like [`test`], for two slices of the same length.
#[inline(always)]
pub(super) fn test_pairs<T: Copy + Default>(
    left: &[T],
    right: &[T],
    inverted: bool,
    out: &mut [u64],
    mask: impl Fn(&[T; BLOCK], &[T; BLOCK]) -> u64,
) {
    let turn = if inverted { u64::MAX } else { 0 };
    let (left_blocks, left_rest) = left.as_chunks::<BLOCK>();
    let (right_blocks, right_rest) = right.as_chunks::<BLOCK>();
    for ((left, right), word) in left_blocks.iter().zip(right_blocks).zip(&mut *out) {
        *word = mask(left, right) ^ turn;
    }
    if let Some(word) = out.get_mut(left_blocks.len()) {
        *word = (mask(&padded(left_rest), &padded(right_rest)) ^ turn) & low_bits(left_rest.len());
    }
}

/// Less than a block of values, padded with zeros.
#[inline(always)]
pub(super) fn padded<T: Copy + Default>(rest: &[T]) -> [T; BLOCK] {
    let mut block = [T::default(); BLOCK];
    for (to, &from) in block.iter_mut().zip(rest) {
        *to = from;
    }
    block
}

/// The `count` lowest bits, less than 64.
#[inline(always)]
pub(super) fn low_bits(count: usize) -> u64 {
    (1 << count) - 1
}
