//! Portable unpacking: eight values are exactly `width` bytes, so each group of eight has the same byte offsets and
//! shifts, which are constant for a constant width. A value is one unaligned 8-byte load, a shift and a mask (9 bytes
//! over 57 bits). The last groups, whose loads would leave the input, go through a zero-padded copy. So bytes past the
//! end of the input count as zeros here, and callers check lengths.

/// The maximum window of a group: 64 bytes of values, and the bytes of the last 9-byte load after them.
const WINDOW: usize = 64 + 9;

/// An element type that takes the low bits of a value.
trait Element: Copy {
    fn truncate(value: u64) -> Self;
}

impl Element for u8 {
    #[inline(always)]
    fn truncate(value: u64) -> Self {
        value as Self
    }
}

impl Element for u32 {
    #[inline(always)]
    fn truncate(value: u64) -> Self {
        value as Self
    }
}

impl Element for u64 {
    #[inline(always)]
    fn truncate(value: u64) -> Self {
        value
    }
}

/// `unpack` for one width.
type Unpack<T> = fn(&[u8], &mut [T]);

/// A table of `unpack::<$element, W>` for the widths listed.
macro_rules! by_width {
    ($element:ty: $($width:literal)*) => { [$(unpack::<$element, $width> as Unpack<$element>),*] };
}

/// `width` is at most 8.
pub(crate) fn unpack_u8(src: &[u8], width: u32, out: &mut [u8]) {
    const WIDTHS: [Unpack<u8>; 9] = by_width!(u8: 0 1 2 3 4 5 6 7 8);
    WIDTHS[width as usize](src, out);
}

/// `width` is at most 32.
pub(crate) fn unpack_u32(src: &[u8], width: u32, out: &mut [u32]) {
    const WIDTHS: [Unpack<u32>; 33] = by_width!(u32:
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
    WIDTHS[width as usize](src, out);
}

/// Values of width 8. Inlined into a tier's function, its instructions widen bytes as they load them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn widen_u8(src: &[u8], out: &mut [u32]) {
    let (stored, beyond) = out.split_at_mut(out.len().min(src.len()));
    for (value, &byte) in stored.iter_mut().zip(src) {
        *value = byte.into();
    }
    beyond.fill(0);
}

/// `width` is at most 64.
pub(crate) fn unpack_u64(src: &[u8], width: u32, out: &mut [u64]) {
    const WIDTHS: [Unpack<u64>; 65] = by_width!(u64:
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
    WIDTHS[width as usize](src, out);
}

fn unpack<T: Element, const WIDTH: usize>(src: &[u8], out: &mut [T]) {
    let (groups, rest) = out.as_chunks_mut::<8>();
    let mut at = 0;
    for group in groups {
        match src.get(at..at + WIDTH + 9) {
            Some(window) => unpack_group::<T, WIDTH>(window, group),
            None => unpack_group::<T, WIDTH>(&padded(src, at), group),
        }
        at += WIDTH;
    }
    if !rest.is_empty() {
        let mut group = [T::truncate(0); 8];
        unpack_group::<T, WIDTH>(&padded(src, at), &mut group);
        rest.copy_from_slice(&group[..rest.len()]);
    }
}

#[inline(always)]
fn unpack_group<T: Element, const WIDTH: usize>(window: &[u8], group: &mut [T; 8]) {
    let mask = if WIDTH == 0 { 0 } else { u64::MAX >> (64 - WIDTH) };
    for (index, value) in group.iter_mut().enumerate() {
        let (byte, shift) = (index * WIDTH / 8, index * WIDTH % 8);
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&window[byte..byte + 8]);
        let mut bits = u64::from_le_bytes(bytes) >> shift;
        if shift + WIDTH > 64 {
            bits |= u64::from(window[byte + 8]) << (64 - shift);
        }
        *value = T::truncate(bits & mask);
    }
}

/// The bytes of `src` from `at` on, padded with zeros.
#[cold]
fn padded(src: &[u8], at: usize) -> [u8; WINDOW] {
    let mut window = [0; WINDOW];
    let rest = src.get(at..).unwrap_or_default();
    let len = rest.len().min(WINDOW);
    window[..len].copy_from_slice(&rest[..len]);
    window
}

/// Most significant bit first; `width` is at most 8 and `src` long enough.
///
/// Only levels in files from before 2013 are stored in this order: a value is two bytes in big-endian order, shifted
/// and masked.
pub(crate) fn unpack_msb_u8(src: &[u8], width: u32, out: &mut [u8]) {
    let mask = ((1_u32 << width) - 1) as u8;
    let mut bit = 0;
    for value in out {
        let byte_at = |index: usize| src.get(index).copied().unwrap_or(0);
        let pair = u32::from_be_bytes([0, 0, byte_at(bit / 8), byte_at(bit / 8 + 1)]);
        *value = (pair >> (16 - width as usize - bit % 8)) as u8 & mask;
        bit += width as usize;
    }
}
