//! Byte strings: how far two agree, and how often a byte stands in one.

mod scalar;

#[cfg(test)]
mod tests;

/// The number of bytes at the start of `a` and `b` that are equal.
pub fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    scalar::common_prefix_len(a, b)
}

/// How many bytes of `haystack` equal `needle`.
pub fn count_byte(haystack: &[u8], needle: u8) -> usize {
    scalar::count_byte(haystack, needle)
}
