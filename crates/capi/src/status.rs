//! Codes of errors, and failures with such a code.

use std::any::Any;
use std::ffi::{CStr, c_char};

use lath_kernels::KernelError;

/// The status of a call. If it is not `LATH_STATUS_OK`, `lath_last_error_message` returns the text, and outputs have no
/// meaning unless the function says otherwise.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// An argument is not allowed: a null or misaligned pointer, lengths that do not agree, a condition that does not parse.
    Invalid = 1,
    /// The bytes of a page, a file or a store do not follow the format, or end too early.
    Corrupt = 2,
    /// The file is not a Parquet file.
    NotParquet = 3,
    /// The file, or a column of it, is encrypted.
    Encrypted = 4,
    /// The file uses a feature that Lath cannot read.
    Unsupported = 5,
    /// A value does not fit the requested type.
    OutOfRange = 6,
    /// Something is larger than the format or an option allows.
    Limit = 7,
    /// An operation of the operating system failed.
    Io = 8,
    /// The file does not exist.
    NotFound = 9,
    /// Another process or transaction has the store.
    Busy = 10,
    /// A file of that name already exists.
    Exists = 11,
    /// The operation was stopped.
    Cancelled = 12,
    /// A bug in Lath; please report it.
    Internal = 13,
}

/// A status code and a message.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Status::Invalid, message)
    }

    pub(crate) fn panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message");
        Self::new(Status::Internal, format!("a bug in Lath, please report it: {text}"))
    }
}

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Self {
        let status = match error {
            KernelError::LengthMismatch { .. } | KernelError::WidthOutOfRange { .. } => Status::Invalid,
            KernelError::InputTooShort { .. }
            | KernelError::IndexOutOfRange { .. }
            | KernelError::NegativeLength { .. }
            | KernelError::OffsetOverflow { .. }
            | KernelError::PrefixTooLong { .. }
            | KernelError::Malformed { .. } => Status::Corrupt,
            _ => Status::Internal,
        };
        Self::new(status, error.to_string())
    }
}

/// The name of a status code in a few words, as a constant text ended by a zero byte. Any number is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn lath_status_name(status: i32) -> *const c_char {
    let name: &CStr = match status {
        0 => c"ok",
        1 => c"invalid argument",
        2 => c"corrupt data",
        3 => c"not a Parquet file",
        4 => c"encrypted",
        5 => c"unsupported",
        6 => c"out of range",
        7 => c"over a limit",
        8 => c"input or output failed",
        9 => c"not found",
        10 => c"busy",
        11 => c"exists",
        12 => c"cancelled",
        13 => c"internal error",
        _ => c"unknown status",
    };
    name.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name() {
        let name = |status| {
            // SAFETY: the text is a constant.
            unsafe { CStr::from_ptr(lath_status_name(status)) }.to_str().unwrap()
        };
        assert_eq!(name(Status::Internal as i32), "internal error");
        assert_eq!([name(14), name(-1)], ["unknown status"; 2]);
    }
}
