//! Inherits options from a file that is rewritten.
//!
//! | option | from | rule |
//! | --- | --- | --- |
//! | codec | the column chunks | of most row groups; its level is not stored in files, and is the default |
//! | dictionary | encodings of the column chunks | on if any chunk has one |
//! | encoding | encodings of the column chunks | the one that is not a dictionary's, other than PLAIN if there is one |
//! | rows and bytes of pages | the offset index | of the largest page; not inherited if only one small page is known |
//! | page version | the header of the first page | |
//! | Bloom filters | the bits of the first filter of a column | as a false positive rate, of at least 0.0001 |
//! | rows of row groups | the row groups | of the largest, unless there is one small one |
//! | order of statistics | the footer | IEEE 754's total order if it has that |
//! | key-value metadata of column chunks | the column chunks | if all chunks of the column have the same |
//! | name of the schema | the root of the schema | |
//! | Arrow schema, or its absence | key-value metadata | if the Parquet schema is the same |
//! | sorting columns | the row groups | if all have the same; written for the row groups whose rows are sorted |

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use lath_format::schema::{ARROW_SCHEMA_META_KEY, PhysicalType, SchemaDescPtr, write_path};
use lath_format::{ColumnChunk, ColumnOrder, CompressionCodec, Encoding, FileMetaData, PageType};
use lath_kernels::bloom::BLOCK_LEN;
use lath_parquet::internal::{ChunkKeyValues, bloom_filter_sample, first_page_version};
use lath_parquet::{PageIndex, ParquetFile, Result};

use super::{BloomFilter, Codec, ColumnOptions, PageVersion, ValueEncoding, WriteOptions};
use crate::SortingColumn;

/// A filter with hardly a bit set does not show the requested rate.
const LEAST_BLOOM_RATE: f64 = 0.0001;
const GREATEST_BLOOM_RATE: f64 = 0.5;

/// The schema of a file.
#[derive(Debug, Clone)]
pub(crate) struct InheritedSchema {
    pub(crate) descr: SchemaDescPtr,
    /// The Arrow schema, as encoded in the key-value metadata.
    pub(crate) hint: Option<String>,
}

impl InheritedSchema {
    fn of(metadata: &FileMetaData) -> Self {
        let pairs = metadata.key_value_metadata().into_iter();
        let mut hints = pairs.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY).filter_map(|pair| pair.value);
        Self { hint: hints.next_back(), descr: Arc::clone(metadata.schema_descr()) }
    }
}

impl WriteOptions {
    /// Inherits from `file` the options that are not set: of each column the codec, the encoding, whether it has a dictionary,
    /// sizes and version of pages, Bloom filters and the order of statistics; the rows of a row group, and the sorting columns,
    /// if rows are in their order. A file with the same columns keeps the name of its schema, and the Arrow schema that `file`
    /// has of them. If called for several files, the first one that has an option wins.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if Bloom filters or page headers cannot be read.
    pub fn inherit(mut self, file: &ParquetFile) -> Result<Self> {
        let metadata = file.metadata();
        self.inherited_schema.get_or_insert_with(|| InheritedSchema::of(metadata));
        if metadata.row_group_count() == 0 {
            return Ok(self);
        }
        let key_values_of_chunks = file.chunk_key_values();
        // Without an index pages have their default sizes; a damaged index is an error for readers, not here.
        let indexed = file.page_index().ok();
        let page_version = first_page_version(file)?;
        let page_version = page_version.map(|version| if version == 2 { PageVersion::V2 } else { PageVersion::V1 });
        let mut occurrences = HashMap::new();
        for (leaf, column) in metadata.schema_descr().columns().iter().enumerate() {
            // A chunk whose metadata cannot be read is ignored here, and is an error where it is read.
            let chunks =
                || (0..metadata.row_group_count()).filter_map(|row_group| metadata.chunk(row_group, leaf).ok());
            let mut options = ColumnOptions::new();
            (options.codec, options.page_version) = (codec(chunks()), page_version);
            (options.dictionary, options.encoding) = encodings(chunks(), column.physical_type());
            if let Some(pages) = indexed.and_then(|indexes| Pages::of(metadata, indexes, leaf)) {
                pages.set(&mut options);
            }
            if let Some(bitset) = bloom_filter_sample(file, leaf)? {
                options.bloom_filter = Some(Some(BloomFilter::FalsePositiveRate(false_positive_rate(&bitset))));
            }
            if metadata.column_order(leaf) == ColumnOrder::Ieee754Total {
                options = options.total_order(true);
            }
            options.key_values = key_values(&key_values_of_chunks, leaf, metadata.row_group_count());
            let path = write_path(column.path().parts());
            let occurrence = occurrences.entry(path.clone()).or_insert(0usize);
            let namesakes = self.inherited.entry(path).or_default();
            match namesakes.get_mut(*occurrence) {
                Some(inherited) => *inherited = inherited.over(&options),
                None => namesakes.push(options),
            }
            *occurrence += 1;
        }
        self.inherited_row_group_rows = self.inherited_row_group_rows.or_else(|| row_group_rows(metadata));
        if self.presumed_sorting.is_empty() {
            self.presumed_sorting = sorting(metadata);
        }
        Ok(self)
    }
}

/// The key-value metadata of a column, if all its chunks have the same.
fn key_values(chunks: &ChunkKeyValues, leaf: usize, row_group_count: usize) -> Option<Bytes> {
    let first = chunks.get(&(0, leaf))?;
    let is_same = |row_group: usize| chunks.get(&(row_group, leaf)) == Some(first);
    (1..row_group_count).all(is_same).then(|| first.clone())
}

fn codec<'a>(chunks: impl Iterator<Item = ColumnChunk<'a>>) -> Option<Codec> {
    let mut counts: Vec<(Codec, usize)> = Vec::new();
    for chunk in chunks {
        let codec = match chunk.codec() {
            CompressionCodec::Uncompressed => Codec::Uncompressed,
            CompressionCodec::Snappy => Codec::Snappy,
            CompressionCodec::Gzip => Codec::Gzip { level: Codec::DEFAULT_GZIP_LEVEL },
            CompressionCodec::Brotli => Codec::Brotli { level: Codec::DEFAULT_BROTLI_LEVEL },
            CompressionCodec::Zstd => Codec::Zstd { level: Codec::DEFAULT_ZSTD_LEVEL },
            // The framed format of Hadoop is deprecated.
            CompressionCodec::Lz4Raw | CompressionCodec::Lz4 => Codec::Lz4Raw,
            _ => continue,
        };
        match counts.iter_mut().find(|(known, _)| *known == codec) {
            Some((_, count)) => *count += 1,
            None => counts.push((codec, 1)),
        }
    }
    // Prefers the first of equals, which `max_by_key` alone would not.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(codec, _)| codec)
}

/// Whether chunks have a dictionary, and the encoding of values outside it.
fn encodings<'a>(
    chunks: impl Iterator<Item = ColumnChunk<'a>>,
    physical_type: PhysicalType,
) -> (Option<bool>, Option<ValueEncoding>) {
    let (mut dictionary, mut encoding) = (None, None);
    for chunk in chunks {
        let data_pages: Option<Vec<Encoding>> = chunk.page_encoding_stats().map(|stats| {
            let of_data =
                stats.iter().filter(|stats| matches!(stats.page_type, PageType::DataPage | PageType::DataPageV2));
            of_data.map(|stats| stats.encoding).collect()
        });
        let all = chunk.encodings();
        let has = |encoding| data_pages.as_ref().unwrap_or(&all).contains(&encoding);
        let has_dictionary = has(Encoding::RleDictionary) || has(Encoding::PlainDictionary);
        dictionary = Some(dictionary.unwrap_or(false) || has_dictionary);
        let of_type = match physical_type {
            // Levels are RLE too, so that RLE has no meaning unless data pages are told apart.
            PhysicalType::BOOLEAN if data_pages.is_some() => &[(Encoding::Rle, ValueEncoding::Rle)][..],
            _ => &[
                (Encoding::DeltaBinaryPacked, ValueEncoding::DeltaBinaryPacked),
                (Encoding::DeltaByteArray, ValueEncoding::DeltaByteArray),
                (Encoding::DeltaLengthByteArray, ValueEncoding::DeltaLengthByteArray),
                (Encoding::ByteStreamSplit, ValueEncoding::ByteStreamSplit),
                (Encoding::Alp, ValueEncoding::Alp),
            ],
        };
        let is_used = |(stored, _): &&(Encoding, ValueEncoding)| has(*stored);
        encoding = encoding.or_else(|| of_type.iter().find(is_used).map(|(_, encoding)| *encoding));
    }
    (dictionary, encoding)
}

/// The pages of a column, by its offset index.
#[derive(Debug, Default)]
struct Pages {
    /// Rows of the largest page.
    rows: usize,
    /// Bytes of the largest page before compression, assuming the average compression of its chunk.
    bytes: usize,
    /// Whether a chunk has more than one page.
    are_cut: bool,
    /// Whether all pages have the same number of rows, except the last of each chunk.
    are_even: bool,
}

impl Pages {
    fn of(metadata: &FileMetaData, indexes: &PageIndex, leaf: usize) -> Option<Self> {
        let mut pages = Self { are_even: true, ..Self::default() };
        let mut whole_rows = None;
        for (row_group, &row_count) in metadata.row_counts().iter().enumerate() {
            let locations = &indexes.offset_index(row_group, leaf)?.page_locations;
            let chunk = metadata.chunk(row_group, leaf).ok()?;
            let starts = locations.iter().map(|location| location.first_row_index);
            let ends = starts.clone().skip(1).chain([row_count.cast_signed()]);
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
            // Rows end the pages, and bytes must not end them earlier.
            ColumnOptions::DEFAULT_PAGE_BYTES.max(self.bytes.saturating_add(self.bytes / 4))
        } else {
            self.bytes
        };
        options.page_bytes = Some(bytes.clamp(1, ColumnOptions::MAX_PAGE_BYTES));
    }
}

/// The false positive rate: a value tests one bit of each word of its block.
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

fn row_group_rows(metadata: &FileMetaData) -> Option<usize> {
    let rows = metadata.row_counts().iter().copied().max()?;
    let rows = usize::try_from(rows).ok().filter(|&rows| rows > 0)?;
    (metadata.row_group_count() > 1 || rows > WriteOptions::DEFAULT_ROW_GROUP_ROWS).then_some(rows)
}

/// The sorting columns that all row groups share.
fn sorting(metadata: &FileMetaData) -> Vec<SortingColumn> {
    let mut row_groups = metadata.row_groups().map(|row_group| row_group.sorting_columns());
    let Some(Some(first)) = row_groups.next() else { return Vec::new() };
    if !row_groups.all(|sorting| sorting.as_ref() == Some(&first)) {
        return Vec::new();
    }
    let columns = metadata.schema_descr().columns();
    let named = first.iter().map_while(|sorting| {
        let column = columns.get(usize::try_from(sorting.column_idx).ok()?)?;
        let (descending, nulls_first) = (sorting.descending, sorting.nulls_first);
        Some(SortingColumn { path: write_path(column.path().parts()), descending, nulls_first })
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float32Array, Int32Array, RecordBatch};
    use bytes::Bytes;
    use lath_format::write::{Bound, ChunkStatistics, ColumnChunkMetaData};

    use super::*;
    use crate::ParquetWriter;

    /// A Thrift list of one pair, whose key is "k" and whose value is "v".
    const LIST: [u8; 8] = [0x1c, 0x18, 1, b'k', 0x18, 1, b'v', 0];

    fn written(options: WriteOptions) -> Bytes {
        let columns = ["a", "b"].map(|name| (name, Arc::new(Int32Array::from_iter_values(0..3000)) as ArrayRef));
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = ParquetWriter::new(Vec::new(), &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish_into().unwrap().0.into()
    }

    fn copied(file: &ParquetFile, options: WriteOptions) -> ParquetFile {
        let mut writer = ParquetWriter::new_like(Vec::new(), file, None, options).unwrap();
        for row_group in 0..file.metadata().row_group_count() {
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
            let mut lists: Vec<_> = file.chunk_key_values().iter().map(|(at, list)| (*at, list.to_vec())).collect();
            lists.sort();
            lists
        };
        let expected = [0, 1, 2].map(|row_group| ((row_group, 1), LIST.to_vec()));
        assert_eq!(lists(&file), expected);
        // Other readers know the field, or ignore it.
        let read = parquet::file::metadata::ParquetMetaDataReader::new();
        let encoded = written(WriteOptions::default().inherit(&file).unwrap());
        assert_eq!(read.parse_and_finish(&encoded).unwrap().num_row_groups(), 3);
        assert_eq!(lists(&ParquetFile::from_bytes(encoded).unwrap()), expected);
        assert_eq!(lists(&copied(&file, WriteOptions::default())), expected);
    }

    /// Statistics of the first chunk, and whether it has a column index.
    fn first_statistics(file: &ParquetFile) -> (ChunkStatistics, bool) {
        let tail = file.source().len() - 8;
        let len = file.source().read(tail..tail + 4).unwrap();
        let len = u32::from_le_bytes(len[..4].try_into().unwrap());
        let footer = file.source().read(tail - u64::from(len)..tail).unwrap().slice(..len as usize);
        let footer = FileMetaData::from_bytes(footer).unwrap();
        let chunk = ColumnChunkMetaData::from(&footer.chunk(0, 0).unwrap());
        (chunk.statistics.unwrap(), chunk.column_index.is_some())
    }

    #[test]
    fn bounds_are_copied_where_the_order_is_the_same_and_counts_everywhere() {
        let values: ArrayRef = Arc::new(Float32Array::from(vec![Some(1.0), None, Some(f32::NAN), Some(-0.0)]));
        let batch = RecordBatch::try_from_iter([("a", values)]).unwrap();
        let bound = |value: f32| Some(Bound { value: value.to_le_bytes().to_vec(), is_exact: true });
        let total = WriteOptions::default().all_columns(ColumnOptions::new().total_order(true));
        let by_type = WriteOptions::default();
        for (options, other, nan_count) in [(&total, &by_type, Some(1)), (&by_type, &total, None)] {
            let mut writer = ParquetWriter::new(Vec::new(), &batch.schema(), options.clone()).unwrap();
            writer.write(&batch).unwrap();
            let file = ParquetFile::from_bytes(writer.finish_into().unwrap().0.into()).unwrap();
            let counts = ChunkStatistics { null_count: Some(1), nan_count, ..ChunkStatistics::default() };
            let whole = ChunkStatistics { min: bound(-0.0), max: bound(1.0), ..counts.clone() };
            assert_eq!(first_statistics(&file), (whole.clone(), true));
            let inherited = WriteOptions::default().inherit(&file).unwrap();
            assert_eq!(first_statistics(&copied(&file, inherited)), (whole, true));
            // As the deprecated fields are read, which are absent too.
            let counts = ChunkStatistics { is_deprecated: true, ..counts };
            assert_eq!(first_statistics(&copied(&file, other.clone())), (counts, false));
        }
    }
}
