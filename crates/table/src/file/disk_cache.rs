//! A cache on the local disk of blocks of objects, of bounded size. The next process that opens the table finds what it has.
//!
//! | file | contents |
//! | --- | --- |
//! | `N.blocks` | slots of 64 KiB. The process that has the cache open has locked it; another process takes the next N. |
//! | `N.index` | for each slot 32 bytes: object (8), block (8), length (4), the lowest 32 bits of the XXH3 of these 20 bytes (4), XXH3 of the block (8) |
//!
//! Nothing is synced: a block whose checksum differs, after a crash or because another block has taken its slot while it was read, is a miss.
//! The clock algorithm evicts blocks that were not used recently.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lath_parquet::ObjectCache;
use lath_source::{ByteRanges, Version};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes of a block. A request for fewer bytes costs as much time.
const BLOCK_BYTES: u64 = 64 << 10;

/// Bytes of an entry of the index.
const ENTRY_BYTES: usize = 32;

/// Maximum number of processes that have caches of a table.
const MAX_CACHES: usize = 16;

/// A cache of blocks of objects.
#[derive(Debug)]
pub(crate) struct DiskCache {
    blocks: File,
    index: File,
    slots: Mutex<Slots>,
}

#[derive(Debug)]
struct Slots {
    max: usize,
    slots: Vec<SlotState>,
    /// The slot of each block of an object.
    places: HashMap<(u64, u64), usize>,
    /// The slot that eviction examines next.
    hand: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    Empty,
    /// A thread writes a block.
    Busy,
    Full {
        slot: Slot,
        is_used: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    object: u64,
    block: u64,
    len: u32,
    checksum: u64,
}

impl DiskCache {
    /// Opens a cache of at most `max_bytes` in a folder, which is created; `None` if there is no room for a block, or other processes have all caches.
    ///
    /// # Errors
    /// If files cannot be created or read.
    pub(crate) fn open(folder: &Path, max_bytes: u64) -> io::Result<Option<Self>> {
        let max = usize::try_from(max_bytes / BLOCK_BYTES).unwrap_or(usize::MAX);
        if max == 0 {
            return Ok(None);
        }
        fs::create_dir_all(folder)?;
        for number in 0..MAX_CACHES {
            let open = |ending: &str| {
                let path = folder.join(format!("{number}.{ending}"));
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
            };
            let blocks = open("blocks")?;
            match blocks.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let index = open("index")?;
            if blocks.metadata()?.len() > max as u64 * BLOCK_BYTES {
                blocks.set_len(max as u64 * BLOCK_BYTES)?;
                index.set_len((max * ENTRY_BYTES) as u64)?;
            }
            let slots = Slots::read(&index, max)?;
            return Ok(Some(Self { blocks, index, slots: Mutex::new(slots) }));
        }
        Ok(None)
    }

    /// A block of an object, if it is cached.
    fn get(&self, object: u64, block: u64) -> Option<Bytes> {
        let (place, slot) = self.lock().find(object, block)?;
        let mut bytes = vec![0; slot.len as usize];
        let read = read_at(&self.blocks, &mut bytes, place as u64 * BLOCK_BYTES);
        if read.is_ok() && xxh3_64(&bytes) == slot.checksum {
            return Some(bytes.into());
        }
        if self.lock().forget(place, &slot) {
            // The next process would find it again before the block that takes its place.
            let _ = write_at(&self.index, &[0; ENTRY_BYTES], (place * ENTRY_BYTES) as u64);
        }
        None
    }

    fn has(&self, object: u64, block: u64) -> bool {
        self.lock().places.contains_key(&(object, block))
    }

    /// Caches a block, unless the disk does not take it.
    fn put(&self, object: u64, block: u64, bytes: &[u8]) {
        let Some(place) = self.lock().take(object, block) else { return };
        let slot = Slot { object, block, len: bytes.len() as u32, checksum: xxh3_64(bytes) };
        let written = write_at(&self.blocks, bytes, place as u64 * BLOCK_BYTES)
            .and_then(|()| write_at(&self.index, &slot.to_bytes(), (place * ENTRY_BYTES) as u64));
        self.lock().fill(place, written.is_ok().then_some(slot));
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.object.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.block.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.len.to_le_bytes());
        let checksum = xxh3_64(&bytes[..20]) as u32;
        bytes[20..24].copy_from_slice(&checksum.to_le_bytes());
        bytes[24..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// The slot with this entry; `None` for an entry that was not written whole.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let slot = Self { object: number(0)?, block: number(8)?, len: short(16)?, checksum: number(24)? };
        let is_whole = short(20)? == xxh3_64(bytes.get(..20)?) as u32 && u64::from(slot.len) <= BLOCK_BYTES;
        (is_whole && slot.len > 0).then_some(slot)
    }
}

impl Slots {
    /// The slots of an index.
    fn read(index: &File, max: usize) -> io::Result<Self> {
        let len = usize::try_from(index.metadata()?.len()).unwrap_or(0).min(max.saturating_mul(ENTRY_BYTES));
        let mut bytes = vec![0; len];
        read_at(index, &mut bytes, 0)?;
        let mut read = Self { max, slots: Vec::new(), places: HashMap::new(), hand: 0 };
        for (place, entry) in bytes.chunks_exact(ENTRY_BYTES).enumerate() {
            let slot = Slot::from_bytes(entry);
            let slot = slot.filter(|slot| !read.places.contains_key(&(slot.object, slot.block)));
            read.slots.push(slot.map_or(SlotState::Empty, |slot| SlotState::Full { slot, is_used: false }));
            if let Some(slot) = slot {
                read.places.insert((slot.object, slot.block), place);
            }
        }
        Ok(read)
    }

    fn find(&mut self, object: u64, block: u64) -> Option<(usize, Slot)> {
        let place = *self.places.get(&(object, block))?;
        match self.slots.get_mut(place)? {
            SlotState::Full { slot, is_used } => {
                *is_used = true;
                Some((place, *slot))
            }
            _ => None,
        }
    }

    /// Empties a slot, unless it has another block now. Returns whether it is empty.
    fn forget(&mut self, place: usize, known: &Slot) -> bool {
        match self.slots.get_mut(place) {
            Some(state) if matches!(&*state, SlotState::Full { slot, .. } if slot == known) => {
                *state = SlotState::Empty;
                self.places.remove(&(known.object, known.block));
                true
            }
            _ => false,
        }
    }

    /// A slot for a block that is not cached; `None` if it is, or if threads write all slots.
    fn take(&mut self, object: u64, block: u64) -> Option<usize> {
        if self.places.contains_key(&(object, block)) {
            return None;
        }
        if self.slots.len() < self.max {
            self.slots.push(SlotState::Busy);
            return Some(self.slots.len() - 1);
        }
        // Twice around: the first time a used block is passed, and counts as unused.
        for _ in 0..2 * self.slots.len() {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.slots.len();
            match &mut self.slots[place] {
                SlotState::Busy => continue,
                SlotState::Full { is_used, .. } if *is_used => {
                    *is_used = false;
                    continue;
                }
                SlotState::Full { slot, .. } => {
                    self.places.remove(&(slot.object, slot.block));
                }
                SlotState::Empty => {}
            }
            self.slots[place] = SlotState::Busy;
            return Some(place);
        }
        None
    }

    /// Puts what was written into a slot that was taken.
    fn fill(&mut self, place: usize, written: Option<Slot>) {
        // Another thread may have cached the same block meanwhile.
        let written = written.filter(|slot| !self.places.contains_key(&(slot.object, slot.block)));
        self.slots[place] = written.map_or(SlotState::Empty, |slot| SlotState::Full { slot, is_used: false });
        if let Some(slot) = written {
            self.places.insert((slot.object, slot.block), place);
        }
    }
}

/// Reads objects through the cache.
#[derive(Debug)]
pub(crate) struct CachedObjects(pub(crate) Arc<DiskCache>);

impl ObjectCache for CachedObjects {
    fn cached(&self, location: &str, version: &Version, object: Arc<dyn ByteRanges>) -> Arc<dyn ByteRanges> {
        let mut id = Xxh3::new();
        id.update(location.as_bytes());
        id.update(&[0]);
        id.update(version.tag().unwrap_or_default().as_bytes());
        id.update(&object.len().to_le_bytes());
        Arc::new(CachedObject { cache: Arc::clone(&self.0), id: id.digest(), object })
    }
}

/// An object that is read through the cache, in whole blocks.
#[derive(Debug)]
struct CachedObject {
    cache: Arc<DiskCache>,
    id: u64,
    object: Arc<dyn ByteRanges>,
}

impl CachedObject {
    fn block_range(&self, blocks: &Range<u64>) -> Range<u64> {
        blocks.start * BLOCK_BYTES..(blocks.end * BLOCK_BYTES).min(self.object.len())
    }

    /// The blocks that have bytes of these ranges, each once, in ascending order.
    fn covering_blocks(ranges: &[Range<u64>]) -> Vec<u64> {
        let covering = |range: &Range<u64>| match range.is_empty() {
            true => 0..0,
            false => range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES),
        };
        let mut blocks: Vec<u64> = ranges.iter().flat_map(covering).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }
}

/// Runs of consecutive blocks.
fn runs(blocks: impl IntoIterator<Item = u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for block in blocks {
        match runs.last_mut() {
            Some(last) if last.end == block => last.end += 1,
            _ => runs.push(block..block + 1),
        }
    }
    runs
}

impl ByteRanges for CachedObject {
    fn len(&self) -> u64 {
        self.object.len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let read = self.read_many(&[range])?.pop();
        read.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        if ranges.iter().any(|range| range.start > range.end || range.end > self.object.len()) {
            return self.object.read_many(ranges);
        }
        let mut blocks: HashMap<u64, Bytes> = HashMap::new();
        let mut missing = Vec::new();
        for block in Self::covering_blocks(ranges) {
            match self.cache.get(self.id, block) {
                Some(bytes) => drop(blocks.insert(block, bytes)),
                None => missing.push(block),
            }
        }
        let missing = runs(missing);
        if !missing.is_empty() {
            let wanted: Vec<Range<u64>> = missing.iter().map(|run| self.block_range(run)).collect();
            for (run, bytes) in missing.iter().zip(self.object.read_many(&wanted)?) {
                for block in run.clone() {
                    let own = self.block_range(&(block..block + 1));
                    let start = (own.start - run.start * BLOCK_BYTES) as usize;
                    let end = start + (own.end - own.start) as usize;
                    if end > bytes.len() {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    let own = bytes.slice(start..end);
                    self.cache.put(self.id, block, &own);
                    blocks.insert(block, own);
                }
            }
        }
        let part = |range: &Range<u64>| {
            let (first, end) = (range.start / BLOCK_BYTES, range.end.div_ceil(BLOCK_BYTES));
            if range.is_empty() {
                return Some(Bytes::new());
            }
            if end == first + 1 {
                let start = (range.start - first * BLOCK_BYTES) as usize;
                return Some(blocks.get(&first)?.slice(start..start + (range.end - range.start) as usize));
            }
            let mut joined = Vec::with_capacity((range.end - range.start) as usize);
            for block in first..end {
                let bytes = blocks.get(&block)?;
                let from = range.start.saturating_sub(block * BLOCK_BYTES) as usize;
                let to = (range.end - block * BLOCK_BYTES).min(bytes.len() as u64) as usize;
                joined.extend_from_slice(bytes.get(from..to)?);
            }
            Some(joined.into())
        };
        ranges.iter().map(part).collect::<Option<_>>().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn requests(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let missing = Self::covering_blocks(ranges).into_iter().filter(|&block| !self.cache.has(self.id, block));
        let wanted: Vec<Range<u64>> = runs(missing).iter().map(|run| self.block_range(run)).collect();
        self.object.requests(&wanted)
    }

    fn request_cost_bytes(&self) -> u64 {
        self.object.request_cost_bytes()
    }

    fn memory_bytes(&self) -> usize {
        self.object.memory_bytes()
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        at += read as u64;
    }
    Ok(())
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        bytes = &bytes[written..];
        at += written as u64;
    }
    Ok(())
}

#[cfg(all(test, feature = "object-store"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::slice;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Bytes that are counted as they are read.
    #[derive(Debug)]
    struct CountingBytes(Bytes, AtomicU64);

    impl ByteRanges for CountingBytes {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
            self.1.fetch_add(range.end - range.start, Ordering::Relaxed);
            ByteRanges::read(&self.0, range)
        }
    }

    fn bytes(seed: u64, len: usize) -> Bytes {
        let mut random = fastrand::Rng::with_seed(seed);
        std::iter::repeat_with(|| random.u8(..)).take(len).collect::<Vec<_>>().into()
    }

    fn version(len: usize, tag: &str) -> Version {
        Version::object(len as u64, tag).unwrap()
    }

    #[test]
    fn blocks_are_read_once_and_found_again_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let content = bytes(1, 5 * BLOCK_BYTES as usize + 77);
        let open = || {
            let cache = DiskCache::open(folder.path(), 100 * BLOCK_BYTES).unwrap().unwrap();
            let source = Arc::new(CountingBytes(content.clone(), AtomicU64::new(0)));
            let objects = CachedObjects(Arc::new(cache));
            (objects.cached("s3://b/a", &version(content.len(), "1"), Arc::clone(&source) as _), source, objects)
        };
        let (object, source, objects) = open();
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..200 {
            let ranges: Vec<Range<u64>> = (0..random.usize(1..5))
                .map(|_| {
                    let start = random.u64(0..=object.len());
                    start..random.u64(start..=object.len())
                })
                .collect();
            for (range, read) in ranges.iter().zip(object.read_many(&ranges).unwrap()) {
                assert_eq!(read, content[range.start as usize..range.end as usize], "{range:?}");
            }
        }
        assert!(source.1.load(Ordering::Relaxed) <= object.len());
        assert!(object.requests(slice::from_ref(&(0..object.len()))).is_empty());
        assert!(object.read(0..object.len() + 1).is_err());
        // Another version of the object is another object.
        let other = objects.cached("s3://b/a", &version(content.len(), "2"), Arc::new(bytes(3, content.len())));
        assert_eq!(other.read(0..10).unwrap(), bytes(3, content.len())[..10]);
        assert_eq!(object.read(0..10).unwrap(), content[..10]);
        drop((object, other, objects));
        let (object, source, _objects) = open();
        assert_eq!(object.read(0..object.len()).unwrap(), content);
        assert_eq!(source.1.load(Ordering::Relaxed), 0);
        // A second process has its own.
        let (other, source, _others) = open();
        assert_eq!(other.read(70..object.len()).unwrap(), content[70..]);
        assert_eq!(source.1.load(Ordering::Relaxed), object.len());
    }

    #[test]
    fn the_cache_keeps_its_size_and_blocks_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Arc::new(DiskCache::open(folder.path(), 8 * BLOCK_BYTES).unwrap().unwrap());
        let content = bytes(4, 100 * BLOCK_BYTES as usize);
        let source = Arc::new(CountingBytes(content.clone(), AtomicU64::new(0)));
        let object =
            CachedObjects(Arc::clone(&cache)).cached("a", &version(content.len(), ""), Arc::clone(&source) as _);
        for block in 0..100 {
            let before = source.1.load(Ordering::Relaxed);
            assert_eq!(object.read(5..9).unwrap(), content[5..9]);
            assert!(block == 0 || source.1.load(Ordering::Relaxed) == before, "{block}");
            let at = block * BLOCK_BYTES;
            assert_eq!(object.read(at..at + 1).unwrap(), content[at as usize..at as usize + 1]);
        }
        assert_eq!(fs::metadata(folder.path().join("0.blocks")).unwrap().len(), 8 * BLOCK_BYTES);
        drop((object, cache));
        let smaller = DiskCache::open(folder.path(), 2 * BLOCK_BYTES).unwrap().unwrap();
        assert!(smaller.lock().slots.len() <= 2);
        assert_eq!(fs::metadata(folder.path().join("0.blocks")).unwrap().len(), 2 * BLOCK_BYTES);
        assert!(DiskCache::open(folder.path(), 0).unwrap().is_none());
    }

    #[test]
    fn damaged_blocks_and_entries_are_misses() {
        let content = bytes(5, 3 * BLOCK_BYTES as usize);
        let read = |folder: &Path| {
            let cache = DiskCache::open(folder, 9 * BLOCK_BYTES).unwrap().unwrap();
            let source = Arc::new(CountingBytes(content.clone(), AtomicU64::new(0)));
            let objects = CachedObjects(Arc::new(cache));
            let object = objects.cached("a", &version(content.len(), ""), Arc::clone(&source) as _);
            assert_eq!(object.read(0..object.len()).unwrap(), content);
            source.1.load(Ordering::Relaxed)
        };
        for name in ["0.blocks", "0.index"] {
            let folder = tempfile::tempdir().unwrap();
            let (read, path) = (|| read(folder.path()), folder.path().join(name));
            assert_eq!((read(), read()), (3 * BLOCK_BYTES, 0));
            let mut damaged = fs::read(&path).unwrap();
            damaged[10] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert_eq!((read(), read()), (BLOCK_BYTES, 0), "{name}");
            fs::write(&path, &damaged[..damaged.len() / 2]).unwrap();
            assert!(read() > 0, "{name}");
            assert_eq!(read(), 0, "{name}");
        }
    }
}
