//! Goes from page to page of the leaf, and skips pages without wanted rows.

use super::LeafReader;
use crate::decode::levels::LevelDecoder;
use crate::decode::page_values::EncodedValues;
use crate::error::{Error, Result};
use crate::page::{Levels, Page, PageSummary};

impl LeafReader {
    /// Goes on to the next data page that has entries; false at the end of the chunk.
    pub(super) fn next_page(&mut self) -> Result<bool> {
        // The page before is dropped first, so that its memory is reused.
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

    /// Skips whole pages without reading their bodies, as long as their row counts are known from headers or places; returns the
    /// number of rows left to skip. Only between two pages.
    pub(super) fn skip_pages(&mut self, row_count: usize) -> Result<usize> {
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

    fn start_levels(&mut self, rep: Levels, def: Levels) -> Result<()> {
        self.rep_decoder = Some(LevelDecoder::new(rep, self.leaf.max_rep_level)?);
        self.def_decoder = Some(LevelDecoder::new(def, self.leaf.max_def_level)?);
        Ok(())
    }

    pub(super) fn ends_early(&self, missing_rows: usize) -> Error {
        self.pages
            .locate(Error::corrupt(format!("the column chunk ends {missing_rows} rows before its row group does")))
    }
}
