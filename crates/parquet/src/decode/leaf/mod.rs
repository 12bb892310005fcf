//! Reads one leaf of one row group: rows in steps, arrays and levels out.

mod codes;
mod flat;
mod masks;
mod pages;
mod repeated;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use lath_source::ByteRanges;

use self::masks::Masks;
use self::repeated::LevelChunk;
use super::aligned::AlignedBytes;
use super::batch::LeafBatch;
use super::bitmap::Validity;
use super::levels::LevelDecoder;
use super::page_values::SearchablePage;
use super::values::ValueColumn;
use crate::error::{Error, Result};
use crate::page::{ChunkSpec, PagePlaces, PageReader};
use crate::schema::Leaf;

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
    /// The next row of the row group; for a leaf with repetition, the number of rows that have begun.
    row: u64,
    chunk: LevelChunk,
    /// Whether a row of this chunk has begun, so that an entry with repetition level above 0 can continue it.
    row_begun: bool,
    batch: Levels,
    slot_count: usize,
    masks: Masks,
    /// Memory for the selected rows of a batch.
    kept: AlignedBytes,
}

#[derive(Debug, Default)]
struct Levels {
    def: Vec<u8>,
    rep: Vec<u8>,
}

impl LeafReader {
    /// Reads `leaf` from `pages` as `data_type`. `slot_def_level` is the definition level from which the nearest repeated
    /// ancestor has an element; with `keep_levels` the levels are returned with the values, for nesting.
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

    /// Sets the places of pages, so that skipping rows does not read the headers of the pages between.
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

    /// Whether the leaf's type cannot hold every possible stored value.
    pub(crate) fn can_fail(&self) -> bool {
        self.values.can_fail()
    }

    /// Skips the next `row_count` rows.
    pub(crate) fn skip(&mut self, row_count: usize) -> Result<()> {
        if self.leaf.max_rep_level > 0 {
            return self.walk_repeated(row_count, false);
        }
        self.walk_flat(row_count, false)
    }

    /// Skips the next page without decoding it, if `has_no_match` is true for its bytes. Only between two pages, for a leaf
    /// without repetition, and for a searchable encoding. Returns the number of skipped rows.
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

    /// Remaining rows of the page, for a leaf without repetition; `None` for a page of dictionary indices, which is not searched.
    pub(crate) fn rows_of_page(&self) -> Option<usize> {
        (self.page_remaining > 0 && !self.values.holds_codes()).then_some(self.page_remaining)
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

    /// Returns the batch.
    pub(crate) fn finish(&mut self) -> Result<LeafBatch> {
        self.slot_count = 0;
        let nulls = self.validity.finish();
        let array = self.values.finish(nulls).map_err(|error| self.pages.locate(error))?;
        let Levels { def, rep } = std::mem::take(&mut self.batch);
        Ok(LeafBatch { array, def_levels: def, rep_levels: rep })
    }

    /// The rows of a batch whose bits are set in `selection`, `count` of them, for a leaf without repetition; `filter` selects
    /// the same rows.
    pub(crate) fn filter_flat(
        &mut self,
        batch: &LeafBatch,
        selection: &[u8],
        count: usize,
        filter: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
    ) -> Result<LeafBatch> {
        batch.filter_flat(selection, count, filter, &mut self.kept)
    }

    /// The error with its row: `row` converts the error's position to a number of rows after the next one.
    fn locate(&self, error: Error, row: impl FnOnce(u64) -> u64) -> Error {
        self.pages.locate(error.map_row(|at| self.row.wrapping_add(row(at))))
    }
}
