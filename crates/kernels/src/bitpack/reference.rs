//! The specification, bit by bit.

/// The values of `width` bits in `src`, least significant bit first; bits past the end of `src` are zero.
pub(crate) fn unpack(src: &[u8], width: u32, count: usize) -> Vec<u64> {
    let bit = |index: usize| src.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1);
    let value = |index: usize| {
        let first = index * width as usize;
        (0..width as usize).map(|place| u64::from(bit(first + place)) << place).sum()
    };
    (0..count).map(value).collect()
}

/// The values of `width` bits in `src`, most significant bit first.
pub(crate) fn unpack_msb(src: &[u8], width: u32, count: usize) -> Vec<u64> {
    let bit = |index: usize| src[index / 8] >> (7 - index % 8) & 1 == 1;
    let value = |index: usize| {
        let first = index * width as usize;
        (0..width as usize).fold(0, |value, place| value << 1 | u64::from(bit(first + place)))
    };
    (0..count).map(value).collect()
}

/// `values` in `width` bits each, least significant bit first, the last byte padded with zeros.
pub(crate) fn pack(values: &[u64], width: u32) -> Vec<u8> {
    let mut bytes = vec![0; (values.len() * width as usize).div_ceil(8)];
    for (index, value) in values.iter().enumerate() {
        for place in 0..width as usize {
            let at = index * width as usize + place;
            bytes[at / 8] |= ((value >> place & 1) as u8) << (at % 8);
        }
    }
    bytes
}
