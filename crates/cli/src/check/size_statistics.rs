//! Size statistics: histograms of levels, and bytes of byte arrays.
//!
//! <https://parquet.apache.org/docs/file-format/metadata/#size-statistics>

use lath_format::schema::ColumnDescriptor;
use lath_format::schema::PhysicalType;

use super::observed::ObservedValues;
use crate::metadata::page_index::{FileInfo, column_index};

/// The size statistics of a column chunk or a page.
struct DeclaredSizes<'a> {
    def_levels: Option<&'a [i64]>,
    rep_levels: Option<&'a [i64]>,
    string_bytes: Option<i64>,
}

/// Reports differences from the size statistics of a column chunk.
pub(super) fn compare_chunk(
    metadata: FileInfo<'_>,
    (row_group, column): (usize, usize),
    observed: &ObservedValues,
    report: impl FnMut(String),
) {
    let Ok(chunk) = metadata.metadata.chunk(row_group, column) else { return };
    let Some(statistics) = chunk.size_statistics() else { return };
    let claim = DeclaredSizes {
        def_levels: statistics.definition_level_histogram.as_deref(),
        rep_levels: statistics.repetition_level_histogram.as_deref(),
        string_bytes: statistics.unencoded_byte_array_data_bytes,
    };
    claim.compare(observed, &metadata.metadata.schema_descr().columns()[column], report);
}

/// Reports differences from the size statistics of a page.
pub(super) fn compare_page(
    metadata: FileInfo<'_>,
    (row_group, column, page): (usize, usize, usize),
    observed: &ObservedValues,
    report: impl FnMut(String),
) {
    let index = column_index(metadata, row_group, column);
    let offsets = metadata.indexes.and_then(|indexes| indexes.offset_index(row_group, column));
    let claim = DeclaredSizes {
        def_levels: index.and_then(|index| index.definition_level_histogram(page)),
        rep_levels: index.and_then(|index| index.repetition_level_histogram(page)),
        string_bytes: offsets.and_then(|index| index.unencoded_byte_array_data_bytes.as_ref()?.get(page).copied()),
    };
    claim.compare(observed, &metadata.metadata.schema_descr().columns()[column], report);
}

impl DeclaredSizes<'_> {
    fn compare(&self, observed: &ObservedValues, column: &ColumnDescriptor, mut report: impl FnMut(String)) {
        let mut compare_levels = |name: &str, claimed: Option<&[i64]>, counted: &[u64], max: i16| {
            // If nested columns are read by the compatibility rules, the data's levels differ from the schema's.
            let is_counted = counted.len() == usize::try_from(max).unwrap_or(0) + 1;
            let Some(claimed) = claimed.filter(|claimed| is_counted && !claimed.is_empty()) else { return };
            if !claimed.iter().map(|&count| u64::try_from(count).ok()).eq(counted.iter().map(|&count| Some(count))) {
                report(format!("{name} levels {claimed:?} by the size statistics, {counted:?} in the data"));
            }
        };
        compare_levels("definition", self.def_levels, &observed.def_levels, column.max_def_level());
        compare_levels("repetition", self.rep_levels, &observed.rep_levels, column.max_rep_level());
        if column.physical_type() == PhysicalType::BYTE_ARRAY
            && let (Some(claimed), Some(counted)) = (self.string_bytes, observed.string_bytes)
            && u64::try_from(claimed) != Ok(counted)
        {
            report(format!("{claimed} bytes of byte strings by the size statistics, {counted} in the data"));
        }
    }
}
