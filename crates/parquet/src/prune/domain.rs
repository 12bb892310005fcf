//! What some rows of a column can hold.

use lath_kernels::compare::Comparison;
use lath_predicate::ValueTest;

use super::bound::{Bound, Interval};
use super::outcomes::Outcomes;

/// Whether there are values of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Domain<'a> {
    /// Where the values lie, NaNs left out; `None` if there are none.
    pub(crate) values: Option<Interval<'a>>,
    /// Whether there may be NaNs.
    pub(crate) nans: bool,
    /// Whether there may be nulls.
    pub(crate) nulls: bool,
}

impl Domain<'_> {
    /// Anything.
    pub(super) const ANY: Self = Self { values: Some(Interval { lower: None, upper: None }), nans: true, nulls: true };

    /// What `test` may give.
    pub(super) fn outcomes(&self, test: &ValueTest) -> Outcomes {
        match test {
            ValueTest::IsNull => Outcomes::of(self.nulls, self.has_values()),
            // The list may be null, and another than the one that has the element.
            ValueTest::Contains(value) => {
                let can_be_true = self.intervals().any(|interval| interval.can_be(value));
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

    /// What comparing a value of these with one of `other` may give, in rows where both are.
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

    /// Where values may be, NaNs by themselves.
    fn intervals(&self) -> impl Iterator<Item = Interval<'_>> {
        let nans = self.nans.then(|| Interval::point(Bound::Float(f64::NAN)));
        self.values.into_iter().chain(nans)
    }
}
