#![expect(unsafe_code, reason = "fcntl is a call into the C library")]
//! Locks on bytes of a file that belong to the open file and end with it (`F_OFD_SETLK`).
//!
//! Unlike the older kind of lock they conflict between two openings of one file in the same process, and closing some
//! other descriptor of the file does not drop them. The bytes need not exist.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;

/// An open file whose locks end when this is dropped.
///
/// Closing it would not be enough: while another thread starts a process, that process has a copy of the descriptor until it runs its
/// program, and the locks live as long as the copy.
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
        // If it fails, the locks end when the last copy of the descriptor is closed.
        let _ = unlock_bytes(&self.file, 0, 0);
    }
}

/// How a byte is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Many may have it.
    Shared,
    /// One may have it, and nobody the shared kind.
    Exclusive,
}

/// Locks the byte, or changes the kind of the lock that this file has on it; whether that was possible without waiting.
pub(super) fn try_lock(file: &File, byte: u64, kind: Kind) -> io::Result<bool> {
    match control(file, libc::F_OFD_SETLK, &mut description(byte, lock_type(kind))) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        done => done.map(|()| true),
    }
}

/// Locks the byte, waiting for others to unlock it.
pub(super) fn lock(file: &File, byte: u64, kind: Kind) -> io::Result<()> {
    control(file, libc::F_OFD_SETLKW, &mut description(byte, lock_type(kind)))
}

/// Gives up the lock on the byte.
pub(super) fn unlock(file: &File, byte: u64) -> io::Result<()> {
    unlock_bytes(file, byte, 1)
}

/// Gives up the locks on `len` bytes; with 0, on all from `start` on.
fn unlock_bytes(file: &File, start: u64, len: u64) -> io::Result<()> {
    let mut lock = description(start, libc::F_UNLCK as libc::c_short);
    lock.l_len = len as libc::off_t;
    control(file, libc::F_OFD_SETLK, &mut lock)
}

/// Whether somebody else has a lock on the byte. A lock of `file` itself is not seen.
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
    // SAFETY: the struct is made of integers, for which zero is a value; the process number has to be zero.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = byte as libc::off_t;
    lock.l_len = 1;
    lock
}

fn control(file: &File, command: libc::c_int, lock: &mut libc::flock) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and the commands given here read, and with
        // F_OFD_GETLK write, one `flock`, which `lock` is and which this function alone has for the length of the call.
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
