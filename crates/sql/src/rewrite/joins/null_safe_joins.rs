//! Keeps equalities out of the keys of null-safe joins.
//!
//! DataFusion 55 adds `a = b` to the keys of a join by `IS NOT DISTINCT FROM`, where it would be true for two nulls. Its rule that orders
//! inner joins gives all of them the null equality of one, with the same effect.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::{JoinType, LogicalPlan};
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rules that take a join for one by `=`, without the plans for which this is wrong.
pub(crate) fn null_safe_rules() -> [Arc<dyn OptimizerRule + Send + Sync>; 2] {
    [
        Arc::new(Except { rule: ExtractEquijoinPredicate::new(), is_excepted: has_null_safe_keys }),
        Arc::new(Except { rule: EliminateCrossJoin::new(), is_excepted: has_null_safe_inner_join }),
    ]
}

fn has_null_safe_keys(plan: &LogicalPlan) -> Result<bool> {
    Ok(match plan {
        LogicalPlan::Join(join) => join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty(),
        _ => false,
    })
}

fn has_null_safe_inner_join(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| {
        Ok(match node {
            LogicalPlan::Join(join) => {
                join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNull
            }
            _ => false,
        })
    })
}

/// A rule of DataFusion's that leaves some plans as they are.
#[derive(Debug)]
struct Except<R> {
    rule: R,
    is_excepted: fn(&LogicalPlan) -> Result<bool>,
}

impl<R: OptimizerRule> OptimizerRule for Except<R> {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if (self.is_excepted)(&plan)? { Ok(Transformed::no(plan)) } else { self.rule.rewrite(plan, config) }
    }
}
