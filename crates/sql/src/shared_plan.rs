//! Marks plans whose rows may differ each time they are computed, for example the rows of `LIMIT` or random values, and that are read in
//! several places.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};

/// Distinguishes shared rows, even of plans that are combined.
static NEXT_ID: AtomicUsize = AtomicUsize::new(0);

/// A plan whose rows are computed once for all nodes with the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Hash)]
pub(crate) struct SharedPlan {
    id: usize,
    input: LogicalPlan,
}

impl SharedPlan {
    /// Wraps a plan, so that it can be used in several places.
    pub(crate) fn plan(input: LogicalPlan) -> LogicalPlan {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        LogicalPlan::Extension(Extension { node: Arc::new(Self { id, input }) })
    }

    /// The number that all its readers have.
    pub(crate) fn id(&self) -> usize {
        self.id
    }

    /// The plan that computes the rows.
    pub(crate) fn input(&self) -> &LogicalPlan {
        &self.input
    }

    /// The plan as a shared one, if it is.
    pub(crate) fn from_plan(plan: &LogicalPlan) -> Option<&Self> {
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
pub(crate) fn without_single_readers(plan: LogicalPlan) -> Result<LogicalPlan> {
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
