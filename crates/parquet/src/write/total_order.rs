//! IEEE 754 total order in the footer, which the `parquet` crate cannot express: what it wrote gets the number of NaNs of
//! each column chunk, and the order of the columns, spliced in.
//!
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>

use super::row_group::RowGroup;
use super::schema::{LeafSchema, WriteSchema};
use super::thrift::ThriftWriter;
use crate::error::{Error, Result};
use crate::page::thrift::{ThriftError, ThriftReader, WireType};

/// The number of `nan_count` in `Statistics`, after all fields that the crate writes.
const NAN_COUNT: i16 = 9;
/// The number of `IEEE_754_TOTAL_ORDER` in the union `ColumnOrder`.
const TOTAL_ORDER: i16 = 2;

/// A copy of the `FileMetaData` that says the total order of columns which have it.
pub(super) fn say(footer: &[u8], schema: &WriteSchema, row_groups: &[RowGroup]) -> Result<Vec<u8>> {
    let nan_count = |row_group: usize, column: usize| {
        let chunk = row_groups.get(row_group)?.chunks.get(column)?;
        chunk.nan_counts.as_ref().map(|counts| counts.chunk)
    };
    let has_total_order = |column: usize| schema.leaves.get(column).is_some_and(LeafSchema::has_total_order);
    let mut splices = Vec::new();
    walk(footer, nan_count, has_total_order, &mut splices)
        .map_err(|error| Error::internal(format!("the footer cannot be changed: {error:?}")))?;

    let mut changed = Vec::with_capacity(footer.len() + 4 * splices.len());
    let mut copied = 0;
    for splice in splices {
        changed.extend_from_slice(&footer[copied..splice.start]);
        changed.extend_from_slice(&splice.bytes);
        copied = splice.end;
    }
    changed.extend_from_slice(&footer[copied..]);
    Ok(changed)
}

/// Bytes that take the place of a range.
#[derive(Debug)]
struct Splice {
    start: usize,
    end: usize,
    bytes: Vec<u8>,
}

fn walk(
    footer: &[u8],
    nan_count: impl Fn(usize, usize) -> Option<u64>,
    has_total_order: impl Fn(usize) -> bool,
    splices: &mut Vec<Splice>,
) -> Result<(), ThriftError> {
    ThriftReader::new(footer).each_field(|reader, field| match (field.id, field.wire_type) {
        // row_groups
        (4, WireType::List) => reader.each_structure(|reader, row_group| {
            reader.each_field(|reader, field| match (field.id, field.wire_type) {
                // columns
                (1, WireType::List) => {
                    reader.each_structure(|reader, column| column_chunk(reader, nan_count(row_group, column), splices))
                }
                _ => reader.skip(field),
            })
        }),
        // column_orders
        (7, WireType::List) => reader.each_structure(|reader, column| {
            let start = reader.position();
            reader.skip_element(WireType::Struct)?;
            if has_total_order(column) {
                let mut bytes = Vec::new();
                let mut writer = ThriftWriter::new(&mut bytes);
                writer.structure(TOTAL_ORDER, |_| {});
                writer.end();
                splices.push(Splice { start, end: reader.position(), bytes });
            }
            Ok(())
        }),
        _ => reader.skip(field),
    })
}

fn column_chunk(
    reader: &mut ThriftReader<'_>,
    nan_count: Option<u64>,
    splices: &mut Vec<Splice>,
) -> Result<(), ThriftError> {
    reader.each_field(|reader, field| match (field.id, field.wire_type, nan_count) {
        // meta_data
        (3, WireType::Struct, Some(nan_count)) => {
            reader.each_field(|reader, field| match (field.id, field.wire_type) {
                // statistics
                (12, WireType::Struct) => {
                    let mut last = 0;
                    reader.each_field(|reader, field| {
                        last = field.id;
                        reader.skip(field)
                    })?;
                    let mut bytes = Vec::new();
                    ThriftWriter::after(&mut bytes, last).i64(NAN_COUNT, nan_count.cast_signed());
                    // Before the byte that ends the structure.
                    let position = reader.position() - 1;
                    splices.push(Splice { start: position, end: position, bytes });
                    Ok(())
                }
                _ => reader.skip(field),
            })
        }
        _ => reader.skip(field),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `FileMetaData` by hand: a row group of two chunks, one with statistics, and two column orders.
    fn footer(nan_count: Option<i64>, second_order: i16) -> Vec<u8> {
        let mut out = Vec::new();
        let mut file = ThriftWriter::new(&mut out);
        file.i32(1, 1);
        file.structures(4, std::iter::once(()), |row_group, ()| {
            row_group.structures(1, [None, Some(3)].into_iter(), |chunk, null_count: Option<i64>| {
                chunk.i64(2, 4);
                chunk.structure(3, |metadata| {
                    metadata.i32(1, 4);
                    if let Some(null_count) = null_count {
                        metadata.structure(12, |statistics| {
                            statistics.i64(3, null_count);
                            statistics.bool(8, true);
                            if let Some(nan_count) = nan_count {
                                statistics.i64(9, nan_count);
                            }
                        });
                    }
                    metadata.i64(14, 99);
                });
            });
            row_group.i64(3, 1000);
        });
        file.structures(7, [1, second_order].into_iter(), |order, id| order.structure(id, |_| {}));
        file.end();
        out
    }

    #[test]
    fn nan_counts_and_orders_are_put_where_the_format_has_them() {
        let plain = footer(None, 1);
        let mut splices = Vec::new();
        walk(&plain, |_, column| (column == 1).then_some(300), |column| column == 1, &mut splices).unwrap();
        let mut changed = plain.clone();
        for splice in splices.into_iter().rev() {
            changed.splice(splice.start..splice.end, splice.bytes);
        }
        assert_eq!(changed, footer(Some(300), 2));
    }

    #[test]
    fn a_footer_cut_short_is_an_error() {
        let plain = footer(None, 1);
        for len in 0..plain.len() {
            assert!(walk(&plain[..len], |_, _| Some(1), |_| true, &mut Vec::new()).is_err());
        }
    }
}
