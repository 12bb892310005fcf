//! `repairs | data length | log lengths | logs | pieces of the data file`: a store of any bytes is opened, read and
//! written to, with an error at worst, and in bounded time.
#![expect(unsafe_code, reason = "fills the memory that stands for the data file")]

use std::sync::Arc;

use crate::Input;
use lath_store::{Error, MemoryStorage, Options, Snapshot, Storage, Store, Tree};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Checksums that are corrected, so that the data they protect is read too.
const HEADERS: u8 = 1;
const FREE_MAP: u8 = 2;
const RECORDS: u8 = 4;

/// The maximum number of keys that are read, whatever lengths the trees announce.
const KEYS_MAX: usize = 20_000;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at.saturating_add(8)).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(to) = bytes.get_mut(at..at.saturating_add(value.len())) {
        to.copy_from_slice(value);
    }
}

fn repair_headers(data: &mut [u8]) {
    for slot in [0, 4096] {
        if data.len() >= slot + 88 {
            put(data, slot, b"LATHKV\r\n\x01\0\0\0");
            let checksum = xxh3_64(&data[slot..slot + 80]);
            put(data, slot + 80, &checksum.to_le_bytes());
        }
    }
}

/// Repairs the free maps that the headers name, with the bitmaps of the first region.
fn repair_free_maps(data: &mut [u8]) {
    for slot in [0, 4096] {
        let map = u64_at(data, slot + 72).saturating_mul(64).saturating_add(24) as usize;
        let regions = u64_at(data, map.saturating_add(16)).div_ceil(1 << 15) as usize;
        let Some(end) = regions.checked_mul(8).and_then(|len| len.checked_add(map.saturating_add(24))) else {
            continue;
        };
        if let Some(bitmap) = data.get(end..end.saturating_add(4096)) {
            let checksum = xxh3_64(bitmap) as u32;
            put(data, map.saturating_add(28), &checksum.to_le_bytes());
        }
        if let Some(directory) = data.get(map.saturating_add(4)..end) {
            let checksum = xxh3_64(directory) as u32;
            put(data, map, &checksum.to_le_bytes());
        }
    }
}

fn repair_records(log: &mut [u8], identity: u64) {
    let mut at = 0;
    while at + 32 <= log.len() {
        let end = u64_at(log, at + 24).saturating_add(at as u64 + 32).min(log.len() as u64) as usize;
        let checksum = xxh3_64_with_seed(&log[at + 8..end], identity);
        put(log, at, &checksum.to_le_bytes());
        at = end;
    }
}

/// The data file: zeros except for the pieces.
fn read_data(input: &mut Input<'_>, len_kib: usize) -> Vec<u8> {
    let mut data = vec![0; len_kib.min(2048) << 10];
    while !input.is_empty() {
        let (unit, len) = (input.short(), input.short());
        let piece = input.take(len);
        let piece = &piece[..piece.len().min(data.len().saturating_sub(64 * unit))];
        put(&mut data, 64 * unit, piece);
    }
    data
}

fn make_storage(data: &[u8], logs: &[Vec<u8>; 2]) -> Arc<MemoryStorage> {
    let storage = MemoryStorage::new(64 << 20).expect("there is address space");
    let area = storage.data().expect("memory has an area");
    // SAFETY: the area is empty and has no other users.
    unsafe { area.set_len(data.len() as u64) }.expect("it is within the capacity");
    // SAFETY: the area has just got that length, and has no other users.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), area.base().as_ptr(), data.len()) };
    for (index, log) in logs.iter().enumerate() {
        storage.log(index).expect("memory has logs").write_at(0, log).expect("memory can be written to");
    }
    Arc::new(storage)
}

/// Reads the keys of a tree from both ends, and some of them in every other way.
fn read_tree(tree: &Tree<'_>, left: &mut usize) -> Result<(), Error> {
    let count = tree.len()?;
    let mut seen = 0;
    let mut cursor = tree.cursor();
    while *left > 0 && cursor.next()? {
        *left -= 1;
        seen += 1;
        let key = cursor.key().expect("the cursor is at a key").to_vec();
        cursor.value()?;
        if seen % 16 == 1 {
            tree.get(&key)?;
            tree.rank(&key)?;
            tree.lower_bound(&key)?;
            tree.upper_bound(&key)?;
        }
    }
    for rank in [0, 1, count / 2, count.saturating_sub(1), count, u64::MAX] {
        tree.nth(rank)?;
    }
    cursor.seek_to_end();
    while *left > 0 && cursor.prev()? {
        *left -= 1;
    }
    Ok(())
}

fn read(snapshot: &Snapshot, left: &mut usize) -> Result<(), Error> {
    for name in snapshot.tree_names()? {
        if let Some(tree) = snapshot.tree(&name)? {
            // One damaged tree does not keep others from being read.
            let _ = read_tree(&tree, left);
        }
    }
    Ok(())
}

fn write(store: &Store) -> Result<(), Error> {
    let names = store.snapshot()?.tree_names()?;
    for (index, name) in names.iter().map(String::as_str).chain(["new"]).enumerate().take(8) {
        let mut transaction = store.begin()?;
        let savepoint = transaction.savepoint()?;
        let mut tree = transaction.tree(name)?;
        let last = tree.as_tree()?.last()?.map(|(key, _)| key).unwrap_or_default();
        tree.upsert(&last, &[1; 300])?;
        tree.upsert(&[last, vec![0]].concat(), b"value")?;
        tree.upsert(b"in the middle", &vec![index as u8; 40 * index])?;
        if index % 2 == 1 {
            transaction.rollback(&savepoint)?;
        }
        let mut tree = transaction.tree(name)?;
        let first = tree.as_tree()?.first()?.map(|(key, _)| key).unwrap_or_default();
        tree.remove(&first)?;
        tree.remove_range(b"a", Some(b"n"))?;
        transaction.commit()?;
    }
    store.checkpoint()?;
    let mut transaction = store.begin()?;
    for name in store.snapshot()?.snapshot_names()?.iter().take(4) {
        transaction.drop_snapshot(name)?;
    }
    transaction.commit()
}

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let repairs = input.byte();
    let (data_kib, lens) = (input.short(), [input.short(), input.short()]);
    let mut logs = lens.map(|len| input.take(len).to_vec());
    let mut data = read_data(&mut input, data_kib);
    if repairs & FREE_MAP != 0 {
        repair_free_maps(&mut data);
    }
    if repairs & HEADERS != 0 {
        repair_headers(&mut data);
    }
    if repairs & RECORDS != 0 {
        let newest = if u64_at(&data, 24) > u64_at(&data, 4096 + 24) { 16 } else { 4096 + 16 };
        logs.iter_mut().for_each(|log| repair_records(log, u64_at(&data, newest)));
    }
    let storage = make_storage(&data, &logs);
    let mut left = KEYS_MAX;
    let options = Options::new().background_checkpoints(false);
    let Ok(store) = options.open_storage(storage.clone()) else { return };
    if let Ok(snapshot) = store.snapshot() {
        let _ = read(&snapshot, &mut left);
        for name in snapshot.snapshot_names().unwrap_or_default().iter().take(8) {
            if let Ok(Some(named)) = snapshot.snapshot(name) {
                let _ = read(&named, &mut left);
            }
        }
    }
    let _ = write(&store);
    drop(store);
    // The result can be opened again, or is an error again.
    if let Ok(store) = options.open_storage(storage)
        && let Ok(snapshot) = store.snapshot()
    {
        let _ = read(&snapshot, &mut left);
    }
}
