use arrow_buffer::Buffer;

/// Maximum number of buffers kept for reuse. Two are in use if the caller drops each batch before it requests the next: the page
/// being decoded, and the one before, which a batch may still hold; more if batches of views are decoded ahead.
/// page in decode, and the one before that a batch may still hold; more where batches of views are decoded ahead.
const MAX_LENT: usize = 8;

/// Buffers for decompressed pages, reused as soon as they have no other references.
///
/// Fresh memory of a page's size comes from the system page by page and zeroed, which costs about as much as
/// decompressing into it; memory in use stays in the cache.
#[derive(Debug, Default)]
pub(super) struct BufferPool {
    lent: Vec<Buffer>,
}

impl BufferPool {
    /// A buffer without other references, or an empty one. It has the length of its last use; its contents are undefined.
    pub(super) fn take(&mut self) -> Vec<u8> {
        match self.lent.iter().position(|buffer| buffer.strong_count() == 1) {
            Some(free) => self.lent.remove(free).into_vec().unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// Drops all buffers.
    pub(super) fn clear(&mut self) {
        self.lent.clear();
    }

    /// Returns the first `len` bytes of `buffer`, which [`BufferPool::take`] reuses later.
    pub(super) fn lend(&mut self, buffer: Vec<u8>, len: usize) -> Buffer {
        let buffer = Buffer::from_vec(buffer);
        let page = buffer.slice_with_length(0, len);
        if self.lent.len() == MAX_LENT {
            self.lent.remove(0);
        }
        self.lent.push(buffer);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_once_it_is_free() {
        let mut pool = BufferPool::default();
        let page = pool.lend(vec![7; 100], 60);
        assert_eq!(page.as_slice(), [7; 60]);
        assert!(pool.take().is_empty());
        let address = page.as_ptr();
        drop(page);
        let buffer = pool.take();
        assert_eq!((buffer.as_ptr(), buffer.len()), (address, 100));
    }

    #[test]
    fn buffers_that_stay_in_use_are_forgotten() {
        let mut pool = BufferPool::default();
        let pages: Vec<_> = (0..100).map(|_| pool.lend(vec![0; 8], 8)).collect();
        assert_eq!(pool.lent.len(), MAX_LENT);
        drop(pages);
    }
}
