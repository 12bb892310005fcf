//! Shares rows that a plan reads in several places and that may differ each time they are computed, for example the rows of `LIMIT` or
//! random values. They are computed once, and kept until all places have read them.

mod exec;
mod rows;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use self::exec::SharedExec;
use self::rows::SharedRows;

/// Distinguishes shared rows, even of plans that are combined.
static NEXT_ID: AtomicUsize = AtomicUsize::new(0);

/// A plan whose rows are computed once for all nodes with the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Hash)]
pub(super) struct SharedPlan {
    id: usize,
    input: LogicalPlan,
}

impl SharedPlan {
    /// Wraps a plan, so that it can be used in several places.
    pub(super) fn plan(input: LogicalPlan) -> LogicalPlan {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        LogicalPlan::Extension(Extension { node: Arc::new(Self { id, input }) })
    }

    /// The number that all its readers have.
    pub(super) fn id(&self) -> usize {
        self.id
    }

    /// The plan that computes the rows.
    pub(super) fn input(&self) -> &LogicalPlan {
        &self.input
    }

    /// The plan as a shared one, if it is.
    pub(super) fn from_plan(plan: &LogicalPlan) -> Option<&Self> {
        match plan {
            LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref::<Self>(),
            _ => None,
        }
    }
}

impl UserDefinedLogicalNodeCore for SharedPlan {
    fn name(&self) -> &str {
        "Shared"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared: {}", self.id)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Ok(Self { id: self.id, input }),
            _ => internal_err!("shared rows have one input"),
        }
    }
}

/// Removes sharing of rows with a single reader, which would only hide their plan from the optimizer.
pub(super) fn without_single_readers(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut readers: HashMap<usize, usize> = HashMap::new();
    plan.apply_with_subqueries(|node| {
        if let Some(shared) = SharedPlan::from_plan(node) {
            *readers.entry(shared.id).or_default() += 1;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if readers.values().all(|&count| count > 1) {
        return Ok(plan);
    }
    let plan = plan.transform_up_with_subqueries(|node| match SharedPlan::from_plan(&node) {
        Some(shared) if readers.get(&shared.id) == Some(&1) => Ok(Transformed::yes(shared.input.clone())),
        _ => Ok(Transformed::no(node)),
    })?;
    Ok(plan.data)
}

/// DataFusion's planner, extended by shared rows, and by what `others` plan.
pub(crate) struct SharingPlanner {
    pub(crate) others: Vec<Arc<dyn ExtensionPlanner + Send + Sync>>,
}

impl fmt::Debug for SharingPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharingPlanner")
    }
}

#[async_trait]
impl QueryPlanner for SharingPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let sharing: Arc<dyn ExtensionPlanner + Send + Sync> = Arc::new(Sharing::default());
        let planners = self.others.iter().cloned().chain([sharing]).collect();
        DefaultPhysicalPlanner::with_extension_planners(planners).create_physical_plan(plan, session).await
    }
}

/// The shared rows of one physical plan.
#[derive(Default)]
struct Sharing {
    rows: Mutex<HashMap<usize, Arc<SharedRows>>>,
}

#[async_trait]
impl ExtensionPlanner for Sharing {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(shared) = node.as_any().downcast_ref::<SharedPlan>() else { return Ok(None) };
        let [input] = inputs else { return internal_err!("shared rows have one input") };
        let mut known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = Arc::clone(known.entry(shared.id).or_default());
        Ok(Some(Arc::new(SharedExec::new(Arc::clone(input), rows))))
    }
}
