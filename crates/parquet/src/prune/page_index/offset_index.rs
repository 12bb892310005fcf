//! The offset index of one column chunk: where its pages begin.

use crate::page::thrift::{ThriftError, ThriftReader, WireType};

/// The first row of each page of a chunk of `row_count` rows, counted from the row group's first; `None` if the index is
/// malformed, or of other rows. The first page begins with row 0, and no page before the one in front of it.
pub(super) fn first_rows(bytes: &[u8], row_count: u64) -> Option<Vec<u64>> {
    let mut rows = Vec::new();
    let read = ThriftReader::new(bytes).each_field(|reader, field| match (field.id, field.wire_type) {
        (1, WireType::List) => reader.each_structure(|reader, _| {
            rows.push(first_row(reader)?);
            Ok(())
        }),
        _ => reader.skip(field),
    });
    read.ok()?;
    let ascend = rows.windows(2).all(|pair| pair[0] <= pair[1]);
    let fit = *rows.first()? == 0 && *rows.last()? < row_count.max(1);
    (ascend && fit).then_some(rows)
}

/// Of a `PageLocation`.
fn first_row(reader: &mut ThriftReader<'_>) -> Result<u64, ThriftError> {
    let mut row = None;
    reader.each_field(|reader, field| match (field.id, field.wire_type) {
        (3, WireType::I64) => {
            row = u64::try_from(reader.i64()?).ok();
            Ok(())
        }
        _ => reader.skip(field),
    })?;
    row.ok_or(ThriftError::Malformed("first row of a page"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::ThriftWriter;

    fn index(first_rows: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = ThriftWriter::new(&mut bytes);
        writer.structures(1, first_rows.iter(), |page, row| {
            page.i64(1, 4);
            page.i32(2, 100);
            page.i64(3, *row);
        });
        writer.end();
        bytes
    }

    #[test]
    fn pages_begin_at_row_0_and_ascend() {
        assert_eq!(first_rows(&index(&[0, 10, 10, 25]), 30), Some(vec![0, 10, 10, 25]));
        assert_eq!(first_rows(&index(&[0]), 0), Some(vec![0]));
        for wrong in [&[][..], &[1, 2], &[0, 10, 5], &[0, 30], &[0, -1]] {
            assert_eq!(first_rows(&index(wrong), 30), None, "{wrong:?}");
        }
        let sound = index(&[0, 10, 25]);
        assert!((0..sound.len()).all(|len| first_rows(&sound[..len], 30).is_none()));
    }
}
