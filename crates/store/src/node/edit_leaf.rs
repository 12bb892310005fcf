//! Creates and changes leaves.

use super::leaf::{EXTERNAL, HASHES, INLINE_MAX, LONG, NESTED, TREE, nested_word};
use super::{Leaf, Slot, put_u16, u16_at};
use crate::error::{Error, Result};

/// Bytes that an entry takes in the heap.
pub(crate) fn entry_len(suffix_len: usize, value: Slot<'_>) -> usize {
    let value_len = match value {
        Slot::Inline(bytes) => bytes.len(),
        Slot::External(_) | Slot::Tree(_) => 8,
    };
    2 + if suffix_len >= usize::from(LONG) { 2 } else { 0 } + suffix_len + value_len
}

/// Bytes of the body of a leaf with this many keys, a prefix and a heap of these lengths.
pub(crate) fn body_len(count: usize, prefix_len: usize, heap_len: usize) -> usize {
    HASHES + 3 * count + prefix_len + heap_len
}

/// Writes entries in order into a fresh leaf.
#[derive(Debug)]
pub(crate) struct LeafWriter<'a> {
    body: &'a mut [u8],
    count: usize,
    written: usize,
    heap_len: usize,
}

impl<'a> LeafWriter<'a> {
    /// Starts a leaf of `count` entries whose keys begin with `prefix`, in a body that has room for all of them.
    pub(crate) fn new(body: &'a mut [u8], count: usize, prefix: &[u8]) -> Self {
        put_u16(body, 12, count);
        put_u16(body, 14, prefix.len());
        put_u16(body, 18, 0);
        body[HASHES + 3 * count..][..prefix.len()].copy_from_slice(prefix);
        Self { body, count, written: 0, heap_len: 0 }
    }

    pub(crate) fn push(&mut self, hash: u8, suffix: &[u8], value: Slot<'_>) {
        let at = self.place(hash, entry_len(suffix.len(), value));
        write_entry(&mut self.body[at..], suffix, value);
    }

    /// Adds an entry. `tail` is its suffix followed by its inline value or the word of its tree; `external` is its value
    /// node, as in [`EntryParts`](super::leaf::EntryParts).
    fn push_tail(&mut self, hash: u8, suffix_len: usize, tail: &[u8], external: u64) {
        if external != 0 || suffix_len >= usize::from(LONG) {
            let (suffix, value) = tail.split_at(suffix_len);
            let value = match external {
                0 => Slot::Inline(value),
                NESTED => Slot::Tree(nested_word(value).unwrap_or_default()),
                reference => Slot::External(reference),
            };
            return self.push(hash, suffix, value);
        }
        let at = self.place(hash, 2 + tail.len());
        let entry = &mut self.body[at..at + 2 + tail.len()];
        entry[0] = suffix_len as u8;
        entry[1] = (tail.len() - suffix_len) as u8;
        entry[2..].copy_from_slice(tail);
    }

    /// Makes room for an entry of `len` bytes, and returns its offset.
    fn place(&mut self, hash: u8, len: usize) -> usize {
        self.heap_len += len;
        self.body[HASHES + self.written] = hash;
        put_u16(self.body, HASHES + self.count + 2 * self.written, self.heap_len);
        self.written += 1;
        self.body.len() - self.heap_len
    }

    pub(crate) fn finish(self) {
        debug_assert_eq!(self.written, self.count);
        put_u16(self.body, 16, self.heap_len);
    }
}

/// Copies `from` into `body` with one more key at `index`. The body has room for it.
pub(crate) fn copy_with(from: &Leaf<'_>, body: &mut [u8], index: usize, hash: u8, suffix: &[u8], value: Slot<'_>) {
    let count = from.count() + 1;
    let (hashes, places, prefix, heap) = (from.hashes(), from.places(), from.prefix(), from.heap());
    put_u16(body, 12, count);
    put_u16(body, 14, prefix.len());
    put_u16(body, 18, from.dead_len());
    body[HASHES..][..index].copy_from_slice(&hashes[..index]);
    body[HASHES + index] = hash;
    body[HASHES + index + 1..][..count - 1 - index].copy_from_slice(&hashes[index..]);
    let at = HASHES + count;
    body[at..][..2 * index].copy_from_slice(&places[..2 * index]);
    body[at + 2 * index + 2..][..2 * (count - 1 - index)].copy_from_slice(&places[2 * index..]);
    body[HASHES + 3 * count..][..prefix.len()].copy_from_slice(prefix);
    let end = body.len();
    body[end - heap.len()..].copy_from_slice(heap);
    let heap_len = heap.len() + entry_len(suffix.len(), value);
    write_entry(&mut body[end - heap_len..], suffix, value);
    put_u16(body, at + 2 * index, heap_len);
    put_u16(body, 16, heap_len);
}

/// Copies `from` into `body`, which is at least as long as the used bytes.
pub(crate) fn copy(from: &Leaf<'_>, body: &mut [u8]) {
    let head_len = body_len(from.count(), from.prefix().len(), 0);
    let heap = from.heap();
    put_u16(body, 12, from.count());
    put_u16(body, 14, from.prefix().len());
    put_u16(body, 16, heap.len());
    put_u16(body, 18, from.dead_len());
    body[HASHES..HASHES + from.count()].copy_from_slice(from.hashes());
    body[HASHES + from.count()..HASHES + 3 * from.count()].copy_from_slice(from.places());
    body[head_len - from.prefix().len()..head_len].copy_from_slice(from.prefix());
    let end = body.len();
    body[end - heap.len()..].copy_from_slice(heap);
}

/// Inserts a key at `index` into a leaf that has `entry_len + 3` bytes to spare.
pub(crate) fn insert(body: &mut [u8], index: usize, hash: u8, suffix: &[u8], value: Slot<'_>) {
    let count = usize::from(u16_at(body, 12));
    let prefix_len = usize::from(u16_at(body, 14));
    let heap_len = usize::from(u16_at(body, 16)) + entry_len(suffix.len(), value);
    let places = HASHES + count;
    // From the back: the prefix and the places after the new one move by a hash and a place, the places before by a
    // hash.
    body.copy_within(places + 2 * index..places + 2 * count + prefix_len, places + 2 * index + 3);
    body.copy_within(HASHES + index..places + 2 * index, HASHES + index + 1);
    body[HASHES + index] = hash;
    put_u16(body, places + 1 + 2 * index, heap_len);
    let at = body.len() - heap_len;
    write_entry(&mut body[at..], suffix, value);
    put_u16(body, 12, count + 1);
    put_u16(body, 16, heap_len);
}

/// Removes the key at `index` from a leaf; its entry stays in the heap as dead bytes.
pub(crate) fn remove(body: &mut [u8], index: usize, entry_len: usize) {
    let count = usize::from(u16_at(body, 12));
    let prefix_len = usize::from(u16_at(body, 14));
    let dead = usize::from(u16_at(body, 18)) + entry_len;
    let places = HASHES + count;
    body.copy_within(HASHES + index + 1..places + 2 * index, HASHES + index);
    body.copy_within(places + 2 * index + 2..places + 2 * count + prefix_len, places + 2 * index - 1);
    put_u16(body, 12, count - 1);
    put_u16(body, 18, dead);
}

/// Overwrites the value at `index` with one of the same length and kind.
pub(crate) fn overwrite(body: &mut [u8], index: usize, suffix_len: usize, value: Slot<'_>) {
    let count = usize::from(u16_at(body, 12));
    let place = usize::from(u16_at(body, HASHES + count + 2 * index));
    let len = entry_len(suffix_len, value);
    let at = body.len() - place;
    let entry = &mut body[at..at + len];
    match value {
        Slot::Inline(bytes) => entry[len - bytes.len()..].copy_from_slice(bytes),
        Slot::External(reference) => entry[len - 8..].copy_from_slice(&reference.to_le_bytes()),
        Slot::Tree(word) => entry[len - 8..].copy_from_slice(&word.bits().to_le_bytes()),
    }
}

fn write_entry(to: &mut [u8], suffix: &[u8], value: Slot<'_>) {
    let mut at = 2;
    if suffix.len() >= usize::from(LONG) {
        to[0] = LONG;
        put_u16(to, 2, suffix.len());
        at = 4;
    } else {
        to[0] = suffix.len() as u8;
    }
    to[at..at + suffix.len()].copy_from_slice(suffix);
    at += suffix.len();
    match value {
        Slot::Inline(bytes) => {
            debug_assert!(bytes.len() <= INLINE_MAX);
            to[1] = bytes.len() as u8;
            to[at..at + bytes.len()].copy_from_slice(bytes);
        }
        Slot::External(reference) => {
            to[1] = EXTERNAL;
            to[at..at + 8].copy_from_slice(&reference.to_le_bytes());
        }
        Slot::Tree(word) => {
            to[1] = TREE;
            to[at..at + 8].copy_from_slice(&word.bits().to_le_bytes());
        }
    }
}

/// Entries that are moved between leaves.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Each key, followed by its value if the value is inline, or by the word of its tree.
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// Whether there are keys whose length takes two more bytes.
    has_long: bool,
}

/// More bytes than any leaf or two joined leaves have, with the longest path before every key.
const BYTES_MAX: usize = 1 << 25;

#[derive(Debug, Clone, Copy)]
struct Item {
    hash: u8,
    key: (u32, u32),
    /// The end of an inline value or of a word, which begins at the end of the key.
    value_end: u32,
    /// Bytes that this entry and those before it take in a leaf without a prefix.
    size_to: u32,
    /// The value node, as in [`EntryParts`](super::leaf::EntryParts).
    external: u64,
}

impl Entries {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
        self.has_long = false;
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Appends a key, given in two parts.
    pub(crate) fn push(&mut self, hash: u8, key: [&[u8]; 2], value: Slot<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key[0]);
        self.bytes.extend_from_slice(key[1]);
        let end = self.bytes.len();
        let external = match value {
            Slot::Inline(bytes) => {
                self.bytes.extend_from_slice(bytes);
                0
            }
            Slot::External(reference) => reference,
            Slot::Tree(word) => {
                self.bytes.extend_from_slice(&word.bits().to_le_bytes());
                NESTED
            }
        };
        self.close(hash, start, end, external);
    }

    /// Appends the keys of `leaf` in `range`. `path` is the part of the path to the leaf that counts as part of the
    /// keys here.
    pub(crate) fn push_leaf(&mut self, leaf: &Leaf<'_>, range: std::ops::Range<usize>, path: &[u8]) -> Result<()> {
        let prefix = leaf.prefix();
        self.items.reserve(range.len() + 1);
        for index in range {
            let (suffix_len, tail, external) = leaf.tail(index)?;
            let start = self.bytes.len();
            self.bytes.extend_from_slice(path);
            self.bytes.extend_from_slice(prefix);
            let end = self.bytes.len() + suffix_len;
            self.bytes.extend_from_slice(tail);
            self.close(leaf.hash_at(index), start, end, external);
        }
        Ok(())
    }

    /// Returns an error if the keys are not in order, as in a damaged leaf. Building nodes relies on the order.
    pub(crate) fn check_order(&self) -> Result<()> {
        let is_in_order = self.bytes.len() <= BYTES_MAX && (1..self.len()).all(|at| self.key(at - 1) < self.key(at));
        if is_in_order { Ok(()) } else { Err(Error::corrupt("the keys of a leaf are not in order")) }
    }

    /// Completes the entry whose bytes have been added.
    fn close(&mut self, hash: u8, start: usize, end: usize, external: u64) {
        let value_end = self.bytes.len();
        let value_len = if external == 0 { value_end - end } else { 8 };
        self.has_long |= end - start >= usize::from(LONG);
        let size_to = self.items.last().map_or(0, |last| last.size_to) + (5 + end - start + value_len) as u32;
        let (key, value_end) = ((start as u32, end as u32), value_end as u32);
        self.items.push(Item { hash, key, value_end, size_to, external });
    }

    pub(crate) fn key(&self, index: usize) -> &[u8] {
        let (start, end) = self.items[index].key;
        &self.bytes[start as usize..end as usize]
    }

    /// The byte of a key at `at`.
    pub(crate) fn byte(&self, index: usize, at: usize) -> Option<u8> {
        let (start, end) = self.items[index].key;
        let place = start as usize + at;
        (place < end as usize).then(|| self.bytes[place])
    }

    /// Bytes that the entries before `index` take in a leaf without a prefix, not counting the two additional bytes of
    /// a long key.
    pub(crate) fn size_before(&self, index: usize) -> usize {
        index.checked_sub(1).map_or(0, |last| self.items[last].size_to as usize)
    }

    /// Bytes of the body of a leaf with the entries in `range`. The first `skip` bytes of their keys are left out, and
    /// the next `prefix_len` bytes form the leaf's prefix.
    pub(crate) fn leaf_len(&self, range: &std::ops::Range<usize>, skip: usize, prefix_len: usize) -> usize {
        let left_out = skip + prefix_len;
        let long = if self.has_long {
            let is_long = |item: &&Item| (item.key.1 - item.key.0) as usize - left_out >= usize::from(LONG);
            2 * self.items[range.clone()].iter().filter(is_long).count()
        } else {
            0
        };
        let all = self.size_before(range.end) - self.size_before(range.start);
        HASHES + prefix_len + all - range.len() * left_out + long
    }

    /// Writes the entries in `range` into a leaf of the length that [`leaf_len`](Self::leaf_len) returns.
    pub(crate) fn write_leaf(&self, body: &mut [u8], range: std::ops::Range<usize>, skip: usize, prefix_len: usize) {
        let prefix = &self.key(range.start)[skip..skip + prefix_len];
        let mut writer = LeafWriter::new(body, range.len(), prefix);
        for item in &self.items[range] {
            let start = item.key.0 as usize + skip + prefix_len;
            let tail = &self.bytes[start..item.value_end as usize];
            writer.push_tail(item.hash, item.key.1 as usize - start, tail, item.external);
        }
        writer.finish();
    }
}
