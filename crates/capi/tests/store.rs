//! The store through the C interface, compared with a `BTreeMap`.
#![cfg(feature = "store")]
#![expect(unsafe_code, reason = "calls functions of the C interface")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};
use std::slice;

use lath_capi::*;

const OK: Status = Status::Ok;
const TREE: *const c_char = c"words".as_ptr();
const NOTHING: Bytes = Bytes { data: null(), len: 0 };

/// Copies borrowed bytes.
fn read(bytes: Bytes) -> Option<Vec<u8>> {
    // SAFETY: if the pointer is not null, it leads to this many bytes, and Lath has just lent them.
    (!bytes.data.is_null()).then(|| unsafe { slice::from_raw_parts(bytes.data, bytes.len) }.to_vec())
}

fn open(folder: &tempfile::TempDir) -> *mut Store {
    let path = CString::new(folder.path().join("a.lath").to_str().unwrap()).unwrap();
    let mut store = null_mut();
    // SAFETY: a text, and room for a pointer.
    assert_eq!(unsafe { lath_store_open(path.as_ptr(), LATH_STORE_DEFERRED, &raw mut store) }, OK);
    store
}

#[test]
fn store_has_committed_entries() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let mut random = fastrand::Rng::with_seed(3);
    let mut model = BTreeMap::new();
    let mut transaction = null_mut();
    // SAFETY: the store is open.
    assert_eq!(unsafe { lath_store_begin(store, true, &raw mut transaction) }, OK);
    for round in 0..2000u32 {
        let key = random.u16(..500).to_be_bytes();
        if random.u8(..) < 60 {
            let mut was_there = false;
            // SAFETY: the transaction is open, and lengths come from slices.
            let status = unsafe { lath_transaction_delete(transaction, TREE, key.as_ptr(), 2, &raw mut was_there) };
            assert_eq!((status, was_there), (OK, model.remove(&key).is_some()));
        } else {
            let value = round.to_le_bytes()[..(round % 5) as usize].to_vec();
            // SAFETY: the transaction is open, and lengths come from slices.
            let status =
                unsafe { lath_transaction_put(transaction, TREE, key.as_ptr(), 2, value.as_ptr(), value.len()) };
            assert_eq!(status, OK);
            model.insert(key, value);
        }
        let mut value = NOTHING;
        // SAFETY: the transaction is open, and lengths come from slices.
        assert_eq!(unsafe { lath_transaction_get(transaction, TREE, key.as_ptr(), 2, &raw mut value) }, OK);
        assert_eq!(read(value), model.get(&key).cloned());
    }
    let mut other = null_mut();
    // SAFETY: the store is open.
    assert_eq!(unsafe { lath_store_begin(store, false, &raw mut other) }, Status::Busy);
    // SAFETY: it is not used any more.
    assert_eq!(unsafe { lath_transaction_commit(transaction) }, OK);

    let (mut snapshot, mut cursor) = (null_mut(), null_mut());
    // SAFETY: the store is open.
    assert_eq!(unsafe { lath_store_snapshot(store, &raw mut snapshot) }, OK);
    // SAFETY: the store is open, and lengths come from slices.
    assert_eq!(unsafe { lath_store_put(store, TREE, b"later".as_ptr(), 5, null(), 0) }, OK);
    // SAFETY: the snapshot is there.
    assert_eq!(unsafe { lath_snapshot_cursor(snapshot, TREE, &raw mut cursor) }, OK);
    let mut count = 0;
    // SAFETY: the snapshot is there.
    assert_eq!(unsafe { lath_snapshot_count(snapshot, TREE, &raw mut count) }, OK);
    assert_eq!(count, model.len() as u64);
    // SAFETY: they are not used any more; the cursor goes on.
    unsafe { lath_snapshot_free(snapshot) };
    // SAFETY: as above.
    unsafe { lath_store_close(store) };
    let entry = |cursor| {
        let (mut key, mut value) = (NOTHING, NOTHING);
        // SAFETY: the cursor is there.
        assert_eq!(unsafe { lath_cursor_entry(cursor, &raw mut key, &raw mut value) }, OK);
        read(key).zip(read(value))
    };
    assert_eq!(entry(cursor), None);
    let mut found = false;
    for (key, value) in &model {
        // SAFETY: the cursor is there.
        assert_eq!(unsafe { lath_cursor_next(cursor, &raw mut found) }, OK);
        assert_eq!((found, entry(cursor)), (true, Some((key.to_vec(), value.clone()))));
    }
    // SAFETY: the cursor is there.
    assert_eq!(unsafe { lath_cursor_next(cursor, &raw mut found) }, OK);
    assert!(!found && entry(cursor).is_none());
    let from = 250u16.to_be_bytes();
    // SAFETY: the cursor is there.
    assert_eq!(unsafe { lath_cursor_seek(cursor, from.as_ptr(), 2, &raw mut found) }, OK);
    assert_eq!(entry(cursor).unwrap().0, model.range(from..).next().unwrap().0);
    // SAFETY: the cursor is there.
    assert_eq!(unsafe { lath_cursor_seek_to_end(cursor) }, OK);
    // SAFETY: the cursor is there.
    assert_eq!(unsafe { lath_cursor_prev(cursor, &raw mut found) }, OK);
    assert_eq!(entry(cursor).unwrap().0, model.last_key_value().unwrap().0);
    // SAFETY: it is not used any more.
    unsafe { lath_cursor_free(cursor) };
}

#[test]
fn store_reads_its_writes_and_discards_aborted_ones() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let get = |key: &[u8]| {
        let mut value = Buffer { data: null_mut(), len: 0 };
        // SAFETY: the store is open, and lengths come from slices.
        assert_eq!(unsafe { lath_store_get(store, TREE, key.as_ptr(), key.len(), &raw mut value) }, OK);
        let copy = read(Bytes { data: value.data, len: value.len });
        // SAFETY: Lath has made the buffer.
        unsafe { lath_buffer_free(&raw mut value) };
        copy
    };
    assert_eq!(get(b"sky"), None);
    // SAFETY: the store is open, and lengths come from slices.
    assert_eq!(unsafe { lath_store_put(store, TREE, b"sky".as_ptr(), 3, b"blue".as_ptr(), 4) }, OK);
    // SAFETY: the store is open, and lengths come from slices.
    assert_eq!(unsafe { lath_store_put(store, TREE, null(), 0, null(), 0) }, OK);
    assert_eq!((get(b"sky").unwrap(), get(b"").unwrap()), (b"blue".to_vec(), Vec::new()));
    let mut transaction = null_mut();
    // SAFETY: the store is open.
    assert_eq!(unsafe { lath_store_begin(store, true, &raw mut transaction) }, OK);
    // SAFETY: the transaction is open.
    assert_eq!(unsafe { lath_transaction_delete(transaction, TREE, b"sky".as_ptr(), 3, null_mut()) }, OK);
    // SAFETY: it is not used any more.
    unsafe { lath_transaction_abort(transaction) };
    assert_eq!(get(b"sky").unwrap(), b"blue");
    let mut was_there = false;
    for expected in [true, false] {
        // SAFETY: the store is open, and lengths come from slices.
        assert_eq!(unsafe { lath_store_delete(store, TREE, b"sky".as_ptr(), 3, &raw mut was_there) }, OK);
        assert_eq!(was_there, expected);
    }
    // SAFETY: the store is open.
    assert_eq!(unsafe { lath_store_sync(store) }, OK);
    // SAFETY: a key of null with a length is refused.
    assert_eq!(unsafe { lath_store_put(store, TREE, null(), 3, null(), 0) }, Status::Invalid);
    // SAFETY: a null store is refused.
    assert_eq!(unsafe { lath_store_put(null(), TREE, null(), 0, null(), 0) }, Status::Invalid);
    // SAFETY: a null transaction is refused.
    assert_eq!(unsafe { lath_transaction_commit(null_mut()) }, Status::Invalid);
    // SAFETY: it is not used any more.
    unsafe { lath_store_close(store) };
    let nowhere = CString::new(folder.path().join("none").to_str().unwrap()).unwrap();
    let mut none = null_mut();
    // SAFETY: a text, and room for a pointer.
    let status = unsafe { lath_store_open(nowhere.as_ptr(), LATH_STORE_EXISTING, &raw mut none) };
    assert_eq!(status, Status::NotFound);
}

/// Handles go from thread to thread, as the documentation promises.
#[test]
fn handles_may_move_between_threads() {
    fn shared<T: Send + Sync>() {}
    fn moved<T: Send>() {}
    shared::<Store>();
    shared::<Snapshot>();
    moved::<Transaction>();
    moved::<Cursor>();
    #[cfg(feature = "files")]
    shared::<Dataset>();
    moved::<DeltaI64>();
    moved::<Rle>();
}
