//! Byte buffers aligned for every Arrow type, reused once their arrays are dropped.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::Buffer;
use bytes::Bytes;

/// Growing bytes whose start is aligned to 16, so that they can be seen as integers of any width up to 128 bits.
///
/// A buffer is reused when the last array that uses it is dropped. A caller that drops each batch before it requests the next one
/// therefore decodes into the same memory all the time: it is in the cache, and neither zeroed nor faulted in again, which
/// otherwise costs a fifth of a scan of plain data.
#[derive(Debug, Default)]
pub(crate) struct AlignedBytes {
    words: Vec<u128>,
    len_bytes: usize,
    /// Words of the last buffer, which is the size of the next.
    last_words: usize,
    returned: Arc<ReturnedBuffers>,
}

/// Buffers to be reused.
#[derive(Debug, Default)]
struct ReturnedBuffers(Mutex<Vec<Vec<u128>>>);

impl ReturnedBuffers {
    /// Maximum batches in flight, if several threads share a column: more buffers would only hold memory.
    const MAX_BUFFERS: usize = 16;
}

/// A buffer in use by Arrow.
struct LentBuffer {
    words: Vec<u128>,
    len_bytes: usize,
    returned: Arc<ReturnedBuffers>,
}

impl AsRef<[u8]> for LentBuffer {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len_bytes]
    }
}

impl Drop for LentBuffer {
    fn drop(&mut self) {
        // The column is read to its end, and the buffer is not used again.
        if Arc::strong_count(&self.returned) == 1 {
            return;
        }
        let mut returned = self.returned.0.lock().unwrap_or_else(PoisonError::into_inner);
        if returned.len() < ReturnedBuffers::MAX_BUFFERS {
            returned.push(std::mem::take(&mut self.words));
        }
    }
}

impl AlignedBytes {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len_bytes]
    }

    /// Appends `count` bytes and returns them for writing. They contain zeros or bytes of an earlier use.
    pub(crate) fn grow(&mut self, count: usize) -> &mut [u8] {
        let start = self.len_bytes;
        self.len_bytes += count;
        let words = self.len_bytes.div_ceil(16);
        if words > self.words.len() {
            self.grow_words(words);
        }
        &mut bytemuck::cast_slice_mut(&mut self.words)[start..self.len_bytes]
    }

    #[cold]
    fn grow_words(&mut self, words: usize) {
        if self.words.is_empty() {
            let mut returned = self.returned.0.lock().unwrap_or_else(PoisonError::into_inner);
            self.words = returned.pop().unwrap_or_default();
            drop(returned);
            if self.words.len() < words {
                // Not grown: there is nothing to keep.
                self.words = Vec::new();
                self.words = vec![0; words.max(self.last_words)];
            }
        }
        if words > self.words.len() {
            self.words.resize(words.max(self.words.len() * 2), 0);
        }
    }

    /// Clears the contents, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.len_bytes = 0;
    }

    /// Returns the bytes as an Arrow buffer, and begins an empty one.
    pub(crate) fn finish(&mut self) -> Buffer {
        let words = std::mem::take(&mut self.words);
        let len_bytes = std::mem::take(&mut self.len_bytes);
        self.last_words = len_bytes.div_ceil(16);
        let lent = LentBuffer { words, len_bytes, returned: Arc::clone(&self.returned) };
        Buffer::from(Bytes::from_owner(lent))
    }
}

#[cfg(test)]
mod tests {
    use super::AlignedBytes;

    #[test]
    fn a_buffer_is_used_again_once_it_is_dropped() {
        let mut bytes = AlignedBytes::default();
        bytes.grow(100).fill(7);
        let first = bytes.finish();
        let address = first.as_ptr();
        bytes.grow(100).fill(8);
        let second = bytes.finish();
        assert_eq!((first.as_slice(), second.as_slice()), (&[7; 100][..], &[8; 100][..]));
        drop(first);
        bytes.grow(50);
        assert_eq!(bytes.finish().as_ptr(), address);
    }

    #[test]
    fn growing_keeps_what_was_written() {
        let mut bytes = AlignedBytes::default();
        for i in 0..100 {
            bytes.grow(3).fill(i);
        }
        let buffer = bytes.finish();
        assert!(buffer.chunks(3).enumerate().all(|(i, chunk)| chunk == [i as u8; 3]));
    }
}
