//! Write transactions.

use std::ffi::c_char;

use lath_store::TreeMut;

use super::{Store, lent, remove};
use crate::call::call;
use crate::pointers::{Bytes, Pointers};
use crate::status::{Failure, Status};

/// Changes that become visible together, or not at all. A store has one open transaction at a time. It may move between
/// threads; one thread at a time may use it.
#[derive(Debug)]
pub struct Transaction(lath_store::Transaction);

/// Begins a transaction. If another one is open, waits for it if `wait` is true, and otherwise returns
/// `LATH_STATUS_BUSY`. A thread that has one open itself would wait forever.
///
/// End it with `lath_transaction_commit` or `lath_transaction_abort`; one of them must be called.
///
/// # Safety
/// `store` comes from `lath_store_open`; `transaction` points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_store_begin(
    store: *const Store,
    wait: bool,
    transaction: *mut *mut Transaction,
) -> Status {
    let work = |pointers: Pointers| {
        let store = &pointers.get("store", store)?.0;
        pointers.check_write("transaction", transaction)?;
        let begun = if wait { store.begin()? } else { store.try_begin()? };
        pointers.give("transaction", transaction, Transaction(begun))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Lends the value of a key, including the changes so far. It is valid until the next call with this transaction. If
/// the key or tree does not exist, `value->data` is null; for an empty value it is not null.
///
/// # Safety
/// `transaction` comes from `lath_store_begin`, and no other thread uses it; `tree` is a text in UTF-8 that ends with a zero byte; `key`
/// points to `key_len` bytes; `value` points to room for a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_transaction_get(
    transaction: *mut Transaction,
    tree: *const c_char,
    key: *const u8,
    key_len: usize,
    value: *mut Bytes,
) -> Status {
    let work = |pointers: Pointers| {
        let transaction = &mut pointers.get_mut("transaction", transaction)?.0;
        let key = pointers.slice("key", key, key_len)?;
        let tree = transaction.existing_tree(pointers.text("tree", tree)?)?;
        let tree = tree.map(TreeMut::into_tree).transpose()?;
        let found = tree.map(|tree| tree.get(key)).transpose()?.flatten();
        pointers.write("value", value, lent(found))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Puts a value at a key, replacing any old value. Creates the tree if it does not exist.
///
/// A key has at most 32 KiB, a value 4 GiB: otherwise the call returns `LATH_STATUS_LIMIT` and changes nothing. After
/// any other error the transaction can only be aborted.
///
/// # Safety
/// The same as for `lath_transaction_get`; `value` points to `value_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_transaction_put(
    transaction: *mut Transaction,
    tree: *const c_char,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let transaction = &mut pointers.get_mut("transaction", transaction)?.0;
        let (key, value) = (pointers.slice("key", key, key_len)?, pointers.slice("value", value, value_len)?);
        Ok(transaction.tree(pointers.text("tree", tree)?)?.put(key, value)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Removes a key. `was_there`, which may be null, tells whether the key existed.
///
/// # Safety
/// The same as for `lath_transaction_get`; `was_there` is null or points to room for a `bool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_transaction_delete(
    transaction: *mut Transaction,
    tree: *const c_char,
    key: *const u8,
    key_len: usize,
    was_there: *mut bool,
) -> Status {
    let work = |pointers: Pointers| {
        let transaction = &mut pointers.get_mut("transaction", transaction)?.0;
        let key = pointers.slice("key", key, key_len)?;
        let removed = remove(transaction, pointers.text("tree", tree)?, key)?;
        pointers.write_unless_null("was_there", was_there, removed)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Commits the changes, and frees the transaction, even if this fails.
///
/// # Safety
/// `transaction` comes from `lath_store_begin`, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_transaction_commit(transaction: *mut Transaction) -> Status {
    let work = |pointers: Pointers| {
        let taken = pointers.take("transaction", transaction)?;
        let taken = taken.ok_or_else(|| Failure::invalid("transaction is a null pointer"))?;
        Ok(taken.0.commit()?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Undoes the changes, and frees the transaction; null is allowed.
///
/// # Safety
/// `transaction` is null, or comes from `lath_store_begin` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_transaction_abort(transaction: *mut Transaction) {
    let work = |pointers: Pointers| pointers.take("transaction", transaction).map(drop);
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) };
}
