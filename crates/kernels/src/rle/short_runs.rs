//! Headers of short runs, read without a branch that depends on their kind.

/// What the headers of a width have in common.
pub(super) struct ShortRuns {
    width: u32,
    /// Bytes of a repeated value.
    value_bytes: usize,
    /// The bits of those bytes.
    stored: u64,
}

/// A run of at most 32 values and a header of one byte.
pub(super) struct ShortRun {
    /// Number of values.
    pub(super) length: usize,
    /// Bytes of the header and the payload.
    pub(super) bytes: usize,
    /// All ones if the run is bit-packed, else zero.
    pub(super) packed_mask: u32,
    /// The repeated value, zero if the run is bit-packed.
    pub(super) value: u32,
}

impl ShortRuns {
    #[inline(always)]
    pub(super) fn new(width: u32) -> Self {
        let value_bytes = width.div_ceil(8);
        Self { width, value_bytes: value_bytes as usize, stored: (1 << (8 * value_bytes)) - 1 }
    }

    /// The run that `word` begins with; none if it is longer, or its value too wide.
    #[inline(always)]
    pub(super) fn parse(&self, word: u64) -> Option<ShortRun> {
        let header = word & 0xff;
        let packed_mask = (header & 1).wrapping_neg();
        let units = (header >> 1) as usize;
        let length = units << ((header & 1) * 3);
        let value = (word >> 8) & self.stored & !packed_mask;
        // A header of more bytes has a length over 32 in its first byte's bits.
        if length > 32 || value >> self.width != 0 {
            return None;
        }
        let packed_bytes = units * self.width as usize;
        let bytes = 1 + if header & 1 == 1 { packed_bytes } else { self.value_bytes };
        Some(ShortRun { length, bytes, packed_mask: packed_mask as u32, value: value as u32 })
    }
}
