//! Reading the records of one file, for as long as they verify.

use super::record::{HEADER_BYTES, Header};
use crate::error::Result;
use crate::storage::LogFile;

/// Bytes read at a time. Records longer than this are verified in pieces before memory is taken for them.
const WINDOW_BYTES: usize = 1 << 18;

/// The good records at the start of a file, in order.
pub(super) struct Scan<'a> {
    file: &'a dyn LogFile,
    file_bytes: u64,
    /// The identity of the store, which seeds the checksums; without it no checksum is compared.
    store: Option<u64>,
    /// Where the next record begins, which is where the good ones end.
    end: u64,
    /// Of the first record, which all others share.
    salt: Option<u64>,
    last_sequence: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<'a> Scan<'a> {
    pub(super) fn new(file: &'a dyn LogFile, store: impl Into<Option<u64>>) -> Result<Self> {
        let file_bytes = file.len()?;
        let (window, window_start) = (Vec::new(), 0);
        Ok(Self { file, file_bytes, store: store.into(), end: 0, salt: None, last_sequence: 0, window, window_start })
    }

    /// The byte after the last record that [`next`](Self::next) gave.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// What the records of the file are marked with; 0 before the first.
    pub(super) fn salt(&self) -> u64 {
        self.salt.unwrap_or(0)
    }

    /// The sequence number of the first record, if there is one. Call it before [`next`](Self::next).
    pub(super) fn first_sequence(&mut self) -> Result<Option<u64>> {
        let Some(header) = self.header()? else { return Ok(None) };
        Ok(self.verify(&header)?.then_some(header.sequence))
    }

    /// The sequence number and the payload of the next record; none where the file ends, or something lies there that is no
    /// record of this use of the file.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        let Some(header) = self.header()? else { return Ok(None) };
        if !self.verify(&header)? {
            return Ok(None);
        }
        // Verified, so the record lies within the file and the length is true.
        let payload_bytes = header.payload_bytes as usize;
        let start = self.end + HEADER_BYTES as u64;
        self.end = start + header.payload_bytes;
        self.salt = Some(header.salt);
        self.last_sequence = header.sequence;
        let payload = self.bytes(start, payload_bytes)?;
        Ok(Some((header.sequence, payload)))
    }

    /// The header at the end, if it may be one.
    fn header(&mut self) -> Result<Option<Header>> {
        let left = self.file_bytes.saturating_sub(self.end);
        let Some(left) = left.checked_sub(HEADER_BYTES as u64) else { return Ok(None) };
        let (bytes, _) = self.bytes(self.end, HEADER_BYTES)?.as_chunks::<HEADER_BYTES>();
        let header = Header::read(&bytes[0]);
        let belongs = match self.salt {
            Some(salt) => header.salt == salt && header.sequence > self.last_sequence,
            None => header.salt != 0,
        };
        let fits = header.payload_bytes <= left && isize::try_from(header.payload_bytes).is_ok();
        Ok((belongs && fits).then_some(header))
    }

    fn verify(&mut self, header: &Header) -> Result<bool> {
        let Some(store) = self.store else { return Ok(true) };
        let mut hash = header.begin_checksum(store);
        let mut at = self.end + HEADER_BYTES as u64;
        let mut left = header.payload_bytes;
        while left > 0 {
            let count = left.min(WINDOW_BYTES as u64 / 2);
            hash.update(self.bytes(at, count as usize)?);
            at += count;
            left -= count;
        }
        Ok(hash.digest() == header.checksum)
    }

    /// Bytes of the file, which the caller has seen to lie within it.
    fn bytes(&mut self, start: u64, count: usize) -> Result<&[u8]> {
        let end = start + count as u64;
        if start < self.window_start || end > self.window_start + self.window.len() as u64 {
            let len = (WINDOW_BYTES.max(count) as u64).min(self.file_bytes - start);
            self.window.resize(len as usize, 0);
            self.window_start = start;
            if let Err(error) = self.file.read_at(start, &mut self.window) {
                self.window.clear();
                return Err(error);
            }
        }
        let from = (start - self.window_start) as usize;
        Ok(&self.window[from..from + count])
    }
}
