//! What the `parquet` crate cannot express, spliced into the footer that it wrote: the number of NaNs and the key-value
//! metadata of each column chunk, and columns in IEEE 754 total order.
//!
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>

use super::row_group::RowGroup;
use super::schema::{LeafSchema, WriteSchema};
use crate::error::{Error, Result};
use crate::file::KEY_VALUE_METADATA;
use lath_format::thrift::ThriftWriter;
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// The number of `nan_count` in `Statistics`, after all fields that the crate writes.
const NAN_COUNT: i16 = 9;
/// The number of `IEEE_754_TOTAL_ORDER` in the union `ColumnOrder`.
const TOTAL_ORDER: i16 = 2;

/// Whether there is anything to splice in.
pub(super) fn is_needed(schema: &WriteSchema, row_groups: &[RowGroup]) -> bool {
    schema.leaves.iter().any(|leaf| leaf.has_total_order() || leaf.options.key_values.is_some())
        || row_groups.iter().flat_map(|row_group| &row_group.chunks).any(|chunk| chunk.key_values.is_some())
}

/// A copy of the `FileMetaData` with all that the chunks and the schema say.
pub(super) fn complete(footer: &[u8], schema: &WriteSchema, row_groups: &[RowGroup]) -> Result<Vec<u8>> {
    let additions = |row_group: usize, column: usize| {
        let chunk = row_groups.get(row_group).and_then(|row_group| row_group.chunks.get(column));
        let nan_count = chunk.and_then(|chunk| chunk.nan_counts.as_ref()).map(|counts| counts.chunk);
        let key_values = chunk.and_then(|chunk| match &chunk.choice {
            // An encoded chunk has what its column has.
            Some(_) => schema.leaves.get(column)?.options.key_values.as_ref(),
            None => chunk.key_values.as_ref(),
        });
        Additions { nan_count, key_values: key_values.map(|list| &list[..]) }
    };
    let has_total_order = |column: usize| schema.leaves.get(column).is_some_and(LeafSchema::has_total_order);
    let mut splices = Vec::new();
    walk(footer, additions, has_total_order, &mut splices)
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

/// What a column chunk gets.
#[derive(Debug, Clone, Copy, Default)]
struct Additions<'a> {
    nan_count: Option<u64>,
    /// A list in Thrift's compact protocol.
    key_values: Option<&'a [u8]>,
}

fn walk<'a>(
    footer: &[u8],
    additions: impl Fn(usize, usize) -> Additions<'a>,
    has_total_order: impl Fn(usize) -> bool,
    splices: &mut Vec<Splice>,
) -> Result<(), ThriftError> {
    ThriftReader::new(footer).each_field(|reader, field| match (field.id, field.wire_type) {
        // row_groups
        (4, WireType::List) => reader.each_structure(|reader, row_group| {
            reader.each_field(|reader, field| match (field.id, field.wire_type) {
                // columns
                (1, WireType::List) => {
                    reader.each_structure(|reader, column| column_chunk(reader, additions(row_group, column), splices))
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
    additions: Additions<'_>,
    splices: &mut Vec<Splice>,
) -> Result<(), ThriftError> {
    reader.each_field(|reader, field| match (field.id, field.wire_type) {
        // meta_data
        (3, WireType::Struct) => column_meta_data(reader, additions, splices),
        _ => reader.skip(field),
    })
}

fn column_meta_data(
    reader: &mut ThriftReader<'_>,
    additions: Additions<'_>,
    splices: &mut Vec<Splice>,
) -> Result<(), ThriftError> {
    let mut key_values = additions.key_values;
    let (mut previous, mut end) = (0, reader.position());
    reader.each_field(|reader, field| {
        // Before the first field with a higher number, whose header counts from the one before it.
        if let Some(list) = key_values.filter(|_| field.id > KEY_VALUE_METADATA) {
            key_values = None;
            let mut bytes = Vec::new();
            let mut writer = ThriftWriter::after(&mut bytes, previous);
            writer.encoded(KEY_VALUE_METADATA, WireType::List.nibble(), list);
            writer.begin(field.id, field.wire_type.nibble());
            splices.push(Splice { start: end, end: reader.position(), bytes });
        }
        match (field.id, field.wire_type, additions.nan_count) {
            // statistics
            (12, WireType::Struct, Some(nan_count)) => nan_count_into(reader, nan_count, splices)?,
            _ => reader.skip(field)?,
        }
        (previous, end) = (field.id, reader.position());
        Ok(())
    })
}

fn nan_count_into(reader: &mut ThriftReader<'_>, nan_count: u64, splices: &mut Vec<Splice>) -> Result<(), ThriftError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A `FileMetaData` by hand: a row group of two chunks, one with statistics, and two column orders.
    fn footer(nan_count: Option<i64>, key_values: Option<&[u8]>, second_order: i16) -> Vec<u8> {
        let mut out = Vec::new();
        let mut file = ThriftWriter::new(&mut out);
        file.i32(1, 1);
        file.structures(4, std::iter::once(()), |row_group, ()| {
            row_group.structures(1, [None, Some(3)].into_iter(), |chunk, null_count: Option<i64>| {
                chunk.i64(2, 4);
                chunk.structure(3, |metadata| {
                    metadata.i32(1, 4);
                    if let Some(list) = key_values {
                        metadata.encoded(8, 9, list);
                    }
                    metadata.i64(9, 4);
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
    fn additions_are_put_where_the_format_has_them() {
        let plain = footer(None, None, 1);
        let mut splices = Vec::new();
        // A list of one structure: key "a".
        let list = [0x1c, 0x18, 1, b'a', 0];
        let additions = |_, column| Additions { nan_count: (column == 1).then_some(300), key_values: Some(&list[..]) };
        walk(&plain, additions, |column| column == 1, &mut splices).unwrap();
        let mut changed = plain.clone();
        for splice in splices.into_iter().rev() {
            changed.splice(splice.start..splice.end, splice.bytes);
        }
        assert_eq!(changed, footer(Some(300), Some(&list), 2));
    }

    #[test]
    fn a_footer_cut_short_is_an_error() {
        let plain = footer(None, None, 1);
        for len in 0..plain.len() {
            assert!(
                walk(
                    &plain[..len],
                    |_, _| Additions { nan_count: Some(1), key_values: None },
                    |_| true,
                    &mut Vec::new()
                )
                .is_err()
            );
        }
    }
}
