//! Reads the records of one file, up to the first that does not verify.

use super::record::{HEADER_BYTES, Header, MARK_AT, MARK_BYTES, Past, SHORT_HEADER_BYTES};
use crate::error::Result;
use crate::storage::LogFile;

/// Bytes read at a time. Longer records are verified in pieces before memory is allocated for them.
const WINDOW_BYTES: usize = 1 << 18;

/// Limits the search for later records: it hashes at most this many times the length of the file, so that no input
/// makes it endless.
const MAX_SEARCHED: u64 = 8;

/// The valid records at the start of a file, in order.
pub(super) struct Scan<'a> {
    file: &'a dyn LogFile,
    file_bytes: u64,
    /// The identity of the store, which seeds the checksums. Without it, no checksum is compared.
    store: Option<u64>,
    /// The offset of the next record, and thus the end of the valid ones.
    end: u64,
    /// The salt of the first record, which all others share.
    salt: Option<u64>,
    last_sequence: u64,
    /// The [`Past`] of the first record.
    first_past: Option<Past>,
    /// The number of bytes of the file that were durable, according to its records so far.
    synced_end: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<'a> Scan<'a> {
    pub(super) fn new(file: &'a dyn LogFile, store: impl Into<Option<u64>>) -> Result<Self> {
        Ok(Self {
            file,
            file_bytes: file.len()?,
            store: store.into(),
            end: 0,
            salt: None,
            last_sequence: 0,
            first_past: None,
            synced_end: 0,
            window: Vec::new(),
            window_start: 0,
        })
    }

    /// The offset after the last record that [`next`](Self::next) returned.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The salt of the file's records; 0 before the first.
    pub(super) fn salt(&self) -> u64 {
        self.salt.unwrap_or(0)
    }

    /// The number of the last record so far.
    pub(super) fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// The [`Past`] of the first record of the file.
    pub(super) fn first_past(&self) -> Option<Past> {
        self.first_past
    }

    /// The number of bytes of the file that were durable, according to the records so far.
    pub(super) fn synced_end(&self) -> u64 {
        self.synced_end
    }

    /// The sequence number of the first record, if there is one. Call it before [`next`](Self::next).
    pub(super) fn first_sequence(&mut self) -> Result<Option<u64>> {
        let Some(header) = self.header()? else { return Ok(None) };
        Ok(self.verify(self.end, &header)?.then_some(header.sequence))
    }

    /// Returns the number and the payload of the next record. `None` at the end of the file, and where no record of
    /// this use of the file follows.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        let Some(header) = self.header()? else { return Ok(None) };
        if !self.verify(self.end, &header)? {
            return Ok(None);
        }
        // The checksum is right, so the record lies within the file and its length is true.
        let payload_bytes = header.payload_bytes as usize;
        let start = self.end + header.len() as u64;
        if self.end == 0 {
            self.first_past = header.past;
        }
        self.end = start + header.payload_bytes;
        self.salt = Some(header.salt);
        self.last_sequence = header.sequence;
        self.synced_end = header.past.map_or(0, |past| past.synced_end).max(self.synced_end);
        let payload = self.bytes(start, payload_bytes)?;
        Ok(Some((header.sequence, payload)))
    }

    /// Searches for intact records after the end of the valid ones, of commits after this one, and calls `f` with their
    /// headers. Records of an earlier use of the file have other salts or, if the salt is not known, commits that are
    /// in a checkpoint.
    pub(super) fn find_later(&mut self, after: u64, mut f: impl FnMut(&Header)) -> Result<()> {
        let mut at = self.end;
        let mut budget = self.file_bytes.saturating_mul(MAX_SEARCHED);
        while let Some(len) = self.file_bytes.checked_sub(at).filter(|left| *left >= HEADER_BYTES as u64) {
            let window = self.bytes(at, len.min(WINDOW_BYTES as u64) as usize)?;
            let last = window.len() - HEADER_BYTES;
            let found = (0..=last).find(|&place| window[place + MARK_AT..].starts_with(MARK_BYTES));
            let Some(place) = found else {
                at += last as u64 + 1;
                continue;
            };
            let header = Header::read(&window[place..]);
            at += place as u64;
            let header = header.filter(|header| {
                let is_of_this_use = self.salt.map_or(header.salt != 0, |salt| header.salt == salt);
                let fits = header.payload_bytes <= self.file_bytes - at - HEADER_BYTES as u64;
                is_of_this_use && fits && header.sequence > after && header.payload_bytes <= budget
            });
            let Some(header) = header else {
                at += 1;
                continue;
            };
            budget -= header.payload_bytes;
            if self.verify(at, &header)? {
                f(&header);
                at += HEADER_BYTES as u64 + header.payload_bytes;
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// The header at the end, if these bytes may be one.
    fn header(&mut self) -> Result<Option<Header>> {
        let left = self.file_bytes.saturating_sub(self.end);
        if left < SHORT_HEADER_BYTES as u64 {
            return Ok(None);
        }
        let bytes = self.bytes(self.end, left.min(HEADER_BYTES as u64) as usize)?;
        let Some(header) = Header::read(bytes) else { return Ok(None) };
        let belongs = match self.salt {
            Some(salt) => header.salt == salt && header.sequence > self.last_sequence,
            None => header.salt != 0,
        };
        let left = left.saturating_sub(header.len() as u64);
        let fits = header.payload_bytes <= left && isize::try_from(header.payload_bytes).is_ok();
        Ok((belongs && fits).then_some(header))
    }

    /// Returns whether the record at `start`, which lies within the file, has the right checksum.
    fn verify(&mut self, start: u64, header: &Header) -> Result<bool> {
        let Some(store) = self.store else { return Ok(true) };
        let mut hash = header.begin_checksum(store);
        let mut at = start + header.len() as u64;
        let mut left = header.payload_bytes;
        while left > 0 {
            let count = left.min(WINDOW_BYTES as u64 / 2);
            hash.update(self.bytes(at, count as usize)?);
            at += count;
            left -= count;
        }
        Ok(hash.digest() == header.checksum)
    }

    /// Reads bytes of the file. The caller has checked that they lie within it.
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
