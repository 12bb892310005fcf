//! The frequently used fields of a chunk, read by its layout if it has one, else field by field.

use super::encoding_stats::PageEncodingStats;
use crate::error::{Error, Result};
use crate::layout::{Bases, Fields, REQUIRED, field, flag};
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// The value of an absent number, which no field can have.
pub(super) const ABSENT: i64 = i64::MIN;

/// The numbers and bounds of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) enum Facts<'a> {
    /// Their places; each is read on demand.
    Placed { fields: &'a Fields, bases: Bases<'a> },
    /// Decoded numbers, and the places of the rest in `base`.
    Read { facts: &'a ReadFacts, base: &'a [u8] },
}

impl<'a> Facts<'a> {
    /// The value of a number field; [`ABSENT`] if the chunk lacks it.
    #[inline]
    pub(super) fn number(&self, field: usize) -> i64 {
        match self {
            Self::Placed { fields, bases } => bases.number(fields.places[field]).unwrap_or(ABSENT),
            Self::Read { facts, .. } => facts.numbers[field],
        }
    }

    /// The bytes of another field; empty if the chunk lacks it.
    #[inline]
    pub(super) fn bytes(&self, field: usize) -> &'a [u8] {
        match self {
            Self::Placed { fields, bases } => bases.bytes(fields.places[field]),
            Self::Read { facts, base } => {
                let (start, end) = facts.ranges[field - field::NUMBERS];
                base.get(start as usize..end as usize).unwrap_or_default()
            }
        }
    }

    #[inline]
    pub(super) fn flags(&self) -> u16 {
        match self {
            Self::Placed { fields, .. } => fields.flags,
            Self::Read { facts, .. } => facts.flags,
        }
    }
}

/// The fields of a chunk that was read field by field.
#[derive(Debug, Clone)]
pub(super) struct ReadFacts {
    pub(super) numbers: [i64; field::NUMBERS],
    /// Starts and ends of byte strings in the chunk, or in its decrypted `ColumnMetaData`.
    pub(super) ranges: [(u32, u32); field::COUNT - field::NUMBERS],
    pub(super) flags: u16,
}

impl Default for ReadFacts {
    fn default() -> Self {
        Self { numbers: [ABSENT; _], ranges: [(0, 0); _], flags: 0 }
    }
}

impl ReadFacts {
    pub(super) fn check(&self) -> Result<()> {
        for field in REQUIRED {
            let what = match field {
                field::CODEC => "codec",
                field::VALUE_COUNT => "number of values",
                field::UNCOMPRESSED_BYTES => "uncompressed size",
                field::COMPRESSED_BYTES => "compressed size",
                _ => "offset of the data pages",
            };
            match self.numbers[field] {
                ABSENT => return Err(Error::corrupt(format!("the {what} is missing"))),
                number if number < 0 && field != field::CODEC => {
                    return Err(Error::corrupt(format!("{what} is {number}")));
                }
                _ => {}
            }
        }
        match self.numbers[field::DICTIONARY_PAGE_OFFSET] {
            number if number < 0 && number != ABSENT => {
                Err(Error::corrupt(format!("offset of the dictionary page is {number}")))
            }
            _ => Ok(()),
        }
    }

    /// The fields of a `ColumnMetaData`.
    pub(super) fn read_metadata(&mut self, reader: &mut ThriftReader<'_>) -> Result<(), ThriftError> {
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (4, WireType::I32) => self.numbers[field::CODEC] = reader.i32()?.into(),
                (5, WireType::I64) => self.numbers[field::VALUE_COUNT] = reader.i64()?,
                (6, WireType::I64) => self.numbers[field::UNCOMPRESSED_BYTES] = reader.i64()?,
                (7, WireType::I64) => self.numbers[field::COMPRESSED_BYTES] = reader.i64()?,
                (9, WireType::I64) => self.numbers[field::DATA_PAGE_OFFSET] = reader.i64()?,
                (11, WireType::I64) => self.numbers[field::DICTIONARY_PAGE_OFFSET] = reader.i64()?,
                (12, WireType::Struct) => self.read_statistics(reader)?,
                (13, WireType::List) => {
                    let start = reader.position();
                    reader.each_structure(|reader, _| PageEncodingStats::read(reader).map(|_| ()))?;
                    self.flags |= flag::HAS_ENCODING_STATISTICS;
                    self.ranges[field::ENCODING_STATS - field::NUMBERS] = (start as u32, reader.position() as u32);
                }
                (14, WireType::I64) => self.numbers[field::BLOOM_FILTER_OFFSET] = reader.i64()?,
                (15, WireType::I32) => self.numbers[field::BLOOM_FILTER_BYTES] = reader.i32()?.into(),
                _ => reader.skip(field)?,
            }
            Ok(())
        })
    }

    fn read_statistics(&mut self, reader: &mut ThriftReader<'_>) -> Result<(), ThriftError> {
        let (mut old_min, mut old_max, mut min, mut max) = (None, None, None, None);
        let mut flags = flag::HAS_STATISTICS;
        // The footer is shorter than 4 GiB.
        let range = |reader: &mut ThriftReader<'_>| {
            let len = reader.binary()?.len();
            Ok(Some(((reader.position() - len) as u32, reader.position() as u32)))
        };
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::Binary) => old_max = range(reader)?,
                (2, WireType::Binary) => old_min = range(reader)?,
                (3, WireType::I64) => self.numbers[field::NULL_COUNT] = reader.i64()?,
                (5, WireType::Binary) => max = range(reader)?,
                (6, WireType::Binary) => min = range(reader)?,
                (7, WireType::True) => flags |= flag::MAX_IS_EXACT,
                (7, WireType::False) => flags |= flag::MAX_IS_INEXACT,
                (8, WireType::True) => flags |= flag::MIN_IS_EXACT,
                (8, WireType::False) => flags |= flag::MIN_IS_INEXACT,
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
        self.ranges[field::MIN - field::NUMBERS] = min.unwrap_or_default();
        self.ranges[field::MAX - field::NUMBERS] = max.unwrap_or_default();
        self.flags |= flags;
        Ok(())
    }
}
