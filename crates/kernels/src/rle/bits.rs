//! Runs of bits, copied between bitmaps at any bit offsets, 64 bits at a time.

/// Copies `count` bits from bit `src_bit` of `src` to bit `out_bit` of `out`; returns how many of them are ones.
///
/// Other bits of `out` stay. Both slices have the bits.
pub(super) fn copy(src: &[u8], mut src_bit: usize, out: &mut [u8], mut out_bit: usize, mut count: usize) -> usize {
    let mut ones = 0;
    if !out_bit.is_multiple_of(8) {
        let head = count.min(8 - out_bit % 8);
        ones += merge(read(src, src_bit), out, out_bit, head);
        src_bit += head;
        out_bit += head;
        count -= head;
    }
    let (shift, src) = (src_bit % 8, &src[(src_bit / 8).min(src.len())..]);
    let out = &mut out[out_bit / 8..];
    let (words, _) = out[..count / 8].as_chunks_mut::<8>();
    let mut at = 0;
    for word in words {
        let mut low = [0; 8];
        low.copy_from_slice(&src[at..at + 8]);
        let high = if shift == 0 { 0 } else { u64::from(src[at + 8]) << (64 - shift) };
        let bits = u64::from_le_bytes(low) >> shift | high;
        ones += bits.count_ones() as usize;
        *word = bits.to_le_bytes();
        at += 8;
    }
    for at in at..count / 8 {
        let bits = read(src, at * 8 + shift);
        ones += bits.count_ones() as usize;
        out[at] = bits;
    }
    if count % 8 != 0 {
        let whole = count / 8 * 8;
        ones += merge(read(src, whole + shift), out, whole, count % 8);
    }
    ones
}

/// Sets `count` bits from bit `out_bit` of `out` on to `value`. Other bits of `out` stay.
pub(super) fn fill(out: &mut [u8], mut out_bit: usize, mut count: usize, value: bool) {
    let byte = if value { 0xff } else { 0 };
    if !out_bit.is_multiple_of(8) {
        let head = count.min(8 - out_bit % 8);
        merge(byte, out, out_bit, head);
        out_bit += head;
        count -= head;
    }
    let first = out_bit / 8;
    out[first..first + count / 8].fill(byte);
    if count % 8 != 0 {
        merge(byte, out, out_bit + count / 8 * 8, count % 8);
    }
}

/// Eight bits from bit `bit` on; zeros past the end.
fn read(src: &[u8], bit: usize) -> u8 {
    let byte_at = |index: usize| src.get(index).copied().unwrap_or(0);
    (u16::from_le_bytes([byte_at(bit / 8), byte_at(bit / 8 + 1)]) >> (bit % 8)) as u8
}

/// Writes the low `count` bits of `bits` (at least 1, all within one byte of `out`); returns how many are ones.
fn merge(bits: u8, out: &mut [u8], out_bit: usize, count: usize) -> usize {
    let mask = 0xff_u8 >> (8 - count);
    let place = out_bit % 8;
    let byte = &mut out[out_bit / 8];
    *byte = *byte & !(mask << place) | (bits & mask) << place;
    (bits & mask).count_ones() as usize
}
