//! Keeps equalities out of the keys of null-safe joins.
//!
//! DataFusion 55 adds `a = b` to the keys of a join by `IS NOT DISTINCT FROM`, where it would be true for two nulls. Its rule that orders
//! inner joins gives all of them the null equality of one, with the same effect.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::{JoinType, LogicalPlan};
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// DataFusion's rule that extracts join keys, applied only to joins by `=`.
#[derive(Debug)]
pub(crate) struct EquijoinKeys(pub(crate) ExtractEquijoinPredicate);

impl OptimizerRule for EquijoinKeys {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match &plan {
            LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty() => {
                Ok(Transformed::no(plan))
            }
            _ => self.0.rewrite(plan, config),
        }
    }
}

/// DataFusion's rule that turns cross joins into inner joins, applied only if all inner joins of a plan compare by `=`.
#[derive(Debug)]
pub(crate) struct OrderedInnerJoins(pub(crate) EliminateCrossJoin);

impl OptimizerRule for OrderedInnerJoins {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let is_null_safe = plan.exists(|node| match node {
            LogicalPlan::Join(join) => {
                Ok(join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNull)
            }
            _ => Ok(false),
        })?;
        if is_null_safe { Ok(Transformed::no(plan)) } else { self.0.rewrite(plan, config) }
    }
}
