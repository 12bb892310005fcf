//! The specification transliterated.

/// The requested number of values of a page, and the start of the next one; `None` for an invalid page.
pub(super) fn values(page: &[u8], mut position: usize, count: usize) -> Option<(Vec<&[u8]>, usize)> {
    let mut values = Vec::new();
    for _ in 0..count {
        let len = i32::from_le_bytes(page.get(position..)?.get(..4)?.try_into().ok()?);
        let value = page[position + 4..].get(..usize::try_from(len).ok()?)?;
        position += 4 + value.len();
        values.push(value);
    }
    Some((values, position))
}
