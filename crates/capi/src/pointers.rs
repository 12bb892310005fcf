//! Checks the pointers from C, and makes slices and references from them. Other modules dereference none.

#[cfg(any(feature = "files", feature = "store"))]
use std::ffi::{CStr, c_char};
use std::slice;

use crate::status::Failure;

/// Borrowed bytes, which the caller lends for a call, or Lath for as long as the function that returns them says.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Bytes {
    /// The first byte; may be null if there are none.
    pub data: *const u8,
    /// The number of bytes.
    pub len: usize,
}

/// Bytes allocated by Lath and owned by the caller until `lath_buffer_free`. A zero byte follows them, which is not
/// counted, so that text can be printed as it is.
#[repr(C)]
#[derive(Debug)]
pub struct Buffer {
    /// The first byte, or null if there is no buffer.
    pub data: *mut u8,
    /// The number of bytes.
    pub len: usize,
}

impl Buffer {
    #[cfg(any(feature = "files", feature = "store"))]
    pub(crate) const NONE: Self = Self { data: std::ptr::null_mut(), len: 0 };

    /// A buffer with these bytes.
    #[cfg(any(feature = "files", feature = "store"))]
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut copy = Vec::with_capacity(bytes.len() + 1);
        copy.extend_from_slice(bytes);
        copy.push(0);
        Self { data: Box::into_raw(copy.into_boxed_slice()).cast(), len: bytes.len() }
    }
}

/// Frees the bytes of a buffer, and makes it empty.
///
/// # Safety
/// `buffer` is null, or points to a buffer that Lath has filled or whose `data` is null, and that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_buffer_free(buffer: *mut Buffer) {
    // SAFETY: it is null or points to a buffer, as the section above requires.
    let Some(buffer) = (unsafe { buffer.as_mut() }) else { return };
    if !buffer.data.is_null() {
        let bytes = std::ptr::slice_from_raw_parts_mut(buffer.data, buffer.len + 1);
        // SAFETY: `Buffer::new` made it from a box of this length, and it was not freed before, because its `data`
        // would be null then.
        drop(unsafe { Box::from_raw(bytes) });
    }
    *buffer = Buffer { data: std::ptr::null_mut(), len: 0 };
}

/// The right to use the pointers of one call. Its methods check what can be checked (null, alignment, size); the caller
/// of the call guarantees the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pointers {
    _private: (),
}

impl Pointers {
    /// # Safety
    /// Every pointer passed to a method of the returned value is null, misaligned, or as that method requires. The
    /// results are not used after the call that the pointers belong to, unless the pointees live longer.
    pub(crate) unsafe fn as_promised() -> Self {
        Self { _private: () }
    }

    /// `len` values from `pointer` on, which are not written to during the call. Without values the pointer may be
    /// anything.
    #[inline]
    pub(crate) fn slice<'a, T>(self, name: &str, pointer: *const T, len: usize) -> Result<&'a [T], Failure> {
        if len == 0 {
            return Ok(&[]);
        }
        check(name, pointer, len)?;
        // SAFETY: it is aligned, not null, of a possible size, and the caller guarantees that this many values are
        // there, unchanged.
        Ok(unsafe { slice::from_raw_parts(pointer, len) })
    }

    /// `len` values from `pointer` on, which nothing else reads or writes during the call. Without values the pointer
    /// may be anything.
    #[inline]
    pub(crate) fn slice_mut<'a, T>(self, name: &str, pointer: *mut T, len: usize) -> Result<&'a mut [T], Failure> {
        if len == 0 {
            return Ok(&mut []);
        }
        check(name, pointer, len)?;
        // SAFETY: it is aligned, not null, of a possible size, and the caller guarantees that this many values are
        // there, for this call alone.
        Ok(unsafe { slice::from_raw_parts_mut(pointer, len) })
    }

    /// Writes a value to a place with room for one, whatever was there before.
    #[inline]
    pub(crate) fn write<T>(self, name: &str, pointer: *mut T, value: T) -> Result<(), Failure> {
        check(name, pointer, 1)?;
        // SAFETY: it is aligned, not null, and the caller guarantees room for a value.
        unsafe { pointer.write(value) };
        Ok(())
    }

    /// Like [`write`](Self::write), but does nothing if the pointer is null.
    #[inline]
    pub(crate) fn write_unless_null<T>(self, name: &str, pointer: *mut T, value: T) -> Result<(), Failure> {
        if pointer.is_null() { Ok(()) } else { self.write(name, pointer, value) }
    }

    /// Rejects a pointer that [`write`](Self::write) would reject, before there is a value to write.
    #[cfg(any(feature = "files", feature = "store"))]
    pub(crate) fn check_write<T>(self, name: &str, pointer: *mut T) -> Result<(), Failure> {
        check(name, pointer, 1)
    }

    /// The pointee, which does not change during the call.
    #[cfg(any(feature = "files", feature = "store"))]
    #[inline]
    pub(crate) fn get<'a, T>(self, name: &str, pointer: *const T) -> Result<&'a T, Failure> {
        check(name, pointer, 1)?;
        // SAFETY: it is aligned, not null, and the caller guarantees that there is a value, unchanged.
        Ok(unsafe { &*pointer })
    }

    /// The pointee, which nothing else uses during the call.
    #[inline]
    pub(crate) fn get_mut<'a, T>(self, name: &str, pointer: *mut T) -> Result<&'a mut T, Failure> {
        check(name, pointer, 1)?;
        // SAFETY: it is aligned, not null, and the caller guarantees that there is a value, for this call alone.
        Ok(unsafe { &mut *pointer })
    }

    /// Gives ownership of a value to the caller, who returns it to [`take`](Self::take).
    pub(crate) fn give<T>(self, name: &str, pointer: *mut *mut T, value: T) -> Result<(), Failure> {
        check(name, pointer, 1)?;
        self.write(name, pointer, Box::into_raw(Box::new(value)))
    }

    /// Takes ownership of a value back, if the pointer is not null. The pointer is dangling afterwards.
    pub(crate) fn take<T>(self, name: &str, pointer: *mut T) -> Result<Option<Box<T>>, Failure> {
        if pointer.is_null() {
            return Ok(None);
        }
        check(name, pointer, 1)?;
        // SAFETY: the caller guarantees that it comes from `give` and was not taken back before.
        Ok(Some(unsafe { Box::from_raw(pointer) }))
    }

    /// A text in UTF-8 that ends with a zero byte.
    #[cfg(any(feature = "files", feature = "store"))]
    pub(crate) fn text<'a>(self, name: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
        check(name, pointer, 1)?;
        // SAFETY: it is not null, and the caller guarantees that a zero byte ends it.
        let text = unsafe { CStr::from_ptr(pointer) };
        text.to_str().map_err(|error| Failure::invalid(format!("{name} is not UTF-8: {error}")))
    }

    /// Like [`text`](Self::text); `None` if the pointer is null.
    #[cfg(feature = "files")]
    pub(crate) fn optional_text<'a>(self, name: &str, pointer: *const c_char) -> Result<Option<&'a str>, Failure> {
        if pointer.is_null() { Ok(None) } else { self.text(name, pointer).map(Some) }
    }

    /// Several texts, each like [`text`](Self::text).
    #[cfg(feature = "files")]
    pub(crate) fn texts<'a>(
        self,
        name: &str,
        pointer: *const *const c_char,
        count: usize,
    ) -> Result<Vec<&'a str>, Failure> {
        self.slice(name, pointer, count)?.iter().map(|&text| self.text(name, text)).collect()
    }
}

/// Rejects a pointer that cannot lead to `len` values of its type.
#[inline]
fn check<T>(name: &str, pointer: *const T, len: usize) -> Result<(), Failure> {
    if pointer.is_null() || !pointer.is_aligned() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(explain(name, pointer, len));
    }
    Ok(())
}

#[cold]
fn explain<T>(name: &str, pointer: *const T, len: usize) -> Failure {
    Failure::invalid(if pointer.is_null() {
        format!("{name} is a null pointer: only where its length is zero may it be one")
    } else if !pointer.is_aligned() {
        format!("{name} is at {pointer:p}, which is no multiple of {}", align_of::<T>())
    } else {
        format!("{name}: {len} values are more than a memory has")
    })
}
