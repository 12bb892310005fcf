//! Pairs of answers that SQL and a filter can give for the same row.

/// A truth of SQL; `None` is null.
type Truth = Option<bool>;

const TRUTHS: [Truth; 3] = [Some(true), Some(false), None];

/// The set of possible pairs of answers, SQL's and the filter's: one bit for each pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answers(u16);

impl Answers {
    /// SQL and the filter give the same answer.
    pub(crate) const SAME: Self = Self(0b100_010_001);

    /// All pairs are possible.
    pub(crate) const ANY: Self = Self(0b111_111_111);

    fn of(pairs: impl IntoIterator<Item = (Truth, Truth)>) -> Self {
        Self(pairs.into_iter().fold(0, |bits, (sql, filter)| bits | 1 << (3 * index(sql) + index(filter))))
    }

    fn pairs(self) -> impl Iterator<Item = (Truth, Truth)> {
        let all = TRUTHS.into_iter().flat_map(|sql| TRUTHS.map(|filter| (sql, filter)));
        all.filter(move |&(sql, filter)| self.0 >> (3 * index(sql) + index(filter)) & 1 != 0)
    }

    fn map(self, f: impl Fn(Truth) -> Truth) -> Self {
        Self::of(self.pairs().map(|(sql, filter)| (f(sql), f(filter))))
    }

    fn combine(self, other: Self, join: impl Fn(Truth, Truth) -> Truth) -> Self {
        let join = &join;
        Self::of(self.pairs().flat_map(|(sql, filter)| {
            other.pairs().map(move |(other_sql, other_filter)| (join(sql, other_sql), join(filter, other_filter)))
        }))
    }

    /// SQL's answer can also be null if the filter's is false.
    pub(crate) fn or_null_for_false(self) -> Self {
        Self(self.0 | Self::of([(None, Some(false))]).0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        self.combine(other, and)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    pub(crate) fn not(self) -> Self {
        self.map(|truth| truth.map(|truth| !truth))
    }

    pub(crate) fn is(self, wanted: Truth) -> Self {
        self.map(|truth| Some(truth == wanted))
    }

    /// Whether the filter can be false or null if SQL is true.
    pub(crate) fn may_miss(self) -> bool {
        self.pairs().any(|(sql, filter)| sql == Some(true) && filter != Some(true))
    }

    /// Whether the filter can be true if SQL is not.
    pub(crate) fn may_exceed(self) -> bool {
        self.pairs().any(|(sql, filter)| sql != Some(true) && filter == Some(true))
    }
}

fn index(truth: Truth) -> u16 {
    match truth {
        Some(true) => 0,
        Some(false) => 1,
        None => 2,
    }
}

fn and(left: Truth, right: Truth) -> Truth {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_stays_the_same() {
        let same = Answers::SAME;
        assert_eq!(same.not(), same);
        assert_eq!(same.and(same), same);
        assert_eq!(same.or(same), same);
        for wanted in TRUTHS {
            assert!(!same.is(wanted).may_miss() && !same.is(wanted).may_exceed());
        }
    }

    #[test]
    fn a_null_that_is_false_is_too_much_below_not_and_too_little_below_is_null() {
        let answers = Answers::SAME.or_null_for_false();
        assert!(!answers.may_miss() && !answers.may_exceed());
        assert!(!answers.not().may_miss() && answers.not().may_exceed());
        assert!(answers.is(None).may_miss() && !answers.is(None).may_exceed());
        assert!(!answers.is(Some(true)).may_miss() && !answers.is(Some(true)).may_exceed());
        assert!(!answers.and(Answers::SAME).may_exceed());
        assert!(answers.not().or(Answers::SAME).may_exceed());
    }
}
