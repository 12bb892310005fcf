//! The header of a Bloom filter, which stands before its bitset.
//!
//! ```text
//! | BloomFilterHeader, Thrift: numBytes, algorithm, hash, compression | bitset of numBytes |
//! ```
//!
//! <https://github.com/apache/parquet-format/blob/master/BloomFilter.md>

use std::ops::Range;

use lath_kernels::bloom::BLOCK_LEN;

use lath_format::thrift::{ThriftReader, WireType};

/// Bytes within which a header has to end; those that are written have about 17.
pub(crate) const MAX_HEADER_LEN: u64 = 64;

/// Where the bitset of a filter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Bytes before the bitset.
    pub(crate) header_len: u8,
    /// Bytes of the bitset: a whole number of blocks, from one on.
    pub(crate) len: u32,
}

impl Place {
    /// Reads a header; `None` if it is malformed or that of a filter of another kind.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = &bytes[..bytes.len().min(MAX_HEADER_LEN as usize)];
        let mut reader = ThriftReader::new(bytes);
        let mut len = None;
        // Each of the three is a union, of which the format has one kind so far: split blocks, XXH64, no compression.
        let mut kinds = [false; 3];
        reader
            .each_field(|reader, field| match (field.id, field.wire_type) {
                (1, WireType::I32) => {
                    len = Some(reader.i32()?);
                    Ok(())
                }
                (id @ 2..=4, WireType::Struct) => reader.each_field(|reader, kind| {
                    kinds[id as usize - 2] |= (kind.id, kind.wire_type) == (1, WireType::Struct);
                    reader.skip(kind)
                }),
                _ => reader.skip(field),
            })
            .ok()?;
        let len = u32::try_from(len?).ok()?;
        let is_of_blocks = len > 0 && len.is_multiple_of(BLOCK_LEN as u32);
        if !is_of_blocks || kinds != [true; 3] {
            return None;
        }
        Some(Self { header_len: u8::try_from(reader.position()).ok()?, len })
    }

    /// What the place probably is, if header and bitset have `filter_len` bytes: headers are shorter than a block.
    pub(crate) fn guess(filter_len: u64) -> Option<Self> {
        let header_len = (filter_len % BLOCK_LEN as u64) as u8;
        let len = u32::try_from(filter_len - u64::from(header_len)).ok()?;
        (len > 0 && header_len > 0).then_some(Self { header_len, len })
    }

    pub(crate) fn filter_len(self) -> u64 {
        u64::from(self.header_len) + u64::from(self.len)
    }

    pub(crate) fn block_count(self) -> usize {
        self.len as usize / BLOCK_LEN
    }

    /// Where the bitset of the filter at `offset` is in the file.
    pub(crate) fn bitset(self, offset: u64) -> Range<u64> {
        offset + u64::from(self.header_len)..offset + self.filter_len()
    }

    /// Where a block of the filter at `offset` is in the file.
    pub(crate) fn block(self, offset: u64, index: usize) -> Range<u64> {
        let start = offset + u64::from(self.header_len) + (index * BLOCK_LEN) as u64;
        start..start + BLOCK_LEN as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// numBytes 64, BLOCK, XXHASH, UNCOMPRESSED: written by hand from the specification.
    const HEADER: [u8; 16] =
        [0x15, 0x80, 0x01, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x00];

    #[test]
    fn a_header_says_where_the_bitset_is() {
        let place = Place { header_len: 16, len: 64 };
        assert_eq!(Place::read(&HEADER), Some(place));
        assert_eq!(Place::read(&[&HEADER[..], &[0xFF; 100]].concat()), Some(place));
        assert_eq!(Place::guess(80), Some(place));
        assert_eq!((place.filter_len(), place.block_count()), (80, 2));
        assert_eq!((place.bitset(100), place.block(100, 1)), (116..180, 148..180));
    }

    #[test]
    fn headers_that_are_cut_short_or_of_other_filters_are_refused() {
        for len in 0..HEADER.len() {
            assert_eq!(Place::read(&HEADER[..len]), None);
        }
        // Another algorithm, hash or compression.
        for at in [4, 8, 12] {
            let mut header = HEADER;
            header[at] = 0x2c;
            assert_eq!(Place::read(&header), None);
        }
        // 0, −64, 63 and 2³¹ − 1 bytes.
        for number in [&[0x00][..], &[0x7f], &[0x7e], &[0xfe, 0xff, 0xff, 0xff, 0x0f]] {
            assert_eq!(Place::read(&[&[0x15], number, &HEADER[3..]].concat()), None);
        }
        assert_eq!(Place::guess(31), None);
        assert_eq!(Place::guess(64), None);
        assert_eq!(Place::guess(u64::MAX), None);
    }
}
