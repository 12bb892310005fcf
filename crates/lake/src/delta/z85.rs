//! Z85: four bytes as five printable characters (<https://rfc.zeromq.org/spec/32/>).
//!
//! Writers fill up the last group with bytes, whose value has no meaning, or shorten it: `##09C` has two bytes less. No whole group begins
//! with `#`, because it would be more than 32 bits.

const DIGITS: &[u8; 85] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// The bytes of a text; `None` if it is malformed.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let groups = text.as_bytes().chunks_exact(5);
    if !groups.remainder().is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 5 * 4);
    let last = groups.len().saturating_sub(1);
    for (at, group) in groups.enumerate() {
        let lacking = if at == last { group.iter().take_while(|byte| **byte == b'#').count() } else { 0 };
        let mut value = 0u64;
        for byte in &group[lacking..] {
            value = value * 85 + DIGITS.iter().position(|digit| digit == byte)? as u64;
        }
        let value = u32::try_from(value).ok()?.to_be_bytes();
        let (zeros, value) = value.split_at_checked(lacking)?;
        if value.is_empty() || zeros.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend(value);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_example_of_the_specification_is_decoded() {
        assert_eq!(decode("HelloWorld"), Some(vec![0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b]));
        assert_eq!(decode(""), Some(Vec::new()));
        assert_eq!(decode("Hello!"), None);
        assert_eq!(decode("Hell\""), None);
        assert_eq!(decode("#####"), None);
        assert_eq!(decode("####0"), None);
        assert_eq!(decode("##09C#0000"), None);
    }

    #[test]
    fn a_short_last_group_has_fewer_bytes() {
        // As version 3 of the `z85` crate has written `[1, 2, 3, 4, 3, 0]`, and one and three bytes.
        assert_eq!(decode("0rJua##093"), Some(vec![1, 2, 3, 4, 3, 0]));
        assert_eq!(decode("###30"), Some(vec![255]));
        assert_eq!(decode("##zzz"), None);
        assert_eq!(decode("#0rJ"), None);
    }
}
