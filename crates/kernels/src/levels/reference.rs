//! The definitions, one entry at a time.

/// Masks as lists of booleans, and back.
pub(super) fn bits(mask: &[u64], len: usize) -> Vec<bool> {
    (0..len).map(|index| (mask[index / 64] >> (index % 64)) & 1 == 1).collect()
}

pub(super) fn mask(bits: &[bool]) -> Vec<u64> {
    let mut mask = vec![0; bits.len().div_ceil(64)];
    for (index, &bit) in bits.iter().enumerate() {
        mask[index / 64] |= u64::from(bit) << (index % 64);
    }
    mask
}

pub(super) fn extract(bits: &[bool], mask: &[bool]) -> Vec<bool> {
    bits.iter().zip(mask).filter(|&(_, &kept)| kept).map(|(&bit, _)| bit).collect()
}

/// A list starts at every slot and contains the elements from there to before the next slot.
pub(super) fn list_offsets(slots: &[bool], elements: &[bool], start: i64) -> (Vec<i64>, i64) {
    let mut offset = start;
    let mut offsets = Vec::new();
    for (&slot, &element) in slots.iter().zip(elements) {
        if slot {
            offsets.push(offset);
        }
        offset += i64::from(element);
    }
    (offsets, offset)
}

pub(super) fn nth_set(mask: &[bool], n: usize) -> Option<usize> {
    mask.iter().enumerate().filter(|&(_, &set)| set).map(|(index, _)| index).nth(n)
}
