//! Writes the page index: column indexes, then offset indexes, after the last row group.
//!
//! <https://github.com/apache/parquet-format/blob/master/PageIndex.md>

use std::io::Write;

use lath_parquet::Result;

use super::output::Output;
use super::row_group::RowGroups;

/// Writes the indexes, and their locations in the chunks' metadata.
pub(crate) fn write<W: Write>(row_groups: &mut RowGroups, output: &mut Output<W>) -> Result<()> {
    for chunk in row_groups.done_mut().iter_mut().flat_map(|row_group| &mut row_group.chunks) {
        if let Some(index) = chunk.column_index.take() {
            chunk.metadata.column_index = Some(output.place(&index)?);
        }
    }
    for chunk in row_groups.done_mut().iter_mut().flat_map(|row_group| &mut row_group.chunks) {
        if let Some(index) = chunk.offset_index.take() {
            chunk.metadata.offset_index = Some(output.place(&index)?);
        }
    }
    Ok(())
}
