//! The metadata of column chunks, decoded a column at a time when it is first asked for.

use std::borrow::Cow;

use parquet::schema::types::ColumnDescPtr;

use crate::codec::CompressionCodec;
use crate::crypto::{ChunkDecryptor, ColumnCrypto, Module};
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::file::FileMetaData;
use crate::page_type::PageType;
use crate::schema::{KeyValue, key_values};
use crate::statistics::{GeospatialStatistics, SizeStatistics, Statistics};
use crate::thrift::{Field, ThriftError, ThriftReader, WireType};

/// Stands for a number that the file does not have; the format has no use for it.
const ABSENT: i64 = i64::MIN;

/// Facts that are one bit each.
mod flag {
    pub(super) const BROKEN: u16 = 1 << 0;
    pub(super) const HAS_STATISTICS: u16 = 1 << 1;
    pub(super) const HAS_MIN: u16 = 1 << 2;
    pub(super) const HAS_MAX: u16 = 1 << 3;
    pub(super) const DEPRECATED: u16 = 1 << 4;
    pub(super) const MIN_IS_EXACT: u16 = 1 << 5;
    pub(super) const MAX_IS_EXACT: u16 = 1 << 6;
    pub(super) const ENCRYPTED: u16 = 1 << 7;
    pub(super) const HAS_FILE_PATH: u16 = 1 << 8;
    pub(super) const HAS_ENCODING_STATISTICS: u16 = 1 << 9;
    pub(super) const DATA_OF_OTHER_ENCODINGS: u16 = 1 << 10;
    pub(super) const DATA_OF_DICTIONARY: u16 = 1 << 11;
}

/// What readers ask of a chunk again and again, in little memory: a file can have millions.
#[derive(Debug, Clone, Copy)]
struct Decoded {
    value_count: i64,
    uncompressed_bytes: i64,
    compressed_bytes: i64,
    data_page_offset: i64,
    dictionary_page_offset: i64,
    null_count: i64,
    bloom_filter_offset: i64,
    column_index_offset: i64,
    offset_index_offset: i64,
    bloom_filter_bytes: i32,
    column_index_bytes: i32,
    offset_index_bytes: i32,
    codec: i32,
    /// Where the bounds are among the column's values: the minimum, then the maximum.
    values_start: u32,
    min_bytes: u32,
    max_bytes: u32,
    flags: u16,
}

impl Default for Decoded {
    fn default() -> Self {
        Self {
            value_count: ABSENT,
            uncompressed_bytes: ABSENT,
            compressed_bytes: ABSENT,
            data_page_offset: ABSENT,
            dictionary_page_offset: ABSENT,
            null_count: ABSENT,
            bloom_filter_offset: ABSENT,
            column_index_offset: ABSENT,
            offset_index_offset: ABSENT,
            bloom_filter_bytes: -1,
            column_index_bytes: -1,
            offset_index_bytes: -1,
            codec: -1,
            values_start: 0,
            min_bytes: 0,
            max_bytes: 0,
            flags: 0,
        }
    }
}

/// The chunks of one column, of all row groups.
#[derive(Debug)]
pub(crate) struct DecodedColumn {
    chunks: Box<[Decoded]>,
    /// The bounds of all chunks, one behind the other.
    values: Box<[u8]>,
}

impl DecodedColumn {
    pub(crate) fn decode(file: &FileMetaData, column: usize) -> Self {
        let mut values = Vec::new();
        let mut chunks = Vec::with_capacity(file.row_group_count());
        for row_group in 0..file.row_group_count() {
            let values_len = values.len();
            let chunk = decode(file, row_group, column, &mut values).unwrap_or_else(|_| {
                // The error is found again by whoever asks for the chunk.
                values.truncate(values_len);
                Decoded { flags: flag::BROKEN, ..Decoded::default() }
            });
            chunks.push(chunk);
        }
        Self { chunks: chunks.into(), values: values.into() }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.chunks) + self.values.len()
    }
}

fn decode(file: &FileMetaData, row_group: usize, column: usize, values: &mut Vec<u8>) -> Result<Decoded> {
    let mut decoded = Decoded::default();
    let values_len = values.len();
    let parts =
        Parts::find(file, row_group, column, &mut decoded, |reader, decoded| read_metadata(reader, decoded, values))?;
    // What is in the clear is there for those who have no key, and has no statistics.
    if let Cow::Owned(decrypted) = parts.metadata(file, row_group, column)? {
        values.truncate(values_len);
        let read = read_metadata(&mut ThriftReader::new(&decrypted), &mut decoded, values);
        read.map_err(|error| Error::malformed("metadata of a column chunk", error))?;
    }
    decoded.check()?;
    Ok(decoded)
}

/// The fields of a `ColumnMetaData`.
fn read_metadata(
    reader: &mut ThriftReader<'_>,
    decoded: &mut Decoded,
    values: &mut Vec<u8>,
) -> Result<(), ThriftError> {
    reader.each_field(|reader, field| {
        match (field.id, field.wire_type) {
            (4, WireType::I32) => decoded.codec = reader.i32()?,
            (5, WireType::I64) => decoded.value_count = reader.i64()?,
            (6, WireType::I64) => decoded.uncompressed_bytes = reader.i64()?,
            (7, WireType::I64) => decoded.compressed_bytes = reader.i64()?,
            (9, WireType::I64) => decoded.data_page_offset = reader.i64()?,
            (11, WireType::I64) => decoded.dictionary_page_offset = reader.i64()?,
            (12, WireType::Struct) => read_statistics(reader, decoded, values)?,
            (13, WireType::List) => {
                decoded.flags |= flag::HAS_ENCODING_STATISTICS;
                reader.each_structure(|reader, _| {
                    let stats = PageEncodingStats::read(reader)?;
                    if matches!(stats.page_type, PageType::DataPage | PageType::DataPageV2) {
                        decoded.flags |= match stats.encoding.is_dictionary() {
                            true => flag::DATA_OF_DICTIONARY,
                            false => flag::DATA_OF_OTHER_ENCODINGS,
                        };
                    }
                    Ok(())
                })?;
            }
            (14, WireType::I64) => decoded.bloom_filter_offset = reader.i64()?,
            (15, WireType::I32) => decoded.bloom_filter_bytes = reader.i32()?,
            _ => reader.skip(field)?,
        }
        Ok(())
    })
}

impl Decoded {
    /// What every chunk has to have, and what cannot be negative.
    fn check(&self) -> Result<()> {
        for (what, number) in [
            ("number of values", self.value_count),
            ("uncompressed size", self.uncompressed_bytes),
            ("compressed size", self.compressed_bytes),
            ("offset of the data pages", self.data_page_offset),
        ] {
            match number {
                ABSENT => return Err(Error::corrupt(format!("the {what} is missing"))),
                number if number < 0 => return Err(Error::corrupt(format!("{what} is {number}"))),
                _ => {}
            }
        }
        if self.dictionary_page_offset < 0 && self.dictionary_page_offset != ABSENT {
            return Err(Error::corrupt(format!("offset of the dictionary page is {}", self.dictionary_page_offset)));
        }
        Ok(())
    }
}

fn read_statistics(
    reader: &mut ThriftReader<'_>,
    decoded: &mut Decoded,
    values: &mut Vec<u8>,
) -> Result<(), ThriftError> {
    let (mut old_min, mut old_max, mut min, mut max) = (None, None, None, None);
    let mut flags = flag::HAS_STATISTICS;
    reader.each_field(|reader, field| {
        match (field.id, field.wire_type) {
            (1, WireType::Binary) => old_max = Some(reader.binary()?),
            (2, WireType::Binary) => old_min = Some(reader.binary()?),
            (3, WireType::I64) => decoded.null_count = reader.i64()?,
            (5, WireType::Binary) => max = Some(reader.binary()?),
            (6, WireType::Binary) => min = Some(reader.binary()?),
            (7, WireType::True) => flags |= flag::MAX_IS_EXACT,
            (8, WireType::True) => flags |= flag::MIN_IS_EXACT,
            _ => reader.skip(field)?,
        }
        Ok(())
    })?;
    if min.is_none() && max.is_none() {
        (min, max) = (old_min, old_max);
        flags |= flag::DEPRECATED;
    }
    if min.is_some() {
        flags |= flag::HAS_MIN;
    }
    if max.is_some() {
        flags |= flag::HAS_MAX;
    }
    let (min, max) = (min.unwrap_or_default(), max.unwrap_or_default());
    // All of them are within a footer, whose length fits 32 bits.
    decoded.values_start = values.len() as u32;
    (decoded.min_bytes, decoded.max_bytes) = (min.len() as u32, max.len() as u32);
    values.extend_from_slice(min);
    values.extend_from_slice(max);
    decoded.flags |= flags;
    Ok(())
}

/// Where the structures of a `ColumnChunk` are.
#[derive(Debug, Default)]
struct Parts<'a> {
    metadata: Option<&'a [u8]>,
    encrypted_metadata: Option<&'a [u8]>,
    crypto: Option<ColumnCrypto<'a>>,
    file_path: Option<&'a [u8]>,
}

impl<'a> Parts<'a> {
    /// `read_metadata` takes or passes over the `ColumnMetaData`.
    fn find(
        file: &'a FileMetaData,
        row_group: usize,
        column: usize,
        decoded: &mut Decoded,
        mut read_metadata: impl FnMut(&mut ThriftReader<'a>, &mut Decoded) -> Result<(), ThriftError>,
    ) -> Result<Self> {
        let bytes = file.bytes();
        let mut parts = Self::default();
        let mut reader = ThriftReader::at(bytes, file.chunk_start(row_group, column));
        let read = reader.each_field(|reader, field| {
            let start = reader.position();
            match (field.id, field.wire_type) {
                (1, WireType::Binary) => {
                    parts.file_path = Some(reader.binary()?);
                    decoded.flags |= flag::HAS_FILE_PATH;
                }
                (3, WireType::Struct) => {
                    read_metadata(reader, decoded)?;
                    parts.metadata = bytes.get(start..reader.position());
                }
                (4, WireType::I64) => decoded.offset_index_offset = reader.i64()?,
                (5, WireType::I32) => decoded.offset_index_bytes = reader.i32()?,
                (6, WireType::I64) => decoded.column_index_offset = reader.i64()?,
                (7, WireType::I32) => decoded.column_index_bytes = reader.i32()?,
                (8, WireType::Struct) => {
                    decoded.flags |= flag::ENCRYPTED;
                    parts.crypto = read_crypto(reader)?;
                }
                (9, WireType::Binary) => parts.encrypted_metadata = Some(reader.binary()?),
                _ => reader.skip(field)?,
            }
            Ok(())
        });
        read.map_err(|error| Error::malformed("column chunk", error))?;
        Ok(parts)
    }

    /// The bytes of the `ColumnMetaData`, decrypted if they have to be and can be.
    fn metadata(&self, file: &FileMetaData, row_group: usize, column: usize) -> Result<Cow<'a, [u8]>> {
        if let (Some(encrypted), Some(crypto)) = (self.encrypted_metadata, self.crypto) {
            let path = file.column_path(column);
            let decryptor = match file.decryptor() {
                Some(decryptor) => decryptor.chunk(crypto, &path, row_group, column),
                None => Err(Error::encrypted(format!("column {path}"))),
            };
            match (decryptor, self.metadata) {
                (Ok(decryptor), _) => return decryptor.decrypt(encrypted, Module::ColumnMetaData).map(Cow::Owned),
                // With a footer in the clear, all but the statistics is there for those who have no key.
                (Err(Error::Encrypted { .. }), Some(metadata)) => return Ok(Cow::Borrowed(metadata)),
                (Err(error), _) => return Err(error),
            }
        }
        self.metadata.map(Cow::Borrowed).ok_or_else(|| Error::corrupt("a column chunk without metadata"))
    }
}

/// The union `ColumnCryptoMetaData`.
fn read_crypto<'a>(reader: &mut ThriftReader<'a>) -> Result<Option<ColumnCrypto<'a>>, ThriftError> {
    let mut crypto = None;
    reader.each_field(|reader, field| match (field.id, field.wire_type) {
        (1, WireType::Struct) => {
            crypto = Some(ColumnCrypto::FooterKey);
            reader.skip(field)
        }
        (2, WireType::Struct) => {
            let mut key_metadata = None;
            reader.each_field(|reader, field| match (field.id, field.wire_type) {
                (2, WireType::Binary) => {
                    key_metadata = Some(reader.binary()?);
                    Ok(())
                }
                _ => reader.skip(field),
            })?;
            crypto = Some(ColumnCrypto::ColumnKey { key_metadata });
            Ok(())
        }
        _ => reader.skip(field),
    })?;
    Ok(crypto)
}

/// How many pages of a chunk have which encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEncodingStats {
    /// What the pages hold.
    pub page_type: PageType,
    /// Their encoding.
    pub encoding: Encoding,
    /// Number of pages.
    pub count: i32,
}

impl PageEncodingStats {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let mut stats = Self { page_type: PageType::Unknown(-1), encoding: Encoding::Unknown(-1), count: 0 };
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I32) => stats.page_type = PageType::from_id(reader.i32()?),
                (2, WireType::I32) => stats.encoding = Encoding::from_id(reader.i32()?),
                (3, WireType::I32) => stats.count = reader.i32()?,
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(stats)
    }
}

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexLocation {
    /// Offset from the start of the file.
    pub offset: i64,
    /// Length in bytes, if the file says it.
    pub len: Option<i32>,
}

/// What the footer says of a column chunk.
#[derive(Debug, Clone, Copy)]
pub struct ColumnChunk<'a> {
    file: &'a FileMetaData,
    column: &'a DecodedColumn,
    decoded: &'a Decoded,
    row_group: usize,
    leaf: usize,
}

fn present(number: i64) -> Option<i64> {
    (number != ABSENT).then_some(number)
}

impl<'a> ColumnChunk<'a> {
    /// The chunk of `leaf` in `row_group`, both of which the file has.
    pub(crate) fn new(
        file: &'a FileMetaData,
        column: &'a DecodedColumn,
        row_group: usize,
        leaf: usize,
    ) -> Result<Self> {
        let decoded = &column.chunks[row_group];
        if decoded.flags & flag::BROKEN != 0 {
            let error = decode(file, row_group, leaf, &mut Vec::new()).err();
            return Err(match error {
                Some(Error::Corrupt { what }) => Error::CorruptChunk { what, row_group, column: leaf },
                Some(other) => other,
                None => Error::corrupt("the metadata of a column chunk"),
            });
        }
        Ok(Self { file, column, decoded, row_group, leaf })
    }

    /// The leaf column in the schema.
    pub(crate) fn column(&self) -> &'a ColumnDescPtr {
        &self.file.schema_descr().columns()[self.leaf]
    }

    fn has(&self, flag: u16) -> bool {
        self.decoded.flags & flag != 0
    }

    /// Number of the row group.
    pub fn row_group(&self) -> usize {
        self.row_group
    }

    /// Number of the leaf column.
    pub fn leaf(&self) -> usize {
        self.leaf
    }

    /// Number of values, nulls included, and empty lists.
    pub fn num_values(&self) -> u64 {
        self.decoded.value_count.cast_unsigned()
    }

    /// Bytes of all pages before compression, headers included.
    pub fn uncompressed_size(&self) -> u64 {
        self.decoded.uncompressed_bytes.cast_unsigned()
    }

    /// Bytes of all pages in the file, headers included.
    pub fn compressed_size(&self) -> u64 {
        self.decoded.compressed_bytes.cast_unsigned()
    }

    /// How the pages are compressed.
    pub fn codec(&self) -> CompressionCodec {
        CompressionCodec::from_id(self.decoded.codec)
    }

    /// Offset of the first data page.
    pub fn data_page_offset(&self) -> u64 {
        self.decoded.data_page_offset.cast_unsigned()
    }

    /// Offset of the dictionary page, as the file says it: some writers say 0 where there is none.
    pub fn dictionary_page_offset(&self) -> Option<u64> {
        present(self.decoded.dictionary_page_offset).map(i64::cast_unsigned)
    }

    /// The Bloom filter.
    pub fn bloom_filter(&self) -> Option<IndexLocation> {
        self.index(self.decoded.bloom_filter_offset, self.decoded.bloom_filter_bytes)
    }

    /// The column index.
    pub fn column_index(&self) -> Option<IndexLocation> {
        self.index(self.decoded.column_index_offset, self.decoded.column_index_bytes)
    }

    /// The offset index.
    pub fn offset_index(&self) -> Option<IndexLocation> {
        self.index(self.decoded.offset_index_offset, self.decoded.offset_index_bytes)
    }

    fn index(&self, offset: i64, len: i32) -> Option<IndexLocation> {
        Some(IndexLocation { offset: present(offset)?, len: (len != -1).then_some(len) })
    }

    /// Whether the pages are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.has(flag::ENCRYPTED)
    }

    /// What decrypts the chunk; `None` if it is not encrypted.
    ///
    /// # Errors
    /// [`Error::Encrypted`] if its key was not given.
    pub fn decryptor(&self) -> Result<Option<ChunkDecryptor>> {
        if !self.is_encrypted() {
            return Ok(None);
        }
        let path = self.file.column_path(self.leaf);
        let crypto = self.parts().crypto;
        match (self.file.decryptor(), crypto) {
            (Some(decryptor), Some(crypto)) => decryptor.chunk(crypto, &path, self.row_group, self.leaf).map(Some),
            (Some(_), None) => Err(Error::unsupported(format!("the encryption of column {path}"))),
            (None, _) => Err(Error::encrypted(format!("column {path}"))),
        }
    }

    /// Smallest and largest value, and the number of nulls, if the writer left them.
    pub fn statistics(&self) -> Option<Statistics<'a>> {
        if !self.has(flag::HAS_STATISTICS) {
            return None;
        }
        let start = self.decoded.values_start as usize;
        let middle = start + self.decoded.min_bytes as usize;
        let end = middle + self.decoded.max_bytes as usize;
        let values = |range: std::ops::Range<usize>| self.column.values.get(range);
        // Writers say it of byte strings, which they shorten.
        let is_always_exact = self.file.has_fixed_width(self.leaf);
        Some(Statistics {
            min: values(start..middle).filter(|_| self.has(flag::HAS_MIN)),
            max: values(middle..end).filter(|_| self.has(flag::HAS_MAX)),
            null_count: u64::try_from(self.decoded.null_count).ok(),
            min_is_exact: self.has(flag::MIN_IS_EXACT) || is_always_exact && self.has(flag::HAS_MIN),
            max_is_exact: self.has(flag::MAX_IS_EXACT) || is_always_exact && self.has(flag::HAS_MAX),
            is_deprecated: self.has(flag::DEPRECATED),
        })
    }

    /// Whether the writer says of every data page that its values are indices of the dictionary.
    pub fn is_dictionary_encoded_throughout(&self) -> bool {
        self.has(flag::DATA_OF_DICTIONARY) && !self.has(flag::DATA_OF_OTHER_ENCODINGS)
    }

    /// The name of another file that the pages are in, relative to this one.
    pub fn file_path(&self) -> Option<Cow<'a, str>> {
        if !self.has(flag::HAS_FILE_PATH) {
            return None;
        }
        self.parts().file_path.map(String::from_utf8_lossy)
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

    /// All encodings in the chunk, those of levels and the dictionary included; empty if the writer does not say them.
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

    /// How many pages have which encoding, if the writer counted them.
    pub fn page_encoding_stats(&self) -> Option<Vec<PageEncodingStats>> {
        if !self.has(flag::HAS_ENCODING_STATISTICS) {
            return None;
        }
        let mut stats = Vec::new();
        self.each_metadata_field(|reader, field| match (field.id, field.wire_type) {
            (13, WireType::List) => reader.each_structure(|reader, _| {
                stats.push(PageEncodingStats::read(reader)?);
                Ok(())
            }),
            _ => reader.skip(field),
        });
        Some(stats)
    }

    /// The chunk's key-value metadata, if it has any.
    pub fn key_value_metadata(&self) -> Option<Vec<KeyValue>> {
        self.encoded_key_value_metadata().map(|bytes| key_values(&bytes))
    }

    /// The chunk's key-value metadata as it stands in the file: a list in Thrift's compact protocol.
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

    /// Level histograms and bytes of strings, if the writer left them.
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

    /// Where geometries lie, if the writer left it.
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

    fn parts(&self) -> Parts<'a> {
        Parts::find(self.file, self.row_group, self.leaf, &mut Decoded::default(), |reader, _| {
            reader.skip_element(WireType::Struct)
        })
        .unwrap_or_default()
    }

    fn metadata(&self) -> Option<Cow<'a, [u8]>> {
        self.parts().metadata(self.file, self.row_group, self.leaf).ok()
    }

    /// Reads the `ColumnMetaData` once more. What is malformed has been found before, or is optional and says nothing.
    fn each_metadata_field(&self, read: impl FnMut(&mut ThriftReader<'_>, Field) -> Result<(), ThriftError>) {
        if let Some(metadata) = self.metadata() {
            let _ = ThriftReader::new(&metadata).each_field(read);
        }
    }
}
