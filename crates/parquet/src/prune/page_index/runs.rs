//! The outcomes of a test for each row, as runs.

use std::ops::Range;

use super::super::outcomes::Outcomes;

/// Runs of rows with the same outcomes, for all rows of a row group: pairs of an exclusive end and outcomes. The ends ascend, the last
/// is the row count, and neighbours differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutcomeRuns(Vec<(u64, Outcomes)>);

impl OutcomeRuns {
    /// One run with `outcomes` for all rows.
    pub(super) fn uniform(row_count: u64, outcomes: Outcomes) -> Self {
        Self(vec![(row_count, outcomes)])
    }

    /// Consecutive runs; empty ones are left out.
    pub(super) fn new(runs: impl Iterator<Item = (u64, Outcomes)>) -> Self {
        let mut all = Self(Vec::new());
        runs.for_each(|(end, outcomes)| all.push(end, outcomes));
        all
    }

    fn push(&mut self, end: u64, outcomes: Outcomes) {
        let start = self.0.last().map_or(0, |last| last.0);
        match self.0.last_mut() {
            _ if end <= start => {}
            Some(last) if last.1 == outcomes => last.0 = end,
            _ => self.0.push((end, outcomes)),
        }
    }

    pub(super) fn map(self, f: impl Fn(Outcomes) -> Outcomes) -> Self {
        Self::new(self.0.into_iter().map(|(end, outcomes)| (end, f(outcomes))))
    }

    /// Combines the outcomes of two tests for the same rows.
    pub(super) fn zip(&self, other: &Self, f: impl Fn(Outcomes, Outcomes) -> Outcomes) -> Self {
        let (mut left, mut right) = (self.0.as_slice(), other.0.as_slice());
        let mut both = Self(Vec::with_capacity(left.len() + right.len()));
        while let ([(left_end, of_left), rest_of_left @ ..], [(right_end, of_right), rest_of_right @ ..]) =
            (left, right)
        {
            let end = *left_end.min(right_end);
            both.push(end, f(*of_left, *of_right));
            if *left_end == end {
                left = rest_of_left;
            }
            if *right_end == end {
                right = rest_of_right;
            }
        }
        both
    }

    /// The rows for which the test may be true.
    pub(super) fn possible_rows(&self) -> Vec<Range<u64>> {
        let mut rows: Vec<Range<u64>> = Vec::new();
        let mut start = 0;
        for (end, outcomes) in &self.0 {
            if outcomes.can_be_true() {
                match rows.last_mut() {
                    Some(last) if last.end == start => last.end = *end,
                    _ => rows.push(start..*end),
                }
            }
            start = *end;
        }
        rows
    }

    /// The outcomes for `rows`, which are sorted.
    pub(super) fn outcomes_within(&self, rows: &[Range<u64>]) -> Outcomes {
        let mut all = Outcomes::NONE;
        let mut rows = rows.iter().peekable();
        let mut start = 0;
        for (end, outcomes) in &self.0 {
            while rows.next_if(|range| range.end <= start).is_some() {}
            if rows.peek().is_some_and(|range| range.start < *end) {
                all |= *outcomes;
            }
            start = *end;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Outcomes = Outcomes::ANY;
    const FALSE: Outcomes = Outcomes::FALSE;
    const TRUE: Outcomes = Outcomes::TRUE;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "rows are ranges")]
    fn runs_are_merged_cut_and_combined() {
        let left = OutcomeRuns::new([(10, ANY), (10, FALSE), (20, FALSE), (30, FALSE), (40, TRUE)].into_iter());
        assert_eq!(left, OutcomeRuns(vec![(10, ANY), (30, FALSE), (40, TRUE)]));
        let right = OutcomeRuns::new([(5, FALSE), (35, ANY), (40, FALSE)].into_iter());
        let both = left.zip(&right, |a, b| if a == FALSE || b == FALSE { FALSE } else { ANY });
        assert_eq!(both, OutcomeRuns(vec![(5, FALSE), (10, ANY), (30, FALSE), (35, ANY), (40, FALSE)]));
        assert_eq!(both.possible_rows(), [5..10, 30..35]);
        assert_eq!(left.possible_rows(), [0..10, 30..40]);
        assert_eq!(left.outcomes_within(&[0..3, 12..14]), ANY);
        assert_eq!(left.outcomes_within(&[12..14, 30..31]), FALSE | TRUE);
        assert_eq!(left.outcomes_within(&[10..30]), FALSE);
        assert_eq!(left.outcomes_within(&[]), Outcomes::NONE);
        assert_eq!(OutcomeRuns::uniform(3, ANY).map(|_| TRUE).possible_rows(), [0..3]);
    }
}
