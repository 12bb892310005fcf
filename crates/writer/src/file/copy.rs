//! Copies column chunks of other files byte for byte: only offsets change, and nothing is decoded.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

use bytes::Bytes;
use lath_format::schema::LogicalType;
use lath_format::thrift::{ThriftReader, WireType};
use lath_format::write::{ChunkStatistics, ColumnChunkMetaData};
use lath_format::{ColumnOrder, CompressionCodec, Encoding, IndexLocation, OffsetIndex, SortingColumn};
use lath_parquet::internal::{BitOrder, ChunkSpec, first_page_version};
use lath_parquet::{Error, ParquetFile, Result};

use super::output::{Output, signed, too_long};
use super::row_group::{Chunk, RowGroup, move_pages};
use crate::schema::{LeafSchema, WriteSchema, is_encoded_alike};

/// Size of the pieces in which chunks are copied.
const PIECE_BYTES: u64 = 8 << 20;
/// Some writers recorded chunk lengths without the header of the dictionary page; readers read this much more.
const MISSED_BYTES: u64 = 100;
/// Upper bound of the size of a Bloom filter's header.
const BLOOM_HEADER_BYTES: u64 = 64;
/// Size of a block of a Bloom filter.
const BLOOM_BLOCK_BYTES: u64 = 32;

/// Copies the columns of `schema` in a row group of `file` to `output`.
///
/// # Errors
/// [`Error::Invalid`] if the file lacks a column of the schema or has it with another type; [`Error::Unsupported`] if it is
/// encrypted, or if its pages can be read only with the name of their writer; errors of reading and writing.
pub(crate) fn copy_row_group<W: Write>(
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
        let chunk = copy_chunk(file, row_group, column, leaf, output);
        chunk.map_err(|error| file.locate(error).locate(|at| at.row_group = at.row_group.or(Some(row_group))))
    });
    let chunks = chunks.collect::<Result<Vec<_>>>()?;
    let rows = usize::try_from(rows).map_err(|_| Error::invalid("a row group of more rows than memory can hold"))?;
    let sorting = file.metadata().row_group(row_group).and_then(|row_group| row_group.sorting_columns());
    Ok(RowGroup { rows, chunks, sorting: sorting.and_then(|sorting| renumbered(&sorting, &columns)) })
}

/// Checks that [`copy_row_group`] accepts the columns of `schema` in `file`.
///
/// # Errors
/// As [`copy_row_group`].
pub(crate) fn check(file: &ParquetFile, schema: &WriteSchema) -> Result<()> {
    let columns = columns(file, schema)?;
    if file.metadata().row_group_count() == 0 {
        return Ok(());
    }
    columns.into_iter().try_for_each(|column| readable(file, 0, column).map(drop))
}

fn readable(file: &ParquetFile, row_group: usize, column: usize) -> Result<ChunkSpec> {
    let spec = file.chunk_spec(row_group, column)?;
    if spec.decryptor.is_some() {
        return Err(Error::unsupported("copying encrypted column chunks"));
    }
    if chunk_needs_writer_name(file, row_group, column, &spec)? {
        let what = "copying column chunks that are read by the name of their writer, which the copy does not have; write the rows";
        return Err(Error::unsupported(what));
    }
    Ok(spec)
}

/// Whether readers interpret pages by the name of the file's writer. Copies of its row groups could not be read, because they are in
/// a file of another writer.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read.
pub fn needs_writer_name(file: &ParquetFile) -> Result<bool> {
    let metadata = file.metadata();
    for row_group in 0..metadata.row_group_count() {
        for column in 0..metadata.schema_descr().num_columns() {
            // A chunk that cannot be read is an error when it is copied.
            let Ok(spec) = file.chunk_spec(row_group, column) else { continue };
            if spec.bit_order == BitOrder::MostSignificantFirst && !spec.ignores_compression_flag {
                return Ok(false);
            }
            if chunk_needs_writer_name(file, row_group, column, &spec)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether readers interpret the pages by the name of the writer.
fn chunk_needs_writer_name(file: &ParquetFile, row_group: usize, column: usize, spec: &ChunkSpec) -> Result<bool> {
    let has_levels = spec.max_def_level > 0 || spec.max_rep_level > 0;
    let has_other_bits = has_levels && spec.bit_order == BitOrder::LeastSignificantFirst;
    let may_be_compressed = spec.ignores_compression_flag && spec.codec != CompressionCodec::Uncompressed;
    if !has_other_bits && !may_be_compressed {
        return Ok(false);
    }
    let encodings = file.metadata().chunk(row_group, column)?.encodings();
    Ok(has_other_bits && encodings.contains(&Encoding::BitPacked)
        || may_be_compressed && first_page_version(file)? == Some(2))
}

/// The columns of the file that correspond to the schema's columns, each exactly once.
///
/// In a file with the schema itself, columns are found by number. In other files they are found by path; if several columns have
/// the same path, both must have the same number of them, which are matched in order.
fn columns(file: &ParquetFile, schema: &WriteSchema) -> Result<Vec<usize>> {
    let descr = file.metadata().schema_descr();
    let numbered = schema.numbers_in(descr);
    let mut by_path: HashMap<&[String], Vec<usize>> = HashMap::new();
    for (index, column) in descr.columns().iter().enumerate() {
        by_path.entry(column.path().parts()).or_default().push(index);
    }
    let find = |(at, leaf): (usize, &LeafSchema)| {
        let path = leaf.column.path().string();
        let index = match numbered {
            Some(numbers) => numbers.get(at).copied(),
            None => match by_path.get(leaf.column.path().parts()).map(Vec::as_slice).unwrap_or_default() {
                [] => None,
                namesakes if namesakes.len() == leaf.namesakes => namesakes.get(leaf.occurrence).copied(),
                namesakes => {
                    let (theirs, ours) = (namesakes.len(), leaf.namesakes);
                    return Err(file.locate(Error::invalid(format!(
                        "the file to be copied has {theirs} columns {path}, the file that is written has {ours}"
                    ))));
                }
            },
        };
        let Some(index) = index else {
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
    schema.leaves.iter().enumerate().map(find).collect()
}

/// The logical type, if it can be written.
fn known(logical_type: Option<&LogicalType>) -> Option<&LogicalType> {
    logical_type.filter(|logical_type| !matches!(logical_type, LogicalType::_Unknown { .. }))
}

/// The sorting columns that are copied, up to the first that is not; `None` if the first is not.
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
    leaf: &LeafSchema,
    output: &mut Output<W>,
) -> Result<Chunk> {
    let spec = readable(file, row_group, column)?;
    let chunk = file.metadata().chunk(row_group, column)?;
    let mut metadata = ColumnChunkMetaData { column: leaf.column.clone(), ..ColumnChunkMetaData::from(&chunk) };
    let start = output.position();
    let mut position = spec.start;
    // None of those writers had offset indexes.
    let missed = if metadata.offset_index.is_none() { MISSED_BYTES } else { 0 };
    let end = (spec.start + spec.len + missed).min(file.source().len());
    while position < end {
        let piece = position..end.min(position + PIECE_BYTES);
        position = piece.end;
        output.write(&read(file, piece)?)?;
    }

    // Both fit: they are within files.
    let distance = signed(start)? - signed(spec.start)?;
    move_pages(&mut metadata, distance)?;
    let mut column_index = indexed(file, metadata.column_index.take())?;
    let offset_index = match indexed(file, metadata.offset_index.take())? {
        Some(index) => Some(moved(&index, distance)?),
        None => None,
    };
    let bloom_filter = bloom_filter(file, metadata.bloom_filter.take())?;
    // Bounds in another order than the new footer declares are dropped.
    let keeps_bounds = match file.metadata().column_order(column) {
        ColumnOrder::TypeDefined => !leaf.has_total_order(),
        ColumnOrder::Ieee754Total => leaf.has_total_order(),
        _ => false,
    };
    if !keeps_bounds {
        column_index = None;
        metadata.statistics = metadata.statistics.and_then(without_bounds);
    }
    Ok(Chunk { start, metadata, column_index, offset_index, bloom_filter, choice: None })
}

/// The statistics reduced to their counts, if there are any.
fn without_bounds(statistics: ChunkStatistics) -> Option<ChunkStatistics> {
    let ChunkStatistics { null_count, distinct_count, nan_count, .. } = statistics;
    let counts = ChunkStatistics { null_count, distinct_count, nan_count, ..ChunkStatistics::default() };
    (counts != ChunkStatistics::default()).then_some(counts)
}

/// The offset index, with pages moved by `distance` bytes.
fn moved(index: &[u8], distance: i64) -> Result<Bytes> {
    let index = OffsetIndex::from_bytes(index).map_err(|error| Error::corrupt(error.to_string()))?;
    let mut bytes = Vec::new();
    index.moved(distance).ok_or_else(too_long)?.write(&mut bytes);
    Ok(bytes.into())
}

/// A part of the page index, if the file has it.
fn indexed(file: &ParquetFile, location: Option<IndexLocation>) -> Result<Option<Bytes>> {
    let Some(IndexLocation { offset, len: Some(len) }) = location else { return Ok(None) };
    let (Ok(offset), Ok(len)) = (u64::try_from(offset), u64::try_from(len)) else {
        return Err(Error::corrupt("a part of the page index is at a negative offset"));
    };
    if len > file.limits().footer_bytes {
        let what = "bytes of a part of the page index (footer_bytes)";
        return Err(Error::limit(what, file.limits().footer_bytes, len));
    }
    read(file, offset..offset.saturating_add(len)).map(Some)
}

/// The Bloom filter with its header, if the chunk has one. Its length is the one in its header: footers do not always have a
/// length, and some have a wrong one. A malformed filter is left out, because readers ignore it.
fn bloom_filter(file: &ParquetFile, location: Option<IndexLocation>) -> Result<Option<Bytes>> {
    let Some(Ok(start)) = location.map(|location| u64::try_from(location.offset)) else { return Ok(None) };
    let file_len = file.source().len();
    let end = start.saturating_add(BLOOM_HEADER_BYTES).min(file_len);
    if start >= end {
        return Ok(None);
    }
    let header = read(file, start..end)?;
    let mut reader = ThriftReader::new(&header);
    let mut bitset_bytes = 0;
    let parsed = reader.each_field(|reader, field| match (field.id, field.wire_type) {
        (1, WireType::I32) => {
            bitset_bytes = reader.i32()?;
            Ok(())
        }
        _ => reader.skip(field),
    });
    let end = match (parsed, u64::try_from(bitset_bytes)) {
        (Ok(()), Ok(bytes)) if bytes > 0 && bytes % BLOOM_BLOCK_BYTES == 0 => start + reader.position() as u64 + bytes,
        _ => return Ok(None),
    };
    if end > file_len { Ok(None) } else { read(file, start..end).map(Some) }
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
