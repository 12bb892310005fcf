//! The untyped values of a data page, and the slots for them.

use arrow_buffer::Buffer;
use arrow_buffer::bit_iterator::BitIndexIterator;
use lath_kernels::rle;

use crate::error::{Error, Result};
use crate::page::Encoding;

/// Number of dictionary indices, and of values before conversion, that are decoded at a time: a chunk stays in the first-level
/// cache.
pub(super) const INDEX_CHUNK: usize = 1024;

/// The value bytes of a data page, without levels.
#[derive(Debug)]
pub(crate) struct EncodedValues {
    pub(crate) encoding: Encoding,
    pub(crate) bytes: Buffer,
}

/// The bytes of a page whose decoding has not begun, in an encoding where the bytes of each value are contiguous.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchablePage<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether each value is preceded by a length of four bytes; otherwise nothing is between values.
    pub(crate) has_lengths: bool,
}

/// Slots to be appended to a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots<'a> {
    /// Number of slots.
    pub(crate) count: usize,
    /// Number of valid slots, which is the number of values to take from the page.
    pub(crate) value_count: usize,
    /// Bitmap of the valid slots, and its first bit; `None` if all are valid.
    pub(crate) validity: Option<(&'a [u8], usize)>,
}

impl Slots<'_> {
    /// Slots that are all valid.
    pub(crate) fn all_valid(count: usize) -> Self {
        Self { count, value_count: count, validity: None }
    }

    /// The error with its row changed from a number of values to the slot of the value.
    pub(super) fn locate(&self, error: Error) -> Error {
        let Some((bits, at)) = self.validity else { return error };
        error.map_row(|value| {
            let valid = BitIndexIterator::new(bits, at, self.count);
            valid.map(|slot| slot as u64).nth(value as usize).unwrap_or(value)
        })
    }
}

/// The dictionary indices of a page that are not decoded yet.
#[derive(Debug)]
pub(super) struct DictionaryIndices {
    pub(super) src: Buffer,
    pub(super) runs: rle::Decoder,
}

impl DictionaryIndices {
    /// The indices in the values of a dictionary-encoded page: their bit width in a byte, then the runs.
    pub(super) fn new(values: &Buffer) -> Result<Self> {
        let width = *values.first().ok_or_else(|| Error::corrupt("a dictionary-encoded page without its bit width"))?;
        if width > 32 {
            return Err(Error::corrupt(format!("dictionary indices of {width} bits")));
        }
        Ok(Self { runs: rle::Decoder::new(u32::from(width))?, src: values.slice(1) })
    }

    /// Decodes indices until `out` is full, without checking them against the dictionary.
    pub(super) fn decode(&mut self, out: &mut [u32]) -> Result<()> {
        if self.runs.decode_u32(&self.src, out)? < out.len() { Err(values_missing()) } else { Ok(()) }
    }

    /// Skips `count` indices.
    pub(super) fn skip(&mut self, count: usize) -> Result<()> {
        if self.runs.skip(&self.src, count)? < count { Err(values_missing()) } else { Ok(()) }
    }
}

pub(super) fn values_missing() -> Error {
    Error::corrupt("the page ends before its values do")
}
