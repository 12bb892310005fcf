//! Cursors over the keys of a snapshot.

use std::ffi::c_char;
use std::fmt;
use std::sync::Arc;

use super::{Snapshot, lent};
use crate::call::call;
use crate::pointers::{Bytes, Pointers};
use crate::status::Status;

/// A position among the keys of a tree. One thread at a time may use it.
pub struct Cursor {
    /// `None` if the tree does not exist. It borrows the snapshot below, so it is declared, and dropped, before it.
    cursor: Option<lath_store::Cursor<'static>>,
    _snapshot: Arc<lath_store::Snapshot>,
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

/// Creates a cursor over a tree, before its first key. A tree that does not exist has no keys. Free it with
/// `lath_cursor_free`; the snapshot may be freed before it.
///
/// # Safety
/// `snapshot` comes from `lath_store_snapshot`; `tree` is a text in UTF-8 that ends with a zero byte; `cursor` points to room for a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_snapshot_cursor(
    snapshot: *const Snapshot,
    tree: *const c_char,
    cursor: *mut *mut Cursor,
) -> Status {
    let work = |pointers: Pointers| {
        let snapshot = Arc::clone(&pointers.get("snapshot", snapshot)?.0);
        let name = pointers.text("tree", tree)?;
        // SAFETY: the snapshot does not move, because it is in an `Arc`, and lives as long as the cursor that borrows
        // it: `Cursor` keeps the `Arc`, drops the borrower first, and gives nothing away that lives longer.
        let borrowed: &'static lath_store::Snapshot = unsafe { &*Arc::as_ptr(&snapshot) };
        let inner = borrowed.tree(name)?.map(|tree| tree.cursor());
        pointers.give("cursor", cursor, Cursor { cursor: inner, _snapshot: snapshot })
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Frees a cursor; null is allowed.
///
/// # Safety
/// `cursor` is null, or comes from `lath_snapshot_cursor` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_cursor_free(cursor: *mut Cursor) {
    let work = |pointers: Pointers| pointers.take("cursor", cursor).map(drop);
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) };
}

/// Moves to the next key, from before the first key to the first. `found` tells whether there is one.
///
/// # Safety
/// `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it; `found` points to room for a `bool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_cursor_next(cursor: *mut Cursor, found: *mut bool) -> Status {
    let work = |pointers: Pointers| {
        let inner = pointers.get_mut("cursor", cursor)?.cursor.as_mut();
        pointers.write("found", found, inner.map_or(Ok(false), lath_store::Cursor::next)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Moves to the previous key, from after the last key to the last. `found` tells whether there is one.
///
/// # Safety
/// The same as for `lath_cursor_next`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_cursor_prev(cursor: *mut Cursor, found: *mut bool) -> Status {
    let work = |pointers: Pointers| {
        let inner = pointers.get_mut("cursor", cursor)?.cursor.as_mut();
        pointers.write("found", found, inner.map_or(Ok(false), lath_store::Cursor::prev)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Moves to the first key that is not less than `key`. `found` tells whether there is one.
///
/// # Safety
/// The same as for `lath_cursor_next`; `key` points to `key_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_cursor_seek(
    cursor: *mut Cursor,
    key: *const u8,
    key_len: usize,
    found: *mut bool,
) -> Status {
    let work = |pointers: Pointers| {
        let key = pointers.slice("key", key, key_len)?;
        let inner = pointers.get_mut("cursor", cursor)?.cursor.as_mut();
        pointers.write("found", found, inner.map_or(Ok(false), |cursor| cursor.lower_bound(key))?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Moves after the last key, so that `lath_cursor_prev` moves to the last key.
///
/// # Safety
/// `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_cursor_seek_to_end(cursor: *mut Cursor) -> Status {
    let work = |pointers: Pointers| {
        if let Some(cursor) = &mut pointers.get_mut("cursor", cursor)?.cursor {
            cursor.seek_to_end();
        }
        Ok(())
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Lends the key and the value at the cursor; `data` of both is null if the cursor is at no key. The key is valid until
/// the cursor is moved or freed, the value until the cursor and its snapshot are freed. `value` may be null.
///
/// # Safety
/// `cursor` comes from `lath_snapshot_cursor`; `key` points to room for a structure; `value` is null or points to room
/// for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_cursor_entry(cursor: *const Cursor, key: *mut Bytes, value: *mut Bytes) -> Status {
    let work = |pointers: Pointers| {
        let inner = pointers.get("cursor", cursor)?.cursor.as_ref();
        pointers.write("key", key, lent(inner.and_then(lath_store::Cursor::key)))?;
        if value.is_null() {
            return Ok(());
        }
        pointers.write("value", value, lent(inner.map_or(Ok(None), lath_store::Cursor::value)?))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}
