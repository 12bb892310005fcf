//! The ordered store: keys and values are bytes, in named trees.

mod cursor;
mod transaction;

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use lath_store::{Durability, Error, Options};

pub use self::cursor::*;
pub use self::transaction::*;
use crate::call::call;
use crate::pointers::{Buffer, Bytes, Pointers};
use crate::status::{Failure, Status};

/// For `lath_store_open`: fail if the store does not exist, instead of creating it.
pub const LATH_STORE_EXISTING: u32 = 1;
/// For `lath_store_open`: open the store read-only.
pub const LATH_STORE_READ_ONLY: u32 = 2;
/// For `lath_store_open`: commits survive the end of the process at once, and a loss of power after `lath_store_sync`
/// or a checkpoint. Without this flag they survive both once they return.
pub const LATH_STORE_DEFERRED: u32 = 4;

/// An open store. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Store(lath_store::Store);

/// A store at one commit. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Snapshot(Arc<lath_store::Snapshot>);

/// Opens the store in a file; its log is in files next to it. `flags` is 0 or a sum of `LATH_STORE_…`. Close the store
/// with `lath_store_close`.
///
/// # Safety
/// `path` is a text in UTF-8 that ends with a zero byte, `store` points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_store_open(path: *const c_char, flags: u32, store: *mut *mut Store) -> Status {
    let work = |pointers: Pointers| {
        let path = pointers.text("path", path)?;
        if flags & !(LATH_STORE_EXISTING | LATH_STORE_READ_ONLY | LATH_STORE_DEFERRED) != 0 {
            return Err(Failure::invalid(format!("the flags {flags:#x} include an unknown one")));
        }
        pointers.check_write("store", store)?;
        let durability = if flags & LATH_STORE_DEFERRED == 0 { Durability::Sync } else { Durability::Deferred };
        let options = Options::new()
            .create(flags & (LATH_STORE_EXISTING | LATH_STORE_READ_ONLY) == 0)
            .read_only(flags & LATH_STORE_READ_ONLY != 0)
            .durability(durability);
        pointers.give("store", store, Store(options.open(path)?))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Closes a store; null is allowed. Its snapshots, cursors and transactions keep the files open until they are freed
/// too.
///
/// # Safety
/// `store` is null, or comes from `lath_store_open` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_store_close(store: *mut Store) {
    let work = |pointers: Pointers| pointers.take("store", store).map(drop);
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) };
}

/// Makes all commits so far survive a loss of power.
///
/// # Safety
/// `store` comes from `lath_store_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_store_sync(store: *const Store) -> Status {
    let work = |pointers: Pointers| Ok(pointers.get("store", store)?.0.sync()?);
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Copies the value of a key in the last commit to `value`. If the key or tree does not exist, the call succeeds and
/// `value->data` is null; for an empty value it is not null. Free `value` with `lath_buffer_free`.
///
/// # Safety
/// `store` comes from `lath_store_open`; `tree` is a text in UTF-8 that ends with a zero byte; `key` points to
/// `key_len` bytes; `value` points to room for a buffer, whose old contents are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_store_get(
    store: *const Store,
    tree: *const c_char,
    key: *const u8,
    key_len: usize,
    value: *mut Buffer,
) -> Status {
    let work = |pointers: Pointers| {
        pointers.check_write("value", value)?;
        let snapshot = pointers.get("store", store)?.0.snapshot()?;
        let key = pointers.slice("key", key, key_len)?;
        let tree = snapshot.tree(pointers.text("tree", tree)?)?;
        let found = tree.map(|tree| tree.get(key)).transpose()?.flatten();
        pointers.write("value", value, found.map_or(Buffer::NONE, Buffer::new))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Puts a value at a key, replacing any old value, as a separate commit. Creates the tree if it does not exist. Waits
/// for other transactions: never call it on a thread that has one open itself.
///
/// # Safety
/// The same as for `lath_store_get`; `value` points to `value_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_store_put(
    store: *const Store,
    tree: *const c_char,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let store = pointers.get("store", store)?;
        let tree = pointers.text("tree", tree)?;
        let (key, value) = (pointers.slice("key", key, key_len)?, pointers.slice("value", value, value_len)?);
        let mut transaction = store.0.begin()?;
        transaction.tree(tree)?.put(key, value)?;
        Ok(transaction.commit()?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Removes a key as a separate commit. `was_there`, which may be null, tells whether the key existed. Waits like
/// `lath_store_put`.
///
/// # Safety
/// The same as for `lath_store_get`; `was_there` is null or points to room for a `bool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_store_delete(
    store: *const Store,
    tree: *const c_char,
    key: *const u8,
    key_len: usize,
    was_there: *mut bool,
) -> Status {
    let work = |pointers: Pointers| {
        let store = pointers.get("store", store)?;
        let tree = pointers.text("tree", tree)?;
        let key = pointers.slice("key", key, key_len)?;
        let mut transaction = store.0.begin()?;
        let removed = remove(&mut transaction, tree, key)?;
        if removed {
            transaction.commit()?;
        }
        pointers.write_unless_null("was_there", was_there, removed)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Takes a snapshot of the last commit, which does not change while others write. Space that only it needs is not
/// reused until `lath_snapshot_free`.
///
/// # Safety
/// `store` comes from `lath_store_open`; `snapshot` points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_store_snapshot(store: *const Store, snapshot: *mut *mut Snapshot) -> Status {
    let work = |pointers: Pointers| {
        let taken = pointers.get("store", store)?.0.snapshot()?;
        pointers.give("snapshot", snapshot, Snapshot(Arc::new(taken)))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Frees a snapshot; null is allowed. Its cursors stay valid; values lent by `lath_snapshot_get` do not.
///
/// # Safety
/// `snapshot` is null, or comes from `lath_store_snapshot` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_snapshot_free(snapshot: *mut Snapshot) {
    let work = |pointers: Pointers| pointers.take("snapshot", snapshot).map(drop);
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) };
}

/// Lends the value of a key without copying it, until the snapshot is freed. If the key or tree does not exist,
/// `value->data` is null; for an empty value it is not null.
///
/// # Safety
/// `snapshot` comes from `lath_store_snapshot`; `tree` is a text in UTF-8 that ends with a zero byte; `key` points to `key_len` bytes;
/// `value` points to room for a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_snapshot_get(
    snapshot: *const Snapshot,
    tree: *const c_char,
    key: *const u8,
    key_len: usize,
    value: *mut Bytes,
) -> Status {
    let work = |pointers: Pointers| {
        let tree = pointers.get("snapshot", snapshot)?.0.tree(pointers.text("tree", tree)?)?;
        let key = pointers.slice("key", key, key_len)?;
        let found = tree.map(|tree| tree.get(key)).transpose()?.flatten();
        pointers.write("value", value, lent(found))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// The number of keys in a tree; 0 if the tree does not exist.
///
/// # Safety
/// `snapshot` comes from `lath_store_snapshot`; `tree` is a text in UTF-8 that ends with a zero byte; `count` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_snapshot_count(
    snapshot: *const Snapshot,
    tree: *const c_char,
    count: *mut u64,
) -> Status {
    let work = |pointers: Pointers| {
        let tree = pointers.get("snapshot", snapshot)?.0.tree(pointers.text("tree", tree)?)?;
        pointers.write("count", count, tree.map_or(Ok(0), |tree| tree.len())?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Removes a key, and returns whether it existed.
fn remove(transaction: &mut lath_store::Transaction, tree: &str, key: &[u8]) -> Result<bool, Error> {
    transaction.existing_tree(tree)?.map_or(Ok(false), |mut tree| tree.remove(key))
}

/// Bytes in their form for C: the pointer is null only if there is no value.
fn lent(bytes: Option<&[u8]>) -> Bytes {
    bytes.map_or(Bytes { data: ptr::null(), len: 0 }, |bytes| Bytes { data: bytes.as_ptr(), len: bytes.len() })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Corrupt { .. } => Status::Corrupt,
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Status::NotFound,
            Error::Io { .. } | Error::Poisoned | Error::Replaced { .. } => Status::Io,
            Error::Limit { .. } => Status::Limit,
            Error::Busy | Error::BusyTimeout { .. } => Status::Busy,
            Error::Exists(_) => Status::Exists,
            Error::ReadOnly | Error::NoSuchSnapshot(_) | Error::Invalid(_) => Status::Invalid,
            Error::Cancelled => Status::Cancelled,
            _ => Status::Internal,
        };
        Self::new(status, error.to_string())
    }
}
