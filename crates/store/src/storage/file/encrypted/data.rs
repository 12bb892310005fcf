#![expect(unsafe_code, reason = "implements a storage trait")]
//! The data area of an encrypted store: plain in memory, encrypted in its file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use super::cipher::{SECTOR, SectorCipher};
use super::envelope::ENVELOPE_AREA;
use crate::error::{Error, Result};
use crate::storage::Data;
use crate::storage::file::data::{DataFile, grow_file};
use crate::storage::file::lock::{self, LockedFile};
use crate::storage::file::place::Place;

/// The number of the data file, for its cipher.
const DATA: u8 = 0;

/// The byte of the data file that views lock shared for as long as they live.
pub(super) const VIEWS_BYTE: u64 = 1;

/// The data is read, compared and written in blocks of this size. The file may be 2 GiB for each MiB of their hashes.
const BLOCK: usize = 1 << 16;

/// The data area. Nothing reaches the file before a sync.
#[derive(Debug)]
pub(super) struct EncryptedData {
    /// A file that has no name and is in memory only. The system copies from it, so that nothing here refers to bytes which a
    /// writer changes at the same time.
    plain: File,
    map: DataFile,
    /// `None` for a view, whose changes are dropped.
    target: Option<Target>,
    number: u64,
    /// The locked file of a view.
    _view: Option<Arc<LockedFile>>,
}

/// The encrypted file.
#[derive(Debug)]
struct Target {
    file: LockedFile,
    path: PathBuf,
    cipher: Arc<SectorCipher>,
    /// The hashes of the blocks as they are in the file.
    written: Mutex<Vec<u128>>,
}

impl EncryptedData {
    /// Decrypts the file into memory. Syncs encrypt what has changed into the file.
    pub(super) fn load(file: LockedFile, path: &Path, cipher: &Arc<SectorCipher>, capacity_bytes: u64) -> Result<Self> {
        let (data, written) = Self::decrypt(&file, path, cipher, capacity_bytes)?;
        let written = Mutex::new(written);
        let target = Target { file, path: path.to_owned(), cipher: Arc::clone(cipher), written };
        Ok(Self { target: Some(target), ..data })
    }

    /// Decrypts the file into memory. Changes stay there.
    pub(super) fn view(
        file: &Arc<LockedFile>,
        path: &Path,
        cipher: &SectorCipher,
        capacity_bytes: u64,
    ) -> Result<Self> {
        let (data, _) = Self::decrypt(file, path, cipher, capacity_bytes)?;
        Ok(Self { _view: Some(Arc::clone(file)), ..data })
    }

    /// The data in memory, and the hashes of its blocks.
    fn decrypt(
        file: &LockedFile,
        path: &Path,
        cipher: &SectorCipher,
        capacity_bytes: u64,
    ) -> Result<(Self, Vec<u128>)> {
        let number = Place::new(file, path)?.number();
        let len = file.metadata().map_err(Error::io("read the length of", path))?.len();
        let len = len.saturating_sub(ENVELOPE_AREA) / SECTOR as u64 * SECTOR as u64;
        let plain = unnamed_file().map_err(Error::io("get memory for", path))?;
        let mut written = Vec::new();
        let mut block = vec![0; BLOCK];
        for start in (0..len).step_by(BLOCK) {
            let block = &mut block[..BLOCK.min((len - start) as usize)];
            file.read_exact_at(block, ENVELOPE_AREA + start).map_err(Error::io("read", path))?;
            cipher.decrypt(DATA, start / SECTOR as u64, block);
            plain.write_all_at(block, start).map_err(Error::io("get memory for", path))?;
            written.push(xxhash_rust::xxh3::xxh3_128(block));
        }
        let map = plain.try_clone().map_err(Error::io("get memory for", path))?;
        let map = DataFile::new(LockedFile::new(map), path, false, capacity_bytes)?;
        Ok((Self { plain, map, target: None, number, _view: None }, written))
    }

    /// Encrypts the blocks of a range that differ from the file, and writes them.
    fn write(&self, target: &Target, range: Range<u64>) -> Result<()> {
        let len = self.map.len();
        let mut written = target.written.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = vec![0; BLOCK];
        let first = range.start / BLOCK as u64 * BLOCK as u64;
        for start in (first..range.end.min(len)).step_by(BLOCK) {
            let block = &mut bytes[..BLOCK.min((len - start) as usize)];
            self.plain.read_exact_at(block, start).map_err(Error::io("read the memory of", &target.path))?;
            let (index, hash) = (start as usize / BLOCK, xxhash_rust::xxh3::xxh3_128(block));
            if written.get(index) == Some(&hash) {
                continue;
            }
            if index >= written.len() {
                written.resize(index + 1, 0);
            }
            // Until it is whole again, the block is in no known state.
            written[index] = 0;
            target.cipher.encrypt(DATA, start / SECTOR as u64, block);
            let done = target.file.write_all_at(block, ENVELOPE_AREA + start);
            done.map_err(Error::io("write to", &target.path))?;
            written[index] = hash;
        }
        Ok(())
    }

    fn sync_all(&self, ranges: &[Range<u64>]) -> Result<()> {
        let Some(target) = &self.target else { return Ok(()) };
        ranges.iter().try_for_each(|range| self.write(target, range.clone()))?;
        target.file.sync_data().map_err(Error::io("sync", &target.path))
    }
}

// SAFETY: `base`, `capacity` and the bytes belong to the map of a file that this value alone has. It reads them by calls of the system,
// which make no references.
unsafe impl Data for EncryptedData {
    fn base(&self) -> NonNull<u8> {
        self.map.base()
    }

    fn len(&self) -> u64 {
        self.map.len()
    }

    fn capacity(&self) -> u64 {
        self.map.capacity()
    }

    unsafe fn set_len(&self, len: u64) -> Result<()> {
        let len = len.next_multiple_of(SECTOR as u64);
        let Some(target) = &self.target else {
            // SAFETY: the caller guarantees the same.
            return unsafe { self.map.set_len(len) };
        };
        let old_len = self.map.len();
        if len >= old_len {
            // The disk must have room for it before the memory grows.
            let grown = grow_file(&target.file, ENVELOPE_AREA + old_len, ENVELOPE_AREA + len);
            grown.map_err(Error::io("grow", &target.path))?;
        }
        // SAFETY: the caller guarantees the same.
        unsafe { self.map.set_len(len)? };
        if len < old_len {
            let mut written = target.written.lock().unwrap_or_else(PoisonError::into_inner);
            // The last block is shorter than it was.
            written.truncate(len as usize / BLOCK);
            let shortened = target.file.set_len(ENVELOPE_AREA + len);
            shortened.map_err(Error::io("shorten", &target.path))?;
        }
        Ok(())
    }

    fn file_number(&self) -> u64 {
        self.number
    }

    fn has_other_readers(&self) -> Result<bool> {
        let Some(target) = &self.target else { return Ok(false) };
        lock::is_locked_by_another(&target.file, VIEWS_BYTE).map_err(Error::io("find locks of", &target.path))
    }

    /// One process has an encrypted store open at a time, so its lock stays.
    fn unlock_contents(&self) -> Result<()> {
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.sync_all(std::slice::from_ref(&(0..u64::MAX)))
    }

    fn sync_ranges(&self, ranges: &[Range<u64>]) -> Result<()> {
        self.sync_all(ranges)
    }
}

/// A file in memory.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn unnamed_file() -> io::Result<File> {
    use std::os::fd::FromRawFd;

    // SAFETY: the name ends with 0 and lives for the call, which only reads it.
    let descriptor = unsafe { libc::memfd_create(c"lath".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else has it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn unnamed_file() -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "encrypted stores need Linux"))
}
