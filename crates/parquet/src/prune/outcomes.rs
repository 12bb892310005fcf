//! The truth values that a test may have, given evidence.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign};

use arrow_schema::DataType;
use lath_kernels::compare::Comparison;
use lath_predicate::{Test, ValueTest};

/// A set of SQL's truth values: the possible ones of a test for some rows. The others are ruled out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcomes(u8);

impl Outcomes {
    /// The outcomes for no row.
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const TRUE: Self = Self(1);
    pub(crate) const FALSE: Self = Self(2);
    pub(crate) const NULL: Self = Self(4);
    /// Nothing is ruled out.
    pub(crate) const ANY: Self = Self(7);

    /// A single truth value; `None` is null.
    pub(crate) fn only(truth: Option<bool>) -> Self {
        match truth {
            Some(true) => Self::TRUE,
            Some(false) => Self::FALSE,
            None => Self::NULL,
        }
    }

    /// True, false, both or neither.
    pub(crate) fn of(can_be_true: bool, can_be_false: bool) -> Self {
        Self(u8::from(can_be_true) | u8::from(can_be_false) << 1)
    }

    /// Whether the test may be true for some row.
    pub(crate) fn can_be_true(self) -> bool {
        self.0 & 1 != 0
    }

    /// The truth value of all rows, if only one is possible.
    pub(crate) fn single(self) -> Option<Option<bool>> {
        match self {
            Self::TRUE => Some(Some(true)),
            Self::FALSE => Some(Some(false)),
            Self::NULL => Some(None),
            _ => None,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        // AND is null if one side is null and the other is null or true.
        let null = (a & 4 != 0 && b & 5 != 0) || (b & 4 != 0 && a & 5 != 0);
        Self(a & b & 1 | (a | b) & 2 | u8::from(null) << 2)
    }

    pub(super) fn not(self) -> Self {
        Self((self.0 & 1) << 1 | (self.0 & 2) >> 1 | self.0 & 4)
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    pub(super) fn is(self, truth: Option<bool>) -> Self {
        let wanted = Self::only(truth).0;
        Self::of(self.0 & wanted != 0, self.0 & !wanted != 0)
    }
}

impl BitOr for Outcomes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Outcomes {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Outcomes {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Debug for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(1, 'T'), (2, 'F'), (4, 'N')];
        names.iter().filter(|(bit, _)| self.0 & bit != 0).try_for_each(|(_, name)| write!(f, "{name}"))
    }
}

/// Evidence of the values of columns in some rows.
pub(crate) trait Evidence {
    /// The outcomes that `test` may have for the values of the predicate's `column`.
    fn values(&self, column: usize, test: &ValueTest) -> Outcomes;

    /// The outcomes that a comparison of two columns may have.
    fn columns(&self, _left: usize, _op: Comparison, _right: usize, _common: &DataType) -> Outcomes {
        Outcomes::ANY
    }
}

/// The outcomes that `test` may have, given `evidence`. Dependencies between columns are ignored: the result may have more
/// outcomes than are possible, never fewer.
pub(crate) fn outcomes(test: &Test, evidence: &impl Evidence) -> Outcomes {
    match test {
        Test::Constant(truth) => Outcomes::only(*truth),
        Test::All(tests) => {
            let mut all = Outcomes::TRUE;
            for test in tests {
                all = all.and(outcomes(test, evidence));
                if all == Outcomes::FALSE {
                    break;
                }
            }
            all
        }
        Test::Any(tests) => {
            let mut any = Outcomes::FALSE;
            for test in tests {
                any = any.or(outcomes(test, evidence));
                if any == Outcomes::TRUE {
                    break;
                }
            }
            any
        }
        Test::Not(test) => outcomes(test, evidence).not(),
        Test::Is(test, truth) => outcomes(test, evidence).is(*truth),
        Test::Values { column, test } => evidence.values(*column, test),
        Test::Columns { left, op, right, common } => evidence.columns(*left, *op, *right, common),
    }
}

/// Truth values of a part that are equivalent for the truth of the whole.
#[derive(Debug, Clone, Copy)]
enum Polarity {
    /// True or not: false and null are equivalent.
    Positive,
    /// False or not: true and null are equivalent.
    Negative,
    Both,
}

/// The test, simplified, with constants for the parts that `evidence` decides; `None` if it decides none. It is true for the same
/// rows, and may be false where the test was null.
pub(crate) fn simplify_with(test: &Test, evidence: &impl Evidence) -> Option<Test> {
    let mut is_changed = false;
    let folded = fold_parts(test, evidence, Polarity::Positive, &mut is_changed);
    is_changed.then(|| folded.simplify())
}

fn fold_parts(test: &Test, evidence: &impl Evidence, polarity: Polarity, is_changed: &mut bool) -> Test {
    let is_constant = matches!(test, Test::Constant(_));
    if !is_constant && let Some(truth) = constant(outcomes(test, evidence), polarity) {
        *is_changed = true;
        return Test::Constant(truth);
    }
    let mut part = |test: &Test, polarity| fold_parts(test, evidence, polarity, is_changed);
    match test {
        Test::All(tests) => Test::All(tests.iter().map(|test| part(test, polarity)).collect()),
        Test::Any(tests) => Test::Any(tests.iter().map(|test| part(test, polarity)).collect()),
        Test::Not(test) => {
            let polarity = match polarity {
                Polarity::Positive => Polarity::Negative,
                Polarity::Negative => Polarity::Positive,
                Polarity::Both => Polarity::Both,
            };
            Test::Not(Box::new(part(test, polarity)))
        }
        Test::Is(test, truth) => {
            let polarity = match truth {
                Some(true) => Polarity::Positive,
                Some(false) => Polarity::Negative,
                None => Polarity::Both,
            };
            Test::Is(Box::new(part(test, polarity)), *truth)
        }
        leaf => leaf.clone(),
    }
}

/// A truth value that is equivalent to all possible ones.
fn constant(possible: Outcomes, polarity: Polarity) -> Option<Option<bool>> {
    possible.single().or(match polarity {
        Polarity::Positive if !possible.can_be_true() => Some(Some(false)),
        Polarity::Negative if !possible.not().can_be_true() => Some(Some(true)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTHS: [Option<bool>; 3] = [Some(true), Some(false), None];

    fn each() -> impl Iterator<Item = Outcomes> {
        (0..8).map(Outcomes)
    }

    fn members(outcomes: Outcomes) -> Vec<Option<bool>> {
        TRUTHS.into_iter().filter(|truth| (outcomes & Outcomes::only(*truth)) != Outcomes::NONE).collect()
    }

    fn set(truths: impl Iterator<Item = Option<bool>>) -> Outcomes {
        truths.fold(Outcomes::NONE, |set, truth| set | Outcomes::only(truth))
    }

    /// SQL's truth table.
    fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
        match (a, b) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    #[test]
    fn sets_combine_as_their_members_do() {
        for a in each().filter(|a| *a != Outcomes::NONE) {
            for b in each().filter(|b| *b != Outcomes::NONE) {
                let pairs = || members(a).into_iter().flat_map(|x| members(b).into_iter().map(move |y| (x, y)));
                assert_eq!(a.and(b), set(pairs().map(|(x, y)| and(x, y))), "{a:?} AND {b:?}");
                let or = |x: Option<bool>, y: Option<bool>| and(x.map(|x| !x), y.map(|y| !y)).map(|z| !z);
                assert_eq!(a.or(b), set(pairs().map(|(x, y)| or(x, y))), "{a:?} OR {b:?}");
            }
            assert_eq!(a.not(), set(members(a).into_iter().map(|x| x.map(|x| !x))), "NOT {a:?}");
            for truth in TRUTHS {
                assert_eq!(a.is(truth), set(members(a).into_iter().map(|x| Some(x == truth))), "{a:?} IS {truth:?}");
            }
        }
    }

    /// The outcomes of each column.
    struct ColumnOutcomes(Vec<Outcomes>);

    impl Evidence for ColumnOutcomes {
        fn values(&self, column: usize, _: &ValueTest) -> Outcomes {
            self.0[column]
        }
    }

    fn column(column: usize) -> Test {
        Test::Values { column, test: ValueTest::Truth }
    }

    #[test]
    fn parts_that_evidence_decides_are_folded() {
        let evidence = ColumnOutcomes(vec![Outcomes::TRUE, Outcomes::ANY, Outcomes::FALSE, Outcomes::NULL]);
        let test = Test::All(vec![column(0), Test::Any(vec![column(1), column(2)])]);
        assert_eq!(outcomes(&test, &evidence), Outcomes::ANY);
        assert_eq!(simplify_with(&test, &evidence), Some(column(1)));
        assert_eq!(simplify_with(&column(1), &evidence), None);
        let not = Test::Not(Box::new(Test::All(vec![column(1), column(2)])));
        assert_eq!(simplify_with(&not, &evidence), Some(Test::Constant(Some(true))));
        let is_null = Test::Is(Box::new(column(3)), None);
        assert_eq!(simplify_with(&is_null, &evidence), Some(Test::Constant(Some(true))));
    }

    #[test]
    fn nulls_are_replaced_where_they_make_no_difference() {
        let evidence =
            ColumnOutcomes(vec![Outcomes::FALSE | Outcomes::NULL, Outcomes::TRUE | Outcomes::NULL, Outcomes::ANY]);
        let not = |test| Test::Not(Box::new(test));
        let is = |test, truth| Test::Is(Box::new(test), truth);
        let any = |test| Test::Any(vec![test, column(2)]);
        for (test, expected) in [
            (any(column(0)), Some(column(2))),
            (any(column(1)), None),
            (any(not(column(1))), Some(column(2))),
            (any(not(column(0))), None),
            (any(is(column(0), Some(true))), Some(column(2))),
            (any(is(column(1), Some(false))), Some(column(2))),
            (any(is(column(0), None)), None),
            (any(not(is(column(0), Some(true)))), Some(Test::Constant(Some(true)))),
        ] {
            assert_eq!(simplify_with(&test, &evidence), expected, "{test:?}");
        }
    }
}
