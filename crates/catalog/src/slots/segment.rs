//! Bloom filters of equal length, laid out to probe many filters for one key.
//!
//! A key is in one block of a filter. A segment therefore stores the first blocks of all its filters next to each other, then all second
//! blocks, and so on: a probe reads one contiguous range, whatever the number of filters.
//!
//! ```text
//! │ block 0 of filters 0, 1, 2, … │ block 1 of filters 0, 1, 2, … │ …
//! ```
//!
//! A probe reads a row of blocks out of megabytes. Each row and each filter therefore has a checksum: verifying the whole segment would take
//! 2 ms of the 3 ms in which a row is found among 1,000 files.

use lath_kernels::bloom::{self, BLOCK_LEN};
use lath_kernels::xxhash::xxh64;
use lath_store::Tree;

use super::bitmap::Bitmap;
use crate::error::{Error, Result};

/// A class of filters that share segments: the same column, hash function and number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class {
    pub(crate) column: u32,
    /// [`FilterHash::code`](lath_parquet::FilterHash::code).
    pub(crate) hash: u64,
    pub(crate) blocks: u32,
}

/// The place of a filter in the segments of its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) position: u32,
}

/// The slot of a free position.
pub(crate) const FREE: u32 = u32::MAX;

/// Maximum bytes of a segment with several filters.
const MAX_SEGMENT_BYTES: usize = 4 << 20;

/// Filters of the first segment. Each segment has four times as many as the one before, so that few files take little space.
const FIRST_CAPACITY: usize = 16;

/// Maximum filters of a segment.
const MAX_CAPACITY: usize = 1 << 16;

impl Class {
    /// The number of filters in a segment of the class.
    pub(crate) fn capacity(&self, segment: u32) -> usize {
        let max = (MAX_SEGMENT_BYTES / (self.blocks.max(1) as usize * BLOCK_LEN)).clamp(1, MAX_CAPACITY);
        let grown = FIRST_CAPACITY.checked_shl(2 * segment.min(8)).unwrap_or(MAX_CAPACITY);
        max.min(grown)
    }

    fn prefix(&self) -> [u8; 16] {
        let mut key = [0; 16];
        key[..4].copy_from_slice(&self.column.to_be_bytes());
        key[4..12].copy_from_slice(&self.hash.to_be_bytes());
        key[12..].copy_from_slice(&self.blocks.to_be_bytes());
        key
    }

    /// The key of the list of slots of a segment.
    pub(crate) fn slots_key(&self, segment: u32) -> [u8; 21] {
        self.key(segment, 0)
    }

    /// The key of the blocks of a segment.
    pub(crate) fn blocks_key(&self, segment: u32) -> [u8; 21] {
        self.key(segment, 1)
    }

    /// The key of the checksums of a segment: one for each row of blocks, and one for each filter.
    pub(crate) fn checksums_key(&self, segment: u32) -> [u8; 21] {
        self.key(segment, 2)
    }

    fn key(&self, segment: u32, part: u8) -> [u8; 21] {
        let mut key = [part; 21];
        key[..16].copy_from_slice(&self.prefix());
        key[16..20].copy_from_slice(&segment.to_be_bytes());
        key
    }

    /// The class and segment of a key of slots; `None` for keys of other parts.
    fn parse_slots_key(key: &[u8]) -> Option<(Self, u32)> {
        let (column, rest) = key.split_first_chunk::<4>()?;
        let (hash, rest) = rest.split_first_chunk::<8>()?;
        let (blocks, rest) = rest.split_first_chunk::<4>()?;
        let (segment, part) = rest.split_first_chunk::<4>()?;
        let class = Self {
            column: u32::from_be_bytes(*column),
            hash: u64::from_be_bytes(*hash),
            blocks: u32::from_be_bytes(*blocks),
        };
        (part == [0]).then_some((class, u32::from_be_bytes(*segment)))
    }
}

/// A segment, its slots, and its blocks.
pub(crate) struct Segment<'a> {
    pub(crate) class: Class,
    pub(crate) slots: &'a [[u8; 4]],
    blocks: &'a [[u8; BLOCK_LEN]],
    /// Missing in segments from before there were checksums, which are verified when they are read.
    checksums: Option<&'a [[u8; 4]]>,
}

impl<'a> Segment<'a> {
    /// All segments of a column.
    pub(crate) fn read_all(segments: Tree<'a>, column: u32) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        let prefix = column.to_be_bytes();
        // An iterator would read, and so verify, the blocks.
        let mut cursor = segments.cursor();
        let mut has_key = cursor.lower_bound(&prefix)?;
        while has_key && let Some(key) = cursor.key().filter(|key| key.starts_with(&prefix)) {
            if let Some((class, number)) = Class::parse_slots_key(key)
                && let Some(slots) = cursor.value()?
            {
                found.push(Self::new(segments, class, number, slots)?);
            }
            has_key = cursor.next()?;
        }
        Ok(found)
    }

    /// The segment of a class with this number.
    pub(crate) fn get(segments: Tree<'a>, class: Class, number: u32) -> Result<Option<Self>> {
        let slots = segments.get(&class.slots_key(number))?;
        slots.map(|slots| Self::new(segments, class, number, slots)).transpose()
    }

    fn new(segments: Tree<'a>, class: Class, number: u32, slots: &'a [u8]) -> Result<Self> {
        let checksums = segments.get(&class.checksums_key(number))?.map(|checksums| checksums.as_chunks().0);
        let blocks_key = class.blocks_key(number);
        let blocks = match checksums {
            Some(_) => segments.get_unverified(&blocks_key)?,
            None => segments.get(&blocks_key)?,
        };
        let (slots, blocks) = (slots.as_chunks().0, blocks.unwrap_or_default().as_chunks().0);
        let rows = class.blocks as usize;
        if rows == 0
            || blocks.len() != slots.len() * rows
            || checksums.is_some_and(|checksums| checksums.len() != rows + slots.len())
        {
            return Err(Error::corrupt("the length of a segment of filters does not fit the number of its filters"));
        }
        Ok(Self { class, slots, blocks, checksums })
    }

    /// Checks the bytes of the row of blocks or, after those, the filter at `index`.
    fn verify(&self, index: usize, bytes: &[u8]) -> Result<()> {
        match self.checksums.map(|checksums| checksums.get(index)) {
            Some(stored) if stored != Some(&checksum(bytes)) => {
                Err(Error::corrupt("a segment of filters has a wrong checksum"))
            }
            _ => Ok(()),
        }
    }

    /// Adds the slots in `wanted` to `found` whose filter in this segment has one of `hashes`.
    pub(crate) fn probe(&self, hashes: &[u64], wanted: &Bitmap, found: &mut Bitmap) -> Result<()> {
        let is_wanted = |slot: u32| slot != FREE && wanted.contains(slot);
        let positions: Vec<(usize, u32)> = self
            .slots
            .iter()
            .map(|slot| u32::from_le_bytes(*slot))
            .enumerate()
            .filter(|(_, slot)| is_wanted(*slot))
            .collect();
        if positions.is_empty() {
            return Ok(());
        }
        let mut present = vec![0; positions.len().div_ceil(64)];
        for &hash in hashes {
            let block = bloom::block_index(hash, self.class.blocks as usize);
            let first = block * self.slots.len();
            let row = self.blocks.get(first..first + self.slots.len()).unwrap_or_default();
            self.verify(block, row.as_flattened())?;
            let blocks: Vec<&[u8]> =
                positions.iter().filter_map(|(position, _)| row.get(*position)).map(|block| &block[..]).collect();
            bloom::check_filters(&blocks, hash, &mut present)
                .map_err(|error| Error::corrupt(format!("a segment of filters cannot be probed: {error}")))?;
            for (at, (_, slot)) in positions.iter().enumerate() {
                if present[at / 64] >> (at % 64) & 1 != 0 {
                    found.insert(*slot);
                }
            }
        }
        Ok(())
    }

    /// The bitset of a filter.
    pub(crate) fn bitset(&self, position: u32) -> Result<Vec<u8>> {
        let position = position as usize;
        let bitset = filter(self.blocks, self.slots.len(), position);
        self.verify(self.class.blocks as usize + position, &bitset)?;
        Ok(bitset)
    }
}

/// The blocks of the filter at `position`, of `capacity` filters.
fn filter(blocks: &[[u8; BLOCK_LEN]], capacity: usize, position: usize) -> Vec<u8> {
    blocks.iter().skip(position).step_by(capacity.max(1)).flatten().copied().collect()
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    (xxh64(bytes) as u32).to_le_bytes()
}

/// A segment in memory, to be changed.
#[derive(Debug)]
pub(crate) struct OpenSegment {
    pub(crate) slots: Vec<u8>,
    pub(crate) blocks: Vec<u8>,
}

impl OpenSegment {
    pub(crate) fn empty(class: &Class, number: u32) -> Self {
        let capacity = class.capacity(number);
        Self { slots: vec![0xFF; capacity * 4], blocks: vec![0; capacity * class.blocks as usize * BLOCK_LEN] }
    }

    /// The first free position at or after `from`.
    pub(crate) fn free_position(&self, from: u32) -> Option<u32> {
        let slots = self.slots.as_chunks::<4>().0;
        let free = slots.iter().skip(from as usize).position(|slot| u32::from_le_bytes(*slot) == FREE)?;
        Some(from + free as u32)
    }

    /// Stores the filter of a slot at a position.
    pub(crate) fn put(&mut self, position: u32, slot: u32, bitset: &[u8]) {
        let capacity = self.slots.len() / 4;
        self.set_slot(position, slot);
        let rows = self.blocks.chunks_exact_mut(capacity.max(1) * BLOCK_LEN);
        for (row, block) in rows.zip(bitset.chunks_exact(BLOCK_LEN)) {
            if let Some(to) = row.chunks_exact_mut(BLOCK_LEN).nth(position as usize) {
                to.copy_from_slice(block);
            }
        }
    }

    /// The checksums of the rows of blocks, and of the filters.
    pub(crate) fn checksums(&self) -> Vec<u8> {
        let capacity = self.slots.len() / 4;
        let rows = self.blocks.chunks_exact(capacity.max(1) * BLOCK_LEN).map(checksum);
        let blocks = self.blocks.as_chunks().0;
        let filters = (0..capacity).map(|position| checksum(&filter(blocks, capacity, position)));
        rows.chain(filters).flatten().collect()
    }

    pub(crate) fn set_slot(&mut self, position: u32, slot: u32) {
        if let Some(to) = self.slots.chunks_exact_mut(4).nth(position as usize) {
            to.copy_from_slice(&slot.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn probes_find_the_filters_that_have_a_key() {
        let class = Class { column: 3, hash: 1, blocks: 4 };
        let mut open = OpenSegment::empty(&class, 0);
        let filters: Vec<Vec<u8>> = (0..16u64)
            .map(|file| {
                let mut filter = vec![0; 4 * BLOCK_LEN];
                (0..20).for_each(|key| {
                    bloom::insert(&mut filter, xxh64(&[file as u8, key])).unwrap();
                });
                filter
            })
            .collect();
        for (at, filter) in filters.iter().enumerate() {
            let position = open.free_position(0).unwrap();
            assert_eq!(position, at as u32);
            open.put(position, 100 + at as u32, filter);
        }
        assert_eq!(open.free_position(0), None);
        open.set_slot(5, FREE);
        assert_eq!(open.free_position(0), Some(5));
        let store = lath_store::Options::new().open_in_memory().unwrap();
        let mut transaction = store.begin().unwrap();
        let mut tree = transaction.tree("segments").unwrap();
        tree.put(&class.slots_key(0), &open.slots).unwrap();
        tree.put(&class.blocks_key(0), &open.blocks).unwrap();
        tree.put(&class.checksums_key(0), &open.checksums()).unwrap();
        transaction.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        let tree = snapshot.tree("segments").unwrap().unwrap();
        let [segment] = <[Segment<'_>; 1]>::try_from(Segment::read_all(tree, 3).unwrap()).ok().unwrap();
        let mut wanted = Bitmap::empty(200);
        (0..200).for_each(|slot| wanted.insert(slot));
        for (at, filter) in filters.iter().enumerate() {
            assert_eq!(segment.bitset(at as u32).unwrap(), *filter);
            for key in 0..40 {
                let hash = xxh64(&[at as u8, key]);
                let mut found = Bitmap::empty(200);
                segment.probe(&[hash], &wanted, &mut found).unwrap();
                let expected: Vec<u32> = (0..16)
                    .filter(|&other| other != 5 && bloom::check(&filters[other], hash).unwrap())
                    .map(|other| 100 + other as u32)
                    .collect();
                assert_eq!(found.iter().collect::<Vec<_>>(), expected);
                assert_eq!(
                    found.contains(100 + at as u32),
                    at != 5 && (key < 20 || expected.contains(&(100 + at as u32)))
                );
            }
        }
        assert!(Segment::read_all(tree, 4).unwrap().is_empty());
    }

    #[test]
    fn damage_in_what_is_read_is_found() {
        let class = Class { column: 3, hash: 1, blocks: 4 };
        let mut open = OpenSegment::empty(&class, 0);
        for at in 0..16 {
            open.put(at, at, &[at as u8; 4 * BLOCK_LEN]);
        }
        let checksums = open.checksums();
        // A bit of block 2 of filter 5.
        open.blocks[(2 * 16 + 5) * BLOCK_LEN + 7] ^= 1;
        let store = lath_store::Options::new().open_in_memory().unwrap();
        let mut transaction = store.begin().unwrap();
        let mut tree = transaction.tree("segments").unwrap();
        tree.put(&class.slots_key(0), &open.slots).unwrap();
        tree.put(&class.blocks_key(0), &open.blocks).unwrap();
        tree.put(&class.checksums_key(0), &checksums).unwrap();
        // Without checksums.
        tree.put(&class.slots_key(1), &open.slots).unwrap();
        tree.put(&class.blocks_key(1), &open.blocks).unwrap();
        // With too few.
        tree.put(&class.slots_key(2), &open.slots).unwrap();
        tree.put(&class.blocks_key(2), &open.blocks).unwrap();
        tree.put(&class.checksums_key(2), &checksums[4..]).unwrap();
        transaction.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        let tree = snapshot.tree("segments").unwrap().unwrap();
        let segment = |number| Segment::get(tree, class, number).map(|segment| segment.unwrap());
        let mut wanted = Bitmap::empty(16);
        (0..16).for_each(|slot| wanted.insert(slot));
        let probe = |segment: &Segment<'_>, hash| segment.probe(&[hash], &wanted, &mut Bitmap::empty(16));
        let hash_of_block =
            |block| (0..).map(|key: u8| xxh64(&[key])).find(|hash| bloom::block_index(*hash, 4) == block);
        let (damaged, unverified) = (segment(0).unwrap(), segment(1).unwrap());
        for block in 0..4 {
            let hash = hash_of_block(block).unwrap();
            assert_eq!(probe(&damaged, hash).is_ok(), block != 2, "block {block}");
            assert!(probe(&unverified, hash).is_ok());
        }
        for position in 0..16 {
            assert_eq!(damaged.bitset(position).is_ok(), position != 5, "filter {position}");
            assert!(unverified.bitset(position).is_ok());
        }
        assert!(segment(2).is_err());
    }

    #[test]
    fn segments_grow_up_to_their_maximum() {
        let class = |blocks| Class { column: 0, hash: 0, blocks };
        assert_eq!([0, 1, 2, 9].map(|segment| class(1).capacity(segment)), [16, 64, 256, 65536]);
        assert_eq!([0, 1, 9].map(|segment| class(4096).capacity(segment)), [16, 32, 32]);
        assert_eq!(class(1 << 30).capacity(3), 1);
    }
}
