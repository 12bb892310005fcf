//! The conjuncts of a predicate, and the order in which they are tested.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use lath_predicate::{BoundPredicate, Test};

use crate::scan::thresholds::{SPARSE, SPARSE_NUMBERS};

/// A conjunct of a predicate: all tests of the same columns.
#[derive(Debug)]
pub(in crate::scan) struct Conjunct {
    pub(in crate::scan) predicate: BoundPredicate,
    /// Indices into the operands of the whole predicate, ascending.
    pub(in crate::scan) operands: Vec<usize>,
    /// If fewer than one row in `sparse` is still wanted, these rows are copied out of the decoded rows before the test;
    /// [`SPARSE`] if rows may come as dictionary indices.
    pub(in crate::scan) sparse: usize,
}

/// Splits `predicate`, if there is one, into conjuncts over different columns; `None` if it is true for no row.
pub(in crate::scan) fn split_conjuncts(predicate: Option<&BoundPredicate>) -> Option<Vec<Conjunct>> {
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

/// Selectivity and test time of each conjunct, over all row groups of a scan so far.
#[derive(Debug, Default)]
pub(in crate::scan) struct SelectivityStats(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    operands: Vec<usize>,
    seconds: f64,
    rows_tested: f64,
    rows_passed: f64,
}

/// Test results of one conjunct in a row group.
#[derive(Debug, Clone, Default)]
pub(in crate::scan) struct ConjunctStats {
    pub(in crate::scan) time: Duration,
    pub(in crate::scan) rows_tested: u64,
    pub(in crate::scan) rows_passed: u64,
}

impl SelectivityStats {
    /// Indices of `conjuncts` in the order to test them: most dropped rows for its time first. For a conjunct without statistics,
    /// `guess` gives the time, and half of the rows are assumed to pass.
    pub(in crate::scan) fn order(&self, conjuncts: &[Conjunct], guess: impl Fn(&Conjunct) -> f64) -> Vec<usize> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |conjunct: &Conjunct| entries.iter().find(|entry| entry.operands == conjunct.operands);
        let rank = |conjunct: &Conjunct| match known(conjunct) {
            Some(entry) if entry.rows_tested > 0.0 => {
                let dropped = 1.0 - entry.rows_passed / entry.rows_tested;
                // Per row tested, not per row decoded: a conjunct tested for few rows is not as cheap as it looks.
                entry.seconds / entry.rows_tested / dropped.max(1e-3)
            }
            _ => guess(conjunct) / 0.5,
        };
        let mut ranked: Vec<(f64, usize)> =
            conjuncts.iter().enumerate().map(|(index, conjunct)| (rank(conjunct), index)).collect();
        ranked.sort_by(|left, right| left.0.total_cmp(&right.0));
        ranked.into_iter().map(|(_, index)| index).collect()
    }

    /// Adds the test results of a row group.
    pub(in crate::scan) fn add(&self, conjuncts: &[Conjunct], stats: &[ConjunctStats]) {
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
