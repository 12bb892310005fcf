//! Combines the conditions of all uses of a shared table.

use std::collections::BTreeSet;

use datafusion::common::Column;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::{conjunction, disjunction, split_conjunction_owned};

/// The conditions of the uses of a table, each a list of which all have to be true.
pub(super) struct Conditions {
    /// Different lists.
    uses: Vec<Vec<Expr>>,
}

impl Conditions {
    /// The conditions; `None` if a use reads all rows.
    pub(super) fn new(uses: impl Iterator<Item = Vec<Expr>>) -> Option<Self> {
        let mut lists: Vec<Vec<Expr>> = Vec::new();
        for filters in uses {
            let mut list: Vec<Expr> = Vec::new();
            for part in filters.into_iter().flat_map(split_conjunction_owned) {
                if !list.contains(&part) {
                    list.push(part);
                }
            }
            if list.is_empty() {
                return None;
            }
            let is_same =
                |other: &&Vec<Expr>| other.len() == list.len() && list.iter().all(|part| other.contains(part));
            if lists.iter().find(is_same).is_none() {
                lists.push(list);
            }
        }
        (!lists.is_empty()).then_some(Self { uses: lists })
    }

    /// The different conditions of uses.
    pub(super) fn single(&self) -> impl ExactSizeIterator<Item = Vec<Expr>> {
        self.uses.iter().cloned()
    }

    /// Conditions that are true for the rows of any use.
    ///
    /// The optimizer pushes a condition down only as a whole. So those on some columns alone come first: `a = 1 OR a = 2` of
    /// `(a = 1 AND total > 3) OR (a = 2 AND total > 4)`.
    pub(super) fn combined(&self) -> Vec<Expr> {
        if let [only] = self.uses.as_slice() {
            return only.clone();
        }
        let mut combined = self.by_columns();
        let all = self.uses.iter().cloned().filter_map(conjunction);
        combined.extend(disjunction(all).filter(|all| !combined.contains(all)));
        combined
    }

    /// For each list of columns on which all uses have conditions, these conditions.
    pub(super) fn by_columns(&self) -> Vec<Expr> {
        let mut column_sets: Vec<BTreeSet<Column>> = Vec::new();
        for part in self.uses.iter().flatten() {
            let columns = columns(part);
            if !column_sets.contains(&columns) {
                column_sets.push(columns);
            }
        }
        let mut combined = Vec::new();
        for set in column_sets {
            let within = |list: &Vec<Expr>| {
                let within: Vec<Expr> = list.iter().filter(|part| columns(part).is_subset(&set)).cloned().collect();
                conjunction(within)
            };
            let Some(alternatives) = self.uses.iter().map(within).collect::<Option<Vec<Expr>>>() else { continue };
            let mut different: Vec<Expr> = Vec::new();
            for alternative in alternatives {
                if !different.contains(&alternative) {
                    different.push(alternative);
                }
            }
            combined.extend(disjunction(different).filter(|any| !combined.contains(any)));
        }
        combined
    }
}

fn columns(condition: &Expr) -> BTreeSet<Column> {
    condition.column_refs().into_iter().cloned().collect()
}
