//! What Lath knows of columns, as DataFusion has it.

use arrow_array::ArrayRef;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::scalar::ScalarValue;
use lath_parquet::{ColumnStatistics as Known, Precision as KnownPrecision, Statistics as KnownStatistics};

/// Statistics of the columns at `projection`, and of `others` behind them that nothing is known of.
pub(crate) fn of_table(known: &KnownStatistics, projection: &[usize], others: usize) -> Statistics {
    let columns =
        projection.iter().map(|&at| known.columns.get(at).map_or_else(ColumnStatistics::new_unknown, of_column));
    Statistics {
        num_rows: count(known.row_count),
        total_byte_size: count(known.byte_count).to_inexact(),
        column_statistics: columns.chain((0..others).map(|_| ColumnStatistics::new_unknown())).collect(),
    }
}

fn of_column(known: &Known) -> ColumnStatistics {
    ColumnStatistics {
        null_count: count(known.null_count),
        min_value: value(&known.min),
        max_value: value(&known.max),
        distinct_count: count(known.distinct_count),
        byte_size: count(known.uncompressed_byte_count).to_inexact(),
        ..ColumnStatistics::new_unknown()
    }
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
