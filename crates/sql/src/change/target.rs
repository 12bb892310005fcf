//! The table that a change is made to, as one that rows are inserted into.

use std::fmt;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, internal_datafusion_err, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, LogicalPlan, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::Change;
use super::exec::ChangeExec;
use crate::keyed::{Commits, KeyedTable};

/// A change of a table by the rows of a query.
#[derive(Clone)]
pub(super) struct ChangeTarget {
    pub(super) table: KeyedTable,
    pub(super) change: Change,
    /// The query, before it was settled which commits it reads.
    pub(super) query: LogicalPlan,
    /// The commits that its plan reads.
    pub(super) commits: Arc<Commits>,
}

impl ChangeTarget {
    pub(super) fn new(table: KeyedTable, change: Change, query: LogicalPlan, commits: Commits) -> Self {
        Self { table, change, query, commits: Arc::new(commits) }
    }
}

#[async_trait]
impl TableProvider for ChangeTarget {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.query.schema().inner())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan_err!("{} is changed by this statement, and cannot be read as its target", self.table.name())
    }

    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = session.as_any().downcast_ref::<SessionState>();
        let state = state.ok_or_else(|| internal_datafusion_err!("a session without state"))?.clone();
        Ok(Arc::new(ChangeExec::new(input, self.clone(), state)))
    }
}

impl fmt::Debug for ChangeTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeTarget").field("table", &self.table).field("change", &self.change).finish_non_exhaustive()
    }
}
