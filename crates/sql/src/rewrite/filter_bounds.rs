//! Hides conditions whose bounds DataFusion 55 computes wrongly.
//!
//! A filter estimates how the bounds of its columns shrink. Through a cast that is not one-to-one (`CAST(ts AS DATE) <= day`) they grow
//! instead, and the difference of two dates is a duration there. Both raise an internal error, although the plan would run. In a filter,
//! `c` equals `c IS TRUE`, whose bounds DataFusion does not compute.

use arrow_schema::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Hides the conditions of filters. The rule runs last, when conditions have been simplified and pushed down to scans.
#[derive(Debug)]
pub(crate) struct FilterBounds;

impl OptimizerRule for FilterBounds {
    fn name(&self) -> &str {
        "lath_filter_bounds"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(mut filter) = plan else { return Ok(Transformed::no(plan)) };
        let mut has_hidden = false;
        let conditions = split_conjunction_owned(filter.predicate.clone()).into_iter().map(|condition| {
            let is_hidden =
                matches!(condition, Expr::IsTrue(_)) || !has_wrong_bounds(&condition, filter.input.schema());
            has_hidden |= !is_hidden;
            if is_hidden { condition } else { Expr::IsTrue(Box::new(condition)) }
        });
        let predicate = conjunction(conditions.collect::<Vec<_>>());
        match predicate.filter(|_| has_hidden) {
            Some(predicate) => {
                filter.predicate = predicate;
                Ok(Transformed::yes(LogicalPlan::Filter(filter)))
            }
            None => Ok(Transformed::no(LogicalPlan::Filter(filter))),
        }
    }
}

fn has_wrong_bounds(condition: &Expr, schema: &DFSchema) -> bool {
    let is_wrong = condition.exists(|expr| {
        Ok(match expr {
            Expr::Cast(cast) => !is_one_to_one(&cast.expr.get_type(schema)?, cast.field.data_type()),
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus | Operator::Minus, right }) => {
                left.get_type(schema)?.is_temporal() || right.get_type(schema)?.is_temporal()
            }
            _ => false,
        })
    });
    is_wrong.unwrap_or(true)
}

/// Whether a cast of numbers is injective and monotonic.
fn is_one_to_one(from: &DataType, to: &DataType) -> bool {
    from == to
        || match (from.primitive_width(), to.primitive_width()) {
            (Some(narrow), Some(wide)) => {
                let is_same_family = from.is_signed_integer() && to.is_signed_integer()
                    || from.is_unsigned_integer() && to.is_integer() && narrow < wide
                    || from.is_unsigned_integer() && to.is_unsigned_integer()
                    || from.is_floating() && to.is_floating();
                is_same_family && narrow <= wide
            }
            _ => false,
        }
}
