//! Runs of bits, copied between bitmaps at any bit offsets, 64 bits at a time.

/// Copies `count` bits from bit `src_bit` of `src` to bit `out_bit` of `out`, and returns the number of ones among
/// them.
///
/// Other bits of `out` stay unchanged. Both slices have the bits.
#[inline(always)]
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
    for (index, byte) in out[..count / 8].iter_mut().enumerate().skip(at) {
        *byte = read(src, index * 8 + shift);
        ones += byte.count_ones() as usize;
    }
    if !count.is_multiple_of(8) {
        let whole = count / 8 * 8;
        ones += merge(read(src, whole + shift), out, whole, count % 8);
    }
    ones
}

/// Sets `count` bits from bit `out_bit` of `out` on to `value`. Other bits of `out` stay unchanged.
#[inline(always)]
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
    if !count.is_multiple_of(8) {
        merge(byte, out, out_bit + count / 8 * 8, count % 8);
    }
}

/// The target of short runs' bits: `count` of them, from bit `bit` of `out` on.
pub(super) struct Target<'a> {
    pub(super) out: &'a mut [u8],
    pub(super) bit: usize,
    pub(super) count: usize,
}

/// The maximum number of bits in a short run: with up to 7 bits before them in a byte they fit a word.
const SHORT: usize = 56;

/// Appends whole runs of width 1 while they are short and their words are within the input and the target, and moves
/// `position` past them. Returns the number of bits, and the number of ones among them.
///
/// No branch distinguishes the two kinds of run: a repeated run is a word of equal bits, a bit-packed one a word of the
/// input, and both are cut to their length and shifted after the bits of the current byte.
#[inline(always)]
pub(super) fn append_short_runs(src: &[u8], position: &mut usize, target: Target<'_>) -> (usize, usize) {
    let Target { out, mut bit, count } = target;
    let end = bit + count;
    let (first, mut ones) = (bit, 0);
    let mut begun = u64::from(out.get(bit / 8).copied().unwrap_or(0)) & ((1 << (bit % 8)) - 1);
    while end - bit >= 64
        && let Some(&[header, payload @ ..]) = src.get(*position..).and_then(<[u8]>::first_chunk::<9>)
    {
        let packed = header & 1 == 1;
        let payload = u64::from_le_bytes(payload);
        let units = usize::from(header >> 1);
        let length = if packed { units * 8 } else { units };
        let value = payload & 0xff;
        if header >= 0x80 || length > SHORT || (!packed && value > 1) {
            break;
        }
        let bits = if packed { payload } else { value.wrapping_neg() };
        let bits = bits & ((1 << length) - 1);
        ones += bits.count_ones() as usize;
        let word = begun | bits << (bit % 8);
        let Some(bytes) = out.get_mut(bit / 8..).and_then(<[u8]>::first_chunk_mut::<8>) else { break };
        // Bits after the run's are zeros now, for the following runs to fill: `end` is at least 64 bits away.
        *bytes = word.to_le_bytes();
        let passed = bit % 8 + length;
        begun = word >> (passed / 8 * 8);
        bit += length;
        *position += 1 + if packed { units } else { 1 };
    }
    (bit - first, ones)
}

/// Eight bits from bit `bit` on; zeros past the end.
fn read(src: &[u8], bit: usize) -> u8 {
    let byte_at = |index: usize| src.get(index).copied().unwrap_or(0);
    (u16::from_le_bytes([byte_at(bit / 8), byte_at(bit / 8 + 1)]) >> (bit % 8)) as u8
}

/// Writes the low `count` bits of `bits` (at least 1, all within one byte of `out`), and returns the number of ones.
fn merge(bits: u8, out: &mut [u8], out_bit: usize, count: usize) -> usize {
    let mask = 0xff_u8 >> (8 - count);
    let place = out_bit % 8;
    let byte = &mut out[out_bit / 8];
    *byte = *byte & !(mask << place) | (bits & mask) << place;
    (bits & mask).count_ones() as usize
}
