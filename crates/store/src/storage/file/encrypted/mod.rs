#![expect(unsafe_code, reason = "implements the storage traits")]
//! A store whose files are encrypted.
//!
//! Its data is decrypted into memory when it is opened, and checkpoints encrypt what has changed into the file; the log is encrypted
//! record by record. One process at a time has it open, because others would have other memory.

mod cipher;
mod data;
mod envelope;
mod key;
mod log;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use self::cipher::SectorCipher;
use self::data::{EncryptedData, VIEWS_BYTE};
pub(super) use self::envelope::ENVELOPE_AREA;
pub(super) use self::envelope::is_one as has_keys;
pub use self::key::EncryptionKey;
use self::log::EncryptedLog;
use super::lock::{self, Kind, LockedFile};
use super::{CONTENTS_BYTE, FileStorage, open_for_writing, parent_folder};
use crate::error::{Error, Result};
use crate::storage::{Data, Lengths, LogFile, MemoryStorage, SharedMemory, Storage};

/// Returns whether the store at `path` is encrypted; `None` if there is no store yet.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read.
pub fn is_encrypted(path: impl AsRef<Path>) -> Result<Option<bool>> {
    let path = path.as_ref();
    let mut area = Vec::new();
    match File::open(path).and_then(|file| file.take(ENVELOPE_AREA).read_to_end(&mut area)) {
        Ok(_) if area.iter().all(|byte| *byte == 0) => Ok(None),
        Ok(_) => Ok(Some(envelope::is_one(&area))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("open", path)(error)),
    }
}

/// The encrypted files of a store, and memory in place of the lock file.
#[derive(Debug)]
pub(crate) struct EncryptedStorage {
    files: FileStorage,
    key: EncryptionKey,
    /// Found when the data is opened.
    cipher: OnceLock<Arc<SectorCipher>>,
    memory: MemoryStorage,
}

impl EncryptedStorage {
    pub(crate) fn new(files: FileStorage, key: EncryptionKey) -> Result<Self> {
        Ok(Self { files, key, cipher: OnceLock::new(), memory: MemoryStorage::new(0)? })
    }

    /// The cipher of an open data file. A new file gets its keys, and a file with one damaged envelope gets it again.
    fn find_cipher(&self, file: &File) -> Result<Arc<SectorCipher>> {
        let path = &self.files.path;
        let len = file.metadata().map_err(Error::io("read the length of", path))?.len();
        let mut area = vec![0; ENVELOPE_AREA.min(len) as usize];
        file.read_exact_at(&mut area, 0).map_err(Error::io("read", path))?;
        // A crash may have kept the first bytes of a new store from its file.
        let is_new = len <= ENVELOPE_AREA && area.iter().all(|byte| *byte == 0);
        let cipher = if is_new && self.files.create && !self.files.read_only {
            let (cipher, area) = envelope::make(&self.key)?;
            let written = file.write_all_at(&area, 0).and_then(|()| file.sync_all());
            written.map_err(Error::io("write to", path))?;
            let folder = parent_folder(path);
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(Error::io("sync", folder))?;
            cipher
        } else if is_new {
            return Err(Error::corrupt("the data file is empty"));
        } else {
            let (cipher, whole) = envelope::open(&area, &self.key)?;
            if !self.files.read_only && whole != area {
                let written = file.write_all_at(&whole, 0).and_then(|()| file.sync_data());
                written.map_err(Error::io("write to", path))?;
            }
            cipher
        };
        Ok(Arc::clone(self.cipher.get_or_init(|| Arc::new(cipher))))
    }

    fn encrypted_log(&self, index: usize) -> Result<Arc<dyn LogFile>> {
        let Some(cipher) = self.cipher.get() else {
            return Err(Error::internal("the log of an encrypted store is opened before its data"));
        };
        Ok(Arc::new(EncryptedLog::new(self.files.log(index)?, Arc::clone(cipher), index)))
    }
}

// SAFETY: one value at a time has the data file locked, in all processes, and its data area and its table are memory that no other value has.
unsafe impl Storage for EncryptedStorage {
    fn data(&self) -> Result<Arc<dyn Data>> {
        let path = &self.files.path;
        let file = LockedFile::new(open_for_writing(path, self.files.create)?);
        if !lock::try_lock(&file, CONTENTS_BYTE, Kind::Exclusive).map_err(Error::io("lock", path))? {
            return Err(Error::Busy);
        }
        let cipher = self.find_cipher(&file)?;
        Ok(Arc::new(EncryptedData::load(file, path, &cipher, self.files.capacity_bytes)?))
    }

    fn log(&self, index: usize) -> Result<Arc<dyn LogFile>> {
        self.encrypted_log(index)
    }

    fn shared(&self, len: usize) -> Result<Arc<dyn SharedMemory>> {
        self.memory.shared(len)
    }

    fn shared_with_others(&self, len: usize) -> Result<Option<Arc<dyn SharedMemory>>> {
        self.memory.shared_with_others(len)
    }

    fn private(&self) -> Result<Arc<dyn Storage>> {
        let path = &self.files.path;
        let file = OpenOptions::new().read(true).open(path).map_err(Error::io("open", path))?;
        let file = Arc::new(LockedFile::new(file));
        for byte in [CONTENTS_BYTE, VIEWS_BYTE] {
            if !lock::try_lock(&file, byte, Kind::Shared).map_err(Error::io("lock", path))? {
                return Err(Error::Busy);
            }
        }
        let files = self.files.clone().read_only(true).create(false);
        let storage = Self::new(files, self.key.clone())?;
        let cipher = storage.find_cipher(&file)?;
        let data = Arc::new(EncryptedData::view(&file, path, &cipher, self.files.capacity_bytes)?);
        Ok(Arc::new(EncryptedView { storage, data, locked: file }))
    }

    fn file_name(&self, place: usize) -> PathBuf {
        self.files.file_name(place)
    }

    fn has_other_name(&self) -> Result<bool> {
        self.files.has_other_name()
    }

    fn lengths(&self) -> Result<Lengths> {
        let lengths = self.files.lengths()?;
        Ok(Lengths { data: lengths.data.saturating_sub(ENVELOPE_AREA), ..lengths })
    }
}

/// A view of a store that no process has open: its data, decrypted into memory.
#[derive(Debug)]
struct EncryptedView {
    storage: EncryptedStorage,
    data: Arc<EncryptedData>,
    /// The data file, which is locked while the log is read.
    locked: Arc<LockedFile>,
}

// SAFETY: the data area is memory of this value, and the table is the one of its storage.
unsafe impl Storage for EncryptedView {
    fn data(&self) -> Result<Arc<dyn Data>> {
        Ok(self.data.clone())
    }

    fn log(&self, index: usize) -> Result<Arc<dyn LogFile>> {
        self.storage.log(index)
    }

    fn shared(&self, len: usize) -> Result<Arc<dyn SharedMemory>> {
        self.storage.shared(len)
    }

    fn shared_with_others(&self, len: usize) -> Result<Option<Arc<dyn SharedMemory>>> {
        self.storage.shared_with_others(len)
    }

    fn private(&self) -> Result<Arc<dyn Storage>> {
        self.storage.private()
    }

    fn keeps_writers_out(&self) -> bool {
        true
    }

    fn let_writers_in(&self) -> Result<()> {
        lock::unlock(&self.locked, CONTENTS_BYTE).map_err(Error::io("unlock", &self.storage.files.path))
    }

    fn keep_writers_out(&self) -> Result<bool> {
        lock::try_lock(&self.locked, CONTENTS_BYTE, Kind::Shared).map_err(Error::io("lock", &self.storage.files.path))
    }

    fn file_name(&self, place: usize) -> PathBuf {
        self.storage.file_name(place)
    }

    fn has_other_name(&self) -> Result<bool> {
        self.storage.has_other_name()
    }

    fn lengths(&self) -> Result<Lengths> {
        Ok(Lengths { data: self.data.len(), ..self.storage.lengths()? })
    }
}
