//! The definitions, one slot at a time, on lists of booleans.

/// The `len` bits of a bitmap from `offset` on.
pub(super) fn bits(bitmap: &[u8], offset: usize, len: usize) -> Vec<bool> {
    (offset..offset + len).map(|index| (bitmap[index / 8] >> (index % 8)) & 1 == 1).collect()
}

/// `bitmap` with `bits` written from `offset` on.
pub(super) fn with_bits(bitmap: &[u8], offset: usize, bits: &[bool]) -> Vec<u8> {
    let mut bitmap = bitmap.to_vec();
    for (index, &bit) in bits.iter().enumerate() {
        let at = offset + index;
        bitmap[at / 8] = (bitmap[at / 8] & !(1 << (at % 8))) | (u8::from(bit) << (at % 8));
    }
    bitmap
}

/// Each valid slot takes the next value; the others are null.
pub(super) fn expand<T: Copy>(values: &[T], null: T, validity: &[bool]) -> Vec<T> {
    let mut next = values.iter();
    validity.iter().map(|&valid| if valid { *next.next().unwrap() } else { null }).collect()
}

pub(super) fn compress<T: Copy>(values: &[T], selection: &[bool]) -> Vec<T> {
    values.iter().zip(selection).filter(|&(_, &selected)| selected).map(|(&value, _)| value).collect()
}
