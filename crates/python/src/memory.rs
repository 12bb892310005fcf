//! The allocator of the module.
//!
//! A table that is read takes as much memory as the one before it. The system's allocator gives the pages of that back at once, and a quarter
//! of reading is then the kernel's clearing of new ones: lineitem of TPC-H, scale 1, is read to Arrow, strings as views, in 0.8 s instead of 1.0
//! to 1.3 s by one thread where they are kept (the least of six times, in two runs by turns).
#![expect(unsafe_code, reason = "mimalloc has its options and its collection in C")]

use std::ffi::c_long;

use libmimalloc_sys::{mi_collect, mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;
use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Milliseconds that freed memory stays with the process before it may be given back.
const KEPT_MS: c_long = 2000;

/// `mi_option_purge_delay` of `mimalloc.h`, in its versions 2 and 3.
const PURGE_DELAY: mi_option_t = 15;

/// Keeps freed memory for a while, unless the environment says how long (`MIMALLOC_PURGE_DELAY`).
pub(crate) fn keep_freed() {
    // SAFETY: sets a number that the allocator reads, of an option that it has.
    unsafe { mi_option_set_default(PURGE_DELAY, KEPT_MS) }
}

/// Gives freed memory back to the system. Else that happens some seconds after it was freed, when more is allocated or freed.
#[pyfunction]
pub(crate) fn release_memory(py: Python<'_>) {
    // SAFETY: may be called at any time, by any thread.
    py.detach(|| unsafe { mi_collect(true) });
}
