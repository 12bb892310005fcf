//! Places of field values, and reading from them.

/// The fields with a place, as indices of [`Fields`].
pub(crate) mod field {
    pub(crate) const CODEC: usize = 0;
    pub(crate) const VALUE_COUNT: usize = 1;
    pub(crate) const UNCOMPRESSED_BYTES: usize = 2;
    pub(crate) const COMPRESSED_BYTES: usize = 3;
    pub(crate) const DATA_PAGE_OFFSET: usize = 4;
    pub(crate) const DICTIONARY_PAGE_OFFSET: usize = 5;
    pub(crate) const NULL_COUNT: usize = 6;
    pub(crate) const BLOOM_FILTER_OFFSET: usize = 7;
    pub(crate) const BLOOM_FILTER_BYTES: usize = 8;
    pub(crate) const COLUMN_INDEX_OFFSET: usize = 9;
    pub(crate) const COLUMN_INDEX_BYTES: usize = 10;
    pub(crate) const OFFSET_INDEX_OFFSET: usize = 11;
    pub(crate) const OFFSET_INDEX_BYTES: usize = 12;
    /// Fields before it are numbers, and the others byte strings.
    pub(crate) const NUMBERS: usize = 13;
    pub(crate) const MIN: usize = 13;
    pub(crate) const MAX: usize = 14;
    /// The whole list.
    pub(crate) const ENCODING_STATS: usize = 15;
    pub(crate) const COUNT: usize = 16;
}

/// The required fields of a chunk, and the fields that cannot be negative.
pub(crate) const REQUIRED: [usize; 5] =
    [field::CODEC, field::VALUE_COUNT, field::UNCOMPRESSED_BYTES, field::COMPRESSED_BYTES, field::DATA_PAGE_OFFSET];

/// Flags of a chunk.
pub(crate) mod flag {
    pub(crate) const HAS_STATISTICS: u16 = 1 << 0;
    pub(crate) const HAS_MIN: u16 = 1 << 1;
    pub(crate) const HAS_MAX: u16 = 1 << 2;
    pub(crate) const DEPRECATED: u16 = 1 << 3;
    pub(crate) const MIN_IS_EXACT: u16 = 1 << 4;
    pub(crate) const MAX_IS_EXACT: u16 = 1 << 5;
    pub(crate) const ENCRYPTED: u16 = 1 << 6;
    pub(crate) const HAS_FILE_PATH: u16 = 1 << 7;
    pub(crate) const HAS_ENCODING_STATISTICS: u16 = 1 << 8;
    /// The metadata are encrypted.
    pub(crate) const DECRYPTED: u16 = 1 << 9;
    /// The bound is inexact, according to the writer.
    pub(crate) const MIN_IS_INEXACT: u16 = 1 << 10;
    pub(crate) const MAX_IS_INEXACT: u16 = 1 << 11;
}

/// The place of a value, relative to the start of the chunk or record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The highest bit is set if the value is in the record of a packed chunk; see [`crate::packed`].
    at: u16,
    len: u16,
}

const IN_RECORD: u16 = 1 << 15;

impl Place {
    /// `None` if the offset is larger than any layout.
    pub(crate) fn new(at: usize, len: usize) -> Option<Self> {
        let at = u16::try_from(at).ok().filter(|at| at & IN_RECORD == 0)?;
        Some(Self { at, len: u16::try_from(len).ok()? })
    }

    /// As [`new`](Self::new), in the record.
    pub(crate) fn in_record(at: usize, len: usize) -> Option<Self> {
        let place = Self::new(at, len)?;
        Some(Self { at: place.at | IN_RECORD, ..place })
    }

    #[inline]
    pub(crate) fn at(self) -> usize {
        (self.at & !IN_RECORD).into()
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        self.len.into()
    }

    #[inline]
    fn is_in_record(self) -> bool {
        self.at & IN_RECORD != 0
    }
}

/// The places of the fields of a chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// By number in [`field`]. An integer of 0 bytes is absent; flags tell whether bounds are present.
    pub(crate) places: [Place; field::COUNT],
    /// The [`flag`]s that follow from the layout.
    pub(crate) flags: u16,
}

/// The bytes that places are relative to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bases<'a> {
    /// The chunk or the template of packed chunks, and possibly bytes after it.
    pub(crate) shared: &'a [u8],
    /// The record of a packed chunk, and possibly bytes after it.
    pub(crate) record: &'a [u8],
}

impl<'a> Bases<'a> {
    #[inline]
    fn from(self, place: Place) -> &'a [u8] {
        let base = if place.is_in_record() { self.record } else { self.shared };
        base.get(place.at()..).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn bytes(self, place: Place) -> &'a [u8] {
        self.from(place).get(..place.len()).unwrap_or_default()
    }

    /// Whether the zigzag integer at `place` is present and negative.
    #[inline]
    pub(crate) fn is_negative(self, place: Place) -> bool {
        place.len > 0 && self.from(place).first().is_some_and(|byte| byte & 1 == 1)
    }

    /// The zigzag integer at `place`, of at most eight bytes; `None` if it is absent.
    #[inline]
    pub(crate) fn number(self, place: Place) -> Option<i64> {
        if place.len == 0 {
            return None;
        }
        let from = self.from(place);
        if let ([byte, ..], 1) = (from, place.len) {
            return Some(i64::from(byte >> 1) ^ -i64::from(byte & 1));
        }
        let window = match from.first_chunk::<8>() {
            Some(window) => u64::from_le_bytes(*window),
            None => from.iter().rev().fold(0, |window, &byte| window << 8 | u64::from(byte)),
        };
        Some(zigzag(window & u64::MAX >> (64 - 8 * u32::from(place.len).min(8))))
    }
}

/// Decodes the bytes of a varint, padded with zeros: its groups of seven bits are joined in pairs.
#[inline]
fn zigzag(bytes: u64) -> i64 {
    let bits = bytes & 0x7f7f_7f7f_7f7f_7f7f;
    let bits = bits & 0x007f_007f_007f_007f | (bits & 0x7f00_7f00_7f00_7f00) >> 1;
    let bits = bits & 0x0000_3fff_0000_3fff | (bits & 0x3fff_0000_3fff_0000) >> 2;
    let bits = bits & 0x0000_0000_0fff_ffff | (bits & 0x0fff_ffff_0000_0000) >> 4;
    (bits >> 1) as i64 ^ -((bits & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thrift::{ThriftReader, ThriftWriter};

    #[test]
    fn integers_of_up_to_eight_bytes_are_read_as_field_by_field() {
        for bits in 0..55 {
            for number in [1_i64 << bits, (1 << bits) - 1, -(1 << bits)] {
                let mut bytes = Vec::new();
                ThriftWriter::new(&mut bytes).i64(1, number);
                let varint = &bytes[1..];
                assert_eq!(ThriftReader::new(varint).i64(), Ok(number));
                for behind in [&[][..], &[0xff; 8]] {
                    let shared = &[varint, behind].concat();
                    let place = Place::new(0, varint.len()).expect("a small place");
                    assert_eq!(Bases { shared, record: &[] }.number(place), Some(number));
                }
            }
        }
        assert_eq!(Bases { shared: &[2], record: &[] }.number(Place::default()), None);
    }
}
