//! Prunes by statistics of row groups.

use std::sync::Arc;

use lath_predicate::ValueTest;

use super::{Candidate, Stages, single_key};
use crate::error::Result;
use crate::prune::bloom::{self, Keys, ProbeResults};
use crate::prune::outcomes::{Evidence, Outcomes, outcomes, simplify_with};
use crate::prune::statistics::RowGroupStatistics;

impl Stages<'_> {
    /// Starts with the row groups of `row_groups` that statistics do not rule out.
    pub(in crate::prune) fn statistics(&mut self, row_groups: &[usize]) -> Result<()> {
        let cached = self.probe_cached(row_groups)?;
        let test = Arc::clone(&self.tests[0]);
        let row_counts = self.file.row_group_row_counts();
        self.report.row_groups += row_groups.len() as u64;
        self.report.rows += row_groups.iter().map(|&row_group| row_counts[row_group]).sum::<u64>();
        let (file, columns) = (self.file, self.columns);
        let evaluate = |row_group: usize| {
            let statistics = RowGroupStatistics { file, columns, row_group };
            outcomes(&test, &statistics).can_be_true().then(|| simplify_with(&test, &statistics))
        };
        // Without statistics, all row groups have the same outcomes.
        let may_pass = outcomes(&test, &NoEvidence).can_be_true();
        for (number, &row_group) in row_groups.iter().enumerate() {
            let rows = row_counts[row_group];
            if cached.as_ref().is_some_and(|results| results.is_absent(number)) {
                self.report.bloom.add_row_group(rows);
                continue;
            }
            let simplified = if self.pruning.statistics { evaluate(row_group) } else { may_pass.then_some(None) };
            match simplified {
                Some(simplified) if rows > 0 => self.retain(Candidate { row_group, test: 0 }, simplified),
                _ => self.report.statistics.add_row_group(rows),
            }
        }
        Ok(())
    }

    /// Probes the cached filters, if the test only looks up one key. That takes less time than reading statistics, which are not
    /// in the processor's cache if there are many files.
    fn probe_cached(&self, row_groups: &[usize]) -> Result<Option<ProbeResults>> {
        let key = if self.pruning.bloom { single_key(self.columns, &self.tests[0]) } else { None };
        let Some((leaf, kind, test)) = key else { return Ok(None) };
        bloom::probe_cached(self.file, leaf, || Keys::new(kind, test), row_groups)
    }
}

/// No evidence: only constants are decided.
struct NoEvidence;

impl Evidence for NoEvidence {
    fn values(&self, _: usize, _: &ValueTest) -> Outcomes {
        Outcomes::ANY
    }
}
