use std::fmt;

/// The error of a kernel that rejected its input. The contents of output slices are undefined after an error.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelError {
    /// The input ends before the requested values.
    InputTooShort {
        /// The number of bytes of the requested values.
        needed: usize,
        /// The number of bytes of the input.
        available: usize,
    },
    /// A bit width that the element type cannot hold.
    WidthOutOfRange {
        /// The requested width, in bits.
        width: u32,
        /// The largest width that the function accepts, in bits.
        max: u32,
    },
    /// A dictionary index that is not in the dictionary.
    IndexOutOfRange {
        /// The offending index (the first, or the largest of the batch).
        index: u32,
        /// Number of dictionary entries.
        len: usize,
    },
    /// A length below zero.
    NegativeLength {
        /// Position of the length in the batch.
        position: usize,
    },
    /// A sum of lengths that the offset type cannot hold.
    OffsetOverflow {
        /// Position of the value in the batch at which the offset no longer fits.
        position: usize,
    },
    /// A prefix that is longer than the value before it.
    PrefixTooLong {
        /// Position of the value in the batch.
        position: usize,
    },
    /// A header that breaks the format's rules.
    Malformed {
        /// The defect, as a noun phrase.
        what: &'static str,
    },
    /// Two slices whose lengths must agree do not.
    LengthMismatch {
        /// The required length.
        expected: usize,
        /// The given length.
        actual: usize,
    },
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::InputTooShort { needed, available } => {
                write!(f, "input too short: {needed} bytes needed, {available} available")
            }
            Self::WidthOutOfRange { width, max } => write!(f, "bit width {width} is over the maximum of {max}"),
            Self::IndexOutOfRange { index, len } => {
                write!(f, "dictionary index {index} is out of range for a dictionary of {len} entries")
            }
            Self::NegativeLength { position } => write!(f, "negative length at value {position}"),
            Self::OffsetOverflow { position } => write!(f, "offset overflow at value {position}"),
            Self::PrefixTooLong { position } => {
                write!(f, "prefix at value {position} is longer than the value before it")
            }
            Self::Malformed { what } => write!(f, "malformed {what}"),
            Self::LengthMismatch { expected, actual } => write!(f, "expected {expected} elements, got {actual}"),
        }
    }
}

impl std::error::Error for KernelError {}
