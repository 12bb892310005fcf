//! Portable packing: eight values are exactly `width` bytes, so with a constant width a group is a few words with
//! constant shifts.

/// An element type whose low bits are packed.
trait Element: Copy + Default {
    fn widen(self) -> u64;
}

impl Element for u8 {
    #[inline(always)]
    fn widen(self) -> u64 {
        self.into()
    }
}

impl Element for u32 {
    #[inline(always)]
    fn widen(self) -> u64 {
        self.into()
    }
}

impl Element for u64 {
    #[inline(always)]
    fn widen(self) -> u64 {
        self
    }
}

/// `pack` for one width.
type Pack<T> = fn(&[T], &mut [u8]);

/// A table of `pack::<$element, W>` for the widths listed, after width 0.
macro_rules! by_width {
    ($element:ty: $($width:literal)*) => { [nothing, $(pack::<$element, $width> as Pack<$element>),*] };
}

/// `width` is at most 8, and `out` has the bytes. This also applies to the next two, up to 32 and 64.
pub(crate) fn pack_u8(values: &[u8], width: u32, out: &mut [u8]) {
    const WIDTHS: [Pack<u8>; 9] = by_width!(u8: 1 2 3 4 5 6 7 8);
    WIDTHS[width as usize](values, out);
}

pub(crate) fn pack_u32(values: &[u32], width: u32, out: &mut [u8]) {
    const WIDTHS: [Pack<u32>; 33] = by_width!(u32:
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
    WIDTHS[width as usize](values, out);
}

pub(crate) fn pack_u64(values: &[u64], width: u32, out: &mut [u8]) {
    const WIDTHS: [Pack<u64>; 65] = by_width!(u64:
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
    WIDTHS[width as usize](values, out);
}

fn nothing<T>(_: &[T], _: &mut [u8]) {}

fn pack<T: Element, const WIDTH: usize>(values: &[T], out: &mut [u8]) {
    let (groups, rest) = values.as_chunks::<8>();
    let (whole, behind) = out.split_at_mut(groups.len() * WIDTH);
    for (group, out) in groups.iter().zip(whole.as_chunks_mut::<WIDTH>().0) {
        *out = pack_group(group);
    }
    if !rest.is_empty() {
        let mut group = [T::default(); 8];
        group[..rest.len()].copy_from_slice(rest);
        let len = (rest.len() * WIDTH).div_ceil(8);
        behind[..len].copy_from_slice(&pack_group::<T, WIDTH>(&group)[..len]);
    }
}

#[inline(always)]
fn pack_group<T: Element, const WIDTH: usize>(group: &[T; 8]) -> [u8; WIDTH] {
    let mask = u64::MAX >> (64 - WIDTH);
    let mut out = [0; WIDTH];
    // The bits of the current word, and their number.
    let (mut word, mut filled) = (0, 0);
    let mut at = 0;
    for &value in group {
        let value = value.widen() & mask;
        word |= value << filled;
        filled += WIDTH;
        if filled >= 64 {
            out[at..at + 8].copy_from_slice(&word.to_le_bytes());
            at += 8;
            filled -= 64;
            word = if filled == 0 { 0 } else { value >> (WIDTH - filled) };
        }
    }
    out[at..].copy_from_slice(&word.to_le_bytes()[..WIDTH - at]);
    out
}
