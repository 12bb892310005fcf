//! The allocator of the module.
//!
//! The next table often takes as much memory as the last one. The system's allocator returns freed pages at once, and then a quarter of the
//! time of reading is the kernel clearing new pages. With pages kept, one thread reads TPC-H lineitem, scale 1, to Arrow with string views in
//! 0.8 s instead of 1.0 to 1.3 s (best of six, in two alternating runs).
#![expect(unsafe_code, reason = "mimalloc has its options and its collection in C")]

use std::ffi::c_long;

use libmimalloc_sys::{mi_collect, mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;
use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Milliseconds that freed memory stays with the process before it may be returned.
const KEPT_MS: c_long = 2000;

/// `mi_option_purge_delay` of `mimalloc.h`, in its versions 2 and 3.
const PURGE_DELAY: mi_option_t = 15;

/// Keeps freed memory for a while, unless the environment sets the time (`MIMALLOC_PURGE_DELAY`).
pub(crate) fn keep_freed() {
    // SAFETY: sets a number that the allocator reads, of an option that it has.
    unsafe { mi_option_set_default(PURGE_DELAY, KEPT_MS) }
}

/// Returns freed memory to the system. Otherwise that happens some seconds after it was freed, at the next allocation or release.
#[pyfunction]
pub(crate) fn release_memory(py: Python<'_>) {
    // SAFETY: may be called at any time, by any thread.
    py.detach(|| unsafe { mi_collect(true) });
}
