//! The definitions, byte by byte.

pub(super) fn lower_bound(bytes: &[u8], key: u8) -> usize {
    bytes.iter().filter(|&&byte| byte < key).count()
}

pub(super) fn upper_bound(bytes: &[u8], key: u8) -> usize {
    bytes.iter().filter(|&&byte| byte <= key).count()
}

pub(super) fn find_byte_mask(bytes: &[u8], needle: u8) -> u64 {
    let mut mask = 0;
    for (i, &byte) in bytes.iter().enumerate().take(64) {
        if byte == needle {
            mask |= 1 << i;
        }
    }
    mask
}

/// The part of a range that lies within the bytes.
pub(super) fn within(bytes: &[u8], start: usize, len: usize) -> &[u8] {
    let behind = bytes.get(start..).unwrap_or_default();
    behind.get(..len).unwrap_or(behind)
}
