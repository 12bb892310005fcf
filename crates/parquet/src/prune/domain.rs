//! The values that some rows of a column may have.

use lath_kernels::compare::Comparison;
use lath_predicate::ValueTest;

use super::bound::{Bound, Interval};
use super::outcomes::Outcomes;

/// The possible values of some rows: numbers or strings in an interval, NaNs, nulls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Domain<'a> {
    /// The interval of the values other than NaNs; `None` if there are none.
    pub(crate) values: Option<Interval<'a>>,
    /// Whether there may be NaNs.
    pub(crate) nans: bool,
    /// Whether there may be nulls.
    pub(crate) nulls: bool,
}

impl Domain<'_> {
    /// Every value is possible.
    pub(super) const ANY: Self = Self { values: Some(Interval { lower: None, upper: None }), nans: true, nulls: true };

    /// The outcomes that `test` may have.
    pub(super) fn outcomes(&self, test: &ValueTest) -> Outcomes {
        match test {
            ValueTest::IsNull => Outcomes::of(self.nulls, self.has_values()),
            // A list may be null, and a list without the element may be next to one that has it.
            ValueTest::Contains(value) => {
                let can_be_true = self.intervals().any(|interval| interval.may_contain(value));
                Outcomes::of(can_be_true, true) | Outcomes::NULL
            }
            _ => {
                let mut all = if self.nulls { Outcomes::NULL } else { Outcomes::NONE };
                for interval in self.intervals() {
                    all |= interval.outcomes(test);
                }
                all
            }
        }
    }

    /// The outcomes of comparing a value with a value of `other` in the same row.
    pub(super) fn compared_with(&self, op: Comparison, other: &Domain<'_>) -> Outcomes {
        let mut all = if self.nulls || other.nulls { Outcomes::NULL } else { Outcomes::NONE };
        for left in self.intervals() {
            for right in other.intervals() {
                all |= left.compared_with(op, &right);
            }
        }
        all
    }

    fn has_values(&self) -> bool {
        self.values.is_some() || self.nans
    }

    /// The intervals of all values, including one for NaNs.
    fn intervals(&self) -> impl Iterator<Item = Interval<'_>> {
        let nans = self.nans.then(|| Interval::point(Bound::Float(f64::NAN)));
        self.values.into_iter().chain(nans)
    }
}
