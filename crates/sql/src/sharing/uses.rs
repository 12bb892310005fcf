//! The columns and conditions of the uses of a shared table, and whether an expression may fail for more rows.

use std::collections::{BTreeSet, HashSet};

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan, TableSource};

use super::equality::ComparablePlan;
use super::table::SharedTable;
use crate::rewrite::is_fallible_by_row;

pub(super) fn scanned_columns(table: &SharedTable, scan: &TableScan) -> Vec<usize> {
    scan.projection.clone().unwrap_or_else(|| (0..table.schema().fields().len()).collect())
}

/// The columns that any scan reads.
pub(super) fn used_columns(table: &SharedTable, scans: &[TableScan]) -> Result<Vec<usize>> {
    let mut used: BTreeSet<usize> = BTreeSet::new();
    for scan in scans {
        used.extend(scanned_columns(table, scan));
        for column in scan.filters.iter().flat_map(Expr::column_refs) {
            used.insert(table.schema().index_of(column.name())?);
        }
    }
    // A file of rows without columns would lose their number.
    if used.is_empty() && !table.schema().fields().is_empty() {
        used.insert(0);
    }
    Ok(used.into_iter().collect())
}

/// Whether a use reads all rows that any use reads, or all have the same conditions. Then no expression is computed for more rows.
pub(super) fn has_widest_use(table: &SharedTable, scans: &[TableScan]) -> Result<bool> {
    let used = used_columns(table, scans)?;
    let reads_all =
        |scan: &TableScan| scan.filters.is_empty() && used.iter().all(|at| scanned_columns(table, scan).contains(at));
    let is_same = |scan: &TableScan| {
        let first = &scans[0].filters;
        scan.filters.len() == first.len() && scan.filters.iter().all(|filter| first.contains(filter))
    };
    Ok(scans.iter().all(is_same) || scans.iter().any(reads_all))
}

/// The nodes of a plan that may raise an error for some of their rows.
pub(super) fn fallible_nodes(plan: &LogicalPlan) -> Result<HashSet<ComparablePlan>> {
    let mut nodes = HashSet::new();
    plan.apply_with_subqueries(|node| {
        let mut columns = DFSchema::empty();
        node.inputs().into_iter().for_each(|input| columns.merge(input.schema()));
        let mut is_fallible = false;
        node.apply_expressions(|expr| {
            is_fallible |= is_fallible_by_row(expr, &columns);
            Ok(if is_fallible { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if is_fallible {
            nodes.insert(ComparablePlan::new(node)?);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(nodes)
}
