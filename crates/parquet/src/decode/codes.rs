//! Rows of a dictionary-encoded column as indices into its dictionary.

use std::ops::Range;

use lath_kernels::{levels, select};

use super::bitmap::Validity;
use crate::error::Result;

/// The dictionary indices of some rows of a leaf without repetition.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    /// An index for every row that is not null; entries after the first `key_count` are from an earlier use.
    keys: Vec<u32>,
    key_count: usize,
    /// The rows that are not null; empty for a required leaf.
    pub(super) validity: Validity,
    /// Definition level of every row; empty unless the reader keeps levels.
    pub(crate) def_levels: Vec<u8>,
    pub(crate) row_count: usize,
    /// Places of the rows in their row group.
    ranges: Vec<Range<u64>>,
}

impl Codes {
    /// Clears the rows, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.key_count = 0;
        self.validity.clear();
        self.def_levels.clear();
        self.row_count = 0;
        self.ranges.clear();
    }

    /// Counts `count` more rows, which begin at `start` of their row group.
    pub(super) fn advance(&mut self, start: u64, count: usize) {
        self.row_count += count;
        let end = start + count as u64;
        match self.ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => self.ranges.push(start..end),
        }
    }

    /// The number within the row group of the row at `index`.
    pub(super) fn row(&self, mut index: u64) -> u64 {
        for range in &self.ranges {
            let len = range.end - range.start;
            if index < len {
                return range.start + index;
            }
            index -= len;
        }
        index
    }

    /// An index for every row that is not null.
    pub(crate) fn keys(&self) -> &[u32] {
        &self.keys[..self.key_count]
    }

    /// Space for the indices of more rows.
    pub(super) fn grow(&mut self, count: usize) -> &mut [u32] {
        let start = self.key_count;
        self.key_count += count;
        if self.key_count > self.keys.len() {
            self.keys.resize(self.key_count, 0);
        }
        &mut self.keys[start..self.key_count]
    }

    /// Bitmap of the rows that are not null; `None` if all are.
    pub(crate) fn nulls(&self) -> Option<&[u8]> {
        (self.key_count < self.row_count).then(|| self.validity.bits())
    }

    /// The rows with a bit in `selection`.
    pub(super) fn select(&self, selection: &[u64]) -> Result<Self> {
        let mut chosen = Self { row_count: levels::count(selection), ..Self::default() };
        let bytes: &[u8] = bytemuck::cast_slice(selection);
        if !self.def_levels.is_empty() {
            chosen.def_levels.resize(chosen.row_count, 0);
            select::compress_u8(&self.def_levels, bytes, 0, &mut chosen.def_levels)?;
        }
        let Some(valid) = self.nulls() else {
            let count = chosen.row_count;
            select::compress_u32(self.keys(), bytes, 0, chosen.grow(count))?;
            if !self.validity.bits().is_empty() {
                chosen.validity.append_valid(chosen.row_count)?;
            }
            return Ok(chosen);
        };
        // The selected rows among the rows that are not null.
        let mut of_values = vec![0; self.key_count.div_ceil(8)];
        select::compress_bits(bytes, 0, valid, 0, self.row_count, &mut of_values, 0)?;
        let value_count = select::count_ones(&of_values, 0, self.key_count)?;
        select::compress_u32(self.keys(), &of_values, 0, chosen.grow(value_count))?;
        let (bits, at) = chosen.validity.room(chosen.row_count);
        select::compress_bits(valid, 0, bytes, 0, self.row_count, bits, at)?;
        chosen.validity.advance(chosen.row_count, value_count);
        Ok(chosen)
    }
}
