//! Runs the functions of the interface: stops panics at the boundary, and keeps the text of the last error.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::pointers::Pointers;
use crate::status::{Failure, Status};

thread_local! {
    static LAST_MESSAGE: RefCell<CString> = RefCell::default();
}

/// Runs the work of a function of the interface, and turns its result, or a panic, into a status code.
///
/// # Safety
/// Every pointer that `work` passes to a method of [`Pointers`] satisfies the conditions of that method.
#[inline]
pub(crate) unsafe fn call(work: impl FnOnce(Pointers) -> Result<(), Failure>) -> Status {
    // SAFETY: the caller of this function promises the same.
    let pointers = unsafe { Pointers::as_promised() };
    // After an error, the outputs that `work` may have changed have no meaning, as the documentation tells the caller.
    match catch_unwind(AssertUnwindSafe(|| work(pointers))) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(failure)) => keep(failure),
        Err(panic) => keep(Failure::panic(&*panic)),
    }
}

/// Keeps the text for [`lath_last_error_message`].
#[cold]
fn keep(failure: Failure) -> Status {
    let mut text = failure.message.into_bytes();
    text.retain(|&byte| byte != 0);
    let text = CString::new(text).unwrap_or_default();
    // A thread that is ending can no longer read the message.
    let _ = LAST_MESSAGE.try_with(|last| *last.borrow_mut() = text);
    failure.status
}

/// The text of the last error that a function of Lath returned on this thread, in UTF-8 and ended by a zero byte; an
/// empty text if there was none. It is valid until the next error on this thread, or the thread's end.
#[unsafe(no_mangle)]
pub extern "C" fn lath_last_error_message() -> *const c_char {
    LAST_MESSAGE.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn message() -> String {
        // SAFETY: the text ends with a zero byte and stays valid until the next error of this thread.
        unsafe { CStr::from_ptr(lath_last_error_message()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_code_and_its_text() {
        // SAFETY: no pointer is used.
        let status = unsafe { call(|_| panic!("seven is {}", 7)) };
        assert_eq!(status, Status::Internal);
        assert_eq!(message(), "a bug in Lath, please report it: seven is 7");
        // SAFETY: no pointer is used.
        assert_eq!(unsafe { call(|_| Ok(())) }, Status::Ok);
    }

    #[test]
    fn every_thread_has_its_own_text() {
        // SAFETY: no pointer is used.
        unsafe { call(|_| Err(Failure::invalid("here\0 and here"))) };
        let elsewhere = std::thread::spawn(message).join().unwrap();
        assert_eq!((message().as_str(), elsewhere.as_str()), ("here and here", ""));
    }
}
