//! Footers of writers that had a use of their own for field numbers which the format has since given out.
//!
//! The `parquet` crate takes a field's type from its number and loses its way where the footer says otherwise: Dremio put a
//! list where `bloom_filter_length` is now.

use crate::write::ThriftWriter;
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// A copy of a `FileMetaData` without the optional fields of column chunks whose type is not the one that the format gives
/// their number.
pub(super) fn without_mistyped_fields(footer: &[u8]) -> Result<Vec<u8>, ThriftError> {
    let mut copy = Copy { footer, kept: Vec::with_capacity(footer.len()) };
    copy.structure(&mut ThriftReader::new(footer), Level::File)?;
    Ok(copy.kept)
}

/// The structures on the way to the fields in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    File,
    RowGroup,
    ColumnChunk,
    ColumnMetaData,
}

impl Level {
    /// The number of the field that leads on, its type, and where to.
    fn next(self) -> Option<(i16, WireType, Self)> {
        match self {
            Self::File => Some((4, WireType::List, Self::RowGroup)),
            Self::RowGroup => Some((1, WireType::List, Self::ColumnChunk)),
            Self::ColumnChunk => Some((3, WireType::Struct, Self::ColumnMetaData)),
            Self::ColumnMetaData => None,
        }
    }

    /// Whether the format has another type for the field.
    fn is_mistyped(self, id: i16, wire_type: WireType) -> bool {
        let expected = match id {
            8 | 13 => WireType::List,
            10 | 11 | 14 => WireType::I64,
            12 | 16 | 17 => WireType::Struct,
            15 => WireType::I32,
            _ => return false,
        };
        self == Self::ColumnMetaData && wire_type != expected
    }
}

struct Copy<'a> {
    footer: &'a [u8],
    kept: Vec<u8>,
}

impl<'a> Copy<'a> {
    fn structure(&mut self, reader: &mut ThriftReader<'a>, level: Level) -> Result<(), ThriftError> {
        let mut previous = 0;
        reader.each_field(|reader, field| {
            if level.is_mistyped(field.id, field.wire_type) {
                return reader.skip(field);
            }
            ThriftWriter::after(&mut self.kept, previous).begin(field.id, field.wire_type.nibble());
            previous = field.id;
            let start = reader.position();
            match level.next() {
                Some((id, WireType::Struct, below)) if (id, WireType::Struct) == (field.id, field.wire_type) => {
                    return self.structure(reader, below);
                }
                Some((id, WireType::List, below)) if (id, WireType::List) == (field.id, field.wire_type) => {
                    let (element, len) = reader.list()?;
                    self.kept.extend_from_slice(&self.footer[start..reader.position()]);
                    if element != WireType::Struct && len > 0 {
                        return Err(ThriftError::Malformed("list of structures"));
                    }
                    return (0..len).try_for_each(|_| self.structure(reader, below));
                }
                _ => reader.skip(field)?,
            }
            self.kept.extend_from_slice(&self.footer[start..reader.position()]);
            Ok(())
        })?;
        self.kept.push(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FileMetaData with one row group of one chunk, whose ColumnMetaData is `column`.
    fn file(column: &[u8]) -> Vec<u8> {
        // 1: version; 4: list of 1 row group { 1: list of 1 chunk { 2: file_offset, 3: column }, 3: num_rows }; 40: a string
        let chunk = [&[0x26, 0x08, 0x1c], column, &[0x00]].concat();
        let row_group = [&[0x19, 0x1c], &chunk[..], &[0x26, 0x02, 0x00]].concat();
        [&[0x15, 0x02, 0x39, 0x1c], &row_group[..], &[0x08, 0x50, 0x01, b'x', 0x00]].concat()
    }

    #[test]
    fn a_footer_without_mistyped_fields_is_kept_byte_for_byte() {
        // 5: i64, 11: i64, 15: i32, 16: struct { 1: i64 }
        let column = [0x56, 0x02, 0x66, 0x08, 0x45, 0x02, 0x1c, 0x16, 0x02, 0x00, 0x00];
        assert_eq!(without_mistyped_fields(&file(&column)), Ok(file(&column)));
    }

    #[test]
    fn mistyped_fields_are_left_out_and_what_follows_is_numbered_anew() {
        // 5: i64, 15: list<i32> of 2, 17: true, 40: i32
        let column = [0x56, 0x02, 0xa9, 0x25, 0x02, 0x04, 0x21, 0x05, 0x50, 0x06, 0x00];
        assert_eq!(without_mistyped_fields(&file(&column)), Ok(file(&[0x56, 0x02, 0x05, 0x50, 0x06, 0x00])));
        // 14: struct {}, 16: struct {}
        let column = [0xec, 0x00, 0x2c, 0x00, 0x00];
        assert_eq!(without_mistyped_fields(&file(&column)), Ok(file(&[0x0c, 0x20, 0x00, 0x00])));
    }

    #[test]
    fn every_truncation_is_an_error() {
        let whole = file(&[0x56, 0x02, 0xa9, 0x25, 0x02, 0x04, 0x21, 0x05, 0x50, 0x06, 0x00]);
        for len in 0..whole.len() {
            assert!(without_mistyped_fields(&whole[..len]).is_err());
        }
    }
}
