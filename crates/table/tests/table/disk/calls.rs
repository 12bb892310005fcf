#![expect(unsafe_code, reason = "functions of the C library are defined and called")]
//! The functions of the C library that change files, defined here: the linker prefers them to the library's, so they
//! intercept every call of this program, from any crate. They consult the watched disks, and forward the call to the
//! system.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libc::{c_char, c_int, c_long, c_void, mode_t, off64_t, size_t, ssize_t};

use super::Call;
use super::touch::{Touch, touch_fd, touch_mapping, touch_path};

/// Makes the call unless the disk injects a fault, and notifies the disk before and after.
fn watched(touch: Option<Touch>, call: impl FnOnce() -> c_long) -> c_long {
    let Some(touch) = touch else { return call() };
    if let Err(code) = touch.begin() {
        set_errno(code);
        return -1;
    }
    let result = call();
    if result >= 0 {
        touch.end((touch.call() == Call::Create).then_some(result as c_int));
        return result;
    }
    let code = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    touch.give_up();
    set_errno(code);
    result
}

fn set_errno(code: c_int) {
    // SAFETY: the function has no conditions.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the pointer is to the calling thread's own value.
    unsafe { *place = code };
}

/// # Safety
/// `path` is null or a C string.
unsafe fn path_at<'p>(path: *const c_char) -> Option<&'p Path> {
    if path.is_null() {
        return None;
    }
    // SAFETY: as the caller guarantees.
    let path = unsafe { CStr::from_ptr(path) };
    Some(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// The device and inode number of an open file.
pub(super) fn identity(fd: c_int) -> Option<(u64, u64)> {
    // SAFETY: zeros are a valid value of this structure of numbers.
    let mut status: libc::stat64 = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is valid for writes.
    let result = unsafe { libc::fstat64(fd, &raw mut status) };
    (result == 0).then_some((status.st_dev, status.st_ino))
}

/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller guarantees.
    let path_created = if flags & libc::O_CREAT != 0 { unsafe { path_at(path) } } else { None };
    let touch = path_created.and_then(|path| touch_path(Call::Create, path, None));
    // SAFETY: as the caller guarantees.
    let open = || unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) };
    watched(touch, open) as c_int
}

/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: as the caller guarantees.
    watched(touch_fd(Call::Write, fd), || unsafe { libc::syscall(libc::SYS_write, fd, bytes, len) }) as ssize_t
}

/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(fd: c_int, bytes: *const c_void, len: size_t, offset: off64_t) -> ssize_t {
    // SAFETY: as the caller guarantees.
    watched(touch_fd(Call::Write, fd), || unsafe { libc::syscall(libc::SYS_pwrite64, fd, bytes, len, offset) })
        as ssize_t
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(fd: c_int, len: off64_t) -> c_int {
    // SAFETY: the call takes no pointers.
    watched(touch_fd(Call::SetLen, fd), || unsafe { libc::syscall(libc::SYS_ftruncate, fd, len) }) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn fallocate(fd: c_int, mode: c_int, offset: off64_t, len: off64_t) -> c_int {
    // SAFETY: the call takes no pointers.
    watched(touch_fd(Call::SetLen, fd), || unsafe { libc::syscall(libc::SYS_fallocate, fd, mode, offset, len) })
        as c_int
}

#[unsafe(no_mangle)]
extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: the call takes no pointers.
    watched(touch_fd(Call::Sync, fd), || unsafe { libc::syscall(libc::SYS_fsync, fd) }) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: the call takes no pointers.
    watched(touch_fd(Call::Sync, fd), || unsafe { libc::syscall(libc::SYS_fdatasync, fd) }) as c_int
}

/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn msync(address: *mut c_void, len: size_t, flags: c_int) -> c_int {
    let touch = touch_mapping(address as usize, len);
    // SAFETY: as the caller guarantees.
    watched(touch, || unsafe { libc::syscall(libc::SYS_msync, address, len, flags) }) as c_int
}

/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: as the caller guarantees.
    let new = unsafe { path_at(to) };
    // SAFETY: as the caller guarantees.
    let touch = unsafe { path_at(from) }.and_then(|from| touch_path(Call::Rename, from, new));
    let at = libc::AT_FDCWD;
    // SAFETY: as the caller guarantees.
    watched(touch, || unsafe { libc::syscall(libc::SYS_renameat2, at, from, at, to, 0) }) as c_int
}

/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: as the caller guarantees.
    let touch = unsafe { path_at(path) }.and_then(|path| touch_path(Call::Remove, path, None));
    // SAFETY: as the caller guarantees.
    watched(touch, || unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0) }) as c_int
}

/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: as the caller guarantees.
    let touch = unsafe { path_at(path) }.and_then(|path| touch_path(Call::CreateFolder, path, None));
    // SAFETY: as the caller guarantees.
    watched(touch, || unsafe { libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path, mode) }) as c_int
}

/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: as the caller guarantees.
    let touch = unsafe { path_at(path) }.and_then(|path| touch_path(Call::RemoveFolder, path, None));
    let at = libc::AT_FDCWD;
    // SAFETY: as the caller guarantees.
    watched(touch, || unsafe { libc::syscall(libc::SYS_unlinkat, at, path, libc::AT_REMOVEDIR) }) as c_int
}

/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn linkat(
    from_at: c_int,
    from: *const c_char,
    to_at: c_int,
    to: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: as the caller guarantees.
    let new = unsafe { path_at(to) };
    // SAFETY: as the caller guarantees.
    let touch = unsafe { path_at(from) }.and_then(|from| touch_path(Call::Link, from, new));
    // SAFETY: as the caller guarantees.
    watched(touch, || unsafe { libc::syscall(libc::SYS_linkat, from_at, from, to_at, to, flags) }) as c_int
}
