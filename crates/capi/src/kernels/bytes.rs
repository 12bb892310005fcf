//! Byte searches.

use lath_kernels::{bytes, bytesearch};

use crate::call::call;
use crate::pointers::Pointers;
use crate::status::Status;

/// Counts the bytes that equal `needle`, for example a given level among levels.
///
/// # Safety
/// `haystack` points to `len` bytes, `count` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_count_byte(haystack: *const u8, len: usize, needle: u8, count: *mut usize) -> Status {
    let work = |pointers: Pointers| {
        let haystack = pointers.slice("haystack", haystack, len)?;
        pointers.write("count", count, bytes::count_byte(haystack, needle))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// The number of bytes in ascending order that are less than `key`, and thus the index of the first that is not. For
/// short arrays, such as the labels of a tree's node.
///
/// # Safety
/// `sorted` points to `len` bytes, `place` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_lower_bound_u8(sorted: *const u8, len: usize, key: u8, place: *mut usize) -> Status {
    let work = |pointers: Pointers| {
        let sorted = pointers.slice("sorted", sorted, len)?;
        pointers.write("place", place, bytesearch::lower_bound(sorted, key))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}
