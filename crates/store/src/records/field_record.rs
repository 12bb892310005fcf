//! Values that are records of fields, for programs that keep structures in a store: the fields in sequence, integers
//! little-endian, and a checksum.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the checksum at the end.
const CHECKSUM_LEN: usize = 4;

/// The checksum of bytes.
fn checksum(bytes: &[u8]) -> u32 {
    xxh3_64(bytes) as u32
}

/// Writes a record.
///
/// ```
/// use lath_store::{RecordReader, RecordWriter};
///
/// # fn main() -> Result<(), lath_store::RecordError> {
/// let bytes = RecordWriter::default().u32(7).bytes(b"blue").finish();
/// let mut record = RecordReader::new("a colour", &bytes)?;
/// assert_eq!((record.u32()?, record.text()?), (7, "blue"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct RecordWriter {
    bytes: Vec<u8>,
}

impl RecordWriter {
    /// Appends a number of 4 bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Appends a number of 8 bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Appends bytes, preceded by their 32-bit length; no value of a store is longer.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(bytes.len() as u32);
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Returns the record: its fields, and 4 bytes of the XXH3 of all of them. Resets the writer.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let checksum = checksum(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// Reads a record, field by field in the order in which they were written.
#[derive(Debug)]
pub struct RecordReader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> RecordReader<'a> {
    /// Verifies the checksum. Errors call the record `what`.
    ///
    /// # Errors
    /// If the checksum is wrong.
    pub fn new(what: &'static str, bytes: &'a [u8]) -> Result<Self, RecordError> {
        let split = bytes.split_last_chunk::<CHECKSUM_LEN>();
        match split {
            Some((rest, stored)) if checksum(rest) == u32::from_le_bytes(*stored) => Ok(Self { what, rest }),
            _ => Err(RecordError(format!("the checksum of {what} is wrong"))),
        }
    }

    /// Reads the next field, a number of 4 bytes.
    ///
    /// # Errors
    /// If the record is too short.
    pub fn u32(&mut self) -> Result<u32, RecordError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads the next field, a number of 8 bytes.
    ///
    /// # Errors
    /// If the record is too short.
    pub fn u64(&mut self) -> Result<u64, RecordError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads the next field, bytes preceded by their length.
    ///
    /// # Errors
    /// If the record is too short.
    pub fn bytes(&mut self) -> Result<&'a [u8], RecordError> {
        let len = self.u32()? as usize;
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or_else(|| self.too_short())?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads the next field, bytes that are a name.
    ///
    /// # Errors
    /// If the record is too short, or the name is not UTF-8.
    pub fn text(&mut self) -> Result<&'a str, RecordError> {
        let what = self.what;
        std::str::from_utf8(self.bytes()?).map_err(|_| RecordError(format!("{what} has a name that is not UTF-8")))
    }

    /// Returns whether all fields were read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.too_short())?;
        self.rest = rest;
        Ok(*array)
    }

    fn too_short(&self) -> RecordError {
        RecordError(format!("{} is too short", self.what))
    }
}

/// A malformed record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError(String);

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RecordError {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn record_round_trips_and_changed_bits_are_detected() {
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
