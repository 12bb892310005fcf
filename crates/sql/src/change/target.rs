//! The target of a change.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::LogicalPlan;

use super::Change;
use super::returning::ReturnedColumns;
use crate::bind::Commits;
use crate::computed::calls_sequence;
use crate::keyed::KeyedTable;

/// A table to change, and the query whose rows it takes.
#[derive(Clone)]
pub(super) struct ChangeTarget {
    pub(super) table: KeyedTable,
    pub(super) change: Change,
    /// The query, not yet bound to commits.
    pub(super) query: LogicalPlan,
    /// The commits that its plan reads.
    pub(super) commits: Arc<Commits>,
    /// The columns that the statement returns instead of the number of rows.
    pub(super) returned: Option<ReturnedColumns>,
}

impl ChangeTarget {
    /// Whether the order of rows matters: of two rows with the same key, of rows that get numbers in their order, and of rows that the
    /// statement returns in the order of its ORDER BY.
    pub(super) fn depends_on_order(&self) -> Result<bool> {
        if self.change.depends_on_order() || (matches!(self.change, Change::Insert) && self.table.has_row_numbers()) {
            return Ok(true);
        }
        let takes_numbers = |node: &LogicalPlan| {
            Ok(node.expressions().iter().map(calls_sequence).collect::<Result<Vec<_>>>()?.contains(&true))
        };
        if matches!(self.change, Change::Insert) && self.query.exists(takes_numbers)? {
            return Ok(true);
        }
        Ok(self.returned.is_some() && self.query.exists(|node| Ok(matches!(node, LogicalPlan::Sort(_))))?)
    }

    pub(super) fn new(table: KeyedTable, change: Change, query: LogicalPlan, commits: Commits) -> Self {
        Self { table, change, query, commits: Arc::new(commits), returned: None }
    }

    /// The same change, of a statement that returns columns of the rows.
    pub(super) fn with_returned(self, returned: Option<&ReturnedColumns>) -> Self {
        Self { returned: returned.cloned(), ..self }
    }
}

impl fmt::Debug for ChangeTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeTarget").field("table", &self.table).field("change", &self.change).finish_non_exhaustive()
    }
}
