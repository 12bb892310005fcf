#![expect(unsafe_code, reason = "futex is a system call")]
//! Waits for changes of words that processes share.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Waits until [`wake`] is called for the word, for at most `timeout`. Returns at once if it does not have this value.
pub(super) fn wait(word: &AtomicU32, value: u32, timeout: Duration) {
    // SAFETY: the struct consists of integers, for which zero is a valid value.
    let mut limit: libc::timespec = unsafe { std::mem::zeroed() };
    limit.tv_sec = timeout.as_secs() as libc::time_t;
    limit.tv_nsec = timeout.subsec_nanos().into();
    let limit = std::ptr::from_ref(&limit);
    // SAFETY: the word and the limit are borrowed until the call returns. Without `FUTEX_PRIVATE_FLAG` the word may be in
    // memory that processes share. If the call fails, it has returned early, as the caller expects.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, limit) };
}

/// Wakes all threads that wait for the word.
pub(super) fn wake(word: &AtomicU32) {
    // SAFETY: the call only uses the address of the word, which is borrowed.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
