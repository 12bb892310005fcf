//! Leaves with repetition: a row is an entry of repetition level 0 and all entries up to the next such entry.

use std::ops::Range;

use lath_kernels::levels;

use super::masks::resized;
use super::{LEVEL_CHUNK, LeafReader};
use crate::decode::page_values::Slots;
use crate::error::{Error, Result};

/// Decoded level entries that are not assigned to a batch yet.
#[derive(Debug, Default)]
pub(super) struct LevelChunk {
    pub(super) def: Vec<u8>,
    pub(super) rep: Vec<u8>,
    pub(super) position: usize,
}

impl LeafReader {
    /// Columns with repetition: a row is an entry of repetition level 0 and all entries up to the next such entry.
    pub(super) fn walk_repeated(&mut self, mut row_count: usize, keep: bool) -> Result<()> {
        // The previous row ends only when the next entry begins a new one; the entries it had left were taken then.
        while row_count > 0 || self.row_begun {
            if self.chunk.position == self.chunk.rep.len() {
                if self.page_remaining == 0 && !keep {
                    row_count = self.skip_pages(row_count)?;
                }
                if !self.fill_chunk()? {
                    if row_count == 0 {
                        self.row_begun = false;
                        return Ok(());
                    }
                    return Err(self.ends_early(row_count));
                }
            }
            if !self.row_begun && self.chunk.rep[self.chunk.position] > 0 {
                let error = Error::corrupt("a column chunk that begins with a repetition level above 0");
                return Err(self.pages.locate(error));
            }
            let (taken, begun) = self.rows_ahead(row_count)?;
            row_count -= begun;
            self.row_begun |= begun > 0;
            if taken > 0 {
                let range = self.chunk.position..self.chunk.position + taken;
                let result = if keep { self.append_repeated(range.clone()) } else { self.skip_repeated(range.clone()) };
                result.map_err(|error| self.locate(error, |slot| self.row_of_slot(range, slot)))?;
                self.chunk.position += taken;
                self.row += begun as u64;
            }
            if row_count == 0 && self.chunk.position < self.chunk.rep.len() {
                self.row_begun = false;
            }
        }
        Ok(())
    }

    /// Number of decoded entries that belong to the current row and the next `row_count`, and number of rows that begin there.
    fn rows_ahead(&mut self, row_count: usize) -> Result<(usize, usize)> {
        let rep = &self.chunk.rep[self.chunk.position..];
        let mask = resized(&mut self.masks.slots, rep.len().div_ceil(64));
        levels::eq_mask(rep, 0, mask)?;
        match levels::nth_set(mask, row_count) {
            Some(end) => Ok((end, row_count)),
            None => Ok((rep.len(), levels::count(mask))),
        }
    }

    /// The row of a slot, counted among the slots of some entries of the chunk, as a number of rows after `row`; the row that was
    /// begun before is -1.
    fn row_of_slot(&self, entries: Range<usize>, slot: u64) -> u64 {
        let (def, rep) = (&self.chunk.def[entries.clone()], &self.chunk.rep[entries]);
        let is_slot = |&entry: &usize| def.get(entry).is_none_or(|&level| level >= self.slot_def_level);
        let entry = (0..rep.len()).filter(is_slot).nth(slot as usize).unwrap_or(0);
        let begun = rep.iter().take(entry + 1).filter(|&&level| level == 0).count();
        (begun as u64).wrapping_sub(1)
    }

    fn append_repeated(&mut self, range: Range<usize>) -> Result<()> {
        let def = &self.chunk.def[range.clone()];
        let words = def.len().div_ceil(64);
        let slots = resized(&mut self.masks.slots, words);
        levels::ge_mask(def, self.slot_def_level, slots)?;
        let slot_count = levels::count(slots);
        self.slot_count += slot_count;
        if self.slot_count > self.max_slots {
            let needed = self.slot_count as u64;
            return Err(Error::limit("elements of a batch (limit batch_elements)", self.max_slots as u64, needed));
        }
        self.batch.def.extend_from_slice(def);
        self.batch.rep.extend_from_slice(&self.chunk.rep[range]);
        if self.leaf.max_def_level == self.slot_def_level {
            self.validity.append_valid(slot_count)?;
            return self.values.append(Slots::all_valid(slot_count));
        }
        let valid = resized(&mut self.masks.valid, words);
        levels::ge_mask(def, self.leaf.max_def_level, valid)?;
        let value_count = levels::count(valid);
        let (bits, at) = self.validity.room(slot_count);
        levels::extract(valid, slots, bits, at)?;
        self.validity.advance(slot_count, value_count);
        if value_count == slot_count {
            return self.values.append(Slots::all_valid(slot_count));
        }
        self.values.append(Slots { count: slot_count, value_count, validity: Some((self.validity.bits(), at)) })
    }

    fn skip_repeated(&mut self, range: Range<usize>) -> Result<()> {
        let max = self.leaf.max_def_level;
        self.values.skip(self.chunk.def[range].iter().filter(|&&level| level == max).count())
    }

    /// Decodes the next levels; false at the end of the chunk.
    fn fill_chunk(&mut self) -> Result<bool> {
        if self.page_remaining == 0 && !self.next_page()? {
            return Ok(false);
        }
        let n = self.page_remaining.min(LEVEL_CHUNK);
        let LevelChunk { def, rep, position } = &mut self.chunk;
        def.resize(n, 0);
        rep.resize(n, 0);
        *position = 0;
        for (decoder, out) in [(&mut self.rep_decoder, rep), (&mut self.def_decoder, def)] {
            if let Some(decoder) = decoder {
                decoder.decode(out).map_err(|error| self.pages.locate(error))?;
            }
        }
        self.page_remaining -= n;
        Ok(true)
    }
}
