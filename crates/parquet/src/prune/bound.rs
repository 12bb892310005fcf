//! Bounds of values, in the order that predicates have.

use std::cmp::Ordering;

use arrow_buffer::i256;
use lath_kernels::compare::Comparison;
use lath_predicate::{Pattern, Value, ValueTest, compare_floats};

use super::outcomes::Outcomes;

/// A smallest or largest value, borrowed from metadata. The kinds are those of [`Value`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound<'a> {
    Boolean(bool),
    Int(i128),
    Wide(i256),
    Float(f64),
    Bytes(&'a [u8]),
}

impl Bound<'_> {
    /// The bound as a value of its own.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Boolean(value) => Value::Boolean(value),
            Self::Int(value) => Value::Int(value),
            Self::Wide(value) => Value::Wide(value),
            Self::Float(value) => Value::Float(value),
            Self::Bytes(value) => Value::Bytes(value.to_vec().into()),
        }
    }

    /// Whether it stands for a zero of either sign.
    pub(crate) fn is_float_zero(&self) -> bool {
        matches!(self, Self::Float(value) if *value == 0.0)
    }

    /// How the bound stands to a value; `None` if they are of two kinds.
    fn order(&self, value: &Value) -> Option<Ordering> {
        Some(match (self, value) {
            (Self::Boolean(bound), Value::Boolean(value)) => bound.cmp(value),
            (Self::Int(bound), Value::Int(value)) => bound.cmp(value),
            (Self::Wide(bound), Value::Wide(value)) => bound.cmp(value),
            (Self::Float(bound), Value::Float(value)) => compare_floats(*bound, *value),
            (Self::Bytes(bound), Value::Bytes(value)) => (*bound).cmp(value),
            _ => return None,
        })
    }

    fn order_of_bounds(&self, other: &Bound<'_>) -> Option<Ordering> {
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

/// Values lie between two bounds, both included; without a bound they may be of any size on that side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Interval<'a> {
    pub(crate) lower: Option<Bound<'a>>,
    pub(crate) upper: Option<Bound<'a>>,
}

impl<'a> Interval<'a> {
    /// Of one value.
    pub(super) fn point(value: Bound<'a>) -> Self {
        Self { lower: Some(value), upper: Some(value) }
    }

    /// What `test`, which is about values, may give for these. Nulls are not spoken of.
    pub(super) fn outcomes(&self, test: &ValueTest) -> Outcomes {
        match test {
            ValueTest::IsNull => Outcomes::FALSE,
            ValueTest::Always(truth) => Outcomes::only(Some(*truth)),
            ValueTest::Compare(op, value) => self.compared(*op, value),
            ValueTest::Between(low, high) => {
                let is_outside = low > high || self.all_below(low) || self.all_above(high);
                Outcomes::of(!is_outside, !(self.all_from(low) && self.all_up_to(high)))
            }
            ValueTest::In(set) => self.within(set.values()),
            ValueTest::Like(pattern) => self.like(pattern),
            ValueTest::Truth => self.compared(Comparison::Equal, &Value::Boolean(true)),
            ValueTest::Contains(_) => Outcomes::ANY,
        }
    }

    fn compared(&self, op: Comparison, value: &Value) -> Outcomes {
        let (can_be_true, can_be_false) = match op {
            Comparison::Equal => (self.can_be(value), !self.is_only(value)),
            Comparison::NotEqual => (!self.is_only(value), self.can_be(value)),
            Comparison::Less => (!self.all_from(value), !self.all_below(value)),
            Comparison::LessOrEqual => (!self.all_above(value), !self.all_up_to(value)),
            Comparison::Greater => (!self.all_up_to(value), !self.all_above(value)),
            Comparison::GreaterOrEqual => (!self.all_below(value), !self.all_from(value)),
        };
        Outcomes::of(can_be_true, can_be_false)
    }

    /// Whether a value may be one of `values`, which ascend.
    fn within(&self, values: &[Value]) -> Outcomes {
        // The first value that is not certainly below all of these.
        let first = match &self.lower {
            Some(lower) => values.partition_point(|value| lower.order(value) == Some(Ordering::Greater)),
            None => 0,
        };
        let Some(value) = values.get(first) else { return Outcomes::FALSE };
        Outcomes::of(!self.all_below(value), !self.is_only(value))
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

    /// What comparing one of these with one of `other` may give.
    pub(super) fn compared_with(&self, op: Comparison, other: &Interval<'_>) -> Outcomes {
        let order =
            |left: &Option<Bound<'_>>, right: &Option<Bound<'_>>| left.as_ref()?.order_of_bounds(right.as_ref()?);
        // The largest of these beside the smallest of the others, and the other way round.
        let most = order(&self.upper, &other.lower);
        let least = order(&self.lower, &other.upper);
        let all_below = most == Some(Ordering::Less);
        let all_up_to = matches!(most, Some(Ordering::Less | Ordering::Equal));
        let all_above = least == Some(Ordering::Greater);
        let all_from = matches!(least, Some(Ordering::Greater | Ordering::Equal));
        let are_equal = all_up_to && all_from;
        let (can_be_true, can_be_false) = match op {
            Comparison::Equal => (!(all_below || all_above), !are_equal),
            Comparison::NotEqual => (!are_equal, !(all_below || all_above)),
            Comparison::Less => (!all_from, !all_below),
            Comparison::LessOrEqual => (!all_above, !all_up_to),
            Comparison::Greater => (!all_up_to, !all_above),
            Comparison::GreaterOrEqual => (!all_below, !all_from),
        };
        Outcomes::of(can_be_true, can_be_false)
    }

    /// Whether `value` may be among these.
    pub(super) fn can_be(&self, value: &Value) -> bool {
        !self.all_below(value) && !self.all_above(value)
    }

    fn is_only(&self, value: &Value) -> bool {
        self.all_from(value) && self.all_up_to(value)
    }

    fn all_below(&self, value: &Value) -> bool {
        self.upper_to(value) == Some(Ordering::Less)
    }

    fn all_up_to(&self, value: &Value) -> bool {
        matches!(self.upper_to(value), Some(Ordering::Less | Ordering::Equal))
    }

    fn all_above(&self, value: &Value) -> bool {
        self.lower_to(value) == Some(Ordering::Greater)
    }

    fn all_from(&self, value: &Value) -> bool {
        matches!(self.lower_to(value), Some(Ordering::Greater | Ordering::Equal))
    }

    fn lower_to(&self, value: &Value) -> Option<Ordering> {
        self.lower.as_ref()?.order(value)
    }

    fn upper_to(&self, value: &Value) -> Option<Ordering> {
        self.upper.as_ref()?.order(value)
    }
}
