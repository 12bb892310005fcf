#![expect(
    unsafe_code,
    reason = "mapping a file into memory is unsafe by nature; the argument is in the type's documentation"
)]

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
/// Scans of uncompressed files gain about a fifth over [`LocalFile`](super::LocalFile). The price: a file that another
/// process truncates while it is mapped ends this process with a signal instead of an error (as do storage errors, where
/// the system is not Linux 5.14 or later), and one that is overwritten in place changes under its readers. Files that
/// are written once and then left alone or replaced whole, as Parquet files usually are, can be mapped.
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
    /// # Errors
    ///
    /// Whatever the operating system reports.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self { map: None, bytes: Bytes::new() });
        }
        // SAFETY: the mapping is private and read-only, so that nothing in this process changes it. What other processes
        // may do to the file is the caller's to rule out, which the type's documentation asks for; every reader above
        // checks what it reads, so that changed bytes give wrong values or errors, no access out of bounds.
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
        // Brings the pages in with one call, which also turns a storage error into ours. Kernels before 5.14 do not know
        // it; there the pages come in one by one as they are touched.
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
        let file = MappedFile::open(&path).expect("the file just written");
        assert_eq!(file.read(3..6).expect("a range within the file"), b"345".as_slice());
        assert!(file.read(3..11).is_err());
        std::fs::write(&path, b"").expect("a file that can be written");
        assert!(MappedFile::open(&path).expect("an empty file").is_empty());
        std::fs::remove_file(path).expect("the file just written");
    }
}
