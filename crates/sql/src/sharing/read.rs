//! The use of a shared table in a resolved plan.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchemaRef, Result, internal_datafusion_err, internal_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::exec::SharedExec;
use super::rows::SharedRows;

/// Reads the columns of a shared table that any of its uses reads, and the rows that satisfy the conditions of any use.
#[derive(Debug, Clone)]
pub(super) struct SharedRead {
    /// Distinguishes the shared tables of a plan.
    pub(super) id: usize,
    /// The number for EXPLAIN.
    pub(super) number: usize,
    pub(super) schema: DFSchemaRef,
}

impl PartialEq for SharedRead {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for SharedRead {}

impl Hash for SharedRead {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl PartialOrd for SharedRead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.id.partial_cmp(&other.id)
    }
}

impl UserDefinedLogicalNodeCore for SharedRead {
    fn name(&self) -> &str {
        "SharedRead"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        Vec::new()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedRead: {}", self.number)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        if inputs.is_empty() { Ok(self.clone()) } else { internal_err!("a read of shared rows has no input") }
    }
}

/// The planned tables of a statement, by their ids. It plans their uses.
#[derive(Default)]
pub(super) struct PlannedTables {
    rows: Mutex<HashMap<usize, Arc<SharedRows>>>,
}

impl PlannedTables {
    pub(super) fn add(&self, table: &SharedRead, plan: Arc<dyn ExecutionPlan>) {
        let mut known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(table.id, Arc::new(SharedRows::new(table.number, plan)));
    }
}

#[async_trait]
impl ExtensionPlanner for PlannedTables {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        _: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(read) = node.as_any().downcast_ref::<SharedRead>() else { return Ok(None) };
        let known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = known.get(&read.id).cloned();
        let rows = rows.ok_or_else(|| internal_datafusion_err!("shared rows are read before they are planned"))?;
        Ok(Some(Arc::new(SharedExec::new(rows))))
    }
}
