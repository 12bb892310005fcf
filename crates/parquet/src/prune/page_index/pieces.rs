//! Outcomes row by row, piece by piece.

use std::ops::Range;

use super::super::outcomes::Outcomes;

/// What a test may give for the rows of a row group: the rows up to an end, exclusive, have one set of outcomes. The ends
/// ascend, the last is the number of rows, and neighbours differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pieces(Vec<(u64, Outcomes)>);

impl Pieces {
    /// The same for all rows.
    pub(super) fn whole(row_count: u64, outcomes: Outcomes) -> Self {
        Self(vec![(row_count, outcomes)])
    }

    /// Of pieces that follow each other; empty ones are left out.
    pub(super) fn new(pieces: impl Iterator<Item = (u64, Outcomes)>) -> Self {
        let mut all = Self(Vec::new());
        pieces.for_each(|(end, outcomes)| all.push(end, outcomes));
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

    /// Puts the outcomes of two tests together, for the rows that both speak of.
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

    /// What the test may give for the rows in `rows`, which are sorted.
    pub(super) fn within(&self, rows: &[Range<u64>]) -> Outcomes {
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
    fn pieces_are_joined_cut_and_put_together() {
        let left = Pieces::new([(10, ANY), (10, FALSE), (20, FALSE), (30, FALSE), (40, TRUE)].into_iter());
        assert_eq!(left, Pieces(vec![(10, ANY), (30, FALSE), (40, TRUE)]));
        let right = Pieces::new([(5, FALSE), (35, ANY), (40, FALSE)].into_iter());
        let both = left.zip(&right, |a, b| if a == FALSE || b == FALSE { FALSE } else { ANY });
        assert_eq!(both, Pieces(vec![(5, FALSE), (10, ANY), (30, FALSE), (35, ANY), (40, FALSE)]));
        assert_eq!(both.possible_rows(), [5..10, 30..35]);
        assert_eq!(left.possible_rows(), [0..10, 30..40]);
        assert_eq!(left.within(&[0..3, 12..14]), ANY);
        assert_eq!(left.within(&[12..14, 30..31]), FALSE | TRUE);
        assert_eq!(left.within(&[10..30]), FALSE);
        assert_eq!(left.within(&[]), Outcomes::NONE);
        assert_eq!(Pieces::whole(3, ANY).map(|_| TRUE).possible_rows(), [0..3]);
    }
}
