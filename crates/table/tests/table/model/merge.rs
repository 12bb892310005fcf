//! Merges of random rows under random conditions.

use std::collections::BTreeMap;

use lath_table::{MergeCounts, MergeWhen, WhenMatched, WhenNotMatched};

use super::{History, Model, Test};
use crate::rows::{RowKey, Values};

/// The actions of one merge.
struct Plan {
    when: MergeWhen,
    matched: WhenMatched,
    not_matched: WhenNotMatched,
    if_source: Option<Test>,
    if_table: Option<Test>,
}

impl History {
    fn random_merge(&mut self) -> Plan {
        let matched = match self.random.u8(..5) {
            0 | 1 => WhenMatched::UpdateAll,
            2 => WhenMatched::Update(["s", "place"].map(|name| self.columns.name(name).to_owned()).to_vec()),
            3 => WhenMatched::Delete,
            _ => WhenMatched::Keep,
        };
        let not_matched = if self.random.bool() { WhenNotMatched::Insert } else { WhenNotMatched::Ignore };
        let mut when = MergeWhen::new().matched(matched.clone()).not_matched(not_matched);
        let (mut if_source, mut if_table) = (None, None);
        if self.random.bool() {
            let (predicate, test) = self.random_condition(&self.columns.clone());
            (when, if_source) = (when.if_source(predicate), Some(test));
        }
        if self.random.bool() {
            let (predicate, test) = self.random_condition(&self.columns.clone());
            (when, if_table) = (when.if_table(predicate), Some(test));
        }
        Plan { when, matched, not_matched, if_source, if_table }
    }

    pub(super) fn merge(&mut self) -> String {
        let (plan, rows) = (self.random_merge(), self.random_rows());
        let merged = self.table().merge(&self.columns.batch(&rows), &plan.when).unwrap();
        let expected = plan.apply(&mut self.model, rows);
        let found = (merged.inserted, merged.updated, merged.deleted);
        assert_eq!(found, expected, "{:?} after {:?}", plan.when, self.steps);
        let MergeCounts { inserted, updated, deleted, .. } = merged;
        format!("merge, {inserted} inserted, {updated} updated, {deleted} deleted")
    }
}

impl Plan {
    /// Applies the merge to the model. Returns the numbers of rows inserted, updated and deleted.
    fn apply(&self, model: &mut Model, rows: Vec<(RowKey, Values)>) -> (u64, u64, u64) {
        let passes = |test: &Option<Test>, key: &RowKey, row: &Values| test.as_ref().is_none_or(|test| test(key, row));
        let source: BTreeMap<RowKey, Values> =
            rows.into_iter().filter(|(key, row)| passes(&self.if_source, key, row)).collect();
        let (mut inserted, mut updated, mut deleted) = (0, 0, 0);
        for (key, row) in source {
            let Some(old) = model.get_mut(&key) else {
                if self.not_matched == WhenNotMatched::Insert {
                    model.insert(key, row);
                    inserted += 1;
                }
                continue;
            };
            if !passes(&self.if_table, &key, old) {
                continue;
            }
            match &self.matched {
                WhenMatched::UpdateAll => *old = row,
                WhenMatched::Update(_) => (old.s, old.place) = (row.s, row.place),
                WhenMatched::Delete => {
                    model.remove(&key);
                    deleted += 1;
                    continue;
                }
                _ => continue,
            }
            updated += 1;
        }
        (inserted, updated, deleted)
    }
}
