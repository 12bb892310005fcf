//! Statistics of data without reading it: counts, sizes, minima and maxima, with their precision.
//!
//! Values are trusted as in pruning: statistics in an unknown order, or of values that are read into another type, are ignored.

mod column;
mod dataset;
mod file;
mod page;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;

/// A value with its precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision<T> {
    /// The exact value.
    Exact(T),
    /// An estimate. For a minimum: no value is smaller. For a maximum: none is larger. For a count: an upper bound.
    Inexact(T),
    /// Unknown.
    #[default]
    Absent,
}

impl<T> Precision<T> {
    /// The value, exact or not.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Exact(value) | Self::Inexact(value) => Some(value),
            Self::Absent => None,
        }
    }

    /// Whether the value is exact.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// The value changed by `change`, with the same precision.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Precision<U> {
        match self {
            Self::Exact(value) => Precision::Exact(change(value)),
            Self::Inexact(value) => Precision::Inexact(change(value)),
            Self::Absent => Precision::Absent,
        }
    }

    /// The value as an estimate.
    #[must_use]
    pub fn to_inexact(self) -> Self {
        match self {
            Self::Exact(value) => Self::Inexact(value),
            other => other,
        }
    }

    fn new(value: Option<T>, is_exact: bool) -> Self {
        match value {
            Some(value) if is_exact => Self::Exact(value),
            Some(value) => Self::Inexact(value),
            None => Self::Absent,
        }
    }
}

impl Precision<u64> {
    /// Distinct values of two parts that may share values.
    fn distinct_in_both(self, other: Self) -> Self {
        match (self.value(), other.value()) {
            (Some(&one), Some(&other)) => Self::Inexact(one.max(other)),
            _ => Self::Absent,
        }
    }

    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) => Self::Exact(one.saturating_add(other)),
            (one, other) => match (one.value(), other.value()) {
                (Some(one), Some(other)) => Self::Inexact(one.saturating_add(*other)),
                _ => Self::Absent,
            },
        }
    }
}

impl<T: fmt::Display> fmt::Display for Precision<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(value) => value.fmt(f),
            Self::Inexact(value) => write!(f, "about {value}"),
            Self::Absent => f.write_str("unknown"),
        }
    }
}

/// Statistics of rows, and of each of their columns.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// use lath_parquet::{Dataset, DatasetOptions};
///
/// let trips = Dataset::open(["trips/"], DatasetOptions::new())?;
/// let statistics = trips.statistics()?;
/// println!("{} rows, {} bytes", statistics.row_count, statistics.byte_count);
/// for column in &statistics.columns {
///     println!("{}: {} nulls", column.field.name(), column.null_count);
/// }
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Statistics {
    /// Number of rows.
    pub row_count: Precision<u64>,
    /// Bytes of all columns together, compressed.
    pub byte_count: Precision<u64>,
    /// The columns, in the order of the schema.
    pub columns: Vec<ColumnStatistics>,
}

/// Statistics of a column's values.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct ColumnStatistics {
    /// Name and type. The name is the dotted path if a field within a struct was requested.
    pub field: FieldRef,
    /// Number of rows in which it is null; unknown within lists.
    pub null_count: Precision<u64>,
    /// Number of rows in which it is NaN; 0 for columns that are not floats.
    pub nan_count: Precision<u64>,
    /// Number of distinct values without nulls. For several row groups it is inexact: the largest count of any of them, which is
    /// a lower bound.
    pub distinct_count: Precision<u64>,
    /// The smallest value, as an array of one element: null if there are only nulls. NaN is above all numbers.
    pub min: Precision<ArrayRef>,
    /// The largest value, in the same form.
    pub max: Precision<ArrayRef>,
    /// Bytes in the file, compressed, of all leaves below the column.
    pub byte_count: Precision<u64>,
    /// Bytes of the leaves with pages uncompressed.
    pub uncompressed_byte_count: Precision<u64>,
}

/// Statistics of a page of a column from the page index.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct PageStatistics {
    /// The page's rows, counted from the row group's first.
    pub rows: Range<u64>,
    /// Number of rows in which the column is null.
    pub null_count: Precision<u64>,
    /// The smallest value; see [`ColumnStatistics::min`].
    pub min: Precision<ArrayRef>,
    /// The largest value.
    pub max: Precision<ArrayRef>,
}
