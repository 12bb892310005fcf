//! Counts duplicates in `INTERSECT ALL` (the smaller count of both sides) and `EXCEPT ALL` (the left count minus the right).
//!
//! DataFusion 55 plans them as semi and anti joins of the rows, which keep all duplicates of a row or none. Here the duplicates of each row
//! are numbered on both sides, and the number is a join key.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType, NullEquality, Result, internal_err};
use datafusion::functions_window::row_number::row_number;
use datafusion::logical_expr::{Distinct, Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;

/// Columns with the numbers of duplicates on the left and right.
const COPIES: [&str; 2] = ["__lath_left_copy", "__lath_right_copy"];

/// Numbers duplicates below `INTERSECT ALL` and `EXCEPT ALL`. The rule runs before any other that could produce such a join.
#[derive(Debug)]
pub(crate) struct Multisets;

impl AnalyzerRule for Multisets {
    fn name(&self) -> &str {
        "lath_multisets"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Join(join) if is_multiset_operation(&join) => number_copies(join).map(Transformed::yes),
            other => Ok(Transformed::no(other)),
        })
        .map(|numbered| numbered.data)
    }
}

/// Whether a join is a set operation with `ALL`. No other clause is planned as a semi or anti join with equal nulls, and without `ALL` the
/// left side is distinct; if the query's own left side is distinct, no numbers are needed.
fn is_multiset_operation(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
        && join.on.len() == join.left.schema().fields().len()
        && !matches!(&*join.left, LogicalPlan::Distinct(Distinct::All(_)))
}

fn number_copies(join: Join) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = join.left.schema().columns().into_iter().map(Expr::Column).collect();
    let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.into_iter().unzip();
    let [left_copy, right_copy] = COPIES;
    let left = numbered(join.left, &left_keys, left_copy)?;
    let right = numbered(join.right, &right_keys, right_copy)?;
    let on = (key_columns(left_keys, left_copy)?, key_columns(right_keys, right_copy)?);
    LogicalPlanBuilder::from(left)
        .join_detailed(right, join.join_type, on, None, NullEquality::NullEqualsNull)?
        .project(columns)?
        .build()
}

/// Appends a column with the number of each row among its duplicates.
fn numbered(side: Arc<LogicalPlan>, keys: &[Expr], name: &str) -> Result<LogicalPlan> {
    let number = row_number().partition_by(keys.to_vec()).build()?.alias(name);
    LogicalPlanBuilder::from(side).window([number])?.build()
}

fn key_columns(keys: Vec<Expr>, copy: &str) -> Result<Vec<Column>> {
    let columns = keys.into_iter().map(|key| match key {
        Expr::Column(column) => Ok(column),
        other => internal_err!("a set operation compares {other}, which is no column"),
    });
    columns.chain([Ok(Column::from_name(copy))]).collect()
}
