//! The log of an encrypted store.

use std::sync::{Arc, Mutex, PoisonError};

use super::cipher::{SECTOR, SectorCipher};
use crate::error::Result;
use crate::storage::LogFile;

/// A log whose sectors are encrypted in a file. A write changes whole sectors: the rest of the first and the last is read before.
#[derive(Debug)]
pub(super) struct EncryptedLog {
    file: Arc<dyn LogFile>,
    cipher: Arc<SectorCipher>,
    /// The number of the file, for the cipher.
    number: u8,
    /// Locked while sectors are changed.
    writing: Mutex<()>,
}

impl EncryptedLog {
    pub(super) fn new(file: Arc<dyn LogFile>, cipher: Arc<SectorCipher>, index: usize) -> Self {
        Self { file, cipher, number: index as u8 + 1, writing: Mutex::default() }
    }

    /// Fills `sectors` from `offset` on, a multiple of their length; zeros after the end of the file.
    fn read_sectors(&self, offset: u64, sectors: &mut [u8]) -> Result<()> {
        let there = self.file.len()?.saturating_sub(offset).min(sectors.len() as u64) as usize;
        let (old, new) = sectors.split_at_mut(there / SECTOR * SECTOR);
        if !old.is_empty() {
            self.file.read_at(offset, old)?;
        }
        self.cipher.decrypt(self.number, offset / SECTOR as u64, old);
        new.fill(0);
        Ok(())
    }
}

impl LogFile for EncryptedLog {
    fn len(&self) -> Result<u64> {
        Ok(self.file.len()? / SECTOR as u64 * SECTOR as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let Some(sectors) = Sectors::around(offset, bytes.len()) else { return Ok(()) };
        if offset + bytes.len() as u64 > self.len()? {
            // The error of the file.
            return self.file.read_at(offset, bytes);
        }
        let mut plain = vec![0; sectors.len];
        self.read_sectors(sectors.start, &mut plain)?;
        bytes.copy_from_slice(&plain[sectors.before..sectors.before + bytes.len()]);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let Some(sectors) = Sectors::around(offset, bytes.len()) else { return Ok(()) };
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut plain = vec![0; sectors.len];
        let last = sectors.len - SECTOR;
        if sectors.before > 0 {
            self.read_sectors(sectors.start, &mut plain[..SECTOR])?;
        }
        if !(sectors.before + bytes.len()).is_multiple_of(SECTOR) && (last > 0 || sectors.before == 0) {
            self.read_sectors(sectors.start + last as u64, &mut plain[last..])?;
        }
        plain[sectors.before..sectors.before + bytes.len()].copy_from_slice(bytes);
        self.cipher.encrypt(self.number, sectors.start / SECTOR as u64, &mut plain);
        self.file.write_at(sectors.start, &plain)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file.set_len(len.next_multiple_of(SECTOR as u64))
    }

    fn sync(&self) -> Result<()> {
        self.file.sync()
    }

    fn file_number(&self) -> u64 {
        self.file.file_number()
    }

    fn check_place(&self) -> Result<()> {
        self.file.check_place()
    }
}

/// The whole sectors around a range of bytes.
struct Sectors {
    start: u64,
    len: usize,
    /// Bytes before the range.
    before: usize,
}

impl Sectors {
    /// `None` for a range of no bytes.
    fn around(offset: u64, len: usize) -> Option<Self> {
        let before = (offset % SECTOR as u64) as usize;
        let sectors = Self { start: offset - before as u64, len: (before + len).next_multiple_of(SECTOR), before };
        (len > 0).then_some(sectors)
    }
}
