//! What is known of data without reading it: counts, sizes, smallest and largest values, and how exact each of them is.
//!
//! Values are believed as pruning believes them: what statistics say in an order that is not known, or of values that are read
//! into another type, is left out.

mod column;
mod dataset;
mod file;
mod page;
mod scalar;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;

/// Something that is known, and how well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision<T> {
    /// It is this.
    Exact(T),
    /// It is about this. Of a smallest value: no value is smaller. Of a largest value: none is larger. Of a count: the most that
    /// it can be.
    Inexact(T),
    /// Nothing is known.
    #[default]
    Absent,
}

impl<T> Precision<T> {
    /// What is known, however well.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Exact(value) | Self::Inexact(value) => Some(value),
            Self::Absent => None,
        }
    }

    /// Whether it is known exactly.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// What `change` makes of it, known as well as before.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Precision<U> {
        match self {
            Self::Exact(value) => Precision::Exact(change(value)),
            Self::Inexact(value) => Precision::Inexact(change(value)),
            Self::Absent => Precision::Absent,
        }
    }

    /// The same, if all that is known of it is that it is about this.
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
    /// The distinct values of two parts that may have values in common.
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

/// What is known of rows, and of each of their columns.
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

/// What is known of the values of a column.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct ColumnStatistics {
    /// Name and type. The name is the dotted path where a field within a struct was asked for.
    pub field: FieldRef,
    /// Number of rows in which it is null. Within lists nothing is known.
    pub null_count: Precision<u64>,
    /// Number of rows in which it is NaN; 0 for columns that are not floats.
    pub nan_count: Precision<u64>,
    /// Number of different values, nulls aside. Of several row groups it is inexact: the largest count of any of them, so that there
    /// are at least as many.
    pub distinct_count: Precision<u64>,
    /// The smallest value, as an array of one: null where there are no values but null. NaN is above all numbers.
    pub min: Precision<ArrayRef>,
    /// The largest value, as the smallest.
    pub max: Precision<ArrayRef>,
    /// Bytes in the file, compressed, of everything below the column.
    pub byte_count: Precision<u64>,
    /// The same, with pages uncompressed.
    pub uncompressed_byte_count: Precision<u64>,
}

/// What the page index says of a page of a column.
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
