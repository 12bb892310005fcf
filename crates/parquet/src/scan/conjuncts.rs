//! The parts of a predicate that all have to be true, and the order in which they are tested.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use lath_predicate::{BoundPredicate, Test};

use super::thresholds::{SPARSE, SPARSE_NUMBERS};

/// A part of a predicate: all tests of the same columns.
#[derive(Debug)]
pub(super) struct Conjunct {
    pub(super) predicate: BoundPredicate,
    /// Indices among the operands of the whole predicate, ascending.
    pub(super) operands: Vec<usize>,
    /// Where less than one row in so many is still wanted, those are picked out of what was decoded before they are tested;
    /// [`SPARSE`] where rows may come as dictionary indices.
    pub(super) sparse: usize,
}

/// Splits `predicate`, if there is one, into parts about different columns; `None` if it is true of no row at all.
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

/// The selectivity of each part, and the time that its tests took, over all row groups of a scan so far.
#[derive(Debug, Default)]
pub(super) struct SelectivityStats(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    operands: Vec<usize>,
    seconds: f64,
    rows_tested: f64,
    rows_passed: f64,
}

/// What the tests of one part gave in a row group.
#[derive(Debug, Clone, Default)]
pub(super) struct ConjunctStats {
    pub(super) time: Duration,
    pub(super) rows_tested: u64,
    pub(super) rows_passed: u64,
}

impl SelectivityStats {
    /// Indices of `conjuncts` in the order to test them: first what drops the most rows for its time. For a part without
    /// statistics, `guess` gives the time, and half of the rows are assumed to pass.
    pub(super) fn order(&self, conjuncts: &[Conjunct], guess: impl Fn(&Conjunct) -> f64) -> Vec<usize> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |conjunct: &Conjunct| entries.iter().find(|entry| entry.operands == conjunct.operands);
        let rank = |conjunct: &Conjunct| match known(conjunct) {
            Some(entry) if entry.rows_tested > 0.0 => {
                let dropped = 1.0 - entry.rows_passed / entry.rows_tested;
                // Per row tested, not per row decoded: tested for few rows, a part is not as cheap as it looks.
                entry.seconds / entry.rows_tested / dropped.max(1e-3)
            }
            _ => guess(conjunct) / 0.5,
        };
        let mut ranked: Vec<(f64, usize)> =
            conjuncts.iter().enumerate().map(|(index, conjunct)| (rank(conjunct), index)).collect();
        ranked.sort_by(|left, right| left.0.total_cmp(&right.0));
        ranked.into_iter().map(|(_, index)| index).collect()
    }

    /// Adds what the tests of a row group gave.
    pub(super) fn add(&self, conjuncts: &[Conjunct], stats: &[ConjunctStats]) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (conjunct, stats) in conjuncts.iter().zip(stats).filter(|(_, stats)| stats.rows_tested > 0) {
            let index = entries.iter().position(|entry| entry.operands == conjunct.operands).unwrap_or_else(|| {
                let operands = conjunct.operands.clone();
                entries.push(Entry { operands, seconds: 0.0, rows_tested: 0.0, rows_passed: 0.0 });
                entries.len() - 1
            });
            let entry = &mut entries[index];
            entry.seconds += stats.time.as_secs_f64();
            entry.rows_tested += stats.rows_tested as f64;
            entry.rows_passed += stats.rows_passed as f64;
        }
    }
}
