//! Bounds of values, in the order in which predicates compare.

use std::cmp::Ordering;

use arrow_buffer::i256;
use lath_kernels::compare::Comparison;
use lath_predicate::{Pattern, Value, ValueTest, compare_floats};

use super::outcomes::Outcomes;

/// A minimum or maximum, borrowed from metadata, with the variants of [`Value`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound<'a> {
    Boolean(bool),
    Int(i128),
    Wide(i256),
    Float(f64),
    Bytes(&'a [u8]),
}

impl Bound<'_> {
    /// The bound as an owned value.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Boolean(value) => Value::Boolean(value),
            Self::Int(value) => Value::Int(value),
            Self::Wide(value) => Value::Wide(value),
            Self::Float(value) => Value::Float(value),
            Self::Bytes(value) => Value::Bytes(value.to_vec().into()),
        }
    }

    /// Whether it is a zero of either sign.
    pub(crate) fn is_float_zero(&self) -> bool {
        matches!(self, Self::Float(value) if *value == 0.0)
    }

    /// Compares the bound with a value; `None` if their kinds differ.
    fn compare(&self, value: &Value) -> Option<Ordering> {
        Some(match (self, value) {
            (Self::Boolean(bound), Value::Boolean(value)) => bound.cmp(value),
            (Self::Int(bound), Value::Int(value)) => bound.cmp(value),
            (Self::Wide(bound), Value::Wide(value)) => bound.cmp(value),
            (Self::Float(bound), Value::Float(value)) => compare_floats(*bound, *value),
            (Self::Bytes(bound), Value::Bytes(value)) => (*bound).cmp(value),
            _ => return None,
        })
    }

    fn compare_bounds(&self, other: &Bound<'_>) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Boolean(left), Bound::Boolean(right)) => left.cmp(right),
            (Self::Int(left), Bound::Int(right)) => left.cmp(right),
            (Self::Wide(left), Bound::Wide(right)) => left.cmp(right),
            (Self::Float(left), Bound::Float(right)) => compare_floats(*left, *right),
            (Self::Bytes(left), Bound::Bytes(right)) => (*left).cmp(right),
            _ => return None,
        })
    }
}

/// The values from a lower to an upper bound, both included; without a bound there is no limit on that side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Interval<'a> {
    pub(crate) lower: Option<Bound<'a>>,
    pub(crate) upper: Option<Bound<'a>>,
}

impl<'a> Interval<'a> {
    /// The interval of one value.
    pub(super) fn point(value: Bound<'a>) -> Self {
        Self { lower: Some(value), upper: Some(value) }
    }

    /// Whether the lower bound is above the upper one, or of another kind.
    pub(super) fn is_contradictory(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Some(lower), Some(upper)) => lower.compare_bounds(upper).is_none_or(Ordering::is_gt),
            _ => false,
        }
    }

    /// The outcomes that `test` may have for values in the interval. Nulls are not considered.
    pub(super) fn outcomes(&self, test: &ValueTest) -> Outcomes {
        match test {
            ValueTest::IsNull => Outcomes::FALSE,
            ValueTest::Always(truth) => Outcomes::only(Some(*truth)),
            ValueTest::Compare(op, value) => self.compared(*op, value),
            ValueTest::Between(low, high) => {
                let is_outside = low > high || self.all_below(low) || self.all_above(high);
                Outcomes::of(!is_outside, !(self.all_at_least(low) && self.all_at_most(high)))
            }
            ValueTest::In(set) => self.in_list(set.values()),
            ValueTest::Like(pattern) => self.like(pattern),
            ValueTest::Truth => self.compared(Comparison::Equal, &Value::Boolean(true)),
            ValueTest::Contains(_) => Outcomes::ANY,
        }
    }

    fn compared(&self, op: Comparison, value: &Value) -> Outcomes {
        let (can_be_true, can_be_false) = match op {
            Comparison::Equal => (self.may_contain(value), !self.contains_only(value)),
            Comparison::NotEqual => (!self.contains_only(value), self.may_contain(value)),
            Comparison::Less => (!self.all_at_least(value), !self.all_below(value)),
            Comparison::LessOrEqual => (!self.all_above(value), !self.all_at_most(value)),
            Comparison::Greater => (!self.all_at_most(value), !self.all_above(value)),
            Comparison::GreaterOrEqual => (!self.all_below(value), !self.all_at_least(value)),
        };
        Outcomes::of(can_be_true, can_be_false)
    }

    /// The outcomes of whether a value is among `values`, which ascend.
    fn in_list(&self, values: &[Value]) -> Outcomes {
        // The first value that is not below the whole interval.
        let first = match &self.lower {
            Some(lower) => values.partition_point(|value| lower.compare(value) == Some(Ordering::Greater)),
            None => 0,
        };
        let Some(value) = values.get(first) else { return Outcomes::FALSE };
        Outcomes::of(!self.all_below(value), !self.contains_only(value))
    }

    fn like(&self, pattern: &Pattern) -> Outcomes {
        if let Some(value) = pattern.exact() {
            return self.compared(Comparison::Equal, &Value::Bytes(value.clone()));
        }
        let Some(prefix) = pattern.prefix() else { return Outcomes::of(true, !pattern.is_prefix_only()) };
        let starts = |bound: &Option<Bound<'_>>| match bound {
            Some(Bound::Bytes(bytes)) => Some(bytes[..bytes.len().min(prefix.len())].cmp(prefix)),
            _ => None,
        };
        let (lower, upper) = (starts(&self.lower), starts(&self.upper));
        let is_outside = lower == Some(Ordering::Greater) || upper == Some(Ordering::Less);
        let is_inside = lower == Some(Ordering::Equal) && upper == Some(Ordering::Equal);
        Outcomes::of(!is_outside, !(is_inside && pattern.is_prefix_only()))
    }

    /// The outcomes of comparing a value in the interval with a value in `other`.
    pub(super) fn compared_with(&self, op: Comparison, other: &Interval<'_>) -> Outcomes {
        let compare =
            |left: &Option<Bound<'_>>, right: &Option<Bound<'_>>| left.as_ref()?.compare_bounds(right.as_ref()?);
        let max_to_min = compare(&self.upper, &other.lower);
        let min_to_max = compare(&self.lower, &other.upper);
        let all_below = max_to_min == Some(Ordering::Less);
        let all_at_most = matches!(max_to_min, Some(Ordering::Less | Ordering::Equal));
        let all_above = min_to_max == Some(Ordering::Greater);
        let all_at_least = matches!(min_to_max, Some(Ordering::Greater | Ordering::Equal));
        let are_equal = all_at_most && all_at_least;
        let (can_be_true, can_be_false) = match op {
            Comparison::Equal => (!(all_below || all_above), !are_equal),
            Comparison::NotEqual => (!are_equal, !(all_below || all_above)),
            Comparison::Less => (!all_at_least, !all_below),
            Comparison::LessOrEqual => (!all_above, !all_at_most),
            Comparison::Greater => (!all_at_most, !all_above),
            Comparison::GreaterOrEqual => (!all_below, !all_at_least),
        };
        Outcomes::of(can_be_true, can_be_false)
    }

    /// Whether `value` lies in the interval.
    pub(super) fn may_contain(&self, value: &Value) -> bool {
        !self.all_below(value) && !self.all_above(value)
    }

    fn contains_only(&self, value: &Value) -> bool {
        self.all_at_least(value) && self.all_at_most(value)
    }

    fn all_below(&self, value: &Value) -> bool {
        self.compare_upper(value) == Some(Ordering::Less)
    }

    fn all_at_most(&self, value: &Value) -> bool {
        matches!(self.compare_upper(value), Some(Ordering::Less | Ordering::Equal))
    }

    fn all_above(&self, value: &Value) -> bool {
        self.compare_lower(value) == Some(Ordering::Greater)
    }

    fn all_at_least(&self, value: &Value) -> bool {
        matches!(self.compare_lower(value), Some(Ordering::Greater | Ordering::Equal))
    }

    fn compare_lower(&self, value: &Value) -> Option<Ordering> {
        self.lower.as_ref()?.compare(value)
    }

    fn compare_upper(&self, value: &Value) -> Option<Ordering> {
        self.upper.as_ref()?.compare(value)
    }
}
