//! The parts of a predicate that all have to be true, and the order in which they are asked.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use lath_predicate::{BoundPredicate, Test};

/// See [`Conjunct::sparse`].
pub(super) const SPARSE: usize = 4;
/// The same of comparisons of numbers: to pick the numbers of one row in seven costs more than to compare all of them. TPC-H Q12's
/// filter of DELTA values, in turns: 1.14 times as fast with 12 as with 4, 1.19 with 32, 1.22 with 64; of indices, which are picked
/// more cheaply than looked up, .89 with 32.
const SPARSE_NUMBERS: usize = 32;

/// A part of a predicate: all that is asked of the same columns.
#[derive(Debug)]
pub(super) struct Conjunct {
    pub(super) predicate: BoundPredicate,
    /// Indices among the operands of the whole predicate, ascending.
    pub(super) operands: Vec<usize>,
    /// Rows in question are taken out of what was decoded for more, before they are tested, where they are less than one in so
    /// many; [`SPARSE`] where they may come as dictionary indices.
    pub(super) sparse: usize,
}

/// Splits `predicate`, if anything is asked, into parts about different columns; `None` if it is true of no row at all.
pub(super) fn split(predicate: Option<&BoundPredicate>) -> Option<Vec<Conjunct>> {
    let Some(predicate) = predicate else { return Some(Vec::new()) };
    let tests = match &predicate.test {
        Test::All(tests) => tests.as_slice(),
        test => std::slice::from_ref(test),
    };
    let mut groups: Vec<(Vec<usize>, Vec<Test>)> = Vec::new();
    for test in tests {
        match test {
            Test::Constant(Some(true)) => continue,
            Test::Constant(_) => return None,
            _ => {}
        }
        let columns = test.columns();
        match groups.iter_mut().find(|(others, _)| *others == columns) {
            Some((_, tests)) => tests.push(test.clone()),
            None => groups.push((columns, vec![test.clone()])),
        }
    }
    let conjunct = |(operands, mut tests): (Vec<usize>, Vec<Test>)| {
        let test = if tests.len() == 1 { tests.remove(0) } else { Test::All(tests) };
        let predicate = predicate.part(test);
        let sparse = if predicate.only_compares_numbers() { SPARSE_NUMBERS } else { SPARSE };
        Conjunct { predicate, operands, sparse }
    };
    Some(groups.into_iter().map(conjunct).collect())
}

/// What asking each part has cost and brought so far, over all row groups of a scan.
#[derive(Debug, Default)]
pub(super) struct Experience(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    operands: Vec<usize>,
    seconds: f64,
    rows_asked: f64,
    rows_passed: f64,
}

/// What one part did in a row group.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) time: Duration,
    pub(super) rows_asked: u64,
    pub(super) rows_passed: u64,
}

impl Experience {
    /// Indices of `conjuncts` in the order to ask them: first what drops the most rows for its time. Where nothing is known,
    /// `guess` says the time, and half of the rows are taken to pass.
    pub(super) fn order(&self, conjuncts: &[Conjunct], guess: impl Fn(&Conjunct) -> f64) -> Vec<usize> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |conjunct: &Conjunct| entries.iter().find(|entry| entry.operands == conjunct.operands);
        let rank = |conjunct: &Conjunct| match known(conjunct) {
            Some(entry) if entry.rows_asked > 0.0 => {
                let dropped = 1.0 - entry.rows_passed / entry.rows_asked;
                // By rows asked, not by rows decoded for it: asked of few, a part is not as cheap as it looks.
                entry.seconds / entry.rows_asked / dropped.max(1e-3)
            }
            _ => guess(conjunct) / 0.5,
        };
        let mut ranked: Vec<(f64, usize)> =
            conjuncts.iter().enumerate().map(|(index, conjunct)| (rank(conjunct), index)).collect();
        ranked.sort_by(|left, right| left.0.total_cmp(&right.0));
        ranked.into_iter().map(|(_, index)| index).collect()
    }

    /// Takes in what the parts did in a row group.
    pub(super) fn learn(&self, conjuncts: &[Conjunct], tallies: &[Tally]) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (conjunct, tally) in conjuncts.iter().zip(tallies).filter(|(_, tally)| tally.rows_asked > 0) {
            let index = entries.iter().position(|entry| entry.operands == conjunct.operands).unwrap_or_else(|| {
                let operands = conjunct.operands.clone();
                entries.push(Entry { operands, seconds: 0.0, rows_asked: 0.0, rows_passed: 0.0 });
                entries.len() - 1
            });
            let entry = &mut entries[index];
            entry.seconds += tally.time.as_secs_f64();
            entry.rows_asked += tally.rows_asked as f64;
            entry.rows_passed += tally.rows_passed as f64;
        }
    }
}
