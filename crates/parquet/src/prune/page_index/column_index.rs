//! The column index of one column chunk: bounds and counts of each page.

use lath_format::schema::ColumnDescriptor;

use super::super::bounds::{BoundReader, DecodedBounds};
use super::super::domain::Domain;
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// Null and NaN counts of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) nulls: Option<u64>,
    pub(crate) nans: Option<u64>,
}

/// A `ColumnIndex`, borrowed from its bytes. All lists have one element per page.
#[derive(Debug, Default)]
pub(super) struct ColumnIndex<'a> {
    null_pages: Vec<bool>,
    mins: Vec<&'a [u8]>,
    maxs: Vec<&'a [u8]>,
    null_counts: Option<Vec<i64>>,
    nan_counts: Option<Vec<i64>>,
}

impl<'a> ColumnIndex<'a> {
    /// Reads an index of `page_count` pages; `None` if it is malformed or has another number of pages.
    pub(super) fn read(bytes: &'a [u8], page_count: usize) -> Option<Self> {
        let mut index = Self::default();
        index.read_fields(bytes, page_count).ok()?;
        let has_all = [index.null_pages.len(), index.mins.len(), index.maxs.len()] == [page_count; 3];
        has_all.then_some(index)
    }

    fn read_fields(&mut self, bytes: &'a [u8], page_count: usize) -> Result<(), ThriftError> {
        ThriftReader::new(bytes).each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::List) => {
                    self.null_pages = list(reader, page_count, &BOOLEANS, ThriftReader::bool_element)?;
                }
                (2, WireType::List) => self.mins = list(reader, page_count, &[WireType::Binary], ThriftReader::binary)?,
                (3, WireType::List) => self.maxs = list(reader, page_count, &[WireType::Binary], ThriftReader::binary)?,
                (5, WireType::List) => {
                    self.null_counts = Some(list(reader, page_count, &[WireType::I64], ThriftReader::i64)?);
                }
                (8, WireType::List) => {
                    self.nan_counts = Some(list(reader, page_count, &[WireType::I64], ThriftReader::i64)?);
                }
                _ => reader.skip(field)?,
            }
            Ok(())
        })
    }

    /// The counts of a page, as far as the index has them.
    pub(super) fn counts(&self, column: &ColumnDescriptor, page: usize) -> Counts {
        let count = |counts: &Option<Vec<i64>>| counts.as_ref().and_then(|counts| u64::try_from(counts[page]).ok());
        Counts {
            nulls: if column.max_def_level() == 0 { Some(0) } else { count(&self.null_counts) },
            nans: count(&self.nan_counts),
        }
    }

    /// Whether pages may have `null_count` nulls together, as the statistics of a flat chunk say.
    pub(super) fn may_have_nulls(&self, null_count: u64, page_rows: impl Iterator<Item = u64>) -> bool {
        match &self.null_counts {
            Some(counts) => {
                let sum = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(u64::try_from(count).ok()?));
                sum == Some(null_count)
            }
            None => {
                let pages = self.null_pages.iter().zip(page_rows).filter(|(is_null, _)| **is_null);
                pages.map(|(_, rows)| rows).sum::<u64>() <= null_count
            }
        }
    }

    /// The domain of a page of `row_count` rows.
    pub(super) fn domain(
        &self,
        bounds: Option<&BoundReader>,
        column: &ColumnDescriptor,
        page: usize,
        row_count: u64,
    ) -> Domain<'a> {
        let is_flat = column.max_rep_level() == 0;
        // A row of a repeated column has any number of values.
        let value_count = if is_flat { row_count } else { u64::MAX };
        let count = |counts: &Option<Vec<i64>>| counts.as_ref().and_then(|counts| u64::try_from(counts[page]).ok());
        let null_count = if column.max_def_level() == 0 { Some(0) } else { count(&self.null_counts) };
        if self.null_pages[page] {
            // The `parquet` crate compares nulls with rows: in its files, a page of lists with as many nulls as rows has the
            // flag. A page of nulls has no bounds; early releases of the `parquet` crate have a byte of zero in their place.
            let has_bounds = [self.mins[page], self.maxs[page]].iter().any(|bound| !matches!(bound, [] | [0]));
            return match is_flat && !has_bounds && null_count.is_none_or(|nulls| nulls == row_count) {
                true => Domain { values: None, nans: false, nulls: true },
                false => Domain::ANY,
            };
        }
        let (read, is_float) = match bounds {
            Some(bounds) => (bounds.page_bounds(column, self.mins[page], self.maxs[page]), bounds.is_float()),
            // Without bounds, NaNs make no difference.
            None => (DecodedBounds::UNKNOWN, true),
        };
        read.domain(is_float, value_count, null_count, count(&self.nan_counts))
    }
}

const BOOLEANS: [WireType; 2] = [WireType::True, WireType::False];

/// A list with one element of one of these types per page.
fn list<'a, T>(
    reader: &mut ThriftReader<'a>,
    page_count: usize,
    types: &[WireType],
    mut element: impl FnMut(&mut ThriftReader<'a>) -> Result<T, ThriftError>,
) -> Result<Vec<T>, ThriftError> {
    let (wire_type, len) = reader.list()?;
    if len != page_count || len > 0 && !types.contains(&wire_type) {
        return Err(ThriftError::Malformed("list of a column index"));
    }
    (0..len).map(|_| element(reader)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::DataType;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::super::super::bound::{Bound, Interval};
    use super::*;
    use lath_format::ColumnOrder;
    use lath_format::thrift::ThriftWriter;

    /// Two pages of integers, the second of nulls alone, written by hand from the specification.
    fn index(null_counts: Option<[i64; 2]>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = ThriftWriter::new(&mut bytes);
        writer.bools(1, [false, true].into_iter());
        writer.byte_strings(2, [&[1, 0, 0, 0][..], &[]].into_iter());
        writer.byte_strings(3, [&[9, 0, 0, 0][..], &[]].into_iter());
        writer.i32(4, 1);
        if let Some(counts) = null_counts {
            writer.i64s(5, counts.into_iter());
        }
        writer.end();
        bytes
    }

    fn column(text: &str) -> SchemaDescriptor {
        SchemaDescriptor::new(Arc::new(parse_message_type(&format!("message m {{ {text}; }}")).unwrap()))
    }

    fn domains<'a>(bytes: &'a [u8], text: &str) -> [Domain<'a>; 2] {
        let schema = column(text);
        let column = schema.column(0);
        let bounds = BoundReader::new(&column, &DataType::Int32, ColumnOrder::TypeDefined);
        let index = ColumnIndex::read(bytes, 2).unwrap();
        [0, 1].map(|page| index.domain(bounds.as_ref(), &column, page, 10))
    }

    const VALUES: Option<Interval<'static>> = Some(Interval { lower: Some(Bound::Int(1)), upper: Some(Bound::Int(9)) });
    const NULLS: Domain<'static> = Domain { values: None, nans: false, nulls: true };

    #[test]
    fn pages_are_of_values_between_bounds_or_of_nulls() {
        let values = |nulls| Domain { values: VALUES, nans: false, nulls };
        assert_eq!(domains(&index(Some([0, 10])), "optional int32 a"), [values(false), NULLS]);
        assert_eq!(domains(&index(Some([3, 10])), "optional int32 a"), [values(true), NULLS]);
        assert_eq!(domains(&index(None), "optional int32 a"), [values(true), NULLS]);
    }

    #[test]
    fn pages_of_nulls_are_not_believed_against_their_count_or_of_lists() {
        assert_eq!(domains(&index(Some([0, 9])), "optional int32 a")[1], Domain::ANY);
        assert_eq!(domains(&index(Some([0, 10])), "required int32 a")[1], Domain::ANY);
        assert_eq!(domains(&index(Some([0, 10])), "repeated int32 a")[1], Domain::ANY);
    }

    #[test]
    fn pages_of_nulls_that_have_bounds_are_not_believed() {
        let encoded = |bound: &[u8]| {
            let mut bytes = Vec::new();
            let mut writer = ThriftWriter::new(&mut bytes);
            writer.bools(1, [false, true].into_iter());
            writer.byte_strings(2, [&[1, 0, 0, 0][..], bound].into_iter());
            writer.byte_strings(3, [&[9, 0, 0, 0][..], bound].into_iter());
            writer.i32(4, 1);
            writer.end();
            bytes
        };
        assert_eq!(domains(&encoded(&[7, 0, 0, 0]), "optional int32 a")[1], Domain::ANY);
        assert_eq!(domains(&encoded(&[0]), "optional int32 a")[1], NULLS);
    }

    #[test]
    fn pages_have_the_nulls_of_their_chunk() {
        let holds = |counts, nulls| {
            let bytes = index(counts);
            ColumnIndex::read(&bytes, 2).unwrap().may_have_nulls(nulls, [10, 10].into_iter())
        };
        assert!(holds(Some([1, 10]), 11) && holds(None, 10) && holds(None, 12));
        assert!(!holds(Some([1, 10]), 10) && !holds(Some([-1, 10]), 9) && !holds(None, 9));
    }

    #[test]
    fn an_index_of_other_pages_or_cut_short_is_none() {
        let bytes = index(Some([0, 10]));
        assert!(ColumnIndex::read(&bytes, 1).is_none() && ColumnIndex::read(&bytes, 3).is_none());
        assert!((0..bytes.len()).all(|len| ColumnIndex::read(&bytes[..len], 2).is_none()));
    }
}
