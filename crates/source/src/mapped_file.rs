#![expect(unsafe_code, reason = "maps a file into memory")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::Mmap;

use super::{ByteRanges, check_range};

/// A file of the local file system, mapped into memory: pages are decoded where the system caches them, with no copy.
///
/// Scans of uncompressed files are about a fifth faster than with [`LocalFile`](super::LocalFile). In return the file must not change: see
/// [`open`](Self::open). A storage error is returned on Linux 5.14 and later; elsewhere it ends the process with a signal.
#[derive(Debug)]
pub struct MappedFile {
    map: Option<Arc<Mmap>>,
    bytes: Bytes,
}

/// Keeps the mapping for as long as slices of it are in use.
struct Mapping(Arc<Mmap>);

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl MappedFile {
    /// Maps the file at `path`.
    ///
    /// # Safety
    ///
    /// No code, in this process or in another, writes to the file or truncates it while the returned value or any [`Bytes`] read from it
    /// is alive: the contents must not change while there are references to them, and a reader validates text once and then relies on it.
    /// Truncating the file ends the process with a signal. Parquet files that are written once, and then only read, removed, or replaced
    /// by renaming another file, may be mapped.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("lath-mapped-{}", std::process::id()));
    /// # std::fs::write(&path, b"PAR1")?;
    /// use lath_source::{ByteRanges, MappedFile};
    ///
    /// // SAFETY: the file was written once, and nothing writes to it again.
    /// let file = unsafe { MappedFile::open(&path)? };
    /// assert_eq!(file.read(0..4)?, b"PAR1"[..]);
    /// # std::fs::remove_file(path)
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0133
    /// let file = lath_source::MappedFile::open("orders.parquet");
    /// ```
    ///
    /// # Errors
    ///
    /// Whatever the operating system reports.
    pub unsafe fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self { map: None, bytes: Bytes::new() });
        }
        // SAFETY: the mapping is private and read-only, so that this process changes nothing through it, and the caller guarantees
        // that nothing else changes the file.
        let map = Arc::new(unsafe { Mmap::map(&file)? });
        Ok(Self { bytes: Bytes::from_owner(Mapping(Arc::clone(&map))), map: Some(map) })
    }
}

impl ByteRanges for MappedFile {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let len = check_range(&range, self.len())?;
        let start = range.start as usize;
        // One call reads all pages, and reports a storage error as an error. Kernels before 5.14 do not have it and read the pages one
        // by one, when they are accessed.
        #[cfg(target_os = "linux")]
        if let Some(map) = &self.map
            && let Err(error) = map.advise_range(memmap2::Advice::PopulateRead, start, len)
            && error.kind() != io::ErrorKind::InvalidInput
        {
            return Err(error);
        }
        Ok(self.bytes.slice(start..start + len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_file() {
        let path = std::env::temp_dir().join(format!("lath-mapped-file-{}", std::process::id()));
        std::fs::write(&path, b"0123456789").expect("a file that can be written");
        // SAFETY: only this test has the file, and it writes to it after the last use of the map.
        let file = unsafe { MappedFile::open(&path) }.expect("the file just written");
        assert_eq!(file.read(3..6).expect("a range within the file"), b"345".as_slice());
        assert!(file.read(3..11).is_err());
        drop(file);
        std::fs::write(&path, b"").expect("a file that can be written");
        // SAFETY: nothing is mapped of an empty file.
        assert!(unsafe { MappedFile::open(&path) }.expect("an empty file").is_empty());
        std::fs::remove_file(path).expect("the file just written");
    }
}
