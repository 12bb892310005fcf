//! `INTERVAL 3 DAY` where DataFusion 55 wants a text, as in frames of windows, and `INTERVAL (expression) DAY`.

use datafusion::sql::sqlparser::ast::{DateTimeField, Expr, Interval, Value, ValueWithSpan};
use datafusion::sql::sqlparser::parser::ParserError;

use super::Rewrite;
use super::template::filled;

/// Rewrites the value of an interval.
pub(crate) fn interval_values(expr: &mut Expr, rewrite: Rewrite) -> Result<(), ParserError> {
    let Expr::Interval(Interval { value, leading_field, .. }) = expr else { return Ok(()) };
    if *leading_field == Some(DateTimeField::Quarter) {
        return quarters(expr, rewrite);
    }
    match value.as_mut() {
        Expr::Value(ValueWithSpan { value, .. }) => {
            if let Value::Number(number, _) = value {
                *value = Value::SingleQuotedString(number.clone());
            }
        }
        Expr::Nested(inner) => {
            if let Some(unit) = leading_field {
                let unit = unit.to_string().to_lowercase();
                let text = format!(
                    "CASE WHEN $1 IS NOT NULL THEN CAST(concat(CAST($1 AS BIGINT), ' {unit}') AS INTERVAL) END"
                );
                *expr = filled(&text, &[&**inner], rewrite)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// A quarter is three months.
fn quarters(expr: &mut Expr, rewrite: Rewrite) -> Result<(), ParserError> {
    let Expr::Interval(Interval { value, .. }) = expr else { return Ok(()) };
    let count = match value.as_ref() {
        Expr::Value(ValueWithSpan { value: Value::Number(number, _) | Value::SingleQuotedString(number), .. }) => {
            Expr::value(Value::Number(number.trim().to_owned(), false))
        }
        other => other.clone(),
    };
    let months = "CASE WHEN $1 IS NOT NULL THEN CAST(concat(CAST($1 AS BIGINT) * 3, ' months') AS INTERVAL) END";
    *expr = filled(months, &[&count], rewrite)?;
    Ok(())
}
