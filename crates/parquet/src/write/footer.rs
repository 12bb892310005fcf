//! The footer: what the file is, row group by row group.
//!
//! ```text
//! | PAR1 | row groups | Bloom filters | column indexes | offset indexes | FileMetaData | length, u32 | PAR1 |
//! ```

use std::io::Write;
use std::sync::Arc;

use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
    SortingColumn as SortingColumnMetaData,
};

use super::options::{PageVersion, WriteOptions};
use super::output::Output;
use super::row_group::{RowGroup, RowGroups, signed, too_long};
use super::schema::WriteSchema;
use super::{page_index, splice};
use crate::envelope::guard;
use crate::error::{Error, Result};

/// What every Parquet file starts and ends with.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";

/// Writes everything behind the last row group.
pub(super) fn write<W: Write>(
    row_groups: &mut RowGroups,
    schema: &WriteSchema,
    options: &WriteOptions,
    output: &mut Output<W>,
) -> Result<ParquetMetaData> {
    row_groups.write_bloom_filters(output)?;
    page_index::write(row_groups, output)?;
    let metadata = metadata(row_groups.done(), schema, options)?;
    let mut footer = Vec::new();
    guard(|| ParquetMetaDataWriter::new(&mut footer, &metadata).finish())
        .map_err(|error| Error::unsupported(format!("writing this metadata: {error}")))?;
    if splice::is_needed(schema, row_groups.done()) {
        footer.truncate(footer.len().saturating_sub(MAGIC.len() + size_of::<u32>()));
        footer = splice::complete(&footer, schema, row_groups.done())?;
        let len = u32::try_from(footer.len()).map_err(|_| too_long())?;
        footer.extend_from_slice(&len.to_le_bytes());
        footer.extend_from_slice(MAGIC);
    }
    output.write(&footer)?;
    Ok(metadata)
}

fn metadata(row_groups: &[RowGroup], schema: &WriteSchema, options: &WriteOptions) -> Result<ParquetMetaData> {
    let sorting = options.sorting().iter().map(|sorting| {
        let column_idx = i32::try_from(schema.leaf_index(&sorting.path)?).map_err(|_| too_long())?;
        let (descending, nulls_first) = (sorting.descending, sorting.nulls_first);
        Ok(SortingColumnMetaData { column_idx, descending, nulls_first })
    });
    let sorting = Some(sorting.collect::<Result<Vec<_>>>()?).filter(|sorting| !sorting.is_empty());
    let row_count: usize = row_groups.iter().map(|row_group| row_group.rows).sum();
    let row_groups = row_groups.iter().enumerate();
    let row_groups = row_groups.map(|(ordinal, row_group)| describe(ordinal, row_group, schema, &sorting));
    let row_groups = row_groups.collect::<Result<Vec<_>>>()?;
    let has_new_pages = schema.leaves.iter().any(|leaf| leaf.options.page_version == PageVersion::V2);
    let file = FileMetaData::new(
        if has_new_pages { 2 } else { 1 },
        signed(row_count as u64)?,
        Some(options.creator().to_owned()),
        Some(schema.key_values(options)).filter(|pairs| !pairs.is_empty()),
        Arc::clone(&schema.descr),
        None,
    );
    Ok(ParquetMetaData::new(file, row_groups))
}

fn describe(
    ordinal: usize,
    row_group: &RowGroup,
    schema: &WriteSchema,
    sorting: &Option<Vec<SortingColumnMetaData>>,
) -> Result<RowGroupMetaData> {
    let chunks = || row_group.chunks.iter().map(|chunk| &chunk.metadata);
    let uncompressed: i64 = chunks().map(ColumnChunkMetaData::uncompressed_size).sum();
    let mut builder = RowGroupMetaData::builder(Arc::clone(&schema.descr))
        .set_num_rows(signed(row_group.rows as u64)?)
        .set_total_byte_size(uncompressed)
        .set_sorting_columns(row_group.sorting.as_ref().or(sorting.as_ref()).cloned())
        .set_column_metadata(chunks().cloned().collect());
    if let Some(first) = row_group.chunks.first() {
        builder = builder.set_file_offset(signed(first.start)?);
    }
    // It is optional, and has 16 bits.
    if let Ok(ordinal) = i16::try_from(ordinal) {
        builder = builder.set_ordinal(ordinal);
    }
    guard(|| builder.build())
}
