//! The offset index of one column chunk: location and first row of its data pages.
//!
//! <https://github.com/apache/parquet-format/blob/master/PageIndex.md>

use super::ChunkSpec;
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// The data pages of a chunk, in their order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PagePlaces {
    /// By page: the first row, counted from the row group's first.
    first_rows: Vec<u64>,
    /// By page: file offset of the header.
    offsets: Vec<u64>,
    row_count: u64,
}

impl PagePlaces {
    /// Reads the offset index of a chunk of `row_count` rows; `None` if it is malformed, or for other rows. The first page begins
    /// with row 0, and each page begins after the page before it.
    pub(crate) fn read(bytes: &[u8], row_count: u64) -> Option<Self> {
        let (mut first_rows, mut offsets) = (Vec::new(), Vec::new());
        let read = ThriftReader::new(bytes).each_field(|reader, field| match (field.id, field.wire_type) {
            (1, WireType::List) => reader.each_structure(|reader, _| {
                let (offset, first_row) = page_location(reader)?;
                first_rows.push(first_row);
                offsets.push(offset);
                Ok(())
            }),
            _ => reader.skip(field),
        });
        read.ok()?;
        let ascend = first_rows.windows(2).all(|pair| pair[0] <= pair[1]);
        let fit = *first_rows.first()? == 0 && *first_rows.last()? < row_count.max(1);
        (ascend && fit).then_some(Self { first_rows, offsets, row_count })
    }

    /// By page, the first row.
    pub(crate) fn into_first_rows(self) -> Vec<u64> {
        self.first_rows
    }

    /// Whether pages of `chunk` can be at these places: the chunk has no repetition and as many rows, and each page is after the
    /// page before.
    pub(super) fn are_within(&self, chunk: &ChunkSpec) -> bool {
        let [.., last] = self.offsets[..] else { return false };
        let ascend = self.offsets.windows(2).all(|pair| pair[0] < pair[1]);
        let is_inside = self.offsets[0] >= chunk.start && last < chunk.start.saturating_add(chunk.len);
        chunk.max_rep_level == 0 && chunk.value_count == self.row_count && ascend && is_inside
    }

    /// The last page that begins at or before `row`: its number, first row, and offset.
    pub(super) fn page_at(&self, row: u64) -> (usize, u64, u64) {
        let page = self.first_rows.partition_point(|&first| first <= row).saturating_sub(1);
        (page, self.first_rows[page], self.offsets[page])
    }

    /// The pages with rows: offset of the header, and number of rows.
    pub(super) fn with_rows(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.offsets.len()).map(|page| (self.offsets[page], self.page_rows(page))).filter(|(_, rows)| *rows > 0)
    }

    /// End of a page, unless it is the last.
    pub(super) fn page_end(&self, page: usize) -> Option<u64> {
        self.offsets.get(page + 1).copied()
    }

    /// Offset of the first page.
    pub(super) fn start(&self) -> u64 {
        self.offsets[0]
    }

    /// Number of rows of a page.
    pub(super) fn page_rows(&self, page: usize) -> u64 {
        self.first_rows.get(page + 1).unwrap_or(&self.row_count) - self.first_rows[page]
    }
}

/// Offset and first row of a `PageLocation`. Without an offset only the row is used.
fn page_location(reader: &mut ThriftReader<'_>) -> Result<(u64, u64), ThriftError> {
    let (mut offset, mut row) = (0, None);
    reader.each_field(|reader, field| match (field.id, field.wire_type) {
        (1, WireType::I64) => {
            offset = u64::try_from(reader.i64()?).unwrap_or(0);
            Ok(())
        }
        (3, WireType::I64) => {
            row = u64::try_from(reader.i64()?).ok();
            Ok(())
        }
        _ => reader.skip(field),
    })?;
    Ok((offset, row.ok_or(ThriftError::Malformed("first row of a page"))?))
}

#[cfg(test)]
mod tests {
    use super::super::BitOrder;
    use super::*;
    use lath_format::thrift::ThriftWriter;

    fn index(pages: &[(i64, i64)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = ThriftWriter::new(&mut bytes);
        writer.structures(1, pages.iter(), |page, (offset, row)| {
            page.i64(1, *offset);
            page.i32(2, 100);
            page.i64(3, *row);
        });
        writer.end();
        bytes
    }

    fn encode_rows(rows: &[i64]) -> Vec<u8> {
        index(&rows.iter().enumerate().map(|(page, row)| (4 + 100 * page as i64, *row)).collect::<Vec<_>>())
    }

    #[test]
    fn pages_begin_at_row_0_and_ascend() {
        let first_rows =
            |rows: &[i64], count| PagePlaces::read(&encode_rows(rows), count).map(PagePlaces::into_first_rows);
        assert_eq!(first_rows(&[0, 10, 10, 25], 30), Some(vec![0, 10, 10, 25]));
        assert_eq!(first_rows(&[0], 0), Some(vec![0]));
        for wrong in [&[][..], &[1, 2], &[0, 10, 5], &[0, 30], &[0, -1]] {
            assert_eq!(first_rows(wrong, 30), None, "{wrong:?}");
        }
        let sound = encode_rows(&[0, 10, 25]);
        assert!((0..sound.len()).all(|len| PagePlaces::read(&sound[..len], 30).is_none()));
    }

    #[test]
    fn pages_are_found_by_row_and_lie_within_their_chunk() {
        let chunk = |start, len, value_count, max_rep_level| ChunkSpec {
            file: None,
            path: "x".into(),
            row_group: 0,
            codec: lath_format::CompressionCodec::Uncompressed,
            start,
            len,
            value_count,
            max_def_level: 0,
            max_rep_level,
            bit_order: BitOrder::MostSignificantFirst,
            ignores_compression_flag: false,
            decryptor: None,
        };
        let places = PagePlaces::read(&encode_rows(&[0, 10, 10, 25]), 30).unwrap();
        let found = [0, 9, 10, 24, 25, 29, 1000].map(|row| places.page_at(row).0);
        assert_eq!(found, [0, 0, 2, 2, 3, 3, 3]);
        assert_eq!(places.page_at(12), (2, 10, 204));
        assert_eq!((places.start(), places.page_end(2), places.page_end(3)), (4, Some(304), None));
        assert_eq!([0, 1, 2, 3].map(|page| places.page_rows(page)), [10, 0, 15, 5]);
        assert!(places.are_within(&chunk(4, 301, 30, 0)));
        for other in [chunk(5, 301, 30, 0), chunk(4, 300, 30, 0), chunk(4, 301, 31, 0), chunk(4, 301, 30, 1)] {
            assert!(!places.are_within(&other), "{other:?}");
        }
        for offsets in [[4, 4], [104, 4], [-4, 104]] {
            let index = index(&[(offsets[0], 0), (offsets[1], 10)]);
            assert!(!PagePlaces::read(&index, 30).unwrap().are_within(&chunk(4, 301, 30, 0)), "{offsets:?}");
        }
    }
}
