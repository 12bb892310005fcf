//! Types of decimal quotients.
//!
//! In DataFusion 55 a quotient has four more digits after the point than the dividend: `1 / 3.0` is 0.3333. Here it has 16 if they fit into
//! the 38 digits of a decimal. If they do not, and one side is a literal, the quotient is a double, with 15 digits or more.

use arrow_schema::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Digits after the point of a quotient, if they fit.
const QUOTIENT_SCALE: i16 = 16;
/// Digits after the point that DataFusion adds to the dividend's.
const ADDED_SCALE: i16 = 4;
const MAX_PRECISION: i16 = 38;

/// Plans quotients of decimals.
#[derive(Debug)]
pub(crate) struct ExactDivision;

impl ExprPlanner for ExactDivision {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op != BinaryOperator::Divide {
            return Ok(PlannerResult::Original(expr));
        }
        let types = (expr.left.get_type(schema), expr.right.get_type(schema));
        let (Ok(left), Ok(right)) = types else { return Ok(PlannerResult::Original(expr)) };
        let is_decimal = matches!(left, DataType::Decimal128(..)) || matches!(right, DataType::Decimal128(..));
        let (Some((left_digits, left_scale)), Some((_, right_scale)), true) =
            (digits(&left), digits(&right), is_decimal)
        else {
            return Ok(PlannerResult::Original(expr));
        };
        let whole = left_digits - left_scale + right_scale;
        let scale = (MAX_PRECISION - whole).min(QUOTIENT_SCALE);
        let usual = left_scale + ADDED_SCALE;
        let (dividend, divisor) = if scale > usual {
            let dividend_scale = scale - ADDED_SCALE;
            let precision = u8::try_from(left_digits - left_scale + dividend_scale).unwrap_or(u8::MAX);
            let dividend_type = DataType::Decimal128(precision, i8::try_from(dividend_scale).unwrap_or(i8::MAX));
            (cast(expr.left, dividend_type), expr.right)
        } else if usual < QUOTIENT_SCALE && (is_literal(&expr.left) || is_literal(&expr.right)) {
            (cast(expr.left, DataType::Float64), cast(expr.right, DataType::Float64))
        } else {
            return Ok(PlannerResult::Original(expr));
        };
        let quotient = BinaryExpr::new(Box::new(dividend), Operator::Divide, Box::new(divisor));
        Ok(PlannerResult::Planned(Expr::BinaryExpr(quotient)))
    }
}

/// The digits of a number type, and how many of them are after the point.
fn digits(data_type: &DataType) -> Option<(i16, i16)> {
    Some(match data_type {
        DataType::Int8 | DataType::UInt8 => (3, 0),
        DataType::Int16 | DataType::UInt16 => (5, 0),
        DataType::Int32 | DataType::UInt32 => (10, 0),
        DataType::Int64 | DataType::UInt64 => (20, 0),
        DataType::Decimal128(precision, scale) if *scale >= 0 => (i16::from(*precision), i16::from(*scale)),
        _ => return None,
    })
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => matches!(value, ScalarValue::Decimal128(..)),
        Expr::Negative(inner) => is_literal(inner),
        _ => false,
    }
}
