//! `ORDER BY … OFFSET n` without LIMIT in a subquery.
//!
//! DataFusion 55 removes a sort if its keys are projected away below an OFFSET. Here the projection moves above the OFFSET.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

/// Moves limits down to their sorts. The rule runs before the one that removes sorts.
#[derive(Debug)]
pub(crate) struct SortedOffsets;

impl PhysicalOptimizerRule for SortedOffsets {
    fn name(&self) -> &str {
        "lath_sorted_offsets"
    }

    fn schema_check(&self) -> bool {
        true
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(below_projection).map(|changed| changed.data)
    }
}

fn below_projection(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() else { return Ok(Transformed::no(plan)) };
    if !limit.input().is::<ProjectionExec>() || !is_projected_sort(limit.input()) {
        return Ok(Transformed::no(plan));
    }
    let projection = Arc::clone(limit.input());
    let [input] = projection.children()[..] else { return Ok(Transformed::no(plan)) };
    let below = GlobalLimitExec::new(Arc::clone(input), limit.skip(), limit.fetch());
    replace_children_if_necessary(projection, vec![Arc::new(below)]).map(Transformed::yes)
}

fn is_projected_sort(plan: &Arc<dyn ExecutionPlan>) -> bool {
    match plan.downcast_ref::<ProjectionExec>() {
        Some(projection) => is_projected_sort(projection.input()),
        None => plan.is::<SortExec>(),
    }
}
