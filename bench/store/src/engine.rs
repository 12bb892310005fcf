//! The interface of a measured store.

use std::path::Path;

use crate::keys::Key;

/// The guarantee of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Nothing waits for the disk.
    NoSync,
    /// A commit survives a loss of power once it has returned.
    Durable,
}

/// Entries of one transaction, in the form that every engine gets: keys and values in one buffer, none of them borrowed
/// from the engine.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

impl Batch {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(_, end)| end));
        starts.zip(&self.ends).map(|(start, &(key_end, end))| (&self.bytes[start..key_end], &self.bytes[key_end..end]))
    }
}

/// An open store.
pub trait Engine: Sized + Sync {
    /// A view of the commits so far.
    type Reader<'a>: Reader
    where
        Self: 'a;

    const NAME: &'static str;

    /// Opens the store in `folder`, which exists, or creates the store there.
    fn open(folder: &Path, mode: Mode) -> Self;

    /// Commits one transaction.
    fn commit(&self, batch: &Batch);

    /// Removes the keys from `from` up to but not including `to` in one transaction, in the fastest way of the engine.
    fn remove_range(&self, from: &[u8], to: &[u8]);

    /// Runs `work` on the commits so far.
    fn read<T>(&self, work: impl FnOnce(&Self::Reader<'_>) -> T) -> T;

    /// Flushes everything to the disk and closes the store.
    fn close(self);
}

/// Reads that every engine answers in its fastest way.
pub trait Reader {
    /// The value of a key, as a little-endian integer.
    fn get(&self, key: &[u8]) -> Option<u64>;

    /// The values of many keys, into `values`.
    fn get_many(&self, keys: &[Key], values: &mut Vec<Option<u64>>) {
        values.extend(keys.iter().map(|key| self.get(key)));
    }

    /// The value of the first key that is not less than `key`.
    fn lower_bound(&self, key: &[u8]) -> Option<u64>;

    /// Passes all entries to `visit` in order.
    fn scan(&self, visit: impl FnMut(&[u8], &[u8]));

    /// The number of keys from `from` up to but not including `to`.
    fn count(&self, from: &[u8], to: &[u8]) -> u64;
}

/// The number in a value of the benchmark.
pub fn value(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("values have 8 bytes"))
}
