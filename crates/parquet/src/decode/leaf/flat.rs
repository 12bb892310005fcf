//! Leaves without repetition: an entry is a row.

use arrow_buffer::bit_iterator::BitIndexIterator;
use lath_kernels::{levels, select};

use super::masks::{Masks, clear_tail, decode_levels_and_bits, zeroed};
use super::{LEVEL_CHUNK, LeafReader};
use crate::decode::page_values::Slots;
use crate::error::Result;

impl LeafReader {
    /// Appends to the batch the rows among the next `row_count` whose bits are set in `selection`, from bit `at` on.
    pub(crate) fn append_selected(&mut self, mut row_count: usize, selection: &[u64], mut at: usize) -> Result<()> {
        while row_count > 0 {
            if self.page_remaining == 0 && !self.next_page()? {
                return Err(self.ends_early(row_count));
            }
            let n = row_count.min(self.page_remaining);
            self.select_flat(n, selection, at).map_err(|error| {
                let selected = BitIndexIterator::new(bytemuck::cast_slice(selection), at, n);
                self.locate(error, |slot| selected.map(|row| row as u64).nth(slot as usize).unwrap_or(0))
            })?;
            self.page_remaining -= n;
            self.row += n as u64;
            row_count -= n;
            at += n;
        }
        Ok(())
    }

    fn select_flat(&mut self, n: usize, selection: &[u64], at: usize) -> Result<()> {
        let words = n.div_ceil(64);
        let Masks { slots, valid, values } = &mut self.masks;
        let wanted = zeroed(slots, words);
        match selection.get(at / 64..).and_then(|rest| rest.get(..words)).filter(|_| at.is_multiple_of(64)) {
            Some(selection) => {
                wanted.copy_from_slice(selection);
                clear_tail(wanted, n);
            }
            None => select::copy_bits(bytemuck::cast_slice(selection), at, bytemuck::cast_slice_mut(wanted), 0, n)?,
        }
        let count = levels::count(wanted);
        let Some(decoder) = self.def_decoder.as_mut().filter(|_| self.leaf.max_def_level > 0) else {
            return self.values.append_selected(n, wanted, Slots::all_valid(count));
        };
        let valid = zeroed(valid, words);
        let value_count = decoder.decode_bits(bytemuck::cast_slice_mut(valid), 0, n)?;
        if value_count == n {
            self.validity.append_valid(count)?;
            return self.values.append_selected(n, wanted, Slots::all_valid(count));
        }
        let (valid, wanted): (&[u8], &[u8]) = (bytemuck::cast_slice(valid), bytemuck::cast_slice(wanted));
        let of_values = zeroed(values, value_count.div_ceil(64));
        select::compress_bits(wanted, 0, valid, 0, n, bytemuck::cast_slice_mut(of_values), 0)?;
        let kept_count = levels::count(of_values);
        let (bits, at) = self.validity.room(count);
        select::compress_bits(valid, 0, wanted, 0, n, bits, at)?;
        self.validity.advance(count, kept_count);
        let validity = (kept_count < count).then_some((self.validity.bits(), at));
        self.values.append_selected(value_count, of_values, Slots { count, value_count: kept_count, validity })
    }

    /// Columns without repetition: an entry is a row.
    pub(super) fn walk_flat(&mut self, mut row_count: usize, keep: bool) -> Result<()> {
        while row_count > 0 {
            if self.page_remaining == 0 && !keep {
                row_count = self.skip_pages(row_count)?;
                if row_count == 0 {
                    return Ok(());
                }
            }
            if self.page_remaining == 0 && !self.next_page()? {
                return Err(self.ends_early(row_count));
            }
            let n = row_count.min(self.page_remaining);
            let result = if keep { self.append_flat(n) } else { self.skip_flat(n) };
            result.map_err(|error| self.locate(error, |slot| slot))?;
            self.page_remaining -= n;
            self.row += n as u64;
            row_count -= n;
        }
        Ok(())
    }

    fn append_flat(&mut self, n: usize) -> Result<()> {
        let Some(decoder) = self.def_decoder.as_mut().filter(|_| self.leaf.max_def_level > 0) else {
            if self.keep_levels {
                self.batch.def.resize(self.batch.def.len() + n, 0);
            }
            return self.values.append(Slots::all_valid(n));
        };
        let (bits, at) = self.validity.room(n);
        let value_count = if self.keep_levels {
            let start = self.batch.def.len();
            self.batch.def.resize(start + n, 0);
            let levels = &mut self.batch.def[start..];
            let max_def_level = self.leaf.max_def_level;
            decode_levels_and_bits(decoder, levels, max_def_level, &mut self.masks.valid, bits, at)?
        } else {
            decoder.decode_bits(bits, at, n)?
        };
        self.validity.advance(n, value_count);
        if value_count == n {
            return self.values.append(Slots::all_valid(n));
        }
        self.values.append(Slots { count: n, value_count, validity: Some((self.validity.bits(), at)) })
    }

    fn skip_flat(&mut self, n: usize) -> Result<()> {
        let value_count = match self.def_decoder.as_mut().filter(|_| self.leaf.max_def_level > 0) {
            None => n,
            Some(decoder) => {
                let mut chunk = [0u8; LEVEL_CHUNK];
                let mut value_count = 0;
                let mut done = 0;
                while done < n {
                    let chunk = &mut chunk[..(n - done).min(LEVEL_CHUNK)];
                    decoder.decode(chunk)?;
                    value_count += chunk.iter().filter(|&&level| level == self.leaf.max_def_level).count();
                    done += chunk.len();
                }
                value_count
            }
        };
        self.values.skip(value_count)
    }
}
