//! Z85: four bytes as five printable characters (<https://rfc.zeromq.org/spec/32/>).

const DIGITS: &[u8; 85] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// The bytes of a text; `None` if it is malformed.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let groups = text.as_bytes().chunks_exact(5);
    if !groups.remainder().is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 5 * 4);
    for group in groups {
        let mut value = 0u64;
        for byte in group {
            value = value * 85 + DIGITS.iter().position(|digit| digit == byte)? as u64;
        }
        bytes.extend(u32::try_from(value).ok()?.to_be_bytes());
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
    }
}
