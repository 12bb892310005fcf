//! The metadata of column chunks, which are read on demand.

mod chunks;
mod encoding_stats;
mod facts;
mod parts;

use std::borrow::Cow;

use parquet::schema::types::ColumnDescPtr;

use crate::codec::CompressionCodec;
use crate::crypto::ChunkDecryptor;
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::layout::{REQUIRED, field, flag};
use crate::page_type::PageType;
use crate::schema::{KeyValue, key_values};
use crate::statistics::{GeospatialStatistics, SizeStatistics, Statistics};
use crate::thrift::{Field, ThriftError, ThriftReader, WireType};

use facts::{ABSENT, Facts};
use parts::Parts;

pub(crate) use chunks::Chunks;
pub use encoding_stats::PageEncodingStats;

/// A byte range in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexLocation {
    /// Offset from the start of the file.
    pub offset: i64,
    /// Length in bytes, if known.
    pub len: Option<i32>,
}

/// The metadata of a column chunk.
#[derive(Debug, Clone, Copy)]
pub struct ColumnChunk<'a> {
    chunks: &'a Chunks,
    row_group: usize,
    leaf: usize,
    facts: Facts<'a>,
}

fn present(number: i64) -> Option<i64> {
    (number != ABSENT).then_some(number)
}

impl<'a> ColumnChunk<'a> {
    /// The chunk of `leaf` in `row_group`, which must exist.
    #[inline]
    pub(crate) fn new(chunks: &'a Chunks, row_group: usize, leaf: usize) -> Result<Self> {
        let stored = chunks.footer().chunk(row_group, leaf);
        if let Some(fields) = stored.fields {
            let (bases, places) = (stored.bases, &fields.places);
            let mut is_negative = bases.is_negative(places[field::DICTIONARY_PAGE_OFFSET]);
            // Codecs can have any number.
            for field in &REQUIRED[1..] {
                is_negative |= bases.is_negative(places[*field]);
            }
            if !is_negative {
                return Ok(Self { chunks, row_group, leaf, facts: Facts::Placed { fields, bases } });
            }
        }
        Self::read(chunks, row_group, leaf)
    }

    /// A chunk without a layout, or with invalid numbers.
    #[cold]
    fn read(chunks: &'a Chunks, row_group: usize, leaf: usize) -> Result<Self> {
        if let Some(facts) = chunks.read_facts(row_group, leaf) {
            let base = match facts.flags & flag::DECRYPTED != 0 {
                true => chunks.decrypted_metadata(row_group, leaf).unwrap_or_default(),
                false => chunks.footer().chunk(row_group, leaf).bases.shared,
            };
            return Ok(Self { chunks, row_group, leaf, facts: Facts::Read { facts, base } });
        }
        let bytes = chunks.footer().chunk(row_group, leaf).bytes();
        Err(match chunks.read(&bytes, row_group, leaf) {
            Ok(_) => Error::corrupt("the metadata of a column chunk"),
            Err(Error::Corrupt { what }) => Error::CorruptChunk { what, row_group, column: leaf },
            Err(other) => other,
        })
    }

    /// The leaf column in the schema.
    pub(crate) fn column(&self) -> &'a ColumnDescPtr {
        &self.chunks.footer().schema().columns()[self.leaf]
    }

    #[inline]
    fn has(&self, flag: u16) -> bool {
        self.facts.flags() & flag != 0
    }

    /// Number of the row group.
    #[inline]
    pub fn row_group(&self) -> usize {
        self.row_group
    }

    /// Number of the leaf column.
    #[inline]
    pub fn leaf(&self) -> usize {
        self.leaf
    }

    /// Number of values, including nulls and empty lists.
    #[inline]
    pub fn num_values(&self) -> u64 {
        self.facts.number(field::VALUE_COUNT).cast_unsigned()
    }

    /// Bytes of all pages before compression, including headers.
    #[inline]
    pub fn uncompressed_size(&self) -> u64 {
        self.facts.number(field::UNCOMPRESSED_BYTES).cast_unsigned()
    }

    /// Bytes of all pages in the file, including headers.
    #[inline]
    pub fn compressed_size(&self) -> u64 {
        self.facts.number(field::COMPRESSED_BYTES).cast_unsigned()
    }

    /// The compression codec of the pages.
    #[inline]
    pub fn codec(&self) -> CompressionCodec {
        // It was read as an integer of 32 bits.
        CompressionCodec::from_id(self.facts.number(field::CODEC) as i32)
    }

    /// Offset of the first data page.
    #[inline]
    pub fn data_page_offset(&self) -> u64 {
        self.facts.number(field::DATA_PAGE_OFFSET).cast_unsigned()
    }

    /// Offset of the dictionary page. Some writers write 0 if there is none.
    #[inline]
    pub fn dictionary_page_offset(&self) -> Option<u64> {
        present(self.facts.number(field::DICTIONARY_PAGE_OFFSET)).map(i64::cast_unsigned)
    }

    /// The Bloom filter.
    pub fn bloom_filter(&self) -> Option<IndexLocation> {
        self.index(field::BLOOM_FILTER_OFFSET, field::BLOOM_FILTER_BYTES)
    }

    /// The column index.
    pub fn column_index(&self) -> Option<IndexLocation> {
        self.index(field::COLUMN_INDEX_OFFSET, field::COLUMN_INDEX_BYTES)
    }

    /// The offset index.
    pub fn offset_index(&self) -> Option<IndexLocation> {
        self.index(field::OFFSET_INDEX_OFFSET, field::OFFSET_INDEX_BYTES)
    }

    fn index(&self, offset: usize, len: usize) -> Option<IndexLocation> {
        let len = present(self.facts.number(len)).and_then(|len| i32::try_from(len).ok());
        Some(IndexLocation { offset: present(self.facts.number(offset))?, len: len.filter(|&len| len != -1) })
    }

    /// Whether the pages are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.has(flag::ENCRYPTED)
    }

    /// The decryptor of the chunk; `None` if it is not encrypted.
    ///
    /// # Errors
    /// [`Error::Encrypted`] if its key was not given.
    pub fn decryptor(&self) -> Result<Option<ChunkDecryptor>> {
        if !self.is_encrypted() {
            return Ok(None);
        }
        let path = self.chunks.footer().column_path(self.leaf);
        let bytes = self.bytes();
        let crypto = Parts::locate(&bytes).ok().and_then(|parts| parts.crypto);
        match (self.chunks.footer().decryptor(), crypto) {
            (Some(decryptor), Some(crypto)) => decryptor.chunk(crypto, &path, self.row_group, self.leaf).map(Some),
            (Some(_), None) => Err(Error::unsupported(format!("the encryption of column {path}"))),
            (None, _) => Err(Error::encrypted(format!("column {path}"))),
        }
    }

    /// Bounds and number of nulls, if the writer computed them.
    #[inline]
    pub fn statistics(&self) -> Option<Statistics<'a>> {
        if !self.has(flag::HAS_STATISTICS) {
            return None;
        }
        // Unless the writer says whether a bound is exact, only bounds of byte strings can be inexact.
        let is_whole = self.chunks.footer().has_fixed_width(self.leaf);
        let is_exact = |has: u16, yes: u16, no: u16| !self.has(no) && (self.has(yes) || is_whole && self.has(has));
        Some(Statistics {
            min: self.has(flag::HAS_MIN).then(|| self.facts.bytes(field::MIN)),
            max: self.has(flag::HAS_MAX).then(|| self.facts.bytes(field::MAX)),
            null_count: u64::try_from(self.facts.number(field::NULL_COUNT)).ok(),
            min_is_exact: is_exact(flag::HAS_MIN, flag::MIN_IS_EXACT, flag::MIN_IS_INEXACT),
            max_is_exact: is_exact(flag::HAS_MAX, flag::MAX_IS_EXACT, flag::MAX_IS_INEXACT),
            is_deprecated: self.has(flag::DEPRECATED),
        })
    }

    /// Whether, according to the writer, all data pages have indices of the dictionary.
    pub fn is_dictionary_encoded_throughout(&self) -> bool {
        let (mut has_data_pages, mut is_throughout) = (false, true);
        self.each_encoding_stats(|stats| {
            if matches!(stats.page_type, PageType::DataPage | PageType::DataPageV2) {
                has_data_pages = true;
                is_throughout &= stats.encoding.is_dictionary();
            }
        });
        has_data_pages && is_throughout
    }

    /// The path of the file with the pages, relative to this one, if it is another file.
    pub fn file_path(&self) -> Option<Cow<'a, str>> {
        if !self.has(flag::HAS_FILE_PATH) {
            return None;
        }
        let bytes = self.bytes();
        let path = Parts::locate(&bytes).ok()?.file_path?;
        Some(Cow::Owned(String::from_utf8_lossy(path).into_owned()))
    }

    /// Number of distinct values, if the writer counted them.
    pub fn distinct_count(&self) -> Option<u64> {
        self.count_in_statistics(4)
    }

    /// Number of NaNs, if the writer counted them.
    pub fn nan_count(&self) -> Option<u64> {
        self.count_in_statistics(9)
    }

    fn count_in_statistics(&self, id: i16) -> Option<u64> {
        if !self.has(flag::HAS_STATISTICS) {
            return None;
        }
        let mut count = None;
        self.each_metadata_field(|reader, field| match (field.id, field.wire_type) {
            (12, WireType::Struct) => reader.each_field(|reader, field| {
                if (field.id, field.wire_type) != (id, WireType::I64) {
                    return reader.skip(field);
                }
                count = u64::try_from(reader.i64()?).ok();
                Ok(())
            }),
            _ => reader.skip(field),
        });
        count
    }

    /// All encodings in the chunk, including levels and dictionary; empty if the writer did not list them.
    pub fn encodings(&self) -> Vec<Encoding> {
        let mut encodings = Vec::new();
        self.each_metadata_field(|reader, field| match (field.id, field.wire_type) {
            (2, WireType::List) => {
                let (element, count) = reader.list()?;
                for _ in 0..count {
                    if element != WireType::I32 {
                        reader.skip_element(element)?;
                        continue;
                    }
                    encodings.push(Encoding::from_id(reader.i32()?));
                }
                Ok(())
            }
            _ => reader.skip(field),
        });
        encodings
    }

    /// The number of pages by encoding, if the writer counted them.
    pub fn page_encoding_stats(&self) -> Option<Vec<PageEncodingStats>> {
        if !self.has(flag::HAS_ENCODING_STATISTICS) {
            return None;
        }
        let mut all = Vec::new();
        self.each_encoding_stats(|stats| all.push(stats));
        Some(all)
    }

    fn each_encoding_stats(&self, mut read: impl FnMut(PageEncodingStats)) {
        if !self.has(flag::HAS_ENCODING_STATISTICS) {
            return;
        }
        // It has been read before.
        let _ = ThriftReader::new(self.facts.bytes(field::ENCODING_STATS)).each_structure(|reader, _| {
            read(PageEncodingStats::read(reader)?);
            Ok(())
        });
    }

    /// The chunk's key-value metadata, if it has any.
    pub fn key_value_metadata(&self) -> Option<Vec<KeyValue>> {
        self.encoded_key_value_metadata().map(|bytes| key_values(&bytes))
    }

    /// The chunk's encoded key-value metadata: a list in Thrift's compact protocol.
    pub fn encoded_key_value_metadata(&self) -> Option<Vec<u8>> {
        let mut found = None;
        let metadata = self.metadata()?;
        let read = ThriftReader::new(&metadata).each_field(|reader, field| {
            let start = reader.position();
            reader.skip(field)?;
            if (field.id, field.wire_type) == (8, WireType::List) {
                found = metadata.get(start..reader.position()).map(<[u8]>::to_vec);
            }
            Ok(())
        });
        read.ok().and(found)
    }

    /// Level histograms and bytes of strings, if the writer computed them.
    pub fn size_statistics(&self) -> Option<SizeStatistics> {
        let mut statistics = None;
        self.each_metadata_field(|reader, field| match (field.id, field.wire_type) {
            (16, WireType::Struct) => {
                statistics = Some(SizeStatistics::read(reader)?);
                Ok(())
            }
            _ => reader.skip(field),
        });
        statistics
    }

    /// Statistics of geometries, if the writer computed them.
    pub fn geospatial_statistics(&self) -> Option<GeospatialStatistics> {
        let mut statistics = None;
        self.each_metadata_field(|reader, field| match (field.id, field.wire_type) {
            (17, WireType::Struct) => {
                statistics = Some(GeospatialStatistics::read(reader)?);
                Ok(())
            }
            _ => reader.skip(field),
        });
        statistics
    }

    /// The bytes of the `ColumnChunk`, and possibly bytes after it.
    fn bytes(&self) -> Cow<'a, [u8]> {
        self.chunks.footer().chunk(self.row_group, self.leaf).bytes()
    }

    /// The `ColumnMetaData`, decrypted if possible.
    fn metadata(&self) -> Option<Cow<'a, [u8]>> {
        let (chunks, row_group, leaf) = (self.chunks, self.row_group, self.leaf);
        if self.is_encrypted()
            && let Some(decrypted) = chunks.decrypted_metadata(row_group, leaf)
        {
            return Some(Cow::Borrowed(decrypted));
        }
        match self.bytes() {
            Cow::Borrowed(bytes) => Parts::locate(bytes).ok()?.metadata(chunks.footer(), row_group, leaf).ok(),
            Cow::Owned(bytes) => {
                let metadata = Parts::locate(&bytes).ok()?.metadata(chunks.footer(), row_group, leaf).ok()?;
                Some(Cow::Owned(metadata.into_owned()))
            }
        }
    }

    /// Reads the `ColumnMetaData` again. Malformed required fields were found before; malformed optional fields are ignored.
    fn each_metadata_field(&self, read: impl FnMut(&mut ThriftReader<'_>, Field) -> Result<(), ThriftError>) {
        if let Some(metadata) = self.metadata() {
            let _ = ThriftReader::new(&metadata).each_field(read);
        }
    }
}
