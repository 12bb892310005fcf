//! The page index: column indexes, then offset indexes, behind the last row group.
//!
//! Written here and not by the `parquet` crate, which knows no NaN counts and wants an offset index of every column or of none.
//!
//! <https://github.com/apache/parquet-format/blob/master/PageIndex.md>

use std::io::Write;

use parquet::basic::BoundaryOrder;
use parquet::data_type::AsBytes;
use parquet::file::page_index::column_index::{ColumnIndex, ColumnIndexMetaData};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use super::NanCounts;
use super::output::Output;
use super::row_group::{Index, RowGroups, signed, too_long};
use crate::error::Result;
use lath_format::thrift::ThriftWriter;
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// Writes the indexes and notes in the chunks' metadata where they are.
pub(super) fn write<W: Write>(row_groups: &mut RowGroups, output: &mut Output<W>) -> Result<()> {
    let mut bytes = Vec::new();
    for chunk in row_groups.done_mut().iter_mut().flat_map(|row_group| &mut row_group.chunks) {
        let Some(index) = chunk.column_index.take() else { continue };
        bytes.clear();
        match &index {
            Index::Built(index) if !write_column_index(index, chunk.nan_counts.as_ref(), &mut bytes) => continue,
            Index::Built(_) => {}
            Index::Copied(index) => bytes.extend_from_slice(index),
        }
        let (start, len) = (signed(output.position())?, i32::try_from(bytes.len()).map_err(|_| too_long())?);
        output.write(&bytes)?;
        chunk.change(|builder| builder.set_column_index_offset(Some(start)).set_column_index_length(Some(len)))?;
    }
    for chunk in row_groups.done_mut().iter_mut().flat_map(|row_group| &mut row_group.chunks) {
        let Some(index) = chunk.offset_index.take() else { continue };
        bytes.clear();
        match &index {
            Index::Built(index) => write_offset_index(index, signed(chunk.start)?, &mut bytes),
            Index::Copied(index) => bytes.extend_from_slice(index),
        }
        let (start, len) = (signed(output.position())?, i32::try_from(bytes.len()).map_err(|_| too_long())?);
        output.write(&bytes)?;
        chunk.change(|builder| builder.set_offset_index_offset(Some(start)).set_offset_index_length(Some(len)))?;
    }
    Ok(())
}

/// `struct OffsetIndex`, of pages whose offsets count from `start`.
fn write_offset_index(index: &OffsetIndexMetaData, start: i64, out: &mut Vec<u8>) {
    let mut writer = ThriftWriter::new(out);
    writer.structures(1, index.page_locations().iter(), |writer, page| {
        writer.i64(1, start + page.offset);
        writer.i32(2, page.compressed_page_size);
        writer.i64(3, page.first_row_index);
    });
    if let Some(bytes) = index.unencoded_byte_array_data_bytes() {
        writer.i64s(2, bytes.iter().copied());
    }
    writer.end();
}

/// `struct ColumnIndex`. Returns whether there is one.
fn write_column_index(index: &ColumnIndexMetaData, nan_counts: Option<&NanCounts>, out: &mut Vec<u8>) -> bool {
    let Some(order) = index.get_boundary_order() else { return false };
    /// The bounds of one page; both are empty where it has none.
    macro_rules! bounds {
        ($index:expr) => {{
            let index = $index;
            let page = |i| {
                let bounds = index.min_value(i).zip(index.max_value(i));
                bounds.map_or((&[][..], &[][..]), |(min, max)| (min.as_bytes(), max.as_bytes()))
            };
            write_pages(index, order, page, nan_counts, out);
        }};
    }
    match index {
        ColumnIndexMetaData::NONE => return false,
        ColumnIndexMetaData::BOOLEAN(index) => bounds!(index),
        ColumnIndexMetaData::INT32(index) => bounds!(index),
        ColumnIndexMetaData::INT64(index) => bounds!(index),
        ColumnIndexMetaData::INT96(index) => bounds!(index),
        ColumnIndexMetaData::FLOAT(index) => bounds!(index),
        ColumnIndexMetaData::DOUBLE(index) => bounds!(index),
        ColumnIndexMetaData::BYTE_ARRAY(index) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => bounds!(index),
    }
    true
}

fn write_pages<'a>(
    index: &ColumnIndex,
    order: BoundaryOrder,
    bounds: impl Fn(usize) -> (&'a [u8], &'a [u8]),
    nan_counts: Option<&NanCounts>,
    out: &mut Vec<u8>,
) {
    let pages = 0..index.num_pages() as usize;
    let mut writer = ThriftWriter::new(out);
    writer.bools(1, pages.clone().map(|page| index.is_null_page(page)));
    writer.byte_strings(2, pages.clone().map(|page| bounds(page).0));
    writer.byte_strings(3, pages.clone().map(|page| bounds(page).1));
    writer.i32(4, order as i32);
    if let Some(counts) = pages.clone().map(|page| index.null_count(page)).collect::<Option<Vec<_>>>() {
        writer.i64s(5, counts.into_iter());
    }
    // The histograms of all pages, one after another.
    let repetition: Option<Vec<_>> = pages.clone().map(|page| index.repetition_level_histogram(page)).collect();
    let definition: Option<Vec<_>> = pages.map(|page| index.definition_level_histogram(page)).collect();
    for (id, histograms) in [(6, repetition), (7, definition)] {
        if let Some(histograms) = histograms.map(|histograms| histograms.concat()).filter(|all| !all.is_empty()) {
            writer.i64s(id, histograms.into_iter());
        }
    }
    if let Some(counts) = nan_counts {
        writer.i64s(8, counts.pages.iter().map(|&count| count.cast_signed()));
    }
    writer.end();
}

/// A copy of an `OffsetIndex` whose pages lie further on by `distance`.
pub(super) fn moved_offset_index(index: &[u8], distance: i64) -> Result<Vec<u8>, ThriftError> {
    let mut pages = Vec::new();
    let mut byte_array_bytes = None;
    ThriftReader::new(index).each_field(|reader, field| match (field.id, field.wire_type) {
        (1, WireType::List) => reader.each_structure(|reader, _| {
            let (mut offset, mut size, mut first_row) = (0_i64, 0, 0);
            reader.each_field(|reader, field| {
                match (field.id, field.wire_type) {
                    (1, WireType::I64) => offset = reader.i64()?,
                    (2, WireType::I32) => size = reader.i32()?,
                    (3, WireType::I64) => first_row = reader.i64()?,
                    _ => reader.skip(field)?,
                }
                Ok(())
            })?;
            let offset = offset.checked_add(distance).ok_or(ThriftError::Malformed("offset of a page"))?;
            pages.push((offset, size, first_row));
            Ok(())
        }),
        (2, WireType::List) => {
            let (element, len) = reader.list()?;
            if element != WireType::I64 && len > 0 {
                return Err(ThriftError::Malformed("list of integers"));
            }
            byte_array_bytes = Some((0..len).map(|_| reader.i64()).collect::<Result<Vec<_>, _>>()?);
            Ok(())
        }
        _ => reader.skip(field),
    })?;
    let mut out = Vec::with_capacity(index.len() + pages.len());
    let mut writer = ThriftWriter::new(&mut out);
    writer.structures(1, pages.into_iter(), |writer, (offset, size, first_row)| {
        writer.i64(1, offset);
        writer.i32(2, size);
        writer.i64(3, first_row);
    });
    if let Some(bytes) = byte_array_bytes {
        writer.i64s(2, bytes.into_iter());
    }
    writer.end();
    Ok(out)
}
