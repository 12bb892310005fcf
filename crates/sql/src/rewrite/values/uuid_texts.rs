//! Conversions between texts and UUIDs that DataFusion 55, for which UUIDs are bytes, does not make.

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::BinaryOperator;
use lath_text::is_uuid;

use super::uuid::{uuid_function, uuid_text_function};
use crate::rewrite::expressions::{is_comparison, rewrite_expressions};

/// Reads texts that are compared with UUIDs, and writes UUIDs that become texts.
#[derive(Debug)]
pub(crate) struct UuidTexts;

impl AnalyzerRule for UuidTexts {
    fn name(&self) -> &str {
        "uuid_texts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| converted(expr, schema)))
        })?;
        Ok(changed.data)
    }
}

/// Does so in comparisons as soon as they are planned, when DataFusion asks for their type.
#[derive(Debug)]
pub(crate) struct UuidComparisons;

impl ExprPlanner for UuidComparisons {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        match expr.op {
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::Spaceship => {
                read_texts(vec![&mut expr.left, &mut expr.right], schema);
            }
            BinaryOperator::StringConcat => {
                write_text(&mut expr.left, schema);
                write_text(&mut expr.right, schema);
            }
            _ => {}
        }
        Ok(PlannerResult::Original(expr))
    }
}

fn converted(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_changed = match &mut expr {
        Expr::BinaryExpr(binary) if is_comparison(binary.op) => {
            read_texts(vec![&mut binary.left, &mut binary.right], schema)
        }
        Expr::BinaryExpr(binary) if binary.op == Operator::StringConcat => {
            write_text(&mut binary.left, schema) | write_text(&mut binary.right, schema)
        }
        Expr::Between(between) => read_texts(vec![&mut between.expr, &mut between.low, &mut between.high], schema),
        Expr::InList(list) => {
            let expr = std::iter::once(list.expr.as_mut());
            read_texts(expr.chain(&mut list.list).collect(), schema)
        }
        Expr::Cast(cast) if is_text(cast.field.data_type()) => write_text(&mut cast.expr, schema),
        Expr::TryCast(cast) if is_text(cast.field.data_type()) => write_text(&mut cast.expr, schema),
        _ => false,
    };
    Ok(if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Makes texts among values that are compared UUIDs, if another value is one. Returns whether there were any.
fn read_texts(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    if !exprs.iter().any(|expr| holds_uuids(expr, schema)) {
        return false;
    }
    let mut is_changed = false;
    for expr in exprs {
        if expr.get_type(schema).is_ok_and(|data_type| is_text(&data_type)) {
            *expr = uuid_function().call(vec![expr.clone()]);
            is_changed = true;
        }
    }
    is_changed
}

/// Makes a UUID its text. Returns whether it is one.
fn write_text(expr: &mut Expr, schema: &DFSchema) -> bool {
    let is_changed = holds_uuids(expr, schema);
    if is_changed {
        *expr = uuid_text_function().call(vec![expr.clone()]);
    }
    is_changed
}

fn holds_uuids(expr: &Expr, schema: &DFSchema) -> bool {
    // Fields of other types need no look at their metadata.
    expr.get_type(schema).is_ok_and(|data_type| data_type == DataType::FixedSizeBinary(16))
        && expr.to_field(schema).is_ok_and(|(_, field)| is_uuid(&field))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
