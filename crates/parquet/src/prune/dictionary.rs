//! Evidence of dictionary pages: all values that a chunk may have.
//!
//! If all data pages of a chunk are dictionary-encoded, all values of the chunk are in the dictionary, some of which may not
//! occur. A test that is true for none of them is true for no row. A test that is true for all of them, in a chunk without nulls,
//! is true for every row.
//!
//! Only the footer's page encoding statistics are trusted to say that all pages are dictionary-encoded. The dictionary page has to be
//! first in its chunk, at most [`dictionary_bytes`](super::Pruning::dictionary_bytes) long and less than a quarter of the chunk, so
//! that reading it is cheap compared to reading the chunk. A page that cannot be read rules out nothing.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::Array;
use bytes::Bytes;
use lath_format::ColumnChunk;
use lath_kernels::compare::Comparison;
use lath_predicate::{ValueTest, test_values};

use super::bounds::value_type;
use super::column::PreparedColumn;
use super::options::Pruning;
use super::outcomes::Outcomes;
use crate::decode::dictionary_values;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::page::{Page, PageOptions, PageReader};
use crate::schema::Leaf;

/// The range of a chunk's dictionary page; `None` if the chunk may have other values, or if the page is too long.
pub(super) fn page_range(chunk: ColumnChunk<'_>, pruning: &Pruning) -> Option<Range<u64>> {
    let start = chunk.dictionary_page_offset().filter(|start| *start > 0)?;
    let end = chunk.data_page_offset();
    let len = end.checked_sub(start).filter(|len| *len > 0 && *len <= pruning.dictionary_bytes)?;
    let is_cheap = len < chunk.compressed_size() / pruning.dictionary_share.max(1);
    (is_cheap && chunk.is_dictionary_encoded_throughout()).then_some(start..end)
}

/// The values of a dictionary.
#[derive(Debug)]
pub(super) struct DictionaryValues(arrow_array::ArrayRef);

impl DictionaryValues {
    /// Decodes the bytes of a chunk's dictionary page; `None` if that fails.
    pub(super) fn decode(
        file: &ParquetFile,
        row_group: usize,
        column: &PreparedColumn<'_>,
        bytes: Bytes,
    ) -> Option<Self> {
        let (descriptor, data_type) = (column.descriptor?, column.element_type()?);
        let mut spec = file.chunk_spec(row_group, column.column.leaf?).ok()?;
        // Only the page is in memory, as a separate file.
        (spec.start, spec.len) = (0, bytes.len() as u64);
        let options = PageOptions { verify_crc: true, limits: file.limits().clone() };
        let leaf = Leaf {
            column: column.column.leaf?,
            physical_type: descriptor.physical_type(),
            type_length: usize::try_from(descriptor.type_length()).unwrap_or(0),
            max_def_level: spec.max_def_level,
            max_rep_level: spec.max_rep_level,
        };
        let read = || -> Result<_> {
            let mut pages = PageReader::new(Arc::new(bytes), spec, options)?;
            let Some(Page::Dictionary(page)) = pages.next_page()? else { return Ok(None) };
            let value_count = page.value_count;
            let values = dictionary_values(&leaf, value_type(data_type), &page)?;
            Ok(values.filter(|values| values.len() == value_count))
        };
        read().ok().flatten().map(Self)
    }

    /// The outcomes that `test` may have for the chunk's values.
    pub(super) fn outcomes(&self, test: &ValueTest, has_nulls: bool) -> Outcomes {
        let nulls = if has_nulls { Outcomes::NULL } else { Outcomes::NONE };
        if let ValueTest::Contains(value) = test {
            let element = ValueTest::Compare(Comparison::Equal, value.clone());
            let can_be_true = self.value_outcomes(&element).can_be_true();
            return Outcomes::of(can_be_true, true) | Outcomes::NULL;
        }
        self.value_outcomes(test) | nulls
    }

    fn value_outcomes(&self, test: &ValueTest) -> Outcomes {
        match test_values(test, &self.0) {
            Ok(truths) if truths.null_count() == 0 => {
                let count = truths.true_count();
                Outcomes::of(count > 0, count < truths.len())
            }
            _ => Outcomes::ANY,
        }
    }
}
