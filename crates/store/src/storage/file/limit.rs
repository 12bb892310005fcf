#![expect(unsafe_code, reason = "getrlimit is a call into the C library")]
//! The length that the system allows files of this process to have (`ulimit -f`).
//!
//! A write past it does not just fail: by default, its signal (SIGXFSZ) ends the process. A library must not ignore signals for
//! the program that it is part of, so such writes are not tried.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit when it was last queried; 0 before.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Returns an error if a file may not have `len` bytes. Queries the limit only if `len` is more than the last one.
pub(super) fn check(len: u64) -> io::Result<()> {
    if len <= LIMIT.load(Ordering::Relaxed) { Ok(()) } else { check_now(len) }
}

/// Like [`check`], but always queries the limit, which the process may have changed.
pub(super) fn check_now(len: u64) -> io::Result<()> {
    let limit = query()?;
    LIMIT.store(limit, Ordering::Relaxed);
    if len <= limit { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EFBIG)) }
}

#[allow(clippy::useless_conversion, reason = "the limit has other types on other systems")]
fn query() -> io::Result<u64> {
    // SAFETY: the struct consists of integers, for which zero is a valid value.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to the struct, which is borrowed exclusively.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    if status == 0 { Ok(limit.rlim_cur.into()) } else { Err(io::Error::last_os_error()) }
}
