//! One leaf of a row group, read window by window, as much of it as is asked for.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_select::filter::{FilterBuilder, FilterPredicate};

use super::mask::Mask;
use super::window::Stretch;
use crate::decode::{Codes, LeafBatch, LeafReader, Untouched};
use crate::error::{Error, Result};

/// Reads one leaf. Rows are asked for in ascending order, and those of a window at most once: what was decoded of a window is
/// held until the next.
#[derive(Debug)]
pub(super) struct LeafColumn {
    reader: LeafReader,
    /// The next row of the row group that the reader is at.
    position: u64,
    held: Held,
    /// Whether pages with dictionary indices may still come, of a dictionary that is worth it.
    may_have_codes: bool,
    codes: Codes,
    dictionary: Option<ArrayRef>,
}

/// What was decoded of the window.
#[derive(Debug)]
enum Held {
    Nothing,
    /// The rows of `domain`.
    Values {
        batch: LeafBatch,
        domain: Arc<Mask>,
    },
    /// The rows of `domain`, as indices: in [`LeafColumn::codes`].
    Codes {
        domain: Arc<Mask>,
    },
}

/// What is held, for who tests it.
#[derive(Debug)]
pub(super) enum Rows<'a> {
    Values { array: &'a ArrayRef, domain: &'a Arc<Mask> },
    Codes { codes: &'a Codes, dictionary: &'a ArrayRef, domain: &'a Arc<Mask> },
}

impl LeafColumn {
    /// A column whose reader is at the start of a row group.
    pub(super) fn new(reader: LeafReader) -> Self {
        Self {
            reader,
            position: 0,
            held: Held::Nothing,
            may_have_codes: true,
            codes: Codes::default(),
            dictionary: None,
        }
    }

    /// The reader, to be turned to another row group.
    pub(super) fn into_reader(self) -> LeafReader {
        self.reader
    }

    /// Forgets what is held of the window before.
    pub(super) fn start_window(&mut self) {
        self.held = Held::Nothing;
    }

    /// Goes to `row` of the row group, and past the page that begins there if `is_barren` says so of its bytes, as
    /// [`LeafReader::pass_page`] has it. Returns whether it is past it.
    pub(super) fn pass_page(&mut self, row: u64, is_barren: impl FnOnce(Untouched<'_>) -> bool) -> Result<bool> {
        self.skip_to(row)?;
        let passed = self.reader.pass_page(is_barren)?;
        self.position += passed as u64;
        Ok(passed > 0)
    }

    /// The next row of the row group.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Rows from there on that are of one page, as [`LeafReader::rows_of_page`] has it.
    pub(super) fn rows_of_page(&self) -> Option<usize> {
        self.reader.rows_of_page()
    }

    /// The rows that are held; `None` if nothing was decoded of the window yet.
    pub(super) fn held(&self) -> Option<&Arc<Mask>> {
        match &self.held {
            Held::Nothing => None,
            Held::Values { domain, .. } | Held::Codes { domain } => Some(domain),
        }
    }

    /// Decodes `stretch`, unless something of the window is held already.
    pub(super) fn load(&mut self, stretch: &Stretch) -> Result<()> {
        if let Held::Nothing = self.held {
            self.append(&stretch.rows)?;
            self.hold(&stretch.domain)?;
        }
        Ok(())
    }

    /// As [`LeafColumn::load_codes`], for who tests them by the dictionary, unless it has more than `most_entries`.
    pub(super) fn load_to_test(&mut self, stretch: &Stretch, most_entries: usize) -> Result<()> {
        self.load_codes(stretch)?;
        let Held::Codes { domain } = &self.held else { return Ok(()) };
        let domain = Arc::clone(domain);
        if self.dictionary.is_none() {
            self.dictionary = self.reader.dictionary()?;
        }
        if self.dictionary.as_ref().is_none_or(|dictionary| dictionary.len() > most_entries) {
            self.may_have_codes = false;
            return self.decode_codes(None, &domain);
        }
        Ok(())
    }

    /// As [`LeafColumn::load`], but leaves rows as dictionary indices where all pages of the stretch have such.
    pub(super) fn load_codes(&mut self, stretch: &Stretch) -> Result<()> {
        if !matches!(self.held, Held::Nothing) {
            return Ok(());
        }
        if !self.may_have_codes {
            return self.load(stretch);
        }
        self.codes.clear();
        for (index, range) in stretch.rows.iter().enumerate() {
            self.skip_to(range.start)?;
            let wanted = (range.end - range.start) as usize;
            let taken = self.reader.read_codes(wanted, &mut self.codes)?;
            self.position += taken as u64;
            if taken < wanted {
                // The writer gave up its dictionary: what came of it becomes values, which the others are appended to.
                self.may_have_codes = false;
                if self.codes.row_count > 0 {
                    self.reader.append_codes(&self.codes, None)?;
                }
                self.append(std::slice::from_ref(&(self.position..range.end)))?;
                self.append(&stretch.rows[index + 1..])?;
                return self.hold(&stretch.domain);
            }
        }
        self.held = Held::Codes { domain: Arc::clone(&stretch.domain) };
        Ok(())
    }

    /// Whether rows may come as dictionary indices.
    pub(super) fn may_have_codes(&self) -> bool {
        self.may_have_codes
    }

    /// Whether [`LeafColumn::load_selected`] can be asked, which is no better where rows can be had as dictionary indices; but
    /// of a type that cannot hold every value, no more values are made than have to be.
    pub(super) fn can_select(&self) -> bool {
        (!self.may_have_codes || self.reader.can_fail()) && self.reader.can_select()
    }

    /// Decodes `stretch`, but makes values only of the rows in `kept`, all of which are in it.
    pub(super) fn load_selected(&mut self, stretch: &Stretch, kept: &Arc<Mask>) -> Result<()> {
        let within = kept.within(&stretch.domain)?;
        let mut at = 0;
        for range in &stretch.rows {
            self.skip_to(range.start)?;
            let row_count = (range.end - range.start) as usize;
            self.reader.append_selected(row_count, within.words(), at)?;
            self.position = range.end;
            at += row_count;
        }
        self.hold(kept)
    }

    /// What is held.
    pub(super) fn rows(&self) -> Option<Rows<'_>> {
        match (&self.held, &self.dictionary) {
            (Held::Values { batch, domain }, _) => Some(Rows::Values { array: &batch.array, domain }),
            (Held::Codes { domain }, Some(dictionary)) => Some(Rows::Codes { codes: &self.codes, dictionary, domain }),
            _ => None,
        }
    }

    /// Drops held rows that are not in `kept`, which are all held, and makes values of indices.
    pub(super) fn narrow(&mut self, kept: &Arc<Mask>, filters: &mut Filters) -> Result<()> {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Nothing => {}
            Held::Codes { domain } => {
                let within = (domain != *kept).then(|| kept.within(&domain)).transpose()?;
                self.decode_codes(within.as_ref(), kept)?;
            }
            Held::Values { batch, domain } if Arc::ptr_eq(&domain, kept) || domain == *kept => {
                self.held = Held::Values { batch, domain: Arc::clone(kept) };
            }
            Held::Values { batch, domain } => {
                let batch = if self.reader.leaf().max_rep_level > 0 {
                    batch.filter_repeated(kept.within(&domain)?.words(), self.reader.slot_def_level())?
                } else {
                    let filter = filters.get(&domain, kept)?;
                    let (selection, count) = (filter.mask.bytes(), filter.mask.count());
                    self.reader.filter_flat(&batch, selection, count, |array| filter.filter(array))?
                };
                self.held = Held::Values { batch, domain: Arc::clone(kept) };
            }
        }
        Ok(())
    }

    /// The values that are held.
    pub(super) fn batch(&self) -> Option<&LeafBatch> {
        match &self.held {
            Held::Values { batch, .. } => Some(batch),
            _ => None,
        }
    }

    /// Hands over the values that are held.
    pub(super) fn take(&mut self) -> Option<LeafBatch> {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Values { batch, .. } => Some(batch),
            _ => None,
        }
    }

    /// Makes values of those held indices that `selection` has bits for, which are the rows of `domain`.
    fn decode_codes(&mut self, selection: Option<&Mask>, domain: &Arc<Mask>) -> Result<()> {
        self.reader.append_codes(&self.codes, selection.map(Mask::words))?;
        self.hold(domain)
    }

    /// Holds what was appended: the rows of `domain`.
    fn hold(&mut self, domain: &Arc<Mask>) -> Result<()> {
        self.held = Held::Values { batch: self.reader.finish()?, domain: Arc::clone(domain) };
        Ok(())
    }

    fn append(&mut self, rows: &[Range<u64>]) -> Result<()> {
        for range in rows {
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

/// Filters from what is held to what is kept, each made once for all columns that need it.
#[derive(Debug, Default)]
pub(super) struct Filters(Vec<Filter>);

#[derive(Debug)]
struct Filter {
    domain: Arc<Mask>,
    kept: Arc<Mask>,
    mask: Mask,
    /// For arrays that have no way of their own.
    predicate: OnceCell<FilterPredicate>,
}

impl Filter {
    fn filter(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let predicate = self.predicate.get_or_init(|| FilterBuilder::new(&self.mask.to_array()).optimize().build());
        predicate.filter(array).map_err(|error| Error::of_arrow(&error))
    }
}

impl Filters {
    fn get(&mut self, domain: &Arc<Mask>, kept: &Arc<Mask>) -> Result<&Filter> {
        let is_it = |filter: &Filter| Arc::ptr_eq(&filter.domain, domain) && Arc::ptr_eq(&filter.kept, kept);
        let index = match self.0.iter().position(is_it) {
            Some(index) => index,
            None => {
                let mask = kept.within(domain)?;
                let (domain, kept) = (Arc::clone(domain), Arc::clone(kept));
                self.0.push(Filter { domain, kept, mask, predicate: OnceCell::new() });
                self.0.len() - 1
            }
        };
        Ok(&self.0[index])
    }

    /// Forgets the filters of the window before.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
