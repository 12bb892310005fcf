//! Makes a date plus an interval with hours a timestamp: `DATE '2024-01-31' + INTERVAL '36 hours'` is noon on 1 February.
//!
//! In DataFusion 55 the result is a date, without the hours. In PostgreSQL and DuckDB, a date plus any interval is a timestamp; here a date
//! plus whole days or months stays a date, so that conditions on date columns still rule out row groups.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::BinaryOperator;

const NANOSECONDS_A_DAY: i64 = 24 * 60 * 60 * 1_000_000_000;

/// Plans `date ± interval` as `timestamp ± interval` if the interval may have a part of a day.
#[derive(Debug)]
pub(crate) struct DateArithmetic;

impl ExprPlanner for DateArithmetic {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        match expr.op {
            BinaryOperator::Plus if is_date(&expr.right, schema) && may_have_time(&expr.left, schema) => {
                expr.right = timestamp(expr.right);
            }
            BinaryOperator::Plus | BinaryOperator::Minus
                if is_date(&expr.left, schema) && may_have_time(&expr.right, schema) =>
            {
                expr.left = timestamp(expr.left);
            }
            _ => {}
        }
        Ok(PlannerResult::Original(expr))
    }
}

fn timestamp(date: Expr) -> Expr {
    cast(date, DataType::Timestamp(TimeUnit::Microsecond, None))
}

fn is_date(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Date32 | DataType::Date64))
}

/// Whether an expression is an interval that may not consist of whole days.
fn may_have_time(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) => {
            interval.nanoseconds % NANOSECONDS_A_DAY != 0
        }
        Expr::Negative(inner) => may_have_time(inner, schema),
        other => matches!(
            other.get_type(schema),
            Ok(DataType::Interval(IntervalUnit::MonthDayNano | IntervalUnit::DayTime) | DataType::Duration(_))
        ),
    }
}
