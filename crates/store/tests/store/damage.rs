//! Stores with changed or truncated bytes: opening and reading gives an error or the original data, unless a check
//! reports the damage. Nothing panics or takes forever.
//!
//! Every ninth byte of nodes is changed; `LATH_FULL=1` changes all of them, to more than one other value.
#![expect(unsafe_code, reason = "implements the storage traits")]

use std::collections::BTreeMap;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lath_store::{Data, Error, LogFile, Options, Result, SharedMemory, Snapshot, Storage, Store};

/// The bytes of a store's files, without the zeros at the end of the data.
#[derive(Clone)]
struct Image {
    data: Vec<u8>,
    data_len: usize,
    logs: [Vec<u8>; 2],
}

impl Image {
    fn from_files(path: &Path) -> Self {
        let read = |suffix: &str| std::fs::read(format!("{}{suffix}", path.display())).unwrap();
        let mut data = read("");
        let data_len = data.len();
        data.truncate(data.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1).next_multiple_of(64));
        let logs = [read("-log0"), read("-log1")].map(|mut log| {
            let end = log.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            log.truncate(end.next_multiple_of(64));
            log
        });
        Self { data, data_len, logs }
    }

    fn open(&self) -> Result<Store> {
        let logs = self.logs.clone().map(|bytes| Arc::new(Log(Mutex::new(bytes))));
        let storage = DamagedStorage { data: Area::new(&self.data, self.data_len), logs, shared: Area::new(&[], 0) };
        Options::new().background_checkpoints(false).open_storage(Arc::new(storage))
    }
}

#[derive(Debug)]
struct DamagedStorage {
    data: Arc<Area>,
    logs: [Arc<Log>; 2],
    shared: Arc<Area>,
}

// SAFETY: a value is opened once, so its areas have no other users.
unsafe impl Storage for DamagedStorage {
    fn data(&self) -> Result<Arc<dyn Data>> {
        Ok(self.data.clone())
    }

    fn log(&self, index: usize) -> Result<Arc<dyn LogFile>> {
        Ok(self.logs[index].clone())
    }

    fn shared(&self, _len: usize) -> Result<Arc<dyn SharedMemory>> {
        Ok(self.shared.clone())
    }
}

/// Memory at an address that does not move.
#[derive(Debug)]
struct Area {
    memory: Vec<u8>,
    address: usize,
    len: AtomicU64,
}

impl Area {
    fn new(bytes: &[u8], len: usize) -> Arc<Self> {
        // Room to grow by 2 MiB, and to align the start to 64.
        let mut memory = vec![0u8; len + (1 << 21) + 64];
        let address = memory.as_mut_ptr().expose_provenance();
        let skip = address.next_multiple_of(64) - address;
        memory[skip..skip + bytes.len()].copy_from_slice(bytes);
        Arc::new(Self { memory, address: address + skip, len: AtomicU64::new(len as u64) })
    }

    fn start(&self) -> NonNull<u8> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(self.address)).unwrap()
    }
}

// SAFETY: the bytes are in a vector that nothing else accesses and that is not moved, with 2 MiB after the first
// length.
unsafe impl Data for Area {
    fn base(&self) -> NonNull<u8> {
        self.start()
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    fn capacity(&self) -> u64 {
        self.memory.len() as u64 - 64
    }

    unsafe fn set_len(&self, len: u64) -> Result<()> {
        self.len.store(len, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

// SAFETY: as above; the store opened on it is the only process.
unsafe impl SharedMemory for Area {
    fn base(&self) -> NonNull<u8> {
        self.start()
    }

    fn len(&self) -> usize {
        1 << 20
    }

    fn try_lock_writer(&self) -> Result<bool> {
        Ok(true)
    }

    fn unlock_writer(&self) -> Result<()> {
        Ok(())
    }

    fn try_lock_next(&self) -> Result<bool> {
        Ok(true)
    }

    fn unlock_next(&self) -> Result<()> {
        Ok(())
    }

    fn write_state(&self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }

    fn read_state(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn lock_process(&self, _process: u32) -> Result<bool> {
        Ok(true)
    }

    fn is_process_alive(&self, _process: u32) -> Result<bool> {
        Ok(false)
    }
}

#[derive(Debug)]
struct Log(Mutex<Vec<u8>>);

impl LogFile for Log {
    fn len(&self) -> Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let all = self.0.lock().unwrap();
        let found = all.get(offset as usize..).and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(found.ok_or_else(|| Error::Invalid("read past the end".to_owned()))?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let (mut all, end) = (self.0.lock().unwrap(), offset as usize + bytes.len());
        if all.len() < end {
            all.resize(end, 0);
        }
        all[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.0.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// All trees of a commit and of its named snapshots.
#[derive(Debug, Clone, Default, PartialEq)]
struct Contents {
    trees: BTreeMap<String, Entries>,
    snapshots: BTreeMap<String, BTreeMap<String, Entries>>,
}

fn read_trees(snapshot: &Snapshot) -> Result<BTreeMap<String, Entries>> {
    let mut trees = BTreeMap::new();
    for name in snapshot.tree_names()? {
        let Some(tree) = snapshot.tree(&name)? else { continue };
        let mut entries = Entries::new();
        for entry in tree.iter() {
            let (key, value) = entry?;
            // If iteration finds a key, a lookup may fail to find it, or find another value, only if a check reports
            // damage.
            match tree.get(&key)? {
                Some(same) if same == value => entries.insert(key, value.to_vec()),
                other => entries.insert(key, other.unwrap_or_default().to_vec()),
            };
        }
        let back: Result<Vec<_>> = tree.iter().rev().collect();
        if back?.len() != entries.len() || tree.len()? != entries.len() as u64 {
            entries.insert(b"another number of keys".to_vec(), Vec::new());
        }
        trees.insert(name, entries);
    }
    Ok(trees)
}

fn read_contents(store: &Store) -> Result<Contents> {
    let snapshot = store.snapshot()?;
    let mut contents = Contents { trees: read_trees(&snapshot)?, ..Contents::default() };
    for name in snapshot.snapshot_names()? {
        if let Some(named) = snapshot.snapshot(&name)? {
            contents.snapshots.insert(name, read_trees(&named)?);
        }
    }
    Ok(contents)
}

/// Builds a store with nodes of all kinds, and returns the contents after each of its commits. The last commits are in
/// the log only.
fn build(path: &Path) -> (Store, Vec<Contents>) {
    let store = Options::new().background_checkpoints(false).open(path).unwrap();
    let mut versions = vec![Contents::default()];
    for round in 0..5u8 {
        if round == 2 {
            store.checkpoint().unwrap();
        }
        let mut contents = versions[versions.len() - 1].clone();
        let mut transaction = store.begin().unwrap();
        if round == 1 || round == 4 {
            transaction.keep_snapshot(&format!("before {round}")).unwrap();
            contents.snapshots.insert(format!("before {round}"), contents.trees.clone());
        }
        for (name, count) in [("large", 30), ("small", 3)] {
            let mut tree = transaction.tree(name).unwrap();
            let entries = contents.trees.entry(name.to_owned()).or_default();
            for at in 0..count {
                let key = format!("key {:03}{}", (at * 7 + usize::from(round) * 29) % 90, ["", " and more"][at % 2]);
                let value = vec![b'0' + round; if at == 5 { 700 } else { at % 40 }];
                tree.upsert(key.as_bytes(), &value).unwrap();
                entries.insert(key.into_bytes(), value);
            }
        }
        if round == 3 {
            transaction.tree("empty").unwrap();
            contents.trees.insert("empty".to_owned(), Entries::new());
        }
        transaction.commit().unwrap();
        versions.push(contents);
    }
    (store, versions)
}

#[derive(Debug, Default)]
struct Outcomes {
    refused: usize,
    unreadable: usize,
    unsound: usize,
    right: usize,
}

impl Outcomes {
    /// Opens a damaged store and reads all of it.
    fn look(&mut self, image: &Image, allowed: &[Contents], what: &str) {
        let Ok(store) = image.open() else {
            self.refused += 1;
            return;
        };
        let report = store.check().unwrap_or_else(|error| panic!("{what}: {error}"));
        match read_contents(&store) {
            Err(Error::Corrupt { .. }) => {
                assert!(!report.is_sound(), "{what}: it cannot be read, and the check finds nothing");
                self.unreadable += 1;
            }
            Err(error) => panic!("{what}: {error}"),
            Ok(contents) if !report.is_sound() => {
                self.unsound += 1;
                drop(contents);
            }
            Ok(contents) => {
                assert!(allowed.contains(&contents), "{what}: wrong data, and the check finds nothing");
                self.right += 1;
            }
        }
    }
}

/// Changes bytes one after another in units that are in use, and one byte in each 32nd other unit.
fn change_all(image: &Image, part: fn(&mut Image) -> &mut Vec<u8>, allowed: &[Contents], name: &str) -> Outcomes {
    let is_full = std::env::var_os("LATH_FULL").is_some();
    let ways: &[u8] = if is_full { &[1, 128, 255] } else { &[0] };
    let mut image = image.clone();
    let mut outcomes = Outcomes::default();
    let bytes = part(&mut image).clone();
    for (unit, before) in bytes.chunks(64).enumerate() {
        let is_used = before.iter().any(|byte| *byte != 0) && before.iter().any(|byte| *byte != 255);
        for at in unit * 64..unit * 64 + before.len() {
            let is_looked_at = if is_used { is_full || at < 88 || (at + unit) % 9 == 0 } else { at % 2048 == 13 };
            if !is_looked_at {
                continue;
            }
            for way in ways {
                let change = if *way == 0 { 1 << (at % 8) } else { *way };
                part(&mut image)[at] ^= change;
                outcomes.look(&image, allowed, &format!("{name}, byte {at} changed by {change}"));
                part(&mut image)[at] ^= change;
            }
        }
    }
    println!("{name}: {outcomes:?}");
    outcomes
}

#[test]
fn any_changed_byte_of_closed_store_is_detected_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (store, versions) = build(&path);
    drop(store);
    let image = Image::from_files(&path);
    let last = &versions[versions.len() - 1..];
    assert_eq!(read_contents(&image.open().unwrap()).unwrap(), last[0]);
    assert!(image.open().unwrap().check().unwrap().is_sound());
    let outcomes = change_all(&image, |image| &mut image.data, last, "closed");
    assert!(outcomes.unsound > 500 && outcomes.refused > 0 && outcomes.right > 500, "{outcomes:?}");
}

#[test]
fn any_changed_byte_of_killed_store_is_detected_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (store, versions) = build(&path);
    let image = Image::from_files(&path);
    let last = &versions[versions.len() - 1..];
    assert_eq!(read_contents(&image.open().unwrap()).unwrap(), last[0]);
    let outcomes = change_all(&image, |image| &mut image.data, last, "killed");
    assert!(outcomes.unsound + outcomes.refused > 100, "{outcomes:?}");
    // A damaged record ends the log: the records before it are replayed.
    for (name, log) in [("log 0", 0), ("log 1", 1)] {
        let part: fn(&mut Image) -> &mut Vec<u8> =
            if log == 0 { |image| &mut image.logs[0] } else { |image| &mut image.logs[1] };
        change_all(&image, part, &versions, name);
    }
    drop(store);
}

#[test]
fn any_truncation_is_detected_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (store, versions) = build(&path);
    let killed = Image::from_files(&path);
    drop(store);
    let closed = Image::from_files(&path);
    let last = &versions[versions.len() - 1..];
    let mut outcomes = Outcomes::default();
    for (name, image) in [("killed", &killed), ("closed", &closed)] {
        let used = image.data.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
        let lens = (0..200).chain((200..used).step_by(1999)).chain((used - 130..used + 130).filter(|len| *len > 200));
        for len in lens.filter(|len| *len < image.data_len && *len > 0) {
            let mut cut = image.clone();
            cut.data.truncate(len);
            cut.data_len = len;
            outcomes.look(&cut, last, &format!("{name}, cut off at {len}"));
        }
    }
    for log in 0..2 {
        for len in (0..killed.logs[log].len()).step_by(397) {
            let mut cut = killed.clone();
            cut.logs[log].truncate(len);
            outcomes.look(&cut, &versions, &format!("log {log} cut off at {len}"));
        }
    }
    println!("{outcomes:?}");
    assert!(outcomes.refused > 500 && outcomes.right > 10, "{outcomes:?}");
}
