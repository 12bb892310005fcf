//! What a file that is written again takes over from the one that it is made of.
//!
//! | of the file | from | |
//! | --- | --- | --- |
//! | codec | the column chunks | of most row groups; its level is not kept in files, and is the usual one |
//! | dictionary | encodings of the column chunks | whether any chunk has one |
//! | encoding | encodings of the column chunks | the one that is not a dictionary's, other than PLAIN if there is one |
//! | rows and bytes of pages | the offset index | those of the largest page; nothing where all that is known is one small page |
//! | page version | the header of the first page | |
//! | Bloom filters | the bits of the first filter of a column | as a rate of false positives, of 0.0001 at the least |
//! | rows of row groups | the row groups | those of the largest, unless there is one small one |
//! | key-value metadata of column chunks | the column chunks | if all chunks of the column have the same |
//! | name of the schema | the root of the schema | |
//! | Arrow schema, or that there is none | key-value metadata | where the Parquet schema is the same |
//! | sorting columns | the row groups | if all have the same; said of those row groups in which the rows are sorted |

use bytes::Bytes;
use lath_kernels::bloom::BLOCK_LEN;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::basic::{Compression, Encoding, Type as PhysicalType};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::SchemaDescPtr;

use super::{BloomFilter, Codec, ColumnOptions, PageVersion, SortingColumn, ValueEncoding, WriteOptions};
use crate::error::Result;
use crate::file::{ChunkKeyValues, ParquetFile};
use crate::page::first_page_version;
use crate::prune::sample_of_filter;

/// The rate of a filter that has hardly a bit set tells nothing of what was asked for.
const LEAST_BLOOM_RATE: f64 = 0.0001;
const GREATEST_BLOOM_RATE: f64 = 0.5;

/// The schema of a file.
#[derive(Debug, Clone)]
pub(crate) struct InheritedSchema {
    pub(crate) descr: SchemaDescPtr,
    /// The Arrow schema, as it stands in the key-value metadata.
    pub(crate) hint: Option<String>,
}

impl InheritedSchema {
    fn of(metadata: &ParquetMetaData) -> Self {
        let file = metadata.file_metadata();
        let pairs = file.key_value_metadata().into_iter().flatten();
        let mut hints = pairs.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY).filter_map(|pair| pair.value.clone());
        Self { hint: hints.next_back(), descr: file.schema_descr_ptr() }
    }
}

impl WriteOptions {
    /// Takes over from `file` what these options leave open: of each column the codec, the encoding, whether it has a
    /// dictionary, sizes and version of pages, and Bloom filters; the rows of a row group, and what rows are sorted by, if they
    /// are. A file with the same columns keeps the name of its schema, and the Arrow schema that `file` has of them. Of several files,
    /// the first one that says something counts.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if Bloom filters or page headers cannot be read.
    pub fn inherit(mut self, file: &ParquetFile) -> Result<Self> {
        let metadata = file.metadata();
        self.inherited_schema.get_or_insert_with(|| InheritedSchema::of(metadata));
        let Some(first) = metadata.row_groups().first() else { return Ok(self) };
        // Without an index pages have the sizes that they have otherwise; a damaged one is for readers to complain of.
        let indexed = file.page_index().ok();
        let page_version = first_page_version(file)?;
        let page_version = page_version.map(|version| if version == 2 { PageVersion::V2 } else { PageVersion::V1 });
        for (leaf, column) in first.columns().iter().enumerate() {
            let chunks = || metadata.row_groups().iter().map(move |row_group| row_group.column(leaf));
            let mut options = ColumnOptions::new();
            (options.codec, options.page_version) = (codec(chunks()), page_version);
            (options.dictionary, options.encoding) = encodings(chunks());
            if let Some(pages) = indexed.and_then(|indexed| Pages::of(indexed, leaf)) {
                pages.set(&mut options);
            }
            if let Some(bitset) = sample_of_filter(file, leaf)? {
                options.bloom_filter = Some(Some(BloomFilter::FalsePositiveRate(false_positive_rate(&bitset))));
            }
            options.key_values = key_values(file.chunk_key_values()?, leaf, metadata.num_row_groups());
            let inherited = self.inherited.entry(column.column_path().string()).or_default();
            *inherited = inherited.over(&options);
        }
        self.inherited_row_group_rows = self.inherited_row_group_rows.or_else(|| row_group_rows(metadata));
        if self.presumed_sorting.is_empty() {
            self.presumed_sorting = sorting(metadata);
        }
        Ok(self)
    }
}

/// The key-value metadata of a column, if that of all its chunks is the same.
fn key_values(chunks: &ChunkKeyValues, leaf: usize, row_group_count: usize) -> Option<Bytes> {
    let first = chunks.get(&(0, leaf))?;
    let is_same = |row_group: usize| chunks.get(&(row_group, leaf)) == Some(first);
    (1..row_group_count).all(is_same).then(|| first.clone())
}

fn codec<'a>(chunks: impl Iterator<Item = &'a ColumnChunkMetaData>) -> Option<Codec> {
    let mut counts: Vec<(Codec, usize)> = Vec::new();
    for chunk in chunks {
        let codec = match chunk.compression() {
            Compression::UNCOMPRESSED => Codec::Uncompressed,
            Compression::SNAPPY => Codec::Snappy,
            Compression::GZIP(_) => Codec::Gzip { level: Codec::DEFAULT_GZIP_LEVEL },
            Compression::BROTLI(_) => Codec::Brotli { level: Codec::DEFAULT_BROTLI_LEVEL },
            Compression::ZSTD(_) => Codec::Zstd { level: Codec::DEFAULT_ZSTD_LEVEL },
            // The framed format of Hadoop is deprecated.
            Compression::LZ4_RAW | Compression::LZ4 => Codec::Lz4Raw,
            Compression::LZO => continue,
        };
        match counts.iter_mut().find(|(known, _)| *known == codec) {
            Some((_, count)) => *count += 1,
            None => counts.push((codec, 1)),
        }
    }
    // Of equals the first, which `max_by_key` would not give.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(codec, _)| codec)
}

/// Whether chunks have a dictionary, and the encoding of values that it does not hold.
fn encodings<'a>(chunks: impl Iterator<Item = &'a ColumnChunkMetaData>) -> (Option<bool>, Option<ValueEncoding>) {
    let (mut dictionary, mut encoding) = (None, None);
    for chunk in chunks {
        let data_pages = chunk.page_encoding_stats_mask();
        let has = |encoding| match data_pages {
            Some(mask) => mask.is_set(encoding),
            None => chunk.encodings().any(|other| other == encoding),
        };
        let has_dictionary = has(Encoding::RLE_DICTIONARY) || has(Encoding::PLAIN_DICTIONARY);
        dictionary = Some(dictionary.unwrap_or(false) || has_dictionary);
        let of_type = match chunk.column_type() {
            // Levels are RLE too, so that it says nothing where data pages are not told apart.
            PhysicalType::BOOLEAN if data_pages.is_some() => &[(Encoding::RLE, ValueEncoding::Rle)][..],
            _ => &[
                (Encoding::DELTA_BINARY_PACKED, ValueEncoding::DeltaBinaryPacked),
                (Encoding::DELTA_BYTE_ARRAY, ValueEncoding::DeltaByteArray),
                (Encoding::DELTA_LENGTH_BYTE_ARRAY, ValueEncoding::DeltaLengthByteArray),
                (Encoding::BYTE_STREAM_SPLIT, ValueEncoding::ByteStreamSplit),
            ],
        };
        encoding = encoding.or_else(|| of_type.iter().find(|(id, _)| has(*id)).map(|(_, encoding)| *encoding));
    }
    (dictionary, encoding)
}

/// The pages of a column, by its offset index.
#[derive(Debug, Default)]
struct Pages {
    /// Rows of the largest page.
    rows: usize,
    /// Bytes of the largest page before compression, as its chunk was compressed on the average.
    bytes: usize,
    /// Whether a chunk has more than one page.
    are_cut: bool,
    /// Whether all pages have the same rows, but for the last of each chunk.
    are_even: bool,
}

impl Pages {
    fn of(indexed: &ParquetMetaData, leaf: usize) -> Option<Self> {
        let mut pages = Self { are_even: true, ..Self::default() };
        let mut whole_rows = None;
        for (row_group, index) in indexed.row_groups().iter().zip(indexed.offset_index()?) {
            let locations = index.get(leaf)?.page_locations();
            let chunk = row_group.column(leaf);
            let starts = locations.iter().map(|location| location.first_row_index);
            let ends = starts.clone().skip(1).chain([row_group.num_rows()]);
            for (at, (start, end)) in starts.zip(ends).enumerate() {
                let rows = usize::try_from(end.checked_sub(start)?).ok()?;
                pages.rows = pages.rows.max(rows);
                if at + 1 < locations.len() {
                    pages.are_cut = true;
                    pages.are_even &= *whole_rows.get_or_insert(rows) == rows;
                }
            }
            let largest = locations.iter().map(|location| location.compressed_page_size).max().unwrap_or(0);
            let growth = chunk.uncompressed_size().max(1) as f64 / chunk.compressed_size().max(1) as f64;
            pages.bytes = pages.bytes.max((f64::from(largest.max(0)) * growth) as usize);
        }
        Some(pages).filter(|pages| pages.rows > 0)
    }

    fn set(&self, options: &mut ColumnOptions) {
        if !self.are_cut && self.rows <= ColumnOptions::DEFAULT_PAGE_ROWS {
            return;
        }
        options.page_rows = Some(self.rows);
        let bytes = if self.are_even {
            // Rows end the pages, and bytes are not to end them earlier.
            ColumnOptions::DEFAULT_PAGE_BYTES.max(self.bytes.saturating_add(self.bytes / 4))
        } else {
            self.bytes
        };
        options.page_bytes = Some(bytes.clamp(1, ColumnOptions::MAX_PAGE_BYTES));
    }
}

/// The share of absent values that pass: a value asks for a bit of each word of its block.
fn false_positive_rate(bitset: &[u8]) -> f64 {
    let blocks = bitset.as_chunks::<BLOCK_LEN>().0;
    let rate_of = |block: &[u8; BLOCK_LEN]| {
        let words =
            block.as_chunks::<4>().0.iter().map(|word| f64::from(u32::from_le_bytes(*word).count_ones()) / 32.0);
        words.product::<f64>()
    };
    let rate = blocks.iter().map(rate_of).sum::<f64>() / blocks.len().max(1) as f64;
    rate.clamp(LEAST_BLOOM_RATE, GREATEST_BLOOM_RATE)
}

fn row_group_rows(metadata: &ParquetMetaData) -> Option<usize> {
    let rows = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).max()?;
    let rows = usize::try_from(rows).ok().filter(|&rows| rows > 0)?;
    (metadata.num_row_groups() > 1 || rows > WriteOptions::DEFAULT_ROW_GROUP_ROWS).then_some(rows)
}

/// What all row groups say that they are sorted by.
fn sorting(metadata: &ParquetMetaData) -> Vec<SortingColumn> {
    let mut row_groups = metadata.row_groups().iter().map(RowGroupMetaData::sorting_columns);
    let Some(Some(first)) = row_groups.next() else { return Vec::new() };
    if !row_groups.all(|sorting| sorting == Some(first)) {
        return Vec::new();
    }
    let columns = metadata.file_metadata().schema_descr().columns();
    let named = first.iter().map_while(|sorting| {
        let column = columns.get(usize::try_from(sorting.column_idx).ok()?)?;
        let (descending, nulls_first) = (sorting.descending, sorting.nulls_first);
        Some(SortingColumn { path: column.path().string(), descending, nulls_first })
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, RecordBatch};
    use bytes::Bytes;

    use super::*;
    use crate::write::ParquetWriter;

    /// A Thrift list of one pair, whose key is "k" and whose value is "v".
    const LIST: [u8; 8] = [0x1c, 0x18, 1, b'k', 0x18, 1, b'v', 0];

    fn written(options: WriteOptions) -> Bytes {
        let columns = ["a", "b"].map(|name| (name, Arc::new(Int32Array::from_iter_values(0..3000)) as ArrayRef));
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = ParquetWriter::new(Vec::new(), &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish_into().unwrap().0.into()
    }

    fn copied(file: &ParquetFile) -> ParquetFile {
        let mut writer = ParquetWriter::new_like(Vec::new(), file, None, WriteOptions::default()).unwrap();
        for row_group in 0..file.metadata().num_row_groups() {
            writer.copy_row_group(file, row_group).unwrap();
        }
        ParquetFile::from_bytes(writer.finish_into().unwrap().0.into()).unwrap()
    }

    #[test]
    fn key_value_metadata_of_column_chunks_is_taken_over_and_copied() {
        let mut own = ColumnOptions::new();
        own.key_values = Some(Bytes::from_static(&LIST));
        let bytes = written(WriteOptions::default().column("b", own).row_group_rows(1000));
        let file = ParquetFile::from_bytes(bytes).unwrap();
        let lists = |file: &ParquetFile| {
            let mut lists: Vec<_> =
                file.chunk_key_values().unwrap().iter().map(|(at, list)| (*at, list.to_vec())).collect();
            lists.sort();
            lists
        };
        let expected = [0, 1, 2].map(|row_group| ((row_group, 1), LIST.to_vec()));
        assert_eq!(lists(&file), expected);
        // Other readers know the field, or pass over it.
        let read = parquet::file::metadata::ParquetMetaDataReader::new();
        let encoded = written(WriteOptions::default().inherit(&file).unwrap());
        assert_eq!(read.parse_and_finish(&encoded).unwrap().num_row_groups(), 3);
        assert_eq!(lists(&ParquetFile::from_bytes(encoded).unwrap()), expected);
        assert_eq!(lists(&copied(&file)), expected);
    }
}
