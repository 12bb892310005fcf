//! Classifies expressions that may raise an error for some values.

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};
use datafusion::scalar::ScalarValue;

use crate::rewrite::overflow::may_overflow;
use crate::rewrite::values::places;

/// Functions that raise an error for some values.
const FALLIBLE_FUNCTIONS: [&str; 25] = [
    "arrow_cast",
    "ceil",
    "chr",
    "decode",
    "divide_checked",
    "factorial",
    "floor",
    "from_unixtime",
    "gcd",
    "to_uuid",
    "lcm",
    "left",
    "lpad",
    "make_date",
    "make_time",
    "overlay",
    "power",
    "repeat",
    "round",
    "rpad",
    "substr",
    "substr_index",
    "to_date",
    "to_time",
    "to_unixtime",
];

/// Whether an expression may raise an error for some row.
pub(crate) fn is_fallible(expr: &Expr, schema: &DFSchema) -> bool {
    expr.exists(|expr| Ok(raises(expr, schema))).unwrap_or(true)
}

/// Whether an expression may raise an error for some rows and not for others.
pub(crate) fn is_fallible_by_row(expr: &Expr, schema: &DFSchema) -> bool {
    let depends_on_row = |part: &Expr| part.any_column_refs() || part.contains_outer() || has_subquery(part);
    expr.exists(|part| Ok(raises(part, schema) && depends_on_row(part))).unwrap_or(true)
}

pub(crate) fn has_subquery(expr: &Expr) -> bool {
    let is_subquery = |expr: &Expr| {
        matches!(expr, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_))
    };
    expr.exists(|expr| Ok(is_subquery(expr))).unwrap_or(true)
}

/// Whether the root operator or function itself may raise an error.
fn raises(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Divide | Operator::Modulo, right }) => {
            let is_float = |side: &Expr| side.get_type(schema).is_ok_and(|data_type| data_type.is_floating());
            !is_float(left) && !is_nonzero(right)
        }
        Expr::Cast(Cast { expr, field }) => {
            let is_literal = matches!(expr.as_ref(), Expr::Literal(..));
            !is_literal && expr.get_type(schema).map_or(true, |from| !is_total(&from, field.data_type()))
        }
        Expr::ScalarFunction(call) => {
            let name = call.func.name();
            let is_listed = FALLIBLE_FUNCTIONS.contains(&name) || name.starts_with("to_timestamp");
            // Rounding floats and truncating texts raises no error.
            let is_number = |arg: &Expr| arg.get_type(schema).is_ok_and(|data_type| data_type.is_floating());
            match name {
                "ceil" | "floor" | "round" | "power" => !call.args.first().is_some_and(is_number),
                // UUIDs stay as they are.
                "to_uuid" => call
                    .args
                    .first()
                    .is_some_and(|text| text.get_type(schema).is_ok_and(|data_type| data_type.is_string())),
                "left" | "substr" | "lpad" | "rpad" | "repeat" => {
                    !call.args.iter().skip(1).all(|arg| matches!(arg, Expr::Literal(..)))
                }
                _ => is_listed || may_overflow(call, schema),
            }
        }
        _ => false,
    }
}

fn is_nonzero(expr: &Expr) -> bool {
    let Expr::Literal(value, _) = expr else { return false };
    let zero = ScalarValue::new_zero(&value.data_type());
    !value.is_null() && zero.is_ok_and(|zero| *value != zero)
}

/// Whether a cast succeeds for all values.
fn is_total(from: &DataType, to: &DataType) -> bool {
    use DataType::{Date32, Dictionary, LargeUtf8, Null, Timestamp, Utf8, Utf8View};
    let is_text = |data_type: &DataType| matches!(data_type, Utf8 | LargeUtf8 | Utf8View);
    match (from, to) {
        (from, to) if from == to => true,
        (Null, _) => true,
        (Dictionary(_, from), to) => is_total(from, to),
        (from, Dictionary(_, to)) => is_total(from, to),
        // Bytes may not be valid UTF-8.
        (from, to) if is_text(to) => !from.is_binary(),
        (from, to) if to.is_binary() => is_text(from) || from.is_binary(),
        (from, to) if to.is_floating() => from.is_numeric() || *from == DataType::Boolean,
        (DataType::Boolean, to) => to.is_integer(),
        (Date32, Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond, _)) => true,
        (Timestamp(..), Date32) => true,
        (Timestamp(from, _), Timestamp(to, _)) => to <= from,
        (from, to) if from.is_integer() && to.is_integer() => {
            match (from.is_signed_integer(), to.is_signed_integer()) {
                (one, other) if one == other => from.primitive_width() <= to.primitive_width(),
                (false, true) => from.primitive_width() < to.primitive_width(),
                _ => false,
            }
        }
        (from, to) if to.is_decimal() => match (places(from), places(to)) {
            // Rounding can add a digit.
            (Some((whole, scale)), Some((to_whole, to_scale))) => whole + i16::from(scale > to_scale) <= to_whole,
            _ => false,
        },
        _ => false,
    }
}
