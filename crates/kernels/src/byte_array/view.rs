//! The string view's layout, shared by the kernels that build views.

/// The maximum length of a value within a view.
pub(super) const INLINE_LEN: usize = 12;

/// The maximum offset in a view; Arrow reads it as a signed number.
pub(super) const MAX_OFFSET: usize = i32::MAX as usize;

/// By length, up to one over [`INLINE_LEN`]: the bits of "length, then the bytes that follow" that belong to the view.
/// A long view keeps the length and the four bytes of its prefix.
pub(super) const KEEP: [u128; INLINE_LEN + 2] = {
    let mut keep = [u64::MAX as u128; INLINE_LEN + 2];
    let mut len = 0;
    while len <= INLINE_LEN {
        keep[len] = u128::MAX >> (8 * (INLINE_LEN - len));
        len += 1;
    }
    keep
};

/// The view of a value. `head` has its first twelve bytes, or all of its bytes followed by any others. `reference` is
/// the [`reference`] to it, which is used only for long values.
#[inline(always)]
pub(super) fn from_head(len: u32, head: [u8; INLINE_LEN], reference: u128) -> u128 {
    let mut word = [0; 16];
    word[..4].copy_from_slice(&len.to_le_bytes());
    word[4..].copy_from_slice(&head);
    from_word(len, u128::from_le_bytes(word), reference)
}

/// Like [`from_head`], if the length already precedes the bytes, as in PLAIN.
#[inline(always)]
pub(super) fn from_word(len: u32, word: u128, reference: u128) -> u128 {
    let kept = word & KEEP[(len as usize).min(INLINE_LEN + 1)];
    if len as usize > INLINE_LEN { kept | reference } else { kept }
}

/// The upper half of a long view.
#[inline(always)]
pub(super) fn reference(buffer_index: u32, offset: u32) -> u128 {
    (u128::from(offset) << 96) | (u128::from(buffer_index) << 64)
}

/// The view of any value.
pub(super) fn from_value(value: &[u8], buffer_index: u32, offset: u32) -> u128 {
    let mut head = [0; INLINE_LEN];
    let kept = value.len().min(INLINE_LEN);
    head[..kept].copy_from_slice(&value[..kept]);
    from_head(value.len() as u32, head, reference(buffer_index, offset))
}

#[cfg(test)]
pub(super) mod tests {
    use super::{from_head, from_value, from_word, reference};

    /// Arrow's layout transliterated.
    pub(in crate::byte_array) fn spelled_out(value: &[u8], buffer_index: u32, offset: u32) -> u128 {
        let mut view = Vec::new();
        view.extend_from_slice(&(value.len() as u32).to_le_bytes());
        if value.len() <= 12 {
            view.extend_from_slice(value);
            view.resize(16, 0);
        } else {
            view.extend_from_slice(&value[..4]);
            view.extend_from_slice(&buffer_index.to_le_bytes());
            view.extend_from_slice(&offset.to_le_bytes());
        }
        u128::from_le_bytes(view.try_into().unwrap())
    }

    #[test]
    fn views_have_arrows_layout() {
        let bytes: Vec<u8> = (0xA0..0xA0 + 40).collect();
        for len in 0..=24 {
            let expected = spelled_out(&bytes[..len], 0x1234_5678, 0x7EDC_BA98);
            assert_eq!(from_value(&bytes[..len], 0x1234_5678, 0x7EDC_BA98), expected, "length {len}");
            let reference = reference(0x1234_5678, 0x7EDC_BA98);
            assert_eq!(from_head(len as u32, bytes[..12].try_into().unwrap(), reference), expected, "length {len}");
            let mut word = (len as u32).to_le_bytes().to_vec();
            word.extend_from_slice(&bytes[..12]);
            let word = u128::from_le_bytes(word.try_into().unwrap());
            assert_eq!(from_word(len as u32, word, reference), expected, "length {len}");
        }
    }
}
