//! The specification transliterated.

/// The values, or `None` if a prefix is longer than the previous value or a suffix is missing.
pub(super) fn values(
    prefixes: &[i32],
    suffix_lengths: &[i32],
    suffixes: &[u8],
    previous: &[u8],
) -> Option<Vec<Vec<u8>>> {
    let mut values: Vec<Vec<u8>> = Vec::new();
    let mut consumed = 0;
    for (&prefix, &suffix) in prefixes.iter().zip(suffix_lengths) {
        let last = values.last().map_or(previous, Vec::as_slice);
        let mut value = last.get(..usize::try_from(prefix).ok()?)?.to_vec();
        let end = consumed + usize::try_from(suffix).ok()?;
        value.extend_from_slice(suffixes.get(consumed..end)?);
        consumed = end;
        values.push(value);
    }
    Some(values)
}
