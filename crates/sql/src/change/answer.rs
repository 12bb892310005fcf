//! The answer of a change that returns rows, as a plan.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::exec::ChangeExec;
use super::target::ChangeTarget;

/// Plans the answer of a change whose query is `input`.
pub(super) fn plan_answer(target: Arc<ChangeTarget>, input: LogicalPlan, schema: DFSchemaRef) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(ChangedRows { input, target, schema }) })
}

/// The rows of a change as a plan.
#[derive(Clone)]
struct ChangedRows {
    input: LogicalPlan,
    target: Arc<ChangeTarget>,
    /// The columns of the answer.
    schema: DFSchemaRef,
}

impl UserDefinedLogicalNodeCore for ChangedRows {
    fn name(&self) -> &'static str {
        "ChangedRows"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChangedRows: {}, table={}", self.target.change.name(), self.target.table.name())
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Ok(Self { input, ..self.clone() }),
            _ => internal_err!("a change has one input"),
        }
    }
}

impl fmt::Debug for ChangedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedRows").field("target", &self.target).finish_non_exhaustive()
    }
}

impl PartialEq for ChangedRows {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.target, &other.target) && self.input == other.input
    }
}

impl Eq for ChangedRows {}

impl Hash for ChangedRows {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
    }
}

impl PartialOrd for ChangedRows {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

/// Plans changes that return rows.
#[derive(Debug)]
pub(crate) struct ChangePlanner;

#[async_trait]
impl ExtensionPlanner for ChangePlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(rows) = node.as_any().downcast_ref::<ChangedRows>() else { return Ok(None) };
        let [input] = inputs else { return internal_err!("a change has one input") };
        let target = ChangeTarget::clone(&rows.target);
        Ok(Some(Arc::new(ChangeExec::new(Arc::clone(input), target, session)?)))
    }
}
