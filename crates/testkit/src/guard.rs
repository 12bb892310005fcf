//! Slices that end, or start, at an inaccessible page: a read or write past them stops the process.
#![expect(unsafe_code, reason = "maps memory and protects pages of it")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Fills the bytes around the slice on its own pages. A stray write there is detected when the slice is dropped.
const CANARY: u8 = 0xA5;

/// Number types without padding for which every bit pattern is valid.
///
/// # Safety
/// Implementors must be valid for every bit pattern, have no padding, no drop, and a size that divides a page.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($number:ty)*) => { $(
        // SAFETY: every bit pattern is valid, there is no padding, and the size is a power of two up to 16.
        unsafe impl Plain for $number {}
    )* };
}
plain!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize f32 f64);

// SAFETY: an array of a plain type has no padding and every bit pattern is valid; 2, 4, 8 and 16 bytes divide a page.
unsafe impl Plain for [u8; 2] {}
// SAFETY: as above.
unsafe impl Plain for [u8; 4] {}
// SAFETY: as above.
unsafe impl Plain for [u8; 8] {}
// SAFETY: as above.
unsafe impl Plain for [u8; 16] {}

/// Bytes between guard pages.
pub type GuardedBytes = GuardedSlice<u8>;

/// A slice between guard pages: accessing bytes before its first page, or after its last page, is a segmentation fault.
/// Dereferences to the slice.
///
/// ```
/// use lath_testkit::{GuardedSlice, GuardedBytes};
///
/// let input = GuardedBytes::starting_at_guard(b"read me");
/// let mut output = GuardedSlice::<u32>::ending_at_guard(&[0; 7]);
/// for (out, byte) in output.iter_mut().zip(input.iter()) {
///     *out = u32::from(*byte);
/// }
/// assert_eq!(output[0], u32::from(b'r'));
/// ```
pub struct GuardedSlice<T: Plain> {
    map: NonNull<u8>,
    map_len: usize,
    /// Byte offset of the slice within the map.
    start: usize,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Plain> GuardedSlice<T> {
    /// A copy of `values` whose last byte is the last one before a guard page.
    pub fn ending_at_guard(values: &[T]) -> Self {
        let page = page_len();
        let data_len = size_of_val(values).next_multiple_of(page).max(page);
        Self::map(values, data_len, page + data_len - size_of_val(values))
    }

    /// A copy of `values` whose first byte is the first one after a guard page.
    pub fn starting_at_guard(values: &[T]) -> Self {
        let page = page_len();
        let data_len = size_of_val(values).next_multiple_of(page).max(page);
        Self::map(values, data_len, page)
    }

    /// Maps `data_len` bytes (whole pages) between two guard pages and copies `values` to byte `start` of the map.
    fn map(values: &[T], data_len: usize, start: usize) -> Self {
        let page = page_len();
        let map_len = data_len + 2 * page;
        // SAFETY: an anonymous private mapping at an address that the kernel chooses touches no memory in use.
        let map = unsafe {
            libc::mmap(std::ptr::null_mut(), map_len, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        assert!(map != libc::MAP_FAILED, "mmap of {map_len} bytes: {}", std::io::Error::last_os_error());
        let map = NonNull::new(map.cast::<u8>()).expect("mmap never maps address zero unless asked to");
        // SAFETY: the map is `data_len + 2 * page` bytes long, so one page past its start is inside it.
        let data = unsafe { map.add(page) };
        // SAFETY: the range is whole pages of the new mapping, which has no other users.
        let status = unsafe { libc::mprotect(data.as_ptr().cast(), data_len, libc::PROT_READ | libc::PROT_WRITE) };
        assert!(status == 0, "mprotect: {}", std::io::Error::last_os_error());
        // SAFETY: these `data_len` bytes have just been made writable.
        unsafe { data.write_bytes(CANARY, data_len) };
        // SAFETY: callers choose `start` within the data pages so that the values end within them.
        let target = unsafe { map.add(start) };
        // SAFETY: the target has room for the values, is newly mapped and so overlaps nothing, and is aligned: it is a
        // page boundary, or a multiple of the element size before one.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), target.as_ptr().cast::<T>(), values.len()) };
        Self { map, map_len, start, len: values.len(), elements: PhantomData }
    }

    fn first(&self) -> NonNull<T> {
        // SAFETY: `start` was inside the mapping when it was made, and neither changes.
        unsafe { self.map.add(self.start) }.cast()
    }

    /// The bytes of the data pages before and after the slice.
    fn margins(&self) -> [&[u8]; 2] {
        let page = page_len();
        let end = self.start + self.len * size_of::<T>();
        [page..self.start, end..self.map_len - page].map(|range| {
            // SAFETY: both ranges lie within the mapping.
            let first = unsafe { self.map.add(range.start) };
            // SAFETY: they are readable bytes of the data pages, initialised with the canary, apart from the slice
            // that may be borrowed mutably.
            unsafe { std::slice::from_raw_parts(first.as_ptr(), range.len()) }
        })
    }
}

impl<T: Plain> Deref for GuardedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` values were copied there when the mapping was made; the borrow keeps writers out.
        unsafe { std::slice::from_raw_parts(self.first().as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for GuardedSlice<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the exclusive borrow excludes all other access.
        unsafe { std::slice::from_raw_parts_mut(self.first().as_ptr(), self.len) }
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for GuardedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Plain> Drop for GuardedSlice<T> {
    fn drop(&mut self) {
        let stray = self.margins().iter().any(|margin| margin.iter().any(|&byte| byte != CANARY));
        // SAFETY: the mapping is this value's own, and no borrow of it outlives the value.
        let status = unsafe { libc::munmap(self.map.as_ptr().cast(), self.map_len) };
        if !std::thread::panicking() {
            assert!(status == 0, "munmap: {}", std::io::Error::last_os_error());
            assert!(!stray, "bytes beside a guarded slice of {} elements were written", self.len);
        }
    }
}

fn page_len() -> usize {
    // SAFETY: `sysconf` has no preconditions.
    let len = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(len).expect("a page has a positive length")
}

#[cfg(test)]
mod tests {
    use super::{GuardedBytes, GuardedSlice, page_len};

    #[test]
    fn values_survive_both_placements() {
        for len in [0, 1, 3, 1024, page_len() / 4, page_len() / 4 + 1] {
            let values: Vec<u32> = (0..len as u32).collect();
            assert_eq!(&*GuardedSlice::ending_at_guard(&values), &values[..]);
            assert_eq!(&*GuardedSlice::starting_at_guard(&values), &values[..]);
        }
    }

    #[test]
    fn slices_touch_the_guard_pages() {
        let page = page_len();
        let ending = GuardedBytes::ending_at_guard(b"abc");
        assert_eq!(ending.as_ptr_range().end as usize % page, 0);
        let starting = GuardedBytes::starting_at_guard(b"abc");
        assert_eq!(starting.as_ptr() as usize % page, 0);
    }

    #[test]
    #[should_panic(expected = "beside a guarded slice")]
    fn a_stray_write_on_the_slice_s_own_page_is_found() {
        let mut guarded = GuardedBytes::ending_at_guard(&[1, 2, 3]);
        let first = guarded.as_mut_ptr();
        // SAFETY: a page is longer than four bytes, so the byte before the slice is still on the data page.
        let before = unsafe { first.sub(1) };
        // SAFETY: that byte is mapped and writable, and nothing borrows it.
        unsafe { before.write(0) };
    }

    /// Runs itself again as a child that reads past the end, because a segmentation fault cannot be caught.
    #[test]
    fn reading_past_the_end_stops_the_process() {
        if std::env::var_os("LATH_TOUCH_GUARD").is_some() {
            let guarded = GuardedBytes::ending_at_guard(&[1, 2, 3]);
            // SAFETY: none: this read is the fault that the test waits for.
            let byte = unsafe { guarded.as_ptr_range().end.read_volatile() };
            println!("read {byte}");
            return;
        }
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "guard::tests::reading_past_the_end_stops_the_process", "--nocapture"])
            .env("LATH_TOUCH_GUARD", "1")
            .output();
        // Under an emulator a child of a foreign architecture cannot always be started.
        let Ok(child) = child else { return };
        assert!(!child.status.success());
        assert!(!String::from_utf8_lossy(&child.stdout).contains("read "));
    }
}
