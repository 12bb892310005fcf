//! Column chunks of other files, byte for byte: only offsets change, so that nothing is decoded.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

use bytes::Bytes;
use parquet::basic::{ColumnOrder, LogicalType};
use parquet::file::metadata::{ColumnChunkMetaData, SortingColumn};

use super::output::Output;
use super::page_index::moved_offset_index;
use super::row_group::{Chunk, Index, RowGroup, moved, signed};
use super::schema::{WriteSchema, is_encoded_alike};
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::page::ChunkSpec;
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// Chunks are copied in pieces of this size.
const PIECE_BYTES: u64 = 8 << 20;
/// Writers have said lengths of chunks that miss the header of the dictionary page; readers look on this far.
const MISSED_BYTES: u64 = 100;
/// More than the header of a Bloom filter takes up.
const BLOOM_HEADER_BYTES: u64 = 64;

/// Copies the columns of `schema` in a row group of `file` to where `output` is.
///
/// # Errors
/// [`Error::Invalid`] if the file lacks a column of the schema or has it of another type; [`Error::Unsupported`] if it is
/// encrypted; errors of reading and writing.
pub(super) fn copy_row_group<W: Write>(
    file: &ParquetFile,
    row_group: usize,
    schema: &WriteSchema,
    output: &mut Output<W>,
) -> Result<RowGroup> {
    let count = file.row_group_row_counts().len();
    let Some(&rows) = file.row_group_row_counts().get(row_group) else {
        return Err(Error::invalid(format!("no row group {row_group} in a file of {count}")));
    };
    let columns = columns(file, schema)?;
    let chunks = columns.iter().zip(&schema.leaves).map(|(&column, leaf)| {
        // Bounds in another order than the one that the new footer says are none.
        let order = file.metadata().file_metadata().column_order(column);
        let keeps_bounds = matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_)) && !leaf.has_total_order();
        let chunk = copy_chunk(file, row_group, column, keeps_bounds, output);
        chunk.map_err(|error| file.locate(error).locate(|at| at.row_group = at.row_group.or(Some(row_group))))
    });
    let chunks = chunks.collect::<Result<Vec<_>>>()?;
    let rows = usize::try_from(rows).map_err(|_| Error::invalid("a row group of more rows than memory can hold"))?;
    let sorting = file.metadata().row_group(row_group).sorting_columns();
    Ok(RowGroup { rows, chunks, sorting: sorting.and_then(|sorting| renumbered(sorting, &columns)) })
}

/// Whether [`copy_row_group`] does not refuse the columns of `schema` in `file`.
///
/// # Errors
/// As [`copy_row_group`].
pub(super) fn check(file: &ParquetFile, schema: &WriteSchema) -> Result<()> {
    let columns = columns(file, schema)?;
    if file.metadata().num_row_groups() == 0 {
        return Ok(());
    }
    columns.into_iter().try_for_each(|column| readable(file, 0, column).map(drop))
}

fn readable(file: &ParquetFile, row_group: usize, column: usize) -> Result<ChunkSpec> {
    let spec = file.chunk_spec(row_group, column)?;
    if spec.decryptor.is_some() { Err(Error::unsupported("copying encrypted column chunks")) } else { Ok(spec) }
}

/// The columns of the file that are those of the schema.
fn columns(file: &ParquetFile, schema: &WriteSchema) -> Result<Vec<usize>> {
    let descr = file.metadata().file_metadata().schema_descr();
    let by_path: HashMap<&[String], usize> =
        descr.columns().iter().enumerate().map(|(index, column)| (column.path().parts(), index)).collect();
    let find = |leaf: &super::schema::LeafSchema| {
        let path = leaf.column.path().string();
        let Some(&index) = by_path.get(leaf.column.path().parts()) else {
            return Err(file.locate(Error::invalid(format!("the file to be copied has no column {path}"))));
        };
        let column = descr.column(index);
        let is_same = is_encoded_alike(&column, &leaf.column)
            && column.converted_type() == leaf.column.converted_type()
            && known(column.logical_type_ref()) == leaf.column.logical_type_ref()
            && (column.type_precision(), column.type_scale())
                == (leaf.column.type_precision(), leaf.column.type_scale());
        if is_same {
            Ok(index)
        } else {
            Err(Error::invalid(format!("column {path} of the file to be copied has another type")))
        }
    };
    schema.leaves.iter().map(find).collect()
}

/// A logical type that can be written.
fn known(logical_type: Option<&LogicalType>) -> Option<&LogicalType> {
    logical_type.filter(|logical_type| !matches!(logical_type, LogicalType::_Unknown { .. }))
}

/// What the rows are sorted by, as far as the first columns of it are there; `None` if the first is not.
fn renumbered(sorting: &[SortingColumn], columns: &[usize]) -> Option<Vec<SortingColumn>> {
    let renumber = |sorting: &SortingColumn| {
        let column = usize::try_from(sorting.column_idx).ok()?;
        let column_idx = i32::try_from(columns.iter().position(|&index| index == column)?).ok()?;
        Some(SortingColumn { column_idx, ..*sorting })
    };
    let sorting: Vec<_> = sorting.iter().map_while(renumber).collect();
    Some(sorting).filter(|sorting| !sorting.is_empty())
}

fn copy_chunk<W: Write>(
    file: &ParquetFile,
    row_group: usize,
    column: usize,
    keeps_bounds: bool,
    output: &mut Output<W>,
) -> Result<Chunk> {
    let spec = readable(file, row_group, column)?;
    let metadata = file.metadata().row_group(row_group).column(column);
    let start = output.position();
    let mut position = spec.start;
    // None of those writers had offset indexes.
    let missed = if metadata.offset_index_offset().is_none() { MISSED_BYTES } else { 0 };
    let end = (spec.start + spec.len + missed).min(file.source().len());
    while position < end {
        let piece = position..end.min(position + PIECE_BYTES);
        position = piece.end;
        output.write(&read(file, piece)?)?;
    }

    // Both fit: they lie within files.
    let distance = signed(start)? - signed(spec.start)?;
    let mut builder = moved(metadata.clone(), distance)?
        .into_builder()
        .set_index_page_offset(None)
        .set_column_index_offset(None)
        .set_column_index_length(None)
        .set_offset_index_offset(None)
        .set_offset_index_length(None)
        .set_bloom_filter_offset(None)
        .set_bloom_filter_length(None);
    if !keeps_bounds {
        builder = builder.clear_statistics();
    }
    let metadata_moved = builder.build().map_err(crate::envelope::translate)?;

    let column_index = indexed(file, metadata.column_index_offset(), metadata.column_index_length())?;
    let offset_index = indexed(file, metadata.offset_index_offset(), metadata.offset_index_length())?;
    let offset_index = offset_index.map(|index| moved_offset_index(&index, distance)).transpose().map_err(malformed)?;
    Ok(Chunk {
        start,
        metadata: metadata_moved,
        column_index: column_index.filter(|_| keeps_bounds).map(Index::Copied),
        offset_index: offset_index.map(|index| Index::Copied(index.into())),
        bloom_filter: bloom_filter(file, metadata)?,
        nan_counts: None,
        key_values: file.chunk_key_values()?.get(&(row_group, column)).cloned(),
        choice: None,
    })
}

/// A part of the page index, if the file has it.
fn indexed(file: &ParquetFile, offset: Option<i64>, len: Option<i32>) -> Result<Option<Bytes>> {
    let (Some(offset), Some(len)) = (offset, len) else { return Ok(None) };
    let (Ok(offset), Ok(len)) = (u64::try_from(offset), u64::try_from(len)) else {
        return Err(Error::corrupt("a part of the page index is at a negative offset"));
    };
    if len > file.limits().footer_bytes {
        let what = "bytes of a part of the page index (footer_bytes)";
        return Err(Error::limit(what, file.limits().footer_bytes, len));
    }
    read(file, offset..offset.saturating_add(len)).map(Some)
}

/// The Bloom filter with its header, if the chunk has one. Its length is not always said.
fn bloom_filter(file: &ParquetFile, metadata: &ColumnChunkMetaData) -> Result<Option<Bytes>> {
    let Some(offset) = metadata.bloom_filter_offset() else { return Ok(None) };
    let negative = |_| Error::corrupt("a Bloom filter is at a negative offset");
    let start = u64::try_from(offset).map_err(negative)?;
    let len = match metadata.bloom_filter_length() {
        Some(len) => u64::try_from(len).map_err(negative)?,
        None => {
            let end = start.saturating_add(BLOOM_HEADER_BYTES).min(file.source().len());
            let header = read(file, start.min(end)..end)?;
            let mut reader = ThriftReader::new(&header);
            let mut bitset_bytes = 0;
            let header = reader.each_field(|reader, field| match (field.id, field.wire_type) {
                (1, WireType::I32) => {
                    bitset_bytes = reader.i32()?;
                    Ok(())
                }
                _ => reader.skip(field),
            });
            header.map_err(malformed)?;
            u64::try_from(bitset_bytes).map_err(negative)? + reader.position() as u64
        }
    };
    read(file, start..start.saturating_add(len)).map(Some)
}

fn read(file: &ParquetFile, range: Range<u64>) -> Result<Bytes> {
    let (start, len) = (range.start, range.end.saturating_sub(range.start));
    let at = |error| Error::io("read", error).locate(|at| at.offset = Some(start));
    let bytes = file.source().read(range).map_err(at)?;
    if (bytes.len() as u64) < len {
        return Err(at(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)));
    }
    Ok(bytes.slice(..len as usize))
}

fn malformed(error: ThriftError) -> Error {
    Error::corrupt(format!("malformed metadata of a column chunk: {error:?}"))
}
