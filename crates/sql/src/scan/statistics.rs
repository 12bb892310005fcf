//! Converts Lath's column statistics to DataFusion's.

use arrow_array::ArrayRef;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::scalar::ScalarValue;
use lath_parquet::{ColumnStatistics as Known, Precision as KnownPrecision, Statistics as KnownStatistics};

use super::selectivity::distinct_values;

/// Bytes of a view in an Arrow array of string views.
const VIEW_BYTES: u64 = 16;

/// Converts the statistics of the columns at `projection`, followed by `others` columns without statistics.
pub(crate) fn from_known(known: &KnownStatistics, projection: &[usize], others: usize) -> Statistics {
    let columns = projection.iter().map(|&at| match known.columns.get(at) {
        Some(column) => column_statistics(column, known.row_count),
        None => ColumnStatistics::new_unknown(),
    });
    let columns: Vec<ColumnStatistics> = columns.chain((0..others).map(|_| ColumnStatistics::new_unknown())).collect();
    let no_bytes = Precision::Inexact(0);
    Statistics {
        num_rows: count(known.row_count),
        total_byte_size: columns.iter().fold(no_bytes, |bytes, column| bytes.add(&column.byte_size)),
        column_statistics: columns,
    }
}

/// The statistics after a filter that keeps about `rows` rows.
pub(crate) fn filtered(statistics: Statistics, rows: Precision<usize>) -> Statistics {
    let share = match (rows.get_value(), statistics.num_rows.get_value()) {
        (Some(&rows), Some(&all)) if all > 0 => rows as f64 / all as f64,
        _ => 1.0,
    };
    let scaled = |bytes: Precision<usize>| bytes.with_estimated_selectivity(share);
    let mut some = statistics.to_inexact();
    for column in &mut some.column_statistics {
        column.byte_size = scaled(column.byte_size);
        column.null_count = scaled(column.null_count);
    }
    Statistics { num_rows: rows, total_byte_size: scaled(some.total_byte_size), ..some }
}

fn column_statistics(known: &Known, rows: KnownPrecision<u64>) -> ColumnStatistics {
    // Strings in dictionaries take less space in the file than in memory, where each takes at least a view.
    let in_memory = match known.field.data_type().primitive_width() {
        Some(width) => rows.map(|rows| rows.saturating_mul(width as u64)),
        None => known
            .uncompressed_byte_count
            .map(|bytes| bytes.max(rows.value().map_or(0, |rows| rows.saturating_mul(VIEW_BYTES)))),
    };
    let column = ColumnStatistics {
        null_count: count(known.null_count),
        min_value: value(&known.min),
        max_value: value(&known.max),
        distinct_count: count(known.distinct_count),
        byte_size: count(in_memory).to_inexact(),
        ..ColumnStatistics::new_unknown()
    };
    // A filter changes the number of rows and not this count, by which joins are ordered.
    let distinct_count = match column.distinct_count {
        Precision::Absent => {
            distinct_values(&column, count(rows)).map_or(Precision::Absent, |count| Precision::Inexact(count as usize))
        }
        known => known,
    };
    ColumnStatistics { distinct_count, ..column }
}

pub(crate) fn count(known: KnownPrecision<u64>) -> Precision<usize> {
    let fits = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    match known {
        KnownPrecision::Exact(count) => Precision::Exact(fits(count)),
        KnownPrecision::Inexact(count) => Precision::Inexact(fits(count)),
        KnownPrecision::Absent => Precision::Absent,
    }
}

fn value(known: &KnownPrecision<ArrayRef>) -> Precision<ScalarValue> {
    let scalar = known.value().and_then(|array| ScalarValue::try_from_array(array, 0).ok());
    match scalar {
        None => Precision::Absent,
        Some(value) if known.is_exact() => Precision::Exact(value),
        Some(value) => Precision::Inexact(value),
    }
}
