//! The query of a scan.

use std::collections::BTreeMap;
use std::sync::Arc;

use lath_predicate::Predicate;

use crate::deletes::DeleteMask;
use crate::prune::Pruning;
use crate::scan::rows::RowSelection;
use crate::schema::ArrowLayout;

/// The rows that a scan reads from files, and the layout of their columns.
#[derive(Debug, Clone, Default)]
pub(in crate::scan) struct Query {
    pub(in crate::scan) predicate: Option<Predicate>,
    pub(in crate::scan) pruning: Pruning,
    pub(in crate::scan) row_groups: Option<Vec<usize>>,
    /// The selected rows; files without selected rows are not opened.
    pub(in crate::scan) rows: Option<RowSelection>,
    /// Deleted rows by file number.
    pub(in crate::scan) deleted: BTreeMap<usize, Arc<DeleteMask>>,
    pub(in crate::scan) layout: ArrowLayout,
    /// Numbers of leaves to read instead of columns; only for a single file.
    pub(in crate::scan) leaves: Option<Vec<usize>>,
}
