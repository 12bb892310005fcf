//! Arrow extension types that change how a value is displayed.

use arrow_schema::Field;

/// Whether `field` holds UUIDs.
pub fn is_uuid(field: &Field) -> bool {
    field.extension_type_name() == Some("arrow.uuid")
}

/// Whether `field` holds Variant values.
pub(super) fn is_variant(field: &Field) -> bool {
    field.extension_type_name() == Some("arrow.parquet.variant")
}

/// Writes the 16 bytes of a UUID as text.
pub(super) fn write_uuid(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_written_in_groups() {
        let mut out = Vec::new();
        write_uuid(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255], &mut out);
        assert_eq!(out, b"00010203-0405-0607-0809-0a0b0c0d0eff");
    }
}
