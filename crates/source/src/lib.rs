//! Sources of the bytes of a file: the trait [`ByteRanges`] and its implementations.
//!
//! | source | bytes of |
//! | --- | --- |
//! | [`bytes::Bytes`] | memory |
//! | [`LocalFile`] | a local file, one descriptor each |
//! | [`PooledFile`] | a local file, descriptors shared by a [`FilePool`] |
//! | [`MappedFile`] | a local file mapped into memory |
//! | [`Store`] | objects in S3, Google Cloud Storage, Azure and behind HTTP (feature `object-store`) |
//! | [`ReadAhead`] | another source, read ahead if its requests take long |
//! | [`VerifiedFile`] | another source, verified by checksums from when it was written |
//! | [`CountingSource`] | another source, whose requests and bytes are counted |
//!
//! ```
//! use bytes::Bytes;
//! use lath_source::ByteRanges;
//!
//! let source: &dyn ByteRanges = &Bytes::from_static(b"PAR1 and so on");
//! assert_eq!(source.read(0..4)?, b"PAR1"[..]);
//! assert!(source.read(10..20).is_err());
//! # Ok::<(), std::io::Error>(())
//! ```

#[cfg(not(feature = "object-store"))]
mod absent;
mod block_checksums;
mod counted;
mod descriptor_table;
mod local_file;
mod mapped_file;
#[cfg(feature = "object-store")]
mod object;
mod pool;
mod read_ahead;
mod sent_object;
mod store_options;
mod url_text;
mod version;
mod web_request;

#[cfg(not(feature = "object-store"))]
pub use absent::{Connections, ListedObject, ObjectFile, Store, UnfinishedUpload, Upload, UploadAbort, WebClient};
pub use block_checksums::{BlockChecksums, BlockDamage, CHECKSUM_BLOCK_BYTES, ChecksummedWriter, VerifiedFile};
pub use counted::{CountingSource, Traffic};
pub use local_file::LocalFile;
pub use mapped_file::MappedFile;
#[cfg(feature = "object-store")]
pub use object::{Connections, ListedObject, ObjectFile, Store, UnfinishedUpload, Upload, UploadAbort, WebClient};
pub use pool::{FilePool, PooledFile};
pub use read_ahead::{Coverage, Extent, ReadAhead};
pub use sent_object::SentObject;
pub use store_options::{GrantedAccess, S3Access, S3Keys, StoreOptions};
pub use url_text::{is_store, percent_decoded, split_scheme};
pub use version::{Replaces, Version, VersionCheck};
pub use web_request::{WebMethod, WebRequest};

use std::fmt::Debug;
use std::io;
use std::ops::Range;

use bytes::Bytes;

/// Bytes at the end of an object in a store that are read when it is opened, and kept. They usually have the footer, and often the part
/// before it: after a small footer there is room for a Bloom filter of 64 KiB, which saves one of three requests for an absent key.
pub const STORE_TAIL_BYTES: u64 = 72 << 10;

/// A source of the bytes of a file: a local file, memory, an object in a store.
///
/// Several threads may read at once. The length must not change while a reader uses the source.
pub trait ByteRanges: Send + Sync + Debug {
    /// Length of the file in bytes.
    fn len(&self) -> u64;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes of `range`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::UnexpectedEof`] if the range ends past [`ByteRanges::len`], which is checked before anything is
    /// allocated; otherwise the error of the storage.
    fn read(&self, range: Range<u64>) -> io::Result<Bytes>;

    /// As [`ByteRanges::read`], with a buffer from an earlier read that the source may reuse for its result.
    ///
    /// A reader passes buffers that it no longer needs, so that a source that has to copy (a file) does not allocate for every read.
    /// The result may be longer than the range: the requested bytes come first.
    ///
    /// # Errors
    ///
    /// As [`ByteRanges::read`].
    fn read_reusing(&self, range: Range<u64>, buffer: Vec<u8>) -> io::Result<Bytes> {
        drop(buffer);
        self.read(range)
    }

    /// The bytes of each of `ranges`, in their order. Ranges may overlap and come in any order. By default they are read one by one;
    /// a source whose requests take long joins ranges that are near each other and sends several requests at a time.
    ///
    /// # Errors
    ///
    /// As [`ByteRanges::read`], for the first range that fails.
    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        ranges.iter().map(|range| self.read(range.clone())).collect()
    }

    /// The requests that [`ByteRanges::read_many`] sends for `ranges`, for a caller that counts them; by default one for each range.
    fn requests(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        ranges.to_vec()
    }

    /// The bytes that the storage transfers in the time of one round trip. Reading up to this many unneeded bytes is worth a saved request.
    /// 0, the default, is for storage that answers at once.
    fn request_cost_bytes(&self) -> u64 {
        0
    }

    /// Bytes of memory that the source holds, such as parts of the file that it has read ahead.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// A file in memory; reads share its memory.
impl ByteRanges for Bytes {
    fn len(&self) -> u64 {
        Self::len(self) as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let len = check_range(&range, Self::len(self) as u64)?;
        // Fits: the range lies within a length that is a `usize`.
        let start = range.start as usize;
        Ok(self.slice(start..start + len))
    }
}

/// Length of `range` in bytes, if it lies within a file of `file_len` bytes.
fn check_range(range: &Range<u64>, file_len: u64) -> io::Result<usize> {
    if range.start > range.end || range.end > file_len {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("bytes {}..{} requested from a file of {file_len} bytes", range.start, range.end),
        ));
    }
    usize::try_from(range.end - range.start).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "a malformed request is what is tested")]
    fn memory_gives_any_range_within_it_without_copying() {
        let bytes = Bytes::from((0..100u8).collect::<Vec<_>>());
        let source: &dyn ByteRanges = &bytes;
        assert_eq!(source.len(), 100);
        assert!(!source.is_empty());
        let part = source.read(10..20).expect("a range within the file");
        assert_eq!(part, (10..20u8).collect::<Vec<_>>());
        assert_eq!(part.as_ptr(), bytes[10..].as_ptr());
        assert_eq!(source.read(100..100).expect("an empty range").len(), 0);
        assert_eq!(source.read_reusing(0..3, vec![9; 8]).expect("a range within the file")[..3], [0, 1, 2]);
        for range in [99..101, 0..u64::MAX, u64::MAX - 1..u64::MAX, 20..10] {
            let error = source.read(range).expect_err("a range outside the file");
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
