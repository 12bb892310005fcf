//! Portable view building: twelve bytes from each value's start, with the bytes of the next values cleared.

use super::view;

/// No length is negative, and together they reach from `base` to the end of `data`, which is at most 2 GiB long.
pub(super) fn build(data: &[u8], base: usize, lengths: &[i32], buffer_index: u32, out: &mut [u128]) {
    let mut at = base;
    for (slot, &len) in out.iter_mut().zip(lengths) {
        let len = len as usize;
        *slot = match data[at..].first_chunk::<12>() {
            Some(head) => view::from_head(len as u32, *head, view::reference(buffer_index, at as u32)),
            None => view::from_value(&data[at..at + len], buffer_index, at as u32),
        };
        at += len;
    }
}
