//! Size statistics: histograms of levels, and bytes of byte strings.
//!
//! <https://parquet.apache.org/docs/file-format/metadata/#size-statistics>

use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::{LevelHistogram, ParquetMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::schema::types::ColumnDescriptor;

use super::tally::Tally;
use crate::page_index::column_index;

/// What a file claims of the sizes of a column chunk or a page.
struct Claim<'a> {
    def_levels: Option<&'a [i64]>,
    rep_levels: Option<&'a [i64]>,
    string_bytes: Option<i64>,
}

/// Reports what contradicts the size statistics of a column chunk.
pub(super) fn compare_chunk(
    metadata: &ParquetMetaData,
    (row_group, column): (usize, usize),
    tally: &Tally,
    report: impl FnMut(String),
) {
    let chunk = metadata.row_group(row_group).column(column);
    let claim = Claim {
        def_levels: chunk.definition_level_histogram().map(LevelHistogram::values),
        rep_levels: chunk.repetition_level_histogram().map(LevelHistogram::values),
        string_bytes: chunk.unencoded_byte_array_data_bytes(),
    };
    claim.compare(tally, chunk.column_descr(), report);
}

/// The same of a page.
pub(super) fn compare_page(
    metadata: &ParquetMetaData,
    (row_group, column, page): (usize, usize, usize),
    tally: &Tally,
    report: impl FnMut(String),
) {
    let index = column_index(metadata, row_group, column);
    let offsets = metadata.offset_index().and_then(|index| index.get(row_group)?.get(column));
    let claim = Claim {
        def_levels: index.and_then(|index| histograms(index, page).0),
        rep_levels: index.and_then(|index| histograms(index, page).1),
        string_bytes: offsets.and_then(|index| index.unencoded_byte_array_data_bytes()?.get(page).copied()),
    };
    claim.compare(tally, metadata.row_group(row_group).column(column).column_descr(), report);
}

fn histograms(index: &ColumnIndexMetaData, page: usize) -> (Option<&[i64]>, Option<&[i64]>) {
    macro_rules! of {
        ($index:ident) => {
            ($index.definition_level_histogram(page), $index.repetition_level_histogram(page))
        };
    }
    match index {
        ColumnIndexMetaData::NONE => (None, None),
        ColumnIndexMetaData::BOOLEAN(index) => of!(index),
        ColumnIndexMetaData::INT32(index) => of!(index),
        ColumnIndexMetaData::INT64(index) => of!(index),
        ColumnIndexMetaData::INT96(index) => of!(index),
        ColumnIndexMetaData::FLOAT(index) => of!(index),
        ColumnIndexMetaData::DOUBLE(index) => of!(index),
        ColumnIndexMetaData::BYTE_ARRAY(index) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => of!(index),
    }
}

impl Claim<'_> {
    fn compare(&self, tally: &Tally, column: &ColumnDescriptor, mut report: impl FnMut(String)) {
        let mut compare_levels = |name: &str, claimed: Option<&[i64]>, counted: &[u64], max: i16| {
            // Where shapes were read by the compatibility rules, the levels of the data are not those of the schema.
            let is_counted = counted.len() == usize::try_from(max).unwrap_or(0) + 1;
            let Some(claimed) = claimed.filter(|claimed| is_counted && !claimed.is_empty()) else { return };
            if !claimed.iter().map(|&count| u64::try_from(count).ok()).eq(counted.iter().map(|&count| Some(count))) {
                report(format!("{name} levels {claimed:?} by the size statistics, {counted:?} in the data"));
            }
        };
        compare_levels("definition", self.def_levels, &tally.def_levels, column.max_def_level());
        compare_levels("repetition", self.rep_levels, &tally.rep_levels, column.max_rep_level());
        if column.physical_type() == PhysicalType::BYTE_ARRAY
            && let (Some(claimed), Some(counted)) = (self.string_bytes, tally.string_bytes)
            && u64::try_from(claimed) != Ok(counted)
        {
            report(format!("{claimed} bytes of byte strings by the size statistics, {counted} in the data"));
        }
    }
}
