use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;

use super::{ByteRanges, check_range};

/// A file of the local file system, read by position, so that threads share no offset.
///
/// Its length is read once, when it is opened.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    len: u64,
}

impl LocalFile {
    /// Opens the file at `path` for reading.
    ///
    /// # Errors
    ///
    /// Whatever the operating system reports.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(File::open(path)?)
    }

    /// Takes a file that is open for reading.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::IsADirectory`] for a directory; whatever the operating system reports about the file's length.
    pub fn new(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Ok(Self { file, len: metadata.len() })
    }
}

impl ByteRanges for LocalFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.read_reusing(range, Vec::new())
    }

    fn read_reusing(&self, range: Range<u64>, mut buffer: Vec<u8>) -> io::Result<Bytes> {
        let len = check_range(&range, self.len)?;
        if buffer.len() < len {
            // Growing it would copy the old bytes; fresh zeroed memory comes from the system for free.
            buffer = vec![0; len];
        }
        read_exact_at(&self.file, &mut buffer[..len], range.start)?;
        Ok(Bytes::from(buffer))
    }
}

#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
pub(super) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Ok(len) => {
                buffer = &mut buffer[len..];
                offset += len as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn temporary_file(bytes: &[u8], name: &str) -> (LocalFile, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("lath-local-file-{}-{name}", std::process::id()));
        File::create(&path).and_then(|mut file| file.write_all(bytes)).expect("a file that can be written");
        (LocalFile::open(&path).expect("the file just written"), path)
    }

    #[test]
    fn ranges_are_read_by_position_into_the_buffer_offered() {
        let (file, path) = temporary_file(&(0..200u8).collect::<Vec<_>>(), "ranges");
        assert_eq!(file.len(), 200);
        assert_eq!(file.read(5..8).expect("a range within the file"), [5, 6, 7].as_slice());
        assert_eq!(file.read(200..200).expect("an empty range").len(), 0);

        let buffer = vec![1; 64];
        let address = buffer.as_ptr();
        let bytes = file.read_reusing(100..110, buffer).expect("a range within the file");
        assert_eq!(bytes[..10], (100..110u8).collect::<Vec<_>>());
        assert_eq!(bytes.as_ptr(), address);
        std::fs::remove_file(path).expect("the file just written");
    }

    #[test]
    fn a_range_past_the_end_is_refused_before_anything_is_allocated() {
        let (file, path) = temporary_file(b"abc", "past-the-end");
        for range in [0..4, 3..4, 0..u64::MAX] {
            let error = file.read(range).expect_err("a range past the end");
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        std::fs::remove_file(path).expect("the file just written");
    }

    #[test]
    fn a_directory_is_no_file() {
        assert!(LocalFile::open(std::env::temp_dir()).is_err());
    }
}
