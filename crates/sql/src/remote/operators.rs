//! The operators that another process can run.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::{HigherOrderFunctionExpr, PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};

use super::codec::PlanCodec;
use super::hot_rows::HotRows;
use super::scan::RemoteScan;
use crate::memory::sort_of_views;
use crate::rewrite::{barrier_columns, grouping_sets};
use crate::write::WritePartExec;

/// Whether another process can run an operator, apart from its inputs.
pub fn can_travel(plan: &Arc<dyn ExecutionPlan>, codec: &PlanCodec) -> bool {
    is_known(plan) && is_within_limits(plan) && has_known_functions(plan, codec)
}

/// Whether DataFusion (55) writes the operator's limits, which it does with 32 bits.
fn is_within_limits(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let skip = plan.downcast_ref::<GlobalLimitExec>().map(GlobalLimitExec::skip);
    plan.fetch().into_iter().chain(skip).all(|rows| u32::try_from(rows).is_ok())
}

/// Operators that DataFusion writes whole, and Lath's. Windows are none of them: DataFusion (55) leaves out IGNORE NULLS and whether a function runs
/// backwards.
fn is_known(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<AggregateExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<CrossJoinExec>()
        || plan.is::<EmptyExec>()
        || plan.is::<FilterExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<HashJoinExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<PlaceholderRowExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<SortExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<UnionExec>()
        || plan.is::<UnnestExec>()
        || barrier_columns(plan).is_some()
        || grouping_sets(plan).is_some()
        || sort_of_views(plan).is_some()
        || plan.is::<WritePartExec>()
        || RemoteScan::of(plan).is_some()
        || HotRows::in_plan(plan).is_some()
}

/// Whether all functions that an operator calls can be written, and the functions that choose a partition are registered.
fn has_known_functions(plan: &Arc<dyn ExecutionPlan>, codec: &PlanCodec) -> bool {
    let functions = codec.functions();
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>()
        && !aggregate.aggr_expr().iter().all(|call| functions.aggregate_form(call.fun()).is_some())
    {
        return false;
    }
    if let Some(repartition) = plan.downcast_ref::<RepartitionExec>()
        && let Partitioning::Hash(keys, _) = repartition.partitioning()
        && !keys
            .iter()
            .all(|key| all_calls(key, |call| functions.scalar_form(call.fun()).is_some_and(|form| form.is_empty())))
    {
        return false;
    }
    let mut all_known = true;
    let visited = plan.apply_expressions(&mut |expr| {
        all_known &= all_calls(expr, |call| functions.scalar_form(call.fun()).is_some());
        Ok(if all_known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    visited.is_ok() && all_known
}

fn all_calls(expr: &Arc<dyn PhysicalExpr>, test: impl Fn(&ScalarFunctionExpr) -> bool) -> bool {
    // DataFusion writes functions with lambdas, but Lath has no form for them.
    let unknown = expr.exists(|part| {
        let is_refused = part.downcast_ref::<ScalarFunctionExpr>().is_some_and(|call| !test(call));
        Ok(is_refused || part.is::<HigherOrderFunctionExpr>())
    });
    unknown.is_ok_and(|unknown| !unknown)
}
