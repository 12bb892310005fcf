//! Memory for finished pages, reused once they are written.
//!
//! Fresh memory costs a page fault for every 4 KiB, which for uncompressed pages takes longer than encoding them.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Bytes of a segment.
pub(crate) const SEGMENT_BYTES: usize = 2 << 20;

/// Maximum bytes that are kept for reuse.
const MAX_SPARE_BYTES: usize = 64 << 20;

/// Segments that the columns of a writer share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Segments {
    spare: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Segments {
    /// A segment of [`SEGMENT_BYTES`], with any contents.
    pub(crate) fn take(&self) -> Vec<u8> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| vec![0; SEGMENT_BYTES])
    }

    /// The first `len` bytes of `segment`, of any size. A segment of [`SEGMENT_BYTES`] is reused once its last reference is
    /// dropped.
    pub(crate) fn lend(&self, segment: Vec<u8>, len: usize) -> Bytes {
        if len < segment.len() / 2 {
            // Too few bytes to keep the whole segment until they are written.
            let bytes = Bytes::copy_from_slice(&segment[..len]);
            self.give_back(segment);
            return bytes;
        }
        Bytes::from_owner(LentSegment { segment, len, home: self.clone() })
    }

    fn give_back(&self, segment: Vec<u8>) {
        if segment.len() != SEGMENT_BYTES {
            return;
        }
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MAX_SPARE_BYTES / SEGMENT_BYTES {
            spare.push(segment);
        }
    }
}

/// A segment in use.
struct LentSegment {
    segment: Vec<u8>,
    len: usize,
    home: Segments,
}

impl AsRef<[u8]> for LentSegment {
    fn as_ref(&self) -> &[u8] {
        &self.segment[..self.len]
    }
}

impl Drop for LentSegment {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.segment));
    }
}

#[cfg(test)]
mod tests {
    use super::{SEGMENT_BYTES, Segments};

    #[test]
    fn a_segment_comes_back_when_its_last_slice_is_dropped() {
        let segments = Segments::default();
        let mut segment = segments.take();
        segment[7] = 7;
        let address = segment.as_ptr();
        let bytes = segments.lend(segment, SEGMENT_BYTES - 1);
        let slice = bytes.slice(7..8);
        drop(bytes);
        let other = segments.take();
        assert_ne!(other.as_ptr(), address, "it is in use");
        assert_eq!(slice[..], [7]);
        drop(slice);
        let again = segments.take();
        assert_eq!(again.as_ptr(), address);
    }

    #[test]
    fn little_is_copied_so_that_the_segment_is_free_at_once() {
        let segments = Segments::default();
        let segment = segments.take();
        let address = segment.as_ptr();
        let bytes = segments.lend(segment, 10);
        let again = segments.take();
        assert_eq!(again.as_ptr(), address);
        assert_eq!(bytes.len(), 10);
    }
}
