//! The specification transliterated.

/// Prefix lengths, suffix lengths and suffixes.
pub(super) fn split(strings: &[Vec<u8>], previous: &[u8]) -> (Vec<i32>, Vec<i32>, Vec<u8>) {
    let (mut prefixes, mut lengths, mut suffixes) = (Vec::new(), Vec::new(), Vec::new());
    let mut previous = previous;
    for string in strings {
        let mut prefix = 0;
        while prefix < string.len() && prefix < previous.len() && string[prefix] == previous[prefix] {
            prefix += 1;
        }
        prefixes.push(prefix as i32);
        lengths.push((string.len() - prefix) as i32);
        suffixes.extend_from_slice(&string[prefix..]);
        previous = string;
    }
    (prefixes, lengths, suffixes)
}
