//! The header of a Bloom filter, which precedes its bitset.
//!
//! ```text
//! | BloomFilterHeader, Thrift: numBytes, algorithm, hash, compression | bitset of numBytes |
//! ```
//!
//! <https://github.com/apache/parquet-format/blob/master/BloomFilter.md>

use std::ops::Range;

use lath_format::thrift::{ThriftReader, WireType};
use lath_kernels::bloom::BLOCK_LEN;

use super::thresholds::MAX_HEADER_LEN;

/// The lengths of a filter's header and bitset, from which the locations of blocks follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilterHeader {
    /// Bytes before the bitset.
    pub(crate) header_len: u8,
    /// Bytes of the bitset: a whole number of blocks, at least one.
    pub(crate) bitset_len: u32,
}

impl FilterHeader {
    /// Reads a header; `None` if it is malformed or belongs to a filter of an unknown kind.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = &bytes[..bytes.len().min(MAX_HEADER_LEN as usize)];
        let mut reader = ThriftReader::new(bytes);
        let mut len = None;
        // Each of the three is a union with a single variant in the format so far: split blocks, XXH64, no compression.
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
        let is_whole_blocks = len > 0 && len.is_multiple_of(BLOCK_LEN as u32);
        if !is_whole_blocks || kinds != [true; 3] {
            return None;
        }
        Some(Self { header_len: u8::try_from(reader.position()).ok()?, bitset_len: len })
    }

    /// The probable lengths, if header and bitset have `filter_len` bytes together: headers are shorter than a block.
    pub(crate) fn guess(filter_len: u64) -> Option<Self> {
        let header_len = (filter_len % BLOCK_LEN as u64) as u8;
        let bitset_len = u32::try_from(filter_len - u64::from(header_len)).ok()?;
        (bitset_len > 0 && header_len > 0).then_some(Self { header_len, bitset_len })
    }

    pub(crate) fn filter_len(self) -> u64 {
        u64::from(self.header_len) + u64::from(self.bitset_len)
    }

    pub(crate) fn block_count(self) -> usize {
        self.bitset_len as usize / BLOCK_LEN
    }

    /// The range of the bitset in the file, of the filter at `offset`.
    pub(crate) fn bitset(self, offset: u64) -> Range<u64> {
        offset + u64::from(self.header_len)..offset + self.filter_len()
    }

    /// The range of a block in the file, of the filter at `offset`.
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
    fn a_header_has_the_range_of_the_bitset() {
        let header = FilterHeader { header_len: 16, bitset_len: 64 };
        assert_eq!(FilterHeader::read(&HEADER), Some(header));
        assert_eq!(FilterHeader::read(&[&HEADER[..], &[0xFF; 100]].concat()), Some(header));
        assert_eq!(FilterHeader::guess(80), Some(header));
        assert_eq!((header.filter_len(), header.block_count()), (80, 2));
        assert_eq!((header.bitset(100), header.block(100, 1)), (116..180, 148..180));
    }

    #[test]
    fn headers_that_are_cut_short_or_of_other_filters_are_refused() {
        for len in 0..HEADER.len() {
            assert_eq!(FilterHeader::read(&HEADER[..len]), None);
        }
        // Another algorithm, hash or compression.
        for at in [4, 8, 12] {
            let mut header = HEADER;
            header[at] = 0x2c;
            assert_eq!(FilterHeader::read(&header), None);
        }
        // 0, −64, 63 and 2³¹ − 1 bytes.
        for number in [&[0x00][..], &[0x7f], &[0x7e], &[0xfe, 0xff, 0xff, 0xff, 0x0f]] {
            assert_eq!(FilterHeader::read(&[&[0x15], number, &HEADER[3..]].concat()), None);
        }
        assert_eq!(FilterHeader::guess(31), None);
        assert_eq!(FilterHeader::guess(64), None);
        assert_eq!(FilterHeader::guess(u64::MAX), None);
    }
}
