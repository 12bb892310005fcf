//! A validity bitmap under construction.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use lath_kernels::select;

use crate::error::Result;

/// Bits appended so far, LSB first, one per slot; a set bit means valid.
#[derive(Debug, Default)]
pub(crate) struct Validity {
    bits: Vec<u8>,
    len: usize,
    null_count: usize,
}

impl Validity {
    /// Makes space for `count` more bits and returns the bitmap with the position of the first new bit. The caller writes the new
    /// bits, then calls [`Validity::advance`].
    pub(crate) fn room(&mut self, count: usize) -> (&mut [u8], usize) {
        let bytes = (self.len + count).div_ceil(8);
        if bytes > self.bits.len() {
            self.bits.resize(bytes, 0);
        }
        (&mut self.bits, self.len)
    }

    /// Adds the `count` bits written after [`Validity::room`], of which `valid_count` are set.
    pub(crate) fn advance(&mut self, count: usize, valid_count: usize) {
        self.len += count;
        self.null_count += count - valid_count;
    }

    /// Appends `count` set bits.
    pub(crate) fn append_valid(&mut self, count: usize) -> Result<()> {
        let (bits, at) = self.room(count);
        select::fill_bits(bits, at, count, true)?;
        self.advance(count, count);
        Ok(())
    }

    /// Clears the bits, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bits.clear();
        self.len = 0;
        self.null_count = 0;
    }

    /// The bitmap so far.
    pub(crate) fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// Returns the bitmap, `None` if every bit is set, and begins an empty one.
    pub(crate) fn finish(&mut self) -> Option<NullBuffer> {
        let Self { bits, len, null_count } = std::mem::take(self);
        if null_count == 0 {
            self.bits = bits;
            self.bits.clear();
            return None;
        }
        Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, len)))
    }
}
