//! Values of the store that are records: fields one after the other, integers little-endian, and a checksum.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

/// Bytes of the checksum at the end.
const CHECKSUM_LEN: usize = 4;

/// The checksum of bytes.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    xxh3_64(bytes) as u32
}

/// A record being written.
#[derive(Debug, Default)]
pub(crate) struct RecordWriter {
    bytes: Vec<u8>,
}

impl RecordWriter {
    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// The length as 32 bits, and the bytes. The store takes no longer values anyway.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(bytes.len() as u32);
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let checksum = checksum(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// A record being read.
#[derive(Debug)]
pub(crate) struct RecordReader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> RecordReader<'a> {
    /// Checks the checksum. Errors call the record `what`.
    pub(crate) fn new(what: &'static str, bytes: &'a [u8]) -> Result<Self> {
        let split = bytes.split_last_chunk::<CHECKSUM_LEN>();
        match split {
            Some((rest, stored)) if checksum(rest) == u32::from_le_bytes(*stored) => Ok(Self { what, rest }),
            _ => Err(Error::corrupt(format!("the checksum of {what} is wrong"))),
        }
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.u32()? as usize;
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or_else(|| self.too_short())?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let what = self.what;
        std::str::from_utf8(self.bytes()?).map_err(|_| Error::corrupt(format!("{what} has a name that is not UTF-8")))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.too_short())?;
        self.rest = rest;
        Ok(*array)
    }

    fn too_short(&self) -> Error {
        Error::corrupt(format!("{} is too short", self.what))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_record_reads_back_and_a_changed_bit_is_noticed() {
        let mut bytes = RecordWriter::default().u32(7).bytes(b"name").u64(1 << 40).finish();
        let mut reader = RecordReader::new("it", &bytes).unwrap();
        assert_eq!((reader.u32().unwrap(), reader.text().unwrap(), reader.u64().unwrap()), (7, "name", 1 << 40));
        assert!(reader.u32().is_err());
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(RecordReader::new("it", &bytes).is_err());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(RecordReader::new("it", &[]).is_err());
    }
}
