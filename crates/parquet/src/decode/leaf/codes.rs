//! Reads rows as dictionary indices, for predicates that are evaluated on the dictionary.

use arrow_buffer::bit_iterator::BitIndexIterator;
use lath_kernels::select;

use super::LeafReader;
use super::masks::decode_levels_and_bits;
use crate::decode::codes::Codes;
use crate::decode::page_values::Slots;
use crate::error::Result;

impl LeafReader {
    /// Whether [`LeafReader::read_codes`] can read rows from pages of the chunk.
    pub(crate) fn can_read_codes(&self) -> bool {
        self.leaf.max_rep_level == 0 && self.values.can_hold_codes()
    }

    /// Appends the dictionary indices of the next `row_count` rows to `codes`, up to the first page that has values instead, if
    /// the leaf has no repetition. Returns the number of rows read.
    pub(crate) fn read_codes(&mut self, row_count: usize, codes: &mut Codes) -> Result<usize> {
        let mut done = 0;
        while done < row_count && self.leaf.max_rep_level == 0 {
            if self.page_remaining == 0 && !self.next_page()? {
                return Err(self.ends_early(row_count - done));
            }
            if !self.values.holds_codes() {
                break;
            }
            let n = (row_count - done).min(self.page_remaining);
            self.codes_of_page(n, codes).map_err(|error| self.pages.locate(error))?;
            self.page_remaining -= n;
            self.row += n as u64;
            done += n;
        }
        Ok(done)
    }

    fn codes_of_page(&mut self, n: usize, codes: &mut Codes) -> Result<()> {
        let value_count = match self.def_decoder.as_mut().filter(|_| self.leaf.max_def_level > 0) {
            None => {
                if self.keep_levels {
                    codes.def_levels.resize(codes.def_levels.len() + n, 0);
                }
                n
            }
            Some(decoder) => {
                let (bits, at) = codes.validity.room(n);
                let value_count = if self.keep_levels {
                    let start = codes.def_levels.len();
                    codes.def_levels.resize(start + n, 0);
                    let levels = &mut codes.def_levels[start..];
                    decode_levels_and_bits(decoder, levels, self.leaf.max_def_level, &mut self.masks.valid, bits, at)?
                } else {
                    decoder.decode_bits(bits, at, n)?
                };
                codes.validity.advance(n, value_count);
                value_count
            }
        };
        codes.advance(self.row, n);
        self.values.decode_codes(codes.grow(value_count))
    }

    /// Appends to the batch the values of the rows of `codes` whose bits are set in `selection`, or of all.
    pub(crate) fn append_codes(&mut self, codes: &Codes, selection: Option<&[u64]>) -> Result<()> {
        let all = codes;
        let chosen;
        let codes = match selection {
            Some(selection) => {
                chosen = codes.select(selection)?;
                &chosen
            }
            None => codes,
        };
        self.batch.def.extend_from_slice(&codes.def_levels);
        let (n, keys) = (codes.row_count, codes.keys());
        let result = if self.leaf.max_def_level == 0 {
            self.values.append_codes(keys, Slots::all_valid(n))
        } else {
            let (bits, at) = self.validity.room(n);
            select::copy_bits(codes.validity.bits(), 0, bits, at, n)?;
            self.validity.advance(n, keys.len());
            let validity = (keys.len() < n).then_some((self.validity.bits(), at));
            self.values.append_codes(keys, Slots { count: n, value_count: keys.len(), validity })
        };
        result.map_err(|error| {
            let error = error.map_row(|slot| match selection {
                Some(selection) => {
                    let selected = BitIndexIterator::new(bytemuck::cast_slice(selection), 0, all.row_count);
                    all.row(selected.map(|row| row as u64).nth(slot as usize).unwrap_or(slot))
                }
                None => all.row(slot),
            });
            self.pages.locate(error)
        })
    }
}
