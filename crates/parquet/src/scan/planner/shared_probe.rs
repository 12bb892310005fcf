//! Rules out several files together, with one probe of their cached filters.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Planner;
use crate::dataset::DatasetFile;
use crate::scan::monitor::Planning;

impl Planner {
    /// Marks the files that cached filters rule out, if the predicate only looks up one key. One probe for all takes less time
    /// than planning them one by one.
    pub(super) fn rule_out(&self, files: Range<usize>, planning: &mut Planning) -> Vec<bool> {
        let none = vec![false; files.len()];
        let is_whole = self.query.row_groups.is_none() && self.query.rows.is_none();
        let plans_singly = files.len() < 2 || self.plans.plans_singly.load(Ordering::Relaxed);
        if plans_singly || !is_whole || !self.query.pruning.bloom || self.cancel.is_cancelled() {
            return none;
        }
        let Some((plan, partition)) = self.plans.last() else { return none };
        let Some(probe) = &plan.single_key else { return none };
        let start = Instant::now();
        let mut prune = Duration::ZERO;
        let files = &self.dataset.files()[files];
        let reports = DatasetFile::evaluate_cached(files, |opened| {
            let start = Instant::now();
            // The plan is for one partition.
            let has_partition = |file: &DatasetFile| *file.partition() == *partition;
            let opened = files.iter().zip(opened).map(|(file, opened)| opened.filter(|_| has_partition(file)));
            let reports = probe.rule_out(&opened.collect::<Vec<_>>());
            prune = start.elapsed();
            reports
        });
        for report in reports.iter().flatten() {
            planning.pruned += *report;
            planning.add_file(0, 0);
        }
        planning.prune += prune;
        planning.open += start.elapsed().saturating_sub(prune);
        let ruled_out: Vec<bool> = reports.iter().map(Option::is_some).collect();
        if !ruled_out.contains(&true) {
            self.plans.plans_singly.store(true, Ordering::Relaxed);
        }
        ruled_out
    }
}
