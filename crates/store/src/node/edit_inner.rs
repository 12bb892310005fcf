//! Creates and changes inner nodes.

use super::inner::{PREFIX, children_at};
use super::{Inner, Word, put_u16, u16_at};

/// Writes an inner node into a fresh body that has room for it.
pub(crate) fn write(body: &mut [u8], total: u64, prefix: &[u8], dividers: &[u8], children: &[Word]) {
    debug_assert_eq!(children.len(), dividers.len() + 1);
    set_total(body, total);
    put_u16(body, 20, prefix.len());
    put_u16(body, 22, dividers.len());
    body[PREFIX..][..prefix.len()].copy_from_slice(prefix);
    body[PREFIX + prefix.len()..][..dividers.len()].copy_from_slice(dividers);
    let at = children_at(prefix.len(), dividers.len());
    for (index, child) in children.iter().enumerate() {
        put_word(body, at + 8 * index, *child);
    }
}

/// Copies `from` into `body`, possibly with another prefix.
pub(crate) fn copy(from: &Inner<'_>, body: &mut [u8], prefix: &[&[u8]; 2]) {
    let prefix_len = prefix[0].len() + prefix[1].len();
    set_total(body, from.total());
    put_u16(body, 20, prefix_len);
    put_u16(body, 22, from.count() - 1);
    body[PREFIX..][..prefix[0].len()].copy_from_slice(prefix[0]);
    body[PREFIX + prefix[0].len()..][..prefix[1].len()].copy_from_slice(prefix[1]);
    body[PREFIX + prefix_len..][..from.count() - 1].copy_from_slice(from.dividers());
    let words = from.words();
    body[children_at(prefix_len, from.count() - 1)..][..words.len()].copy_from_slice(words);
}

/// Copies `from` into `body` with `children`, and `dividers` between them, in place of the children in `replaced`. The
/// first divider precedes the first new child, and is left out if that is the node's first child.
pub(crate) fn copy_with(
    from: &Inner<'_>,
    body: &mut [u8],
    replaced: std::ops::Range<usize>,
    dividers: &[u8],
    children: &[Word],
) {
    let prefix = from.prefix();
    let old = from.dividers();
    let words = from.words();
    // Child `i` has divider `i - 1` before it; the first child has none.
    let before = replaced.start.saturating_sub(1);
    let first_goes = replaced.start == 0 && children.is_empty();
    let after = &old[replaced.end - usize::from(!first_goes)..];
    let count = replaced.start + children.len() + from.count() - replaced.end;
    set_total(body, from.total());
    put_u16(body, 20, prefix.len());
    put_u16(body, 22, count - 1);
    body[PREFIX..][..prefix.len()].copy_from_slice(prefix);
    let at = PREFIX + prefix.len();
    body[at..][..before].copy_from_slice(&old[..before]);
    body[at + before..][..dividers.len()].copy_from_slice(dividers);
    body[at + before + dividers.len()..][..after.len()].copy_from_slice(after);
    debug_assert_eq!(before + dividers.len() + after.len(), count - 1);
    let at = children_at(prefix.len(), count - 1);
    body[at..][..8 * replaced.start].copy_from_slice(&words[..8 * replaced.start]);
    for (index, child) in children.iter().enumerate() {
        put_word(body, at + 8 * (replaced.start + index), *child);
    }
    let rest = &words[8 * replaced.end..];
    body[at + 8 * (replaced.start + children.len())..][..rest.len()].copy_from_slice(rest);
}

/// Sets the child at `index` of an owned node.
pub(crate) fn set_child(body: &mut [u8], index: usize, child: Word) {
    let at = children_at(usize::from(u16_at(body, 20)), usize::from(u16_at(body, 22)));
    put_word(body, at + 8 * index, child);
}

fn set_total(body: &mut [u8], total: u64) {
    body[12..20].copy_from_slice(&total.to_le_bytes());
}

/// Adds to the number of keys below an owned node, and returns the sum.
pub(crate) fn add_to_total(body: &mut [u8], delta: i64) -> u64 {
    let mut total = [0; 8];
    total.copy_from_slice(&body[12..20]);
    let total = u64::from_le_bytes(total).wrapping_add_signed(delta);
    if delta != 0 {
        set_total(body, total);
    }
    total
}

fn put_word(body: &mut [u8], at: usize, word: Word) {
    body[at..at + 8].copy_from_slice(&word.bits().to_le_bytes());
}
