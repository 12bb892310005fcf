//! Announces the parts of a file that will be read, for sources with slow requests.

use std::ops::Range;

use super::ParquetFile;
use crate::page::HEADER_BYTES;
use lath_source::{Coverage, Extent};

impl ParquetFile {
    /// The chunks of some leaves of a row group; the flag says whether the whole chunk will be read. From other chunks, the
    /// dictionary is read whole if they are read at all, and pages as needed.
    pub(crate) fn extents(&self, row_group: usize, leaves: impl IntoIterator<Item = (usize, bool)>) -> Vec<Extent> {
        let mut extents = Vec::new();
        let mut add = |range: Range<u64>, coverage| {
            if !range.is_empty() {
                extents.push(Extent { range, coverage });
            }
        };
        for (leaf, is_wanted) in leaves {
            // The reader reports malformed chunks.
            let Ok(spec) = self.chunk_spec(row_group, leaf) else { continue };
            let end = spec.end(self.source.len());
            if is_wanted {
                add(spec.start..end, Coverage::All);
                continue;
            }
            let Ok(chunk) = self.metadata().chunk(row_group, leaf) else { continue };
            let first_page = Some(chunk.data_page_offset()).filter(|offset| *offset > spec.start);
            // The header of the page after a dictionary is read with it.
            let pages = first_page.map_or(spec.start, |page| page.saturating_add(HEADER_BYTES as u64).min(end));
            add(spec.start..pages, Coverage::AllOrNothing);
            add(pages..end, Coverage::Parts);
        }
        extents
    }
}
