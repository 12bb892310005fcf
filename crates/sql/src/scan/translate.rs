//! Translates DataFusion's expressions to predicates of Lath.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column as ColumnExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal as LiteralExpr, NotExpr,
};
use datafusion::scalar::ScalarValue;
use lath_parquet::{Column, ExactType, Literal, Predicate, column_named};

use super::literal::literal;
use crate::rewrite::CANONICAL_FLOAT;

/// Longest IN list that is translated. A longer one costs more comparisons than it saves.
const MAX_VALUES: usize = 1 << 16;

/// Returns the predicate that is true, false and null for the same rows of `schema`; `None` if Lath has none.
pub(crate) fn translate(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Predicate> {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return translate_binary(binary, schema);
    }
    if let Some(not) = expr.downcast_ref::<NotExpr>() {
        return Some(!translate(not.arg(), schema)?);
    }
    if let Some(null) = expr.downcast_ref::<IsNullExpr>() {
        return Some(column(null.arg(), schema)?.is_null());
    }
    if let Some(not_null) = expr.downcast_ref::<IsNotNullExpr>() {
        return Some(column(not_null.arg(), schema)?.is_not_null());
    }
    if let Some(list) = expr.downcast_ref::<InListExpr>() {
        if list.list().len() > MAX_VALUES {
            return None;
        }
        let values = list.list().iter().map(value).collect::<Option<Vec<Literal>>>()?;
        let is_in = widened(list.expr(), schema)?.is_in(values);
        return Some(if list.negated() { !is_in } else { is_in });
    }
    if let Some(like) = expr.downcast_ref::<LikeExpr>() {
        let pattern = text(like.pattern())?;
        // Case-insensitive matching is left to DataFusion.
        if like.case_insensitive() {
            return None;
        }
        let is_like = like_with_backslash(column(like.expr(), schema)?, &pattern)?;
        return Some(if like.negated() { !is_like } else { is_like });
    }
    if let Some(function) = expr.downcast_ref::<ScalarFunctionExpr>()
        && function.name() == "starts_with"
        && let [argument, prefix] = function.args()
    {
        return Some(column(argument, schema)?.starts_with(&text(prefix)?));
    }
    if let Some(constant) = expr.downcast_ref::<LiteralExpr>() {
        return match constant.value() {
            ScalarValue::Boolean(Some(true)) => Some(Predicate::TRUE),
            ScalarValue::Boolean(Some(false)) => Some(Predicate::FALSE),
            ScalarValue::Boolean(None) | ScalarValue::Null => Some(Predicate::NULL),
            _ => None,
        };
    }
    // A boolean column as a condition.
    let field = schema.field(expr.downcast_ref::<ColumnExpr>()?.index());
    if *field.data_type() == DataType::Boolean { Some(column_named(field.name()).eq(true)) } else { None }
}

fn translate_binary(binary: &BinaryExpr, schema: &Schema) -> Option<Predicate> {
    let (left, right) = (binary.left(), binary.right());
    match binary.op() {
        Operator::And => return Some(translate(left, schema)?.and(translate(right, schema)?)),
        Operator::Or => return Some(translate(left, schema)?.or(translate(right, schema)?)),
        _ => {}
    }
    if let (Some(column), Some(other)) = (column(left, schema), column(right, schema)) {
        return match binary.op() {
            Operator::Eq => Some(column.eq_column(other)),
            Operator::NotEq => Some(!column.eq_column(other)),
            Operator::Lt => Some(column.lt_column(other)),
            Operator::LtEq => Some(column.le_column(other)),
            Operator::Gt => Some(other.lt_column(column)),
            Operator::GtEq => Some(other.le_column(column)),
            _ => None,
        };
    }
    let (column, value, op) = match (widened(left, schema), value(right)) {
        (Some(column), Some(value)) => (column, value, *binary.op()),
        _ => (widened(right, schema)?, value(left)?, binary.op().swap()?),
    };
    Some(match op {
        Operator::Eq => column.eq(value),
        Operator::NotEq => column.not_eq(value),
        Operator::Lt => column.lt(value),
        Operator::LtEq => column.le(value),
        Operator::Gt => column.gt(value),
        Operator::GtEq => column.ge(value),
        Operator::IsDistinctFrom => column.is_distinct_from(value),
        Operator::IsNotDistinctFrom => !column.is_distinct_from(value),
        _ => return None,
    })
}

/// The column or nested field that an expression is.
fn column(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Column> {
    let expr = uncanonical(expr);
    let mut names = field_path(expr, schema)?.into_iter();
    let column = column_named(&names.next()?);
    Some(names.fold(column, |column, name| column.field(&name)))
}

/// [`column`], also below a cast of integers or decimals to a decimal that can hold all their values: literals are compared with such
/// columns exactly.
fn widened(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Column> {
    let expr = uncanonical(expr);
    let Some(cast) = expr.downcast_ref::<CastExpr>() else { return column(expr, schema) };
    let (from, to) = (cast.expr().data_type(schema).ok()?, cast.cast_type());
    let (whole, scale) = places(&from)?;
    let (to_whole, to_scale) = if to.is_decimal() { places(to)? } else { return None };
    (whole <= to_whole && scale <= to_scale).then(|| column(cast.expr(), schema))?
}

/// Removes the function that makes floats canonical. Lath's comparisons have one zero and one NaN anyway.
pub(crate) fn uncanonical(expr: &Arc<dyn PhysicalExpr>) -> &Arc<dyn PhysicalExpr> {
    match expr.downcast_ref::<ScalarFunctionExpr>() {
        Some(call) if call.name() == CANONICAL_FLOAT => call.args().first().unwrap_or(expr),
        _ => expr,
    }
}

/// The digits of a number type before and after the point.
fn places(data_type: &DataType) -> Option<(i16, i16)> {
    ExactType::new(data_type)?.digits()
}

/// The path of names to the column or nested field that an expression is.
pub(crate) fn field_path(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Vec<String>> {
    if let Some(column) = expr.downcast_ref::<ColumnExpr>() {
        return Some(vec![schema.fields().get(column.index())?.name().clone()]);
    }
    let function = expr.downcast_ref::<ScalarFunctionExpr>().filter(|function| function.name() == "get_field")?;
    let (first, names) = function.args().split_first()?;
    let mut path = field_path(first, schema)?;
    for name in names {
        path.push(text(name)?);
    }
    Some(path)
}

/// The literal, if an expression is one.
fn value(expr: &Arc<dyn PhysicalExpr>) -> Option<Literal> {
    literal(expr.downcast_ref::<LiteralExpr>()?.value())
}

fn text(expr: &Arc<dyn PhysicalExpr>) -> Option<String> {
    match expr.downcast_ref::<LiteralExpr>()?.value() {
        ScalarValue::Utf8(Some(text)) | ScalarValue::LargeUtf8(Some(text)) | ScalarValue::Utf8View(Some(text)) => {
            Some(text.clone())
        }
        _ => None,
    }
}

/// `LIKE` with `\` as its escape character; `None` for patterns that Lath does not support.
fn like_with_backslash(column: Column, pattern: &str) -> Option<Predicate> {
    (!pattern.contains('\\')).then(|| column.like(pattern))
}
