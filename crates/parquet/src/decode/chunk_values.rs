//! Sources of a column's values: the current data page and the dictionary of the column chunk.

use super::chunk_dictionary::ChunkDictionary;
use super::page_values::{DictionaryIndices, EncodedValues, values_missing};
use crate::error::{Error, Result};

/// A data page whose encoding was opened, so that values can be decoded.
pub(super) trait OpenPage {
    /// The page's dictionary indices, if it has them.
    fn indices(&mut self) -> Option<&mut DictionaryIndices>;

    fn is_dictionary(&self) -> bool;
}

/// The current data page and the dictionary of a column chunk. A page is opened when a value is first read: a page that is
/// skipped or searched as a whole is never opened.
/// searched as a whole is never opened.
#[derive(Debug)]
pub(super) struct ChunkValues<P, D> {
    page: CurrentPage<P>,
    dictionary: ChunkDictionary<D>,
}

#[derive(Debug)]
enum CurrentPage<P> {
    /// Between two pages.
    None,
    Pending(EncodedValues),
    Open(P),
}

impl<P, D> Default for ChunkValues<P, D> {
    fn default() -> Self {
        Self { page: CurrentPage::None, dictionary: ChunkDictionary::None }
    }
}

impl<P: OpenPage, D> ChunkValues<P, D> {
    /// Drops the page and the dictionary, for the next column chunk.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    pub(super) fn start_page(&mut self, values: EncodedValues) {
        self.page = CurrentPage::Pending(values);
    }

    pub(super) fn end_page(&mut self) {
        self.page = CurrentPage::None;
    }

    /// The page, if it is not open yet.
    pub(super) fn pending_page(&self) -> Option<&EncodedValues> {
        match &self.page {
            CurrentPage::Pending(values) => Some(values),
            CurrentPage::None | CurrentPage::Open(_) => None,
        }
    }

    /// The page, if it is open.
    pub(super) fn page_if_open(&mut self) -> Option<&mut P> {
        match &mut self.page {
            CurrentPage::Open(page) => Some(page),
            CurrentPage::None | CurrentPage::Pending(_) => None,
        }
    }

    /// Whether the page has dictionary indices.
    pub(super) fn holds_codes(&self) -> bool {
        match &self.page {
            CurrentPage::None => false,
            CurrentPage::Pending(values) => values.encoding.is_dictionary(),
            CurrentPage::Open(page) => page.is_dictionary(),
        }
    }

    /// The page, which `open` opens if it is not open yet, and the dictionary.
    pub(super) fn open(&mut self, open: impl FnOnce(EncodedValues) -> Result<P>) -> Result<(&mut P, Option<&D>)> {
        if !matches!(self.page, CurrentPage::Open(_))
            && let CurrentPage::Pending(values) = std::mem::replace(&mut self.page, CurrentPage::None)
        {
            if values.encoding.is_dictionary() && self.dictionary.values().is_none() {
                return Err(Error::corrupt("a dictionary-encoded page in a column chunk without a dictionary page"));
            }
            self.page = CurrentPage::Open(open(values)?);
        }
        match &mut self.page {
            CurrentPage::Open(page) => Ok((page, self.dictionary.values())),
            _ => Err(Error::internal("values are asked for before any data page")),
        }
    }

    /// Decodes dictionary indices until `out` is full, without checking them against the dictionary.
    pub(super) fn decode_codes(
        &mut self,
        out: &mut [u32],
        open: impl FnOnce(EncodedValues) -> Result<P>,
    ) -> Result<()> {
        let (page, _) = self.open(open)?;
        page.indices().ok_or_else(values_missing)?.decode(out)
    }

    pub(super) fn dictionary(&self) -> &ChunkDictionary<D> {
        &self.dictionary
    }

    pub(super) fn start_dictionary(&mut self, values: D) {
        self.dictionary = ChunkDictionary::Here(values);
    }

    pub(super) fn restore_dictionary(&mut self, values: D) {
        self.dictionary = ChunkDictionary::Restored(values);
    }

    /// Releases the dictionary's memory if the current page has values instead of dictionary indices.
    pub(super) fn release_unused_dictionary(&mut self) {
        if !matches!(self.page, CurrentPage::None) && !self.holds_codes() {
            self.dictionary.release();
        }
    }
}
