//! Skips pages by their places in the offset index.

use std::sync::Arc;

use super::{PageReader, PageSummary};
use crate::error::{Error, Result};
use crate::page::PagePlaces;
use crate::page::header::PageHeader;

impl PageReader {
    /// Sets the places of this chunk's pages, unless they are impossible.
    pub(crate) fn set_places(&mut self, places: Arc<PagePlaces>) {
        self.places = Some(places).filter(|places| self.chunk.decryptor.is_none() && places.are_within(&self.chunk));
    }

    /// Between two pages: skips to the page with the row that is `row_count` rows later, if places are known. Returns the number
    /// of skipped rows.
    pub(crate) fn seek(&mut self, row_count: u64) -> u64 {
        let Some(places) = &self.places else { return 0 };
        let has_dictionary = self.dictionary.is_some();
        if !has_dictionary && places.start() != self.chunk.start {
            // Something before the first data page must be read.
            return 0;
        }
        let row = self.chunk.value_count - self.values_left;
        let (page, first_row, offset) = places.page_at(row.saturating_add(row_count));
        let Some(skipped) = first_row.checked_sub(row).filter(|skipped| *skipped > 0) else { return 0 };
        self.pending = None;
        self.position = offset;
        self.values_left -= skipped;
        self.page_count = page + usize::from(has_dictionary);
        self.data_page_count = page;
        self.has_skipped_by_places = true;
        // A page too long to be read at once is not, but its header then comes with a whole window.
        let end = places.page_end(page).unwrap_or(self.end).min(self.end);
        if end - offset <= self.options.limits.page_bytes {
            self.window.expect(offset..end);
        }
        skipped
    }

    /// Compares `places` with the headers of all pages, from the chunk's start on.
    pub(crate) fn compare_places(&mut self, places: &PagePlaces) -> Result<()> {
        let differs = |what: String| Err(Error::corrupt(format!("the offset index has {what}")));
        let mut stated = places.with_rows();
        while let Some(page) = self.peek_page()? {
            if let PageSummary::Data { value_count, row_count } = page {
                let rows = if self.chunk.max_rep_level == 0 { Some(value_count) } else { row_count };
                let at = self.header_offset;
                let result = match stated.next() {
                    Some((offset, _)) if offset != at => differs(format!("a page at {offset} for the one at {at}")),
                    Some((_, count)) if rows.is_some_and(|rows| rows as u64 != count) => {
                        differs(format!("{count} rows in a page of {}", rows.unwrap_or_default()))
                    }
                    Some(_) => Ok(()),
                    None => differs("fewer pages than there are".to_owned()),
                };
                result.map_err(|error| self.locate(error))?;
            }
            self.skip_page()?;
        }
        match stated.next() {
            Some((offset, _)) => differs(format!("a page at {offset}, where there is none")),
            None => Ok(()),
        }
    }

    /// An error if pages were skipped by places, and the pending data page does not have the rows of its place.
    pub(super) fn check_place(&self) -> Result<()> {
        let Some(places) = self.places.as_ref().filter(|_| self.has_skipped_by_places) else { return Ok(()) };
        let value_count = self.pending.as_ref().and_then(PageHeader::data_value_count);
        let Some(value_count) = value_count.filter(|count| *count > 0) else { return Ok(()) };
        let row = self.chunk.value_count - self.values_left;
        let (page, first_row, _) = places.page_at(row);
        let rows = places.page_rows(page);
        if first_row == row && rows == value_count as u64 {
            return Ok(());
        }
        let what =
            format!("a page of {value_count} values where the offset index has one of {rows} rows from {first_row} on");
        Err(Error::corrupt(what))
    }
}
