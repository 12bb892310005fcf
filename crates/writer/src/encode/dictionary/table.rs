//! Growing tables of distinct values.

use lath_kernels::ByteStrings;
use lath_kernels::dictionary::Number;
use lath_kernels::dictionary::{NumberSlot, Numbers, SLACK, StringSlot, Strings as StringTable, slot_count};
use lath_parquet::Result;

/// Initial capacity of a table: its slots stay in the first-level cache.
const FIRST_CAPACITY: usize = 256;

/// Factor by which a full table grows.
const GROWTH: usize = 4;

/// Maximum slots of a table; a chunk with more values does not need a dictionary.
const MAX_SLOTS: usize = 1 << 28;

/// Distinct numbers in the order of their codes.
#[derive(Debug)]
pub(super) struct NumberMemory<T> {
    slots: Vec<NumberSlot<T>>,
    entries: Vec<T>,
    len: usize,
}

impl<T: Number + bytemuck::Pod> NumberMemory<T> {
    pub(super) fn new() -> Self {
        let slots = vec![NumberSlot::EMPTY; slot_count(FIRST_CAPACITY)];
        Self { slots, entries: vec![T::zeroed(); FIRST_CAPACITY], len: 0 }
    }

    pub(super) fn entries(&self) -> &[T] {
        &self.entries[..self.len]
    }

    /// Bytes of memory.
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity() * size_of::<NumberSlot<T>>() + self.entries.capacity() * size_of::<T>()
    }

    /// Clears the table. The memory stays allocated, but only the initial number of slots is cleared.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.slots.truncate(slot_count(FIRST_CAPACITY));
        self.entries.truncate(FIRST_CAPACITY);
        self.len = Numbers::new(&mut self.slots, &mut self.entries)?.len();
        Ok(())
    }

    /// Writes the code of each value; returns false if there are too many distinct values, or values that all hash alike.
    pub(super) fn intern(&mut self, values: &[T], codes: &mut [u32]) -> Result<bool> {
        if self.len == 0 {
            self.clear()?;
        }
        let mut done = 0;
        while done < values.len() {
            let mut table = Numbers::resume(&mut self.slots, &mut self.entries, self.len)?;
            done += table.intern(&values[done..], &mut codes[done..])?;
            self.len = table.len();
            if done < values.len() && !self.grow() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn grow(&mut self) -> bool {
        // A table that is far from full has met values that hash alike.
        if self.slots.len() * GROWTH > MAX_SLOTS || self.len < self.entries.len() / GROWTH {
            return false;
        }
        self.slots.resize(self.slots.len() * GROWTH, NumberSlot::EMPTY);
        self.entries.resize(self.entries.len() * GROWTH, T::zeroed());
        Numbers::rebuild(&mut self.slots, &mut self.entries, self.len).is_ok()
    }
}

/// Distinct byte strings in the order of their codes, as the body of a PLAIN page.
#[derive(Debug)]
pub(super) struct StringMemory {
    slots: Vec<StringSlot>,
    page: Vec<u8>,
    len: usize,
    page_len: usize,
    /// Position of each string's length in the page.
    starts: Vec<u32>,
}

impl StringMemory {
    pub(super) fn new() -> Self {
        let slots = vec![StringSlot::EMPTY; slot_count(FIRST_CAPACITY)];
        Self { slots, page: vec![0; 64 * FIRST_CAPACITY + SLACK], len: 0, page_len: 0, starts: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn page(&self) -> &[u8] {
        &self.page[..self.page_len]
    }

    pub(super) fn get(&self, code: usize) -> &[u8] {
        let start = self.starts[code] as usize + 4;
        let end = self.starts.get(code + 1).map_or(self.page_len, |next| *next as usize);
        &self.page[start..end]
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity() * size_of::<StringSlot>()
            + self.page.capacity()
            + self.starts.capacity() * size_of::<u32>()
    }

    pub(super) fn clear(&mut self) -> Result<()> {
        self.starts.clear();
        (self.len, self.page_len) = (0, 0);
        self.slots.truncate(slot_count(FIRST_CAPACITY));
        StringTable::new(&mut self.slots, &mut self.page)?;
        Ok(())
    }

    /// Writes the code of each string; returns false as for numbers.
    pub(super) fn intern(&mut self, strings: ByteStrings<'_>, codes: &mut [u32]) -> Result<bool> {
        if self.len == 0 {
            self.clear()?;
        }
        let mut done = 0;
        while done < codes.len() {
            let mut table = StringTable::resume(&mut self.slots, &mut self.page, self.len, self.page_len)?;
            done += table.intern(strings, done, &mut codes[done..])?;
            (self.len, self.page_len) = (table.len(), table.page().len());
            if done < codes.len() && !self.grow(strings.slice(done, 1)?) {
                self.find_starts();
                return Ok(false);
            }
        }
        self.find_starts();
        Ok(true)
    }

    /// Makes space for `next` and more.
    fn grow(&mut self, next: ByteStrings<'_>) -> bool {
        if self.len == self.slots.len() / GROWTH {
            if self.slots.len() * GROWTH > MAX_SLOTS {
                return false;
            }
            self.slots.resize(self.slots.len() * GROWTH, StringSlot::EMPTY);
            return StringTable::rebuild(&mut self.slots, &mut self.page, self.len, self.page_len).is_ok();
        }
        let next_len = match next {
            ByteStrings::Fixed { width, .. } => width,
            ByteStrings::Offsets32 { offsets, .. } => {
                offsets.last().zip(offsets.first()).map_or(0, |(b, a)| (b - a) as usize)
            }
            ByteStrings::Offsets64 { offsets, .. } => {
                offsets.last().zip(offsets.first()).map_or(0, |(b, a)| (b - a) as usize)
            }
            ByteStrings::Views { views, .. } => views.first().map_or(0, |view| *view as u32 as usize),
            _ => return false,
        };
        let needed = self.page_len + 4 + next_len + SLACK;
        if needed <= self.page.len() || needed > i32::MAX as usize {
            // There is space, but too many strings have this hash; or there will never be space.
            return false;
        }
        self.page.resize(needed.max(GROWTH * self.page.len()).min(i32::MAX as usize), 0);
        true
    }

    /// Finds the starts of the strings that the page has gained.
    fn find_starts(&mut self) {
        let mut at = match self.starts.last() {
            Some(&start) => start as usize + 4 + self.len_at(start as usize),
            None => 0,
        };
        while at < self.page_len {
            self.starts.push(at as u32);
            at += 4 + self.len_at(at);
        }
    }

    fn len_at(&self, at: usize) -> usize {
        let len = self.page.get(at..at + 4).and_then(|len| len.first_chunk::<4>());
        len.map_or(0, |len| u32::from_le_bytes(*len) as usize)
    }
}
