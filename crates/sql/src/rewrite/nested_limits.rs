//! `ORDER BY` of structs, lists and maps, with `LIMIT`.
//!
//! DataFusion (55) keeps the first rows of a sort, and drops each later row that compares as greater than the last of them. This comparison puts
//! nulls within nested values first, and the sort puts them where its options say, so rows were missing. Here such a sort keeps all rows, and the
//! limit follows it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;

/// Moves limits out of sorts of nested values. The rule precedes the pushdown of dynamic filters.
#[derive(Debug)]
pub(crate) struct NestedLimits;

impl PhysicalOptimizerRule for NestedLimits {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let limited = plan.transform_up(|plan| {
            Ok(match plan.downcast_ref::<SortExec>().and_then(with_limit_after) {
                Some(limited) => Transformed::yes(limited),
                None => Transformed::no(plan),
            })
        });
        limited.map(|limited| limited.data)
    }

    fn name(&self) -> &'static str {
        "lath_nested_limits"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The sort of all rows and its limit; `None` if the sort has no limit, or no nested values.
fn with_limit_after(sort: &SortExec) -> Option<Arc<dyn ExecutionPlan>> {
    let fetch = sort.fetch()?;
    let schema = sort.input().schema();
    let is_nested = |key: &PhysicalSortExpr| key.expr.data_type(&schema).is_ok_and(|key| key.is_nested());
    if !sort.expr().iter().any(is_nested) {
        return None;
    }
    let is_partitioned = sort.preserve_partitioning();
    let all = SortExec::new(sort.expr().clone(), Arc::clone(sort.input())).with_preserve_partitioning(is_partitioned);
    Some(match is_partitioned {
        true => Arc::new(LocalLimitExec::new(Arc::new(all), fetch)),
        false => Arc::new(GlobalLimitExec::new(Arc::new(all), 0, Some(fetch))),
    })
}
