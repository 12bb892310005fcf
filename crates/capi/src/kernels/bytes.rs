//! Searches of bytes.

use lath_kernels::{bytes, bytesearch};

use crate::call::call;
use crate::pointers::Pointers;
use crate::status::Status;

/// How many of the bytes equal `needle`: of levels, say, those that are a given one.
///
/// # Safety
/// `haystack` points to `len` bytes, `count` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_count_byte(haystack: *const u8, len: usize, needle: u8, count: *mut usize) -> Status {
    let work = |pointers: Pointers| {
        let haystack = pointers.slice("haystack", haystack, len)?;
        pointers.write("count", count, bytes::count_byte(haystack, needle))
    };
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// How many of the bytes, which are in ascending order, are below `key`: the place of the first that is not. For short arrays, such as
/// the labels of a tree's node.
///
/// # Safety
/// `sorted` points to `len` bytes, `place` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_lower_bound_u8(sorted: *const u8, len: usize, key: u8, place: *mut usize) -> Status {
    let work = |pointers: Pointers| {
        let sorted = pointers.slice("sorted", sorted, len)?;
        pointers.write("place", place, bytesearch::lower_bound(sorted, key))
    };
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}
