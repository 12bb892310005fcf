//! The page header: a Thrift structure before every page.
//!
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>

use lath_format::Encoding;
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// The fields of a page header that reading needs. Counts and lengths are not negative; nothing else is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// The kind of page, with the fields that only that kind has.
    pub(super) kind: PageKind,
    /// Length of the page in bytes after decompression, levels included.
    pub(super) uncompressed_len: usize,
    /// Length of the page in bytes as stored, without the header.
    pub(super) compressed_len: usize,
    /// CRC-32 of the page as stored.
    pub(super) crc: Option<u32>,
}

impl PageHeader {
    /// Number of level entries of a data page, nulls included.
    pub(super) fn data_value_count(&self) -> Option<usize> {
        match &self.kind {
            PageKind::DataV1(header) => Some(header.value_count),
            PageKind::DataV2(header) => Some(header.value_count),
            PageKind::Dictionary(_) | PageKind::Other => None,
        }
    }
}

/// The kind of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PageKind {
    DataV1(DataHeaderV1),
    DataV2(DataHeaderV2),
    Dictionary(DictionaryHeader),
    /// An index page, or an unknown kind: skipped.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataHeaderV1 {
    pub(super) value_count: usize,
    pub(super) encoding: Encoding,
    pub(super) def_level_encoding: Encoding,
    pub(super) rep_level_encoding: Encoding,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataHeaderV2 {
    pub(super) value_count: usize,
    pub(super) row_count: usize,
    pub(super) encoding: Encoding,
    pub(super) def_levels_len: usize,
    pub(super) rep_levels_len: usize,
    pub(super) is_compressed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DictionaryHeader {
    pub(super) value_count: usize,
    pub(super) encoding: Encoding,
}

impl PageHeader {
    /// Reads a header from the start of `bytes`; returns it with its length.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, usize), ThriftError> {
        let mut reader = ThriftReader::new(bytes);
        let (mut kind, mut uncompressed, mut compressed, mut crc) = (None, None, None, None);
        let (mut data_v1, mut data_v2, mut dictionary) = (None, None, None);
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I32) => kind = Some(reader.i32()?),
                (2, WireType::I32) => uncompressed = Some(count(reader, "uncompressed page size")?),
                (3, WireType::I32) => compressed = Some(count(reader, "compressed page size")?),
                (4, WireType::I32) => crc = Some(reader.i32()?.cast_unsigned()),
                (5, WireType::Struct) => data_v1 = Some(DataHeaderV1::read(reader)?),
                (7, WireType::Struct) => dictionary = Some(DictionaryHeader::read(reader)?),
                (8, WireType::Struct) => data_v2 = Some(DataHeaderV2::read(reader)?),
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;

        let kind = match required(kind, "page header without page type")? {
            0 => PageKind::DataV1(required(data_v1, "data page without data page header")?),
            2 => PageKind::Dictionary(required(dictionary, "dictionary page without dictionary page header")?),
            3 => PageKind::DataV2(required(data_v2, "data page of version 2 without its header")?),
            _ => PageKind::Other,
        };
        let uncompressed_len = required(uncompressed, "page header without uncompressed page size")?;
        let compressed_len = required(compressed, "page header without compressed page size")?;
        Ok((Self { kind, uncompressed_len, compressed_len, crc }, reader.position()))
    }
}

impl DataHeaderV1 {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let (mut value_count, mut encoding) = (None, None);
        let (mut def_level_encoding, mut rep_level_encoding) = (None, None);
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I32) => value_count = Some(count(reader, "number of values of a data page")?),
                (2, WireType::I32) => encoding = Some(Encoding::from_id(reader.i32()?)),
                (3, WireType::I32) => def_level_encoding = Some(Encoding::from_id(reader.i32()?)),
                (4, WireType::I32) => rep_level_encoding = Some(Encoding::from_id(reader.i32()?)),
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(Self {
            value_count: required(value_count, "data page header without number of values")?,
            encoding: required(encoding, "data page header without encoding")?,
            def_level_encoding: required(def_level_encoding, "data page header without definition level encoding")?,
            rep_level_encoding: required(rep_level_encoding, "data page header without repetition level encoding")?,
        })
    }
}

impl DataHeaderV2 {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let (mut value_count, mut row_count, mut encoding) = (None, None, None);
        let (mut def_levels_len, mut rep_levels_len) = (None, None);
        // The specification's default.
        let mut is_compressed = true;
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I32) => value_count = Some(count(reader, "number of values of a data page")?),
                (3, WireType::I32) => row_count = Some(count(reader, "number of rows of a data page")?),
                (4, WireType::I32) => encoding = Some(Encoding::from_id(reader.i32()?)),
                (5, WireType::I32) => def_levels_len = Some(count(reader, "length of definition levels")?),
                (6, WireType::I32) => rep_levels_len = Some(count(reader, "length of repetition levels")?),
                (7, WireType::True) => is_compressed = true,
                (7, WireType::False) => is_compressed = false,
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(Self {
            value_count: required(value_count, "data page header without number of values")?,
            row_count: required(row_count, "data page header without number of rows")?,
            encoding: required(encoding, "data page header without encoding")?,
            def_levels_len: required(def_levels_len, "data page header without length of definition levels")?,
            rep_levels_len: required(rep_levels_len, "data page header without length of repetition levels")?,
            is_compressed,
        })
    }
}

impl DictionaryHeader {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let (mut value_count, mut encoding) = (None, None);
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I32) => value_count = Some(count(reader, "number of values of a dictionary page")?),
                (2, WireType::I32) => encoding = Some(Encoding::from_id(reader.i32()?)),
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(Self {
            value_count: required(value_count, "dictionary page header without number of values")?,
            encoding: required(encoding, "dictionary page header without encoding")?,
        })
    }
}

fn count(reader: &mut ThriftReader<'_>, negative: &'static str) -> Result<usize, ThriftError> {
    usize::try_from(reader.i32()?).map_err(|_| ThriftError::Malformed(negative))
}

fn required<T>(value: Option<T>, missing: &'static str) -> Result<T, ThriftError> {
    value.ok_or(ThriftError::Malformed(missing))
}

/// The version of the data page that begins with the header in `bytes`; `None` if it is not a data page.
pub(crate) fn data_page_version(bytes: &[u8]) -> Option<u8> {
    match PageHeader::read(bytes).ok()?.0.kind {
        PageKind::DataV1(_) => Some(1),
        PageKind::DataV2(_) => Some(2),
        _ => None,
    }
}
