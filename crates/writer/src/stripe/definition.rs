//! Definition levels of slots.

use arrow_buffer::{BooleanBuffer, NullBuffer};
use lath_parquet::Result;

use super::too_deep;

/// The level of an entry that continues below the innermost list: greater than every definition level.
pub(super) const LIVE: u8 = u8::MAX;

/// The definition levels of slots, as validity bitmaps.
#[derive(Debug, Clone, Default)]
pub(super) struct Definition {
    /// Level of a slot that is null at the first step.
    floor: u8,
    /// Nullable nodes in which some slot is null, from the outside in: each bitmap is within the one before it. The number is the
    /// number of levels that a valid slot gains.
    steps: Vec<(NullBuffer, u8)>,
    /// Level of a slot that is not null anywhere.
    deepest: u8,
}

impl Definition {
    /// Enters a nullable node.
    pub(super) fn optional(&mut self, nulls: Option<&NullBuffer>) -> Result<()> {
        self.deepen()?;
        match (self.steps.last_mut(), nulls) {
            (None, None) => self.floor += 1,
            (Some((_, gain)), None) => *gain += 1,
            (above, Some(nulls)) => {
                let valid = NullBuffer::union(above.map(|(valid, _)| &*valid), Some(nulls));
                self.steps.extend(valid.map(|valid| (valid, 1)));
            }
        }
        Ok(())
    }

    /// Goes from lists to their elements.
    pub(super) fn into_elements(mut self) -> Result<Self> {
        self.deepen()?;
        Ok(Self { floor: self.deepest, steps: Vec::new(), deepest: self.deepest })
    }

    fn deepen(&mut self) -> Result<()> {
        self.deepest = self.deepest.checked_add(1).filter(|&level| level < LIVE).ok_or_else(too_deep)?;
        Ok(())
    }

    /// Whether a slot is null although nothing above it is.
    pub(super) fn is_broken_by(&self, nulls: &NullBuffer) -> bool {
        match self.present() {
            None => nulls.null_count() > 0,
            Some(valid) => {
                NullBuffer::union(Some(valid), Some(nulls)).map_or(0, |both| both.null_count()) > valid.null_count()
            }
        }
    }

    /// The slots that are not null; `None` if all are.
    pub(super) fn present(&self) -> Option<&NullBuffer> {
        self.steps.last().map(|(valid, _)| valid)
    }

    /// Level of a slot that is not null anywhere.
    pub(super) fn deepest(&self) -> u8 {
        self.deepest
    }

    /// The level of each slot; `None` if all have the deepest.
    pub(super) fn levels(&self) -> Option<Vec<u8>> {
        let (valid, _) = self.steps.first()?;
        let mut levels = vec![self.floor; valid.len()];
        for (valid, gain) in &self.steps {
            add_where_set(&mut levels, valid.inner(), *gain);
        }
        Some(levels)
    }
}

/// Adds `gain` to the levels whose bit is set. No sum exceeds a byte.
fn add_where_set(levels: &mut [u8], bits: &BooleanBuffer, gain: u8) {
    let chunks = bits.bit_chunks();
    let words = chunks.iter().chain(std::iter::once(chunks.remainder_bits()));
    for (block, word) in levels.chunks_mut(64).zip(words) {
        for (levels, byte) in block.chunks_mut(8).zip(word.to_le_bytes()) {
            let gains = spread(byte) * u64::from(gain);
            if let Ok(levels) = <&mut [u8; 8]>::try_from(&mut *levels) {
                *levels = (u64::from_le_bytes(*levels) + gains).to_le_bytes();
            } else {
                levels.iter_mut().zip(gains.to_le_bytes()).for_each(|(level, gain)| *level += gain);
            }
        }
    }
}

/// Bit `i` as byte `i`.
fn spread(byte: u8) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let alone = (u64::from(byte) * EACH) & 0x8040_2010_0804_0201;
    // A nonzero byte carries into its highest bit.
    ((alone + 0x7f * EACH) >> 7) & EACH
}
