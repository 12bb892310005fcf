//! One leaf of a row group, read window by window, as far as needed.
//!
//! Decoded rows of the current window:
//!
//! | state | event | next state |
//! | --- | --- | --- |
//! | nothing | [`LeafColumn::rows_to_test`], all rows come as dictionary indices | codes of what was decoded |
//! | nothing | [`LeafColumn::rows_to_test`], else | values of what was decoded |
//! | codes | [`LeafColumn::rows_to_test`] | codes, the same |
//! | values | [`LeafColumn::rows_to_test`] of few of the rows | values of the rows that are wanted |
//! | values | [`LeafColumn::rows_to_test`] of many of the rows | values, the same |
//! | any | [`LeafColumn::values`] | values of the rows that are wanted |
//! | any | [`LeafColumn::take_values`] | nothing: the caller has the values |
//! | any | [`LeafColumn::start_window`] | nothing |
//!
//! Encoding of the row group's rows ([`Form`]):
//!
//! | state | event | next state |
//! | --- | --- | --- |
//! | unknown | rows to test come as indices, the dictionary is worth testing | dictionary |
//! | unknown | the dictionary is too large to test, or there is none | values |
//! | unknown, dictionary | a page without dictionary indices | values |

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};

use super::filters::Filters;
use super::wanted::WantedRows;
use crate::decode::{Codes, LeafBatch, LeafReader, SearchablePage};
use crate::error::Result;
use crate::scan::rows::{DecodeRanges, Mask};

/// Reads one leaf. Rows must be requested in ascending order; the rows of a window are decoded at most once.
#[derive(Debug)]
pub(super) struct LeafColumn {
    reader: LeafReader,
    /// The next row of the row group that the reader is at.
    position: u64,
    /// `None` while no row of the window is decoded.
    held: Option<DecodedRows>,
    form: Form,
    /// The indices of [`DecodedRows::Codes`].
    codes: Codes,
}

/// Decoded rows of the window.
#[derive(Debug)]
enum DecodedRows {
    /// The values of `rows`.
    Values { batch: LeafBatch, rows: Arc<Mask> },
    /// The indices of `rows` into a dictionary.
    Codes { dictionary: ArrayRef, rows: Arc<Mask> },
}

/// Encoding of a row group's rows.
#[derive(Debug)]
enum Form {
    /// Not known yet; perhaps dictionary indices.
    Unknown,
    /// As indices into this dictionary, until a page has none.
    Dictionary(ArrayRef),
    /// As values, or as indices into a dictionary that is not worth testing.
    Values,
}

/// Decoded rows for a test.
#[derive(Debug)]
pub(super) enum TestRows<'a> {
    Values { array: &'a ArrayRef, rows: &'a Arc<Mask> },
    Codes { codes: &'a Codes, dictionary: &'a ArrayRef, rows: &'a Arc<Mask> },
}

/// Result of reading dictionary indices.
enum CodesOrValues {
    /// The indices are in [`LeafColumn::codes`].
    Codes,
    /// A page had no indices, so that all rows became values.
    Values(LeafBatch),
}

impl LeafColumn {
    /// A column whose reader is at the start of a row group.
    pub(super) fn new(reader: LeafReader) -> Self {
        let form = if reader.can_read_codes() { Form::Unknown } else { Form::Values };
        Self { reader, position: 0, held: None, form, codes: Codes::default() }
    }

    /// The reader, for another row group.
    pub(super) fn into_reader(self) -> LeafReader {
        self.reader
    }

    /// Drops the decoded rows of the previous window.
    pub(super) fn start_window(&mut self) {
        self.held = None;
    }

    /// Goes to `row` of the row group. Skips the page that begins there if `has_no_match` returns true for its bytes; see
    /// [`LeafReader::skip_page_if`]. Returns whether the page was skipped.
    pub(super) fn skip_page_if(
        &mut self,
        row: u64,
        has_no_match: impl FnOnce(SearchablePage<'_>) -> bool,
    ) -> Result<bool> {
        self.skip_to(row)?;
        let skipped = self.reader.skip_page_if(has_no_match)?;
        self.position += skipped as u64;
        Ok(skipped > 0)
    }

    /// The next row of the row group.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Number of the following rows in the same page; see [`LeafReader::rows_of_page`].
    pub(super) fn rows_of_page(&self) -> Option<usize> {
        self.reader.rows_of_page()
    }

    /// The decoded rows; `None` if no row of the window is decoded yet.
    pub(super) fn held_rows(&self) -> Option<&Arc<Mask>> {
        self.held.as_ref().map(|held| match held {
            DecodedRows::Values { rows, .. } | DecodedRows::Codes { rows, .. } => rows,
        })
    }

    /// Whether rows may come as dictionary indices.
    pub(super) fn may_have_codes(&self) -> bool {
        !matches!(self.form, Form::Values)
    }

    /// Reads ranges of rows of the row group, independent of the window.
    pub(super) fn read(&mut self, ranges: &[Range<u64>]) -> Result<LeafBatch> {
        self.append(ranges)?;
        self.reader.finish()
    }

    /// Decodes the wanted rows for a test, as indices if the column has a dictionary of at most `max_entries`. Other rows of the
    /// window may come too, unless fewer than one row in `sparse` is wanted.
    pub(super) fn rows_to_test(
        &mut self,
        wanted: &WantedRows<'_>,
        sparse: usize,
        max_entries: usize,
        filters: &mut Filters,
    ) -> Result<TestRows<'_>> {
        let kept = wanted.kept();
        let held = match self.held.take() {
            Some(held) => held,
            None => {
                let ranges = wanted.decode_ranges()?;
                if kept.is_sparse_in(&ranges.rows, sparse) && self.can_select() {
                    DecodedRows::Values { batch: self.select(ranges, kept)?, rows: Arc::clone(kept) }
                } else {
                    self.decode_to_test(ranges, max_entries)?
                }
            }
        };
        let held = match held {
            DecodedRows::Values { batch, rows } if kept.is_sparse_in(&rows, sparse) => {
                DecodedRows::Values { batch: self.filter(batch, &rows, kept, filters)?, rows: Arc::clone(kept) }
            }
            held => held,
        };
        Ok(match self.held.insert(held) {
            DecodedRows::Values { batch, rows } => TestRows::Values { array: &batch.array, rows },
            DecodedRows::Codes { dictionary, rows } => TestRows::Codes { codes: &self.codes, dictionary, rows },
        })
    }

    /// The values of `rows`, which are kept for later tests and for the result. Rows that are already decoded must include them;
    /// else they must be among [`WantedRows::decode_ranges`].
    pub(super) fn values(
        &mut self,
        rows: &Arc<Mask>,
        wanted: &WantedRows<'_>,
        filters: &mut Filters,
    ) -> Result<LeafBatch> {
        let batch = self.take_values(rows, wanted, filters)?;
        self.held = Some(DecodedRows::Values { batch: batch.clone(), rows: Arc::clone(rows) });
        Ok(batch)
    }

    /// As [`LeafColumn::values`], but keeps nothing.
    pub(super) fn take_values(
        &mut self,
        rows: &Arc<Mask>,
        wanted: &WantedRows<'_>,
        filters: &mut Filters,
    ) -> Result<LeafBatch> {
        match self.held.take() {
            None => self.decode(wanted.decode_ranges()?, rows, filters),
            Some(DecodedRows::Values { batch, rows: held }) => self.filter(batch, &held, rows, filters),
            Some(DecodedRows::Codes { rows: held, .. }) => self.decode_codes(&held, rows),
        }
    }

    /// Decodes `ranges` for the values of `rows`, all of which are in them.
    fn decode(&mut self, ranges: &DecodeRanges, rows: &Arc<Mask>, filters: &mut Filters) -> Result<LeafBatch> {
        if ranges.rows.count() == rows.count() {
            return self.read(&ranges.ranges);
        }
        if self.can_select() {
            return self.select(ranges, rows);
        }
        // Dropping indices is cheaper than dropping values.
        match self.read_codes(ranges)? {
            CodesOrValues::Codes => self.decode_codes(&ranges.rows, rows),
            CodesOrValues::Values(batch) => self.filter(batch, &ranges.rows, rows, filters),
        }
    }

    fn decode_to_test(&mut self, ranges: &DecodeRanges, max_entries: usize) -> Result<DecodedRows> {
        let rows = Arc::clone(&ranges.rows);
        let batch = match self.read_codes(ranges)? {
            CodesOrValues::Values(batch) => batch,
            CodesOrValues::Codes => {
                let dictionary = match &self.form {
                    Form::Dictionary(dictionary) => Some(Arc::clone(dictionary)),
                    Form::Unknown | Form::Values => self.reader.dictionary()?,
                };
                if let Some(dictionary) = dictionary.filter(|dictionary| dictionary.len() <= max_entries) {
                    self.form = Form::Dictionary(Arc::clone(&dictionary));
                    return Ok(DecodedRows::Codes { dictionary, rows });
                }
                self.form = Form::Values;
                self.decode_codes(&rows, &rows)?
            }
        };
        Ok(DecodedRows::Values { batch, rows })
    }

    /// Reads `ranges` as dictionary indices, or as values where a page has none.
    fn read_codes(&mut self, ranges: &DecodeRanges) -> Result<CodesOrValues> {
        if !self.may_have_codes() {
            return self.read(&ranges.ranges).map(CodesOrValues::Values);
        }
        self.codes.clear();
        for (index, range) in ranges.ranges.iter().enumerate() {
            self.skip_to(range.start)?;
            let wanted = (range.end - range.start) as usize;
            let taken = self.reader.read_codes(wanted, &mut self.codes)?;
            self.position += taken as u64;
            if taken < wanted {
                // The writer gave up its dictionary. The indices so far become values, and the other rows follow.
                self.form = Form::Values;
                if self.codes.row_count > 0 {
                    self.reader.append_codes(&self.codes, None)?;
                }
                self.append(std::slice::from_ref(&(self.position..range.end)))?;
                self.append(&ranges.ranges[index + 1..])?;
                return self.reader.finish().map(CodesOrValues::Values);
            }
        }
        Ok(CodesOrValues::Codes)
    }

    /// Whether [`LeafColumn::select`] is possible, and better than reading dictionary indices. It is better for types that cannot
    /// hold every value, because it converts only the needed values.
    fn can_select(&self) -> bool {
        (!self.may_have_codes() || self.reader.can_fail()) && self.reader.can_select()
    }

    /// Decodes `ranges`, but builds only the values of `rows`, all of which are in them.
    fn select(&mut self, ranges: &DecodeRanges, rows: &Mask) -> Result<LeafBatch> {
        let within = rows.within(&ranges.rows)?;
        let mut at = 0;
        for range in &ranges.ranges {
            self.skip_to(range.start)?;
            let row_count = (range.end - range.start) as usize;
            self.reader.append_selected(row_count, within.words(), at)?;
            self.position = range.end;
            at += row_count;
        }
        self.reader.finish()
    }

    /// The values of `rows` from a batch of the rows of `held`, which include them.
    fn filter(
        &mut self,
        batch: LeafBatch,
        held: &Arc<Mask>,
        rows: &Arc<Mask>,
        filters: &mut Filters,
    ) -> Result<LeafBatch> {
        if held.count() == rows.count() {
            return Ok(batch);
        }
        if self.reader.leaf().max_rep_level > 0 {
            return batch.filter_repeated(rows.within(held)?.words(), self.reader.slot_def_level());
        }
        let filter = filters.get(held, rows)?;
        let (selection, count) = (filter.mask().bytes(), filter.mask().count());
        self.reader.filter_flat(&batch, selection, count, |array| filter.filter(array))
    }

    /// Builds the values for the indices of `rows`, which are among the rows of `held`.
    fn decode_codes(&mut self, held: &Mask, rows: &Mask) -> Result<LeafBatch> {
        let selection = if held.count() == rows.count() { None } else { Some(rows.within(held)?) };
        self.reader.append_codes(&self.codes, selection.as_ref().map(Mask::words))?;
        self.reader.finish()
    }

    fn append(&mut self, ranges: &[Range<u64>]) -> Result<()> {
        for range in ranges {
            self.skip_to(range.start)?;
            self.reader.append((range.end - range.start) as usize)?;
            self.position = range.end;
        }
        Ok(())
    }

    fn skip_to(&mut self, row: u64) -> Result<()> {
        if row > self.position {
            self.reader.skip((row - self.position) as usize)?;
            self.position = row;
        }
        Ok(())
    }
}
