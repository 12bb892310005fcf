//! Combines the statistics of a column's chunks.

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::{DataType, FieldRef};
use lath_predicate::{Value, to_array};

use super::{ColumnStatistics, Precision};
use crate::prune::{Bound, Domain};

/// Bounds of the values of some rows, without nulls.
#[derive(Debug, Clone)]
pub(super) struct Values {
    pub(super) min: Edge,
    pub(super) max: Edge,
}

/// A smallest or largest value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Edge {
    /// There are no values.
    None,
    /// This value, or a bound.
    Known {
        value: Value,
        is_exact: bool,
    },
    Unknown,
}

/// Minimum or maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Min,
    Max,
}

impl Values {
    /// Bounds of no rows.
    pub(super) const NONE: Self = Self { min: Edge::None, max: Edge::None };
    pub(super) const UNKNOWN: Self = Self { min: Edge::Unknown, max: Edge::Unknown };

    /// Bounds from a domain. `is_exact` says whether its bounds are values that occur; the number of NaNs is given if known.
    pub(super) fn from_domain(
        domain: &Domain<'_>,
        is_exact: [bool; 2],
        nan_count: Option<u64>,
        data_type: &DataType,
    ) -> Self {
        let nan = || Edge::Known { value: Value::Float(f64::NAN), is_exact: true };
        let Some(interval) = &domain.values else {
            return match (domain.nans, nan_count) {
                (false, _) => Self::NONE,
                // Only NaNs and nulls.
                (true, Some(1..)) => Self { min: nan(), max: nan() },
                (true, _) => Self::UNKNOWN,
            };
        };
        let edge = |bound: Option<Bound<'_>>, side: Side| {
            let Some(bound) = bound else { return Edge::Unknown };
            let is_exact = is_exact[side as usize] && !bound.is_float_zero();
            let (value, is_exact) = match bound.to_value() {
                Value::Bytes(bytes) if data_type.is_string() => match whole_characters(&bytes, side == Side::Max) {
                    Some(whole) if whole.len() == bytes.len() => (Value::Bytes(bytes), is_exact),
                    Some(whole) => (Value::Bytes(whole.to_vec().into()), false),
                    None => return Edge::Unknown,
                },
                value => (value, is_exact),
            };
            Edge::Known { value, is_exact }
        };
        let max = match (domain.nans, nan_count) {
            (true, Some(1..)) => nan(),
            (true, _) => Edge::Unknown,
            (false, _) => edge(interval.upper, Side::Max),
        };
        Self { min: edge(interval.lower, Side::Min), max }
    }

    /// Adds the bounds of other rows.
    pub(super) fn join(&mut self, others: Self) {
        self.min.join(others.min, Side::Min);
        self.max.join(others.max, Side::Max);
    }
}

impl Edge {
    fn join(&mut self, other: Self, side: Side) {
        match (&*self, other) {
            (Self::Unknown, _) | (_, Self::None) => {}
            (Self::None, other) => *self = other,
            (_, Self::Unknown) => *self = Self::Unknown,
            (Self::Known { value, is_exact }, Self::Known { value: other, is_exact: other_is_exact }) => {
                let order = other.cmp(value);
                let is_further = if side == Side::Min { order.is_lt() } else { order.is_gt() };
                let is_exact = match (is_further, order.is_eq()) {
                    (_, true) => *is_exact || other_is_exact,
                    (true, _) => other_is_exact,
                    (false, _) => *is_exact,
                };
                let value = if is_further { other } else { value.clone() };
                *self = Self::Known { value, is_exact };
            }
        }
    }

    /// The value as an array of one element.
    pub(super) fn to_array(&self, data_type: &DataType) -> Precision<ArrayRef> {
        match self {
            Self::None => Precision::Exact(new_null_array(data_type, 1)),
            Self::Unknown => Precision::Absent,
            Self::Known { value, is_exact } => Precision::new(to_array(&[Some(value.clone())], data_type), *is_exact),
        }
    }
}

impl ColumnStatistics {
    /// Statistics of a column without any information.
    pub(super) fn unknown(field: FieldRef) -> Self {
        Self {
            field,
            null_count: Precision::Absent,
            nan_count: Precision::Absent,
            distinct_count: Precision::Absent,
            min: Precision::Absent,
            max: Precision::Absent,
            byte_count: Precision::Absent,
            uncompressed_byte_count: Precision::Absent,
        }
    }

    /// Makes them the statistics of some of the rows: bounds stay bounds, and counts are upper bounds.
    pub(super) fn make_inexact(&mut self) {
        for count in [&mut self.null_count, &mut self.nan_count, &mut self.distinct_count] {
            if *count != Precision::Exact(0) {
                *count = std::mem::take(count).to_inexact();
            }
        }
        for bound in [&mut self.min, &mut self.max] {
            *bound = std::mem::take(bound).to_inexact();
        }
    }
}

/// The part of a bound of strings that is a string. Writers can shorten bounds within a character.
fn whole_characters(bytes: &[u8], is_upper: bool) -> Option<&[u8]> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Some(bytes),
        // A prefix is never larger.
        Err(error) if !is_upper => bytes.get(..error.valid_up_to()),
        Err(_) => None,
    }
}
