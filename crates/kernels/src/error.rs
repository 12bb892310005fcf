use std::fmt;

/// Why a kernel refused its input. Nothing is promised about the contents of output slices after an error.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelError {
    /// The input ends before the values asked for.
    InputTooShort {
        /// Bytes that the values asked for take up.
        needed: usize,
        /// Bytes that the input has.
        available: usize,
    },
    /// A bit width that the element type cannot hold.
    WidthOutOfRange {
        /// The width asked for, in bits.
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
        /// What is wrong, as a noun phrase.
        what: &'static str,
    },
    /// Two slices whose lengths have to agree do not.
    LengthMismatch {
        /// Length that the contract asks for.
        expected: usize,
        /// Length that was given.
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
