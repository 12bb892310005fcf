use lath_kernels::{levels, rle};
use lath_parquet::Result;

/// The levels of one kind of a growing page.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    max_level: u8,
    /// Levels after the first `full`, which are all at the maximum.
    levels: Vec<u8>,
    full: usize,
    encoded: Vec<u8>,
}

impl Levels {
    pub(crate) fn new(max_level: u8) -> Self {
        Self { max_level, ..Self::default() }
    }

    pub(crate) fn append(&mut self, levels: &[u8]) {
        self.levels.extend_from_slice(levels);
    }

    /// Appends `count` levels at the maximum.
    pub(crate) fn append_full(&mut self, count: usize) {
        if self.levels.is_empty() {
            self.full += count;
        } else {
            self.levels.resize(self.levels.len() + count, self.max_level);
        }
    }

    /// Bytes held.
    pub(crate) fn capacity(&self) -> usize {
        self.levels.capacity() + self.encoded.capacity()
    }

    /// Adds the occurrences of each level to `histogram`, unless it is empty.
    pub(crate) fn count(&self, histogram: &mut [i64]) -> Result<()> {
        let Some(at_maximum) = histogram.get_mut(usize::from(self.max_level)) else { return Ok(()) };
        *at_maximum += self.full as i64;
        Ok(levels::histogram(&self.levels, histogram)?)
    }

    /// The levels in the RLE/bit-packing hybrid; `None` if the maximum level is 0.
    pub(crate) fn encode(&mut self) -> Result<Option<&[u8]>> {
        if self.max_level == 0 {
            return Ok(None);
        }
        if self.full > 0 && !self.levels.is_empty() {
            let count = self.levels.len();
            self.levels.resize(count + self.full, self.max_level);
            self.levels.copy_within(..count, self.full);
            self.levels[..self.full].fill(self.max_level);
            self.full = 0;
        }
        let width = u8::BITS - self.max_level.leading_zeros();
        let room = rle::max_encoded_len(self.levels.len(), width).max(16);
        if self.encoded.len() < room {
            self.encoded.resize(room, 0);
        }
        let len = if self.full > 0 {
            one_run(self.full, self.max_level, &mut self.encoded)
        } else {
            rle::encode_u8(&self.levels, width, &mut self.encoded)?
        };
        Ok(Some(&self.encoded[..len]))
    }

    pub(crate) fn clear(&mut self) {
        self.levels.clear();
        self.full = 0;
    }
}

/// A repeated run: twice its length as ULEB128, then its level in one byte.
fn one_run(count: usize, level: u8, out: &mut [u8]) -> usize {
    let (mut header, mut at) = (count << 1, 0);
    while header >= 0x80 {
        out[at] = header as u8 | 0x80;
        header >>= 7;
        at += 1;
    }
    out[at] = header as u8;
    out[at + 1] = level;
    at + 2
}
