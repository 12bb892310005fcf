//! The lock on the data file that every user of the lock file has.
//!
//! A lock file can be removed while processes have it open. A process that opens the store then makes another one, and would know
//! neither readers nor writers of the first. Therefore each user of a lock file also has a shared lock on a byte of the data
//! file, and the first user of a lock file makes sure that nothing else has that byte locked.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::lock::{self, Kind, LockedFile};
use super::open_for_writing;
use super::place::Place;
use crate::error::{Error, Result};

/// The byte of the data file that users of a lock file lock shared.
const USERS_BYTE: u64 = 1;

/// A process that ends may leave the lock file a moment before the data file.
const END_TIMEOUT: Duration = Duration::from_millis(100);
const END_PAUSE: Duration = Duration::from_millis(1);

/// The data file that a lock file belongs to.
#[derive(Debug)]
pub(super) struct DataPath<'a> {
    pub(super) path: &'a Path,
    pub(super) create: bool,
    pub(super) read_only: bool,
}

/// A data file, opened for its lock.
#[derive(Debug)]
pub(super) struct TableUser {
    file: LockedFile,
    place: Place,
    is_writable: bool,
}

impl DataPath<'_> {
    /// `may_create`: whether no process has the lock file. Otherwise a missing data file was removed.
    pub(super) fn open(&self, may_create: bool) -> Result<TableUser> {
        let opened = if self.read_only {
            File::open(self.path)
        } else {
            OpenOptions::new().read(true).write(true).open(self.path)
        };
        let (file, is_writable) = match opened {
            Ok(file) => (file, !self.read_only),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !may_create => {
                return Err(Error::Replaced { path: self.path.to_owned() });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.create && !self.read_only => {
                (open_for_writing(self.path, true)?, true)
            }
            Err(error) => return Err(Error::io("open", self.path)(error)),
        };
        let place = Place::new(&file, self.path)?;
        Ok(TableUser { file: LockedFile::new(file), place, is_writable })
    }
}

impl TableUser {
    /// Returns whether no process uses another lock file of the same data file. Locks the users out if the file was opened for writing.
    pub(super) fn is_without_users(&self) -> Result<bool> {
        let started = Instant::now();
        loop {
            let is_free = if self.is_writable {
                lock::try_lock(&self.file, USERS_BYTE, Kind::Exclusive)
            } else {
                lock::is_locked_by_another(&self.file, USERS_BYTE).map(|is_locked| !is_locked)
            };
            let is_free = is_free.map_err(Error::io("lock", self.place.path()))?;
            if is_free || started.elapsed() >= END_TIMEOUT {
                return Ok(is_free);
            }
            std::thread::sleep(END_PAUSE);
        }
    }

    /// Registers this process as a user. `false` if the first user of another lock file is doing so.
    pub(super) fn add_user(&self) -> Result<bool> {
        let locked = lock::try_lock_within(&self.file, USERS_BYTE, Kind::Shared, END_TIMEOUT);
        locked.map_err(Error::io("lock", self.place.path()))
    }

    pub(super) fn check_place(&self) -> Result<()> {
        self.place.check()
    }
}
