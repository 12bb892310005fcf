#![expect(unsafe_code, reason = "implements a storage trait, and fallocate is a call into the C library")]
//! The data file, mapped shared.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use memmap2::{MmapOptions, MmapRaw};

use super::CONTENTS_BYTE;
use super::limit;
use super::lock::{self, Kind, LockedFile};
use super::place::Place;
use crate::error::{Error, Result};
use crate::extent::HUGE_PAGE;
use crate::storage::Data;

/// The minimum address space that is tried.
pub(super) const MIN_CAPACITY_BYTES: u64 = 1 << 24;

/// Bytes of zeros written by one call where the file system cannot reserve space.
const ZEROS_BYTES: usize = 1 << 20;

/// Ranges are synced in pieces of this size, so that a sync of the log waits for one piece and not for all. With 512
/// random changes a commit, in a store of 20 million keys, the 99th percentile of commits is 10 ms with pieces and 25
/// ms without, the maximum 19 and 150 ms. With pieces of 4 MiB the maximum is twice as long as with 1 MiB.
///
/// Pieces end at huge pages. The system writes a huge page as a whole whichever part of it has changed, once for each
/// piece that covers a part of it.
pub(super) const SLICE_BYTES: u64 = HUGE_PAGE;

/// A file, mapped as a whole and far past its end, so that it can grow without moving.
#[derive(Debug)]
pub(super) struct DataFile {
    map: MmapRaw,
    file: LockedFile,
    place: Place,
    path: PathBuf,
    read_only: bool,
}

impl DataFile {
    pub(super) fn new(file: LockedFile, path: &Path, read_only: bool, capacity_bytes: u64) -> Result<Self> {
        let metadata = file.metadata().map_err(Error::io("read the length of", path))?;
        let map = map_file(&file, read_only, capacity_bytes, metadata.len()).map_err(Error::io("map", path))?;
        let place = Place::new(&file, path)?;
        let data = Self { map, file, place, path: path.to_owned(), read_only };
        if !read_only && metadata.blocks() * 512 < metadata.len() {
            data.fill_holes(metadata.len()).map_err(Error::io("reserve space for", path))?;
        }
        Ok(data)
    }

    /// Reserves space for holes that copying may have created: a write to a hole through the map on a full disk would
    /// end the process.
    fn fill_holes(&self, len: u64) -> io::Result<()> {
        match reserve(&self.file, len) {
            Err(error) if !is_unsupported(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Grows a file by zeroed bytes that the disk has room for.
pub(super) fn grow_file(file: &File, old_len: u64, len: u64) -> io::Result<()> {
    limit::check_now(len)?;
    let grown = match reserve(file, len) {
        Ok(()) => file.set_len(len),
        Err(error) if is_unsupported(&error) => write_zeros(file, old_len, len),
        Err(error) => Err(error),
    };
    if grown.is_err() {
        // Release the reserved space; if that fails too, report the first error.
        let _ = file.set_len(old_len);
    }
    grown
}

// SAFETY: the map is page-aligned, keeps its address and its length, and belongs to this value. `len` is never past its
// end. While this process has the file locked for writing, only `set_len` makes the file shorter, and readers use the
// length that the writer publishes.
unsafe impl Data for DataFile {
    fn base(&self) -> NonNull<u8> {
        NonNull::new(self.map.as_mut_ptr()).unwrap_or(NonNull::dangling())
    }

    fn len(&self) -> u64 {
        // Query the file each time, because another process may have changed its length. The query does not fail for an
        // open file; if it did, an empty area would be the safe answer.
        self.file.metadata().map_or(0, |metadata| metadata.len().min(self.capacity()))
    }

    fn capacity(&self) -> u64 {
        self.map.len() as u64
    }

    unsafe fn set_len(&self, len: u64) -> Result<()> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        if len > self.capacity() {
            return Err(Error::Limit { what: "the length of the store", limit: self.capacity() });
        }
        let metadata = self.file.metadata().map_err(Error::io("read the length of", &self.path))?;
        if len > metadata.len() {
            grow_file(&self.file, metadata.len(), len).map_err(Error::io("grow", &self.path))
        } else {
            self.file.set_len(len).map_err(Error::io("shorten", &self.path))
        }
    }

    fn file_number(&self) -> u64 {
        self.place.number()
    }

    fn try_lock_contents(&self) -> Result<bool> {
        lock::try_lock(&self.file, CONTENTS_BYTE, Kind::Exclusive).map_err(Error::io("lock", &self.path))
    }

    fn unlock_contents(&self) -> Result<()> {
        lock::unlock(&self.file, CONTENTS_BYTE).map_err(Error::io("unlock", &self.path))
    }

    fn sync(&self) -> Result<()> {
        // On Linux this writes pages dirtied through the map too; elsewhere, flush them to the file first.
        if cfg!(not(target_os = "linux")) {
            let len = usize::try_from(self.len()).unwrap_or(usize::MAX);
            self.map.flush_range(0, len).map_err(Error::io("sync", &self.path))?;
        }
        self.file.sync_data().map_err(Error::io("sync", &self.path))
    }

    fn sync_ranges(&self, ranges: &[Range<u64>]) -> Result<()> {
        if cfg!(not(target_os = "linux")) {
            return self.sync();
        }
        for slice in slices(ranges) {
            // On Linux this ends in the same function of the file system as `fdatasync`, with a range.
            let (start, end) = (slice.start as usize, slice.end.min(self.capacity()) as usize);
            self.map.flush_range(start, end.saturating_sub(start)).map_err(Error::io("sync", &self.path))?;
        }
        Ok(())
    }
}

/// Splits the ranges into pieces of limited length, and into as few as possible.
pub(super) fn slices(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut slices: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        let mut start = range.start;
        while start < range.end {
            let block = start / SLICE_BYTES;
            let end = range.end.min((block + 1) * SLICE_BYTES);
            match slices.last_mut() {
                Some(last) if last.start / SLICE_BYTES == block => last.end = end,
                _ => slices.push(start..end),
            }
            start = end;
        }
    }
    slices
}

fn map_file(file: &File, read_only: bool, capacity_bytes: u64, file_len: u64) -> io::Result<MmapRaw> {
    let least = file_len.max(MIN_CAPACITY_BYTES);
    let mut capacity = capacity_bytes.max(file_len).max(1);
    loop {
        let len = usize::try_from(capacity).unwrap_or(isize::MAX as usize);
        let mut options = MmapOptions::new();
        options.len(len).no_reserve_swap();
        let mapped = if read_only { options.map_raw_read_only(file) } else { options.map_raw(file) };
        match mapped {
            Err(_) if capacity > least => capacity = (capacity / 2).max(least),
            mapped => return mapped.inspect(advise),
        }
    }
}

/// Requests huge pages, which Linux supports for files on some file systems (XFS, ext4 from 6.16 on). The map works
/// without them as well.
///
/// Measured with 512 MiB on ext4, Linux 6.18, two cores: a cache miss takes 180 to 210 ns instead of 320, touching all
/// pages for the first time 0.08 s instead of 2.9, and there is one TLB flush for each huge page that is written back.
/// Loading 20 million random keys takes 49 s, 6 of them in the kernel, instead of 87 and 65.
#[cfg(target_os = "linux")]
fn advise(map: &MmapRaw) {
    let _ = map.advise(memmap2::Advice::HugePage);
}

#[cfg(not(target_os = "linux"))]
fn advise(_map: &MmapRaw) {}

/// Reserves disk space for the first `len` bytes of the file without changing its length.
#[cfg(target_os = "linux")]
fn reserve(file: &File, len: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let len = libc::off_t::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    loop {
        // SAFETY: the call takes no pointers, and the descriptor is open for as long as `file` is borrowed.
        let status = unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, len) };
        if status == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_file: &File, _len: u64) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
        || matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL))
}

/// Writes zeros from the end of the file up to `len`, so that the disk has room for them.
fn write_zeros(file: &File, mut from: u64, len: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS_BYTES];
    while from < len {
        let count = (len - from).min(ZEROS_BYTES as u64);
        file.write_all_at(&zeros[..count as usize], from)?;
        from += count;
    }
    Ok(())
}
