#![expect(unsafe_code, reason = "fcntl is a call into the C library")]
//! Locks on bytes of a file that belong to the open file and end with it (`F_OFD_SETLK`).
//!
//! Unlike POSIX record locks, they conflict between two openings of one file in the same process, and closing another
//! descriptor of the file does not release them. The bytes need not exist.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// The interval of [`try_lock_within`].
const PAUSE: Duration = Duration::from_millis(1);

/// An open file whose locks end when this is dropped.
///
/// Closing the file would not be enough: while another thread starts a process, the child has a copy of the descriptor
/// until it calls `exec`, and the locks live as long as the copy.
#[derive(Debug)]
pub(super) struct LockedFile {
    file: File,
}

impl LockedFile {
    pub(super) fn new(file: File) -> Self {
        Self { file }
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // If this fails, the locks end when the last copy of the descriptor is closed.
        let _ = unlock_bytes(&self.file, 0, 0);
    }
}

/// The kind of a lock on a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Several files may have it at once.
    Shared,
    /// One file has it, and no other file has a lock of either kind.
    Exclusive,
}

/// Locks the byte, or changes the kind of the lock that this file has on it. Returns whether that was possible without
/// waiting.
pub(super) fn try_lock(file: &File, byte: u64, kind: Kind) -> io::Result<bool> {
    match control(file, libc::F_OFD_SETLK, &mut description(byte, lock_type(kind))) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        done => done.map(|()| true),
    }
}

/// Like [`try_lock`], but tries for this long.
pub(super) fn try_lock_within(file: &File, byte: u64, kind: Kind, timeout: Duration) -> io::Result<bool> {
    let started = Instant::now();
    loop {
        let is_locked = try_lock(file, byte, kind)?;
        if is_locked || started.elapsed() >= timeout {
            return Ok(is_locked);
        }
        thread::sleep(PAUSE);
    }
}

/// Locks the byte, and waits for others to unlock it.
pub(super) fn lock(file: &File, byte: u64, kind: Kind) -> io::Result<()> {
    control(file, libc::F_OFD_SETLKW, &mut description(byte, lock_type(kind)))
}

/// Releases the lock on the byte.
pub(super) fn unlock(file: &File, byte: u64) -> io::Result<()> {
    unlock_bytes(file, byte, 1)
}

/// Releases the locks on `len` bytes, or on all bytes from `start` on if `len` is 0.
fn unlock_bytes(file: &File, start: u64, len: u64) -> io::Result<()> {
    let mut lock = description(start, libc::F_UNLCK as libc::c_short);
    lock.l_len = len as libc::off_t;
    control(file, libc::F_OFD_SETLK, &mut lock)
}

/// Returns whether another file has a lock on the byte. A lock of `file` itself is not visible.
pub(super) fn is_locked_by_another(file: &File, byte: u64) -> io::Result<bool> {
    let mut lock = description(byte, lock_type(Kind::Exclusive));
    control(file, libc::F_OFD_GETLK, &mut lock)?;
    Ok(lock.l_type != libc::F_UNLCK as libc::c_short)
}

#[allow(clippy::unnecessary_cast, reason = "the constants have other types on other systems")]
fn lock_type(kind: Kind) -> libc::c_short {
    match kind {
        Kind::Shared => libc::F_RDLCK as libc::c_short,
        Kind::Exclusive => libc::F_WRLCK as libc::c_short,
    }
}

fn description(byte: u64, kind: libc::c_short) -> libc::flock {
    // SAFETY: the struct consists of integers, for which zero is a valid value; the process number must be zero.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = byte as libc::off_t;
    lock.l_len = 1;
    lock
}

fn control(file: &File, command: libc::c_int, lock: &mut libc::flock) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open for as long as `file` is borrowed. The commands passed here read one `flock`,
        // and `F_OFD_GETLK` writes it too; `lock` is one, and this function borrows it exclusively for the call.
        let status = unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(lock)) };
        if status != -1 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
