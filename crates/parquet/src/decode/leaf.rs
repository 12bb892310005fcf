//! One leaf of one row group: rows in steps, arrays and levels out.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::bit_iterator::BitIndexIterator;
use arrow_schema::DataType;
use lath_kernels::{levels, select};

use super::aligned::AlignedBytes;
use super::batch::LeafBatch;
use super::bitmap::Validity;
use super::codes::Codes;
use super::levels::LevelDecoder;
use super::page_values::{EncodedValues, SearchablePage, Slots};
use super::values::ValueColumn;
use crate::error::{Error, Result};
use crate::page::{ChunkSpec, Page, PagePlaces, PageReader, PageSummary};
use crate::schema::Leaf;
use lath_source::ByteRanges;

/// Number of level entries that are decoded at a time to find the ends of rows. Not measured: both kinds of levels take 8 KiB, which
/// stays in the first-level cache.
const LEVEL_CHUNK: usize = 4096;

/// Reads one column chunk in steps of rows.
#[derive(Debug)]
pub(crate) struct LeafReader {
    pages: PageReader,
    leaf: Leaf,
    /// Definition level from which the leaf has a slot.
    slot_def_level: u8,
    keep_levels: bool,
    /// Bound on the slots of one batch, from the reader's limits.
    max_slots: usize,
    values: ValueColumn,
    validity: Validity,
    rep_decoder: Option<LevelDecoder>,
    def_decoder: Option<LevelDecoder>,
    /// Entries of the current page that are not decoded yet.
    page_remaining: usize,
    /// The next row of the row group; of a leaf with repetition, the rows that have begun.
    row: u64,
    chunk: LevelChunk,
    /// A row of this chunk has begun, so that an entry with repetition level above 0 has something to continue.
    row_begun: bool,
    batch: Levels,
    slot_count: usize,
    masks: Masks,
    /// Memory for the rows that are kept of a batch.
    kept: AlignedBytes,
}

/// Decoded level entries that are not assigned to a batch yet.
#[derive(Debug, Default)]
struct LevelChunk {
    def: Vec<u8>,
    rep: Vec<u8>,
    position: usize,
}

#[derive(Debug, Default)]
struct Levels {
    def: Vec<u8>,
    rep: Vec<u8>,
}

/// Scratch bitmaps for a run of entries.
#[derive(Debug, Default)]
struct Masks {
    slots: Vec<u64>,
    valid: Vec<u64>,
    values: Vec<u64>,
}

impl LeafReader {
    /// Reads `leaf` from `pages` as `data_type`. `slot_def_level` is the definition level from which the nearest
    /// repeated ancestor has an element; with `keep_levels` the levels come out beside the values, for nesting.
    pub(crate) fn new(
        pages: PageReader,
        leaf: &Leaf,
        data_type: &DataType,
        slot_def_level: u8,
        keep_levels: bool,
        max_slots: usize,
    ) -> Result<Self> {
        Ok(Self {
            values: ValueColumn::new(leaf, data_type).map_err(|error| pages.locate(error))?,
            pages,
            leaf: leaf.clone(),
            slot_def_level,
            keep_levels: keep_levels || leaf.max_def_level > 1 || leaf.max_rep_level > 0,
            max_slots,
            validity: Validity::default(),
            rep_decoder: None,
            def_decoder: None,
            page_remaining: 0,
            row: 0,
            chunk: LevelChunk::default(),
            row_begun: false,
            batch: Levels::default(),
            slot_count: 0,
            masks: Masks::default(),
            kept: AlignedBytes::default(),
        })
    }

    /// Restarts with the same leaf of another row group, keeping buffers.
    pub(crate) fn restart(&mut self, chunk: ChunkSpec) -> Result<()> {
        self.rewind();
        self.pages.restart(chunk)
    }

    /// Restarts with the same leaf of another file with the same schema, keeping buffers.
    pub(crate) fn restart_in_file(&mut self, source: Arc<dyn ByteRanges>, chunk: ChunkSpec) -> Result<()> {
        self.rewind();
        self.pages.restart_in_file(source, chunk)
    }

    /// Sets where pages are, so that skipping rows does not read the headers of the pages between.
    pub(crate) fn set_page_places(&mut self, places: Arc<PagePlaces>) {
        self.pages.set_places(places);
    }

    fn rewind(&mut self) {
        self.values.reset();
        self.page_remaining = 0;
        self.row = 0;
        self.chunk = LevelChunk::default();
        self.row_begun = false;
        self.batch = Levels::default();
        self.validity.clear();
        self.slot_count = 0;
    }

    /// Appends the next `row_count` rows to the batch.
    pub(crate) fn append(&mut self, row_count: usize) -> Result<()> {
        if self.leaf.max_rep_level > 0 {
            return self.walk_repeated(row_count, true);
        }
        self.walk_flat(row_count, true)
    }

    /// Whether [`LeafReader::append_selected`] is supported.
    pub(crate) fn can_select(&self) -> bool {
        self.leaf.max_rep_level == 0 && !self.keep_levels && self.values.can_select()
    }

    /// Whether the leaf's type cannot hold every value that may be stored.
    pub(crate) fn can_fail(&self) -> bool {
        self.values.can_fail()
    }

    /// Appends to the batch those of the next `row_count` rows whose bits are set in `selection`, from bit `at` on.
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

    /// Skips the next `row_count` rows.
    pub(crate) fn skip(&mut self, row_count: usize) -> Result<()> {
        if self.leaf.max_rep_level > 0 {
            return self.walk_repeated(row_count, false);
        }
        self.walk_flat(row_count, false)
    }

    /// Skips the next page without decoding it, if `has_no_match` is true for its bytes. Only between two pages, for a leaf
    /// without repetition, and for an encoding that a page can be searched in. Returns how many rows were skipped.
    pub(crate) fn skip_page_if(&mut self, has_no_match: impl FnOnce(SearchablePage<'_>) -> bool) -> Result<usize> {
        if self.leaf.max_rep_level > 0 || self.page_remaining == 0 && !self.next_page()? {
            return Ok(0);
        }
        if !self.values.searchable_page().is_some_and(has_no_match) {
            return Ok(0);
        }
        self.values.end_page();
        let skipped = std::mem::take(&mut self.page_remaining);
        self.row += skipped as u64;
        Ok(skipped)
    }

    /// Rows that are left of the page, of a leaf without repetition; `None` for one of dictionary indices, which is not searched.
    pub(crate) fn rows_of_page(&self) -> Option<usize> {
        (self.page_remaining > 0 && !self.values.holds_codes()).then_some(self.page_remaining)
    }

    /// Appends the dictionary indices of the next `row_count` rows to `codes`, up to the first page that holds values instead,
    /// if the leaf has no repetition. Returns how many rows it took.
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

    /// Appends to the batch the values of those rows of `codes` that `selection` has bits for, or of all.
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

    /// The dictionary of the chunk, once one of its pages was read, as an array of the leaf's type.
    pub(crate) fn dictionary(&mut self) -> Result<Option<ArrayRef>> {
        self.values.dictionary_values().map_err(|error| self.pages.locate(error))
    }

    /// The leaf that is read.
    pub(crate) fn leaf(&self) -> &Leaf {
        &self.leaf
    }

    /// Definition level from which the leaf has a slot.
    pub(crate) fn slot_def_level(&self) -> u8 {
        self.slot_def_level
    }

    /// Hands out the batch.
    pub(crate) fn finish(&mut self) -> Result<LeafBatch> {
        self.slot_count = 0;
        let nulls = self.validity.finish();
        let array = self.values.finish(nulls).map_err(|error| self.pages.locate(error))?;
        let Levels { def, rep } = std::mem::take(&mut self.batch);
        Ok(LeafBatch { array, def_levels: def, rep_levels: rep })
    }

    /// Those rows of a batch whose bits are set in `selection`, `count` of them, of a leaf without repetition; `filter` says the
    /// same.
    pub(crate) fn filter_flat(
        &mut self,
        batch: &LeafBatch,
        selection: &[u8],
        count: usize,
        filter: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
    ) -> Result<LeafBatch> {
        batch.filter_flat(selection, count, filter, &mut self.kept)
    }

    /// Columns without repetition: an entry is a row.
    fn walk_flat(&mut self, mut row_count: usize, keep: bool) -> Result<()> {
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

    /// Columns with repetition: a row is an entry of repetition level 0 and all entries up to the next such.
    fn walk_repeated(&mut self, mut row_count: usize, keep: bool) -> Result<()> {
        // The row before has ended only once the next entry is seen to begin one; entries left of it were taken then.
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

    /// How many of the decoded entries belong to the current row and the next `row_count`, and how many rows begin there.
    fn rows_ahead(&mut self, row_count: usize) -> Result<(usize, usize)> {
        let rep = &self.chunk.rep[self.chunk.position..];
        let mask = resized(&mut self.masks.slots, rep.len().div_ceil(64));
        levels::eq_mask(rep, 0, mask)?;
        match levels::nth_set(mask, row_count) {
            Some(end) => Ok((end, row_count)),
            None => Ok((rep.len(), levels::count(mask))),
        }
    }

    /// How many rows after `row` the row of a slot begins, counted among the slots of some entries of the chunk; the row
    /// that was begun before is -1 of them.
    fn row_of_slot(&self, entries: Range<usize>, slot: u64) -> u64 {
        let (def, rep) = (&self.chunk.def[entries.clone()], &self.chunk.rep[entries]);
        let is_slot = |&entry: &usize| def.get(entry).is_none_or(|&level| level >= self.slot_def_level);
        let entry = (0..rep.len()).filter(is_slot).nth(slot as usize).unwrap_or(0);
        let begun = rep.iter().take(entry + 1).filter(|&&level| level == 0).count();
        (begun as u64).wrapping_sub(1)
    }

    /// The error with its row: `row` converts the position that the error has to a number of rows after the next one.
    fn locate(&self, error: Error, row: impl FnOnce(u64) -> u64) -> Error {
        self.pages.locate(error.map_row(|at| self.row.wrapping_add(row(at))))
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

    /// Goes on to the next data page that has entries; false at the end of the chunk.
    fn next_page(&mut self) -> Result<bool> {
        // The page before is dropped first, so that its memory is used again.
        self.values.end_page();
        self.rep_decoder = None;
        self.def_decoder = None;
        while let Some(page) = self.pages.next_page()? {
            let result = match page {
                Page::Dictionary(page) => self.values.start_dictionary(&page),
                Page::Data(page) => {
                    if page.encoding.is_dictionary()
                        && self.values.dictionary_is_released()
                        && let Some(dictionary) = self.pages.dictionary_again()?
                    {
                        self.values.restore_dictionary(&dictionary).map_err(|error| self.pages.locate(error))?;
                    }
                    self.page_remaining = page.value_count;
                    self.start_levels(page.rep_levels, page.def_levels).and_then(|()| {
                        self.values.start_page(EncodedValues { encoding: page.encoding, bytes: page.values })
                    })
                }
            };
            result.map_err(|error| self.pages.locate(error))?;
            if self.page_remaining > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Skips whole pages without reading their bodies, as long as their row counts are known from headers or places;
    /// returns how many of `row_count` rows are left to skip. Only between two pages.
    fn skip_pages(&mut self, row_count: usize) -> Result<usize> {
        let left = self.skip_whole_pages(row_count)?;
        self.row += (row_count - left) as u64;
        Ok(left)
    }

    fn skip_whole_pages(&mut self, mut row_count: usize) -> Result<usize> {
        while row_count > 0 {
            // Fits: it is no more than `row_count`.
            row_count -= self.pages.seek(row_count as u64) as usize;
            if row_count == 0 {
                break;
            }
            let rows = match self.pages.peek_page()? {
                Some(PageSummary::Data { value_count, .. }) if self.leaf.max_rep_level == 0 => value_count,
                Some(PageSummary::Data { row_count: Some(rows), .. }) => rows,
                Some(PageSummary::Dictionary) => {
                    if let Some(Page::Dictionary(page)) = self.pages.next_page()? {
                        self.values.start_dictionary(&page).map_err(|error| self.pages.locate(error))?;
                    }
                    continue;
                }
                _ => break,
            };
            if rows > row_count {
                break;
            }
            self.pages.skip_page()?;
            row_count -= rows;
        }
        Ok(row_count)
    }

    fn start_levels(&mut self, rep: crate::page::Levels, def: crate::page::Levels) -> Result<()> {
        self.rep_decoder = Some(LevelDecoder::new(rep, self.leaf.max_rep_level)?);
        self.def_decoder = Some(LevelDecoder::new(def, self.leaf.max_def_level)?);
        Ok(())
    }

    fn ends_early(&self, missing_rows: usize) -> Error {
        self.pages
            .locate(Error::corrupt(format!("the column chunk ends {missing_rows} rows before its row group does")))
    }
}

/// Decodes as many levels as `levels` has room for, and which of them are `max_level` into `bits` from bit `at` on; returns
/// how many are.
fn decode_levels_and_bits(
    decoder: &mut LevelDecoder,
    levels: &mut [u8],
    max_level: u8,
    mask: &mut Vec<u64>,
    bits: &mut [u8],
    at: usize,
) -> Result<usize> {
    decoder.decode(levels)?;
    let mask = resized(mask, levels.len().div_ceil(64));
    levels::ge_mask(levels, max_level, mask)?;
    select::copy_bits(bytemuck::cast_slice(mask), 0, bits, at, levels.len())?;
    Ok(levels::count(mask))
}

/// The first `words` words of a scratch mask.
fn resized(mask: &mut Vec<u64>, words: usize) -> &mut [u64] {
    if mask.len() < words {
        mask.resize(words, 0);
    }
    &mut mask[..words]
}

/// As [`resized`], all of it zero.
fn zeroed(mask: &mut Vec<u64>, words: usize) -> &mut [u64] {
    let mask = resized(mask, words);
    mask.fill(0);
    mask
}

/// Clears the bits from `len` on of the last word.
fn clear_tail(words: &mut [u64], len: usize) {
    if !len.is_multiple_of(64)
        && let Some(last) = words.last_mut()
    {
        *last &= (1 << (len % 64)) - 1;
    }
}
