//! Many byte strings in one allocation.

use std::ops::Range;

/// Byte strings, one after the other.
#[derive(Debug, Default, Clone)]
pub(crate) struct ByteList {
    bytes: Vec<u8>,
    /// The end of each string in `bytes`.
    ends: Vec<usize>,
}

impl ByteList {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    /// Adds the string that `write` appends, unless it returns `None`.
    pub(crate) fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
        let start = self.bytes.len();
        let written = write(&mut self.bytes);
        match written {
            Some(()) => self.ends.push(self.bytes.len()),
            None => self.bytes.truncate(start),
        }
        written
    }

    /// Memory size in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// The number of strings at the beginning for which `is_first` is true; it is false for all others.
    pub(crate) fn partition_point(&self, is_first: impl Fn(&[u8]) -> bool) -> usize {
        self.partition_point_in(0..self.len(), is_first)
    }

    /// [`partition_point`](Self::partition_point), if the result is known to be in a range.
    pub(crate) fn partition_point_in(&self, range: Range<usize>, is_first: impl Fn(&[u8]) -> bool) -> usize {
        let Range { start: mut low, end: mut high } = range;
        while low < high {
            let middle = low.midpoint(high);
            if is_first(self.get(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All of them, one after the other.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The end of each string in [`bytes`](Self::bytes).
    pub(crate) fn ends(&self) -> &[usize] {
        &self.ends
    }

    pub(crate) fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at))
    }

    pub(crate) fn last(&self) -> Option<&[u8]> {
        self.len().checked_sub(1).map(|at| self.get(at))
    }
}

impl<B: AsRef<[u8]>> FromIterator<B> for ByteList {
    fn from_iter<I: IntoIterator<Item = B>>(strings: I) -> Self {
        let mut list = Self::default();
        strings.into_iter().for_each(|bytes| list.push(bytes.as_ref()));
        list
    }
}
