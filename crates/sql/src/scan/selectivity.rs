//! Estimates the selectivity of conditions from column statistics.
//!
//! The optimiser chooses the order of joins by it, so the estimate need not be exact: it has to tell few rows from many. It assumes that
//! conditions on different columns are independent and that values are spread evenly between the minimum and the maximum.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::DataType;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::scalar::ScalarValue;

/// Equality with a value, if the number of distinct values is unknown.
const EQUAL: f64 = 0.1;
/// Comparison with a bound, if the minimum and maximum of the column are unknown.
const BOUNDED: f64 = 1.0 / 3.0;
/// `LIKE` with a pattern.
const LIKE: f64 = 0.1;
/// Any other condition; DataFusion's own default.
const UNKNOWN: f64 = 0.2;

/// Estimates the share of rows for which `condition` is true, from 0 to 1. Its columns are indices into `known`.
pub(crate) fn selectivity(condition: &Arc<dyn PhysicalExpr>, known: &Statistics) -> f64 {
    let mut bounds: HashMap<usize, Interval> = HashMap::new();
    let mut share = 1.0;
    for conjunct in split_conjunction(condition) {
        match bound(conjunct, known) {
            Some((column, interval)) => {
                let all = bounds.entry(column).or_default();
                *all = all.and(interval);
            }
            None => share *= other_selectivity(conjunct, known),
        }
    }
    let bounded: f64 = bounds.into_iter().map(|(at, interval)| interval.share(&known.column_statistics[at])).product();
    (share * bounded).clamp(0.0, 1.0)
}

/// Values from `lower` to `upper`, and a factor for bounds that are not numbers.
#[derive(Clone, Copy)]
struct Interval {
    lower: f64,
    upper: f64,
    /// The share of rows that pass bounds which cannot be compared with the column's.
    unknown: f64,
}

impl Default for Interval {
    fn default() -> Self {
        Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY, unknown: 1.0 }
    }
}

impl Interval {
    fn and(self, other: Self) -> Self {
        Self {
            lower: self.lower.max(other.lower),
            upper: self.upper.min(other.upper),
            unknown: self.unknown * other.unknown,
        }
    }

    /// The share of a column's values in the interval.
    fn share(self, column: &ColumnStatistics) -> f64 {
        let (Some(min), Some(max)) = (number(column.min_value.get_value()), number(column.max_value.get_value()))
        else {
            let bounds = u8::from(self.lower.is_finite()) + u8::from(self.upper.is_finite());
            return self.unknown * BOUNDED.powi(bounds.into());
        };
        let (lower, upper) = (self.lower.max(min), self.upper.min(max));
        let share = match max > min {
            _ if lower > upper => 0.0,
            true => (upper - lower) / (max - min),
            false => 1.0,
        };
        self.unknown * share
    }
}

/// The index of the compared column, and the interval of values that a comparison allows.
fn bound(condition: &Arc<dyn PhysicalExpr>, known: &Statistics) -> Option<(usize, Interval)> {
    let binary = condition.downcast_ref::<BinaryExpr>()?;
    let (column, op, value) = comparison(binary)?;
    let mut interval = Interval::default();
    let edge = match op {
        Operator::Lt | Operator::LtEq => &mut interval.upper,
        Operator::Gt | Operator::GtEq => &mut interval.lower,
        _ => return None,
    };
    let statistics = &known.column_statistics[column];
    let data_type = statistics.min_value.get_value().map(ScalarValue::data_type);
    let value = data_type.and_then(|data_type| value.cast_to(&data_type).ok());
    match number(value.as_ref()) {
        Some(value) => *edge = value,
        None => interval.unknown = BOUNDED,
    }
    Some((column, interval))
}

/// The selectivity of a condition that is not a bound.
fn other_selectivity(condition: &Arc<dyn PhysicalExpr>, known: &Statistics) -> f64 {
    if let Some(binary) = condition.downcast_ref::<BinaryExpr>() {
        return binary_selectivity(binary, known);
    }
    if let Some(not) = condition.downcast_ref::<NotExpr>() {
        return 1.0 - selectivity(not.arg(), known);
    }
    if let Some(list) = condition.downcast_ref::<InListExpr>() {
        let one = equal(column_index(list.expr()), known);
        let any = (one * list.list().len() as f64).min(1.0);
        return if list.negated() { 1.0 - any } else { any };
    }
    if let Some(like) = condition.downcast_ref::<LikeExpr>() {
        return if like.negated() { 1.0 - LIKE } else { LIKE };
    }
    if let Some(is_null) = condition.downcast_ref::<IsNullExpr>() {
        return nulls(is_null.arg(), known);
    }
    if let Some(is_not_null) = condition.downcast_ref::<IsNotNullExpr>() {
        return 1.0 - nulls(is_not_null.arg(), known);
    }
    match condition.downcast_ref::<Literal>().map(Literal::value) {
        Some(ScalarValue::Boolean(Some(true))) => 1.0,
        Some(_) => 0.0,
        None => UNKNOWN,
    }
}

fn binary_selectivity(binary: &BinaryExpr, known: &Statistics) -> f64 {
    if *binary.op() == Operator::Or {
        let (left, right) = (selectivity(binary.left(), known), selectivity(binary.right(), known));
        return left + right - left * right;
    }
    let one = equal(comparison(binary).map(|(column, _, _)| column), known);
    match binary.op() {
        Operator::Eq | Operator::IsNotDistinctFrom => one,
        Operator::NotEq | Operator::IsDistinctFrom => 1.0 - one,
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => BOUNDED,
        _ => UNKNOWN,
    }
}

/// The selectivity of an equality with the column at this index, or with another expression (`None`).
fn equal(column: Option<usize>, known: &Statistics) -> f64 {
    let Some(at) = column else { return EQUAL };
    distinct_values(&known.column_statistics[at], known.num_rows).map_or(EQUAL, |count| 1.0 / count.max(1.0))
}

/// Estimates the number of distinct values of a column with `rows` rows, or its maximum.
pub(crate) fn distinct_values(column: &ColumnStatistics, rows: Precision<usize>) -> Option<f64> {
    if let Some(&count) = column.distinct_count.get_value() {
        return Some(count as f64);
    }
    let (min, max) = (column.min_value.get_value()?, column.max_value.get_value()?);
    let is_discrete = min.data_type().is_integer() || min.data_type() == DataType::Date32;
    let span = number(Some(max))? - number(Some(min))? + 1.0;
    // There are at most as many values as rows.
    is_discrete.then(|| rows.get_value().map_or(span, |&rows| span.min(rows as f64)))
}

fn nulls(expr: &Arc<dyn PhysicalExpr>, known: &Statistics) -> f64 {
    let nulls = column_index(expr).and_then(|at| known.column_statistics[at].null_count.get_value().copied());
    match (nulls, known.num_rows.get_value()) {
        (Some(nulls), Some(&rows)) => nulls as f64 / rows.max(1) as f64,
        _ => EQUAL,
    }
}

/// Matches a comparison of a column with a value; the column is moved to the left.
fn comparison(binary: &BinaryExpr) -> Option<(usize, Operator, &ScalarValue)> {
    let value = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Literal>().is_some();
    let (column, op, literal) = match (value(binary.left()), value(binary.right())) {
        (false, true) => (binary.left(), *binary.op(), binary.right()),
        (true, false) => (binary.right(), binary.op().swap()?, binary.left()),
        _ => return None,
    };
    Some((column_index(column)?, op, literal.downcast_ref::<Literal>()?.value()))
}

/// The index of the column that an expression is, even below a cast.
fn column_index(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    match expr.downcast_ref::<CastExpr>() {
        Some(cast) => column_index(cast.expr()),
        None => Some(expr.downcast_ref::<Column>()?.index()),
    }
}

/// Converts a number, date or time to a float.
pub(crate) fn number(value: Option<&ScalarValue>) -> Option<f64> {
    let value = value?;
    let as_float = |value: &ScalarValue| match value.cast_to(&DataType::Float64) {
        Ok(ScalarValue::Float64(number)) => number,
        _ => None,
    };
    match value.data_type() {
        data_type if data_type.is_numeric() => as_float(value),
        DataType::Date32 | DataType::Time32(_) => as_float(&value.cast_to(&DataType::Int32).ok()?),
        data_type if data_type.is_temporal() => as_float(&value.cast_to(&DataType::Int64).ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use arrow_schema::{Field, Schema};
    use datafusion::common::DFSchema;
    use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;
    use datafusion::prelude::SessionContext;

    fn known() -> Statistics {
        let unknown = ColumnStatistics::new_unknown;
        let number = unknown()
            .with_min_value(Precision::Exact(ScalarValue::Int64(Some(1))))
            .with_max_value(Precision::Exact(ScalarValue::Int64(Some(1001))));
        let day = unknown()
            .with_min_value(Precision::Exact(ScalarValue::Date32(Some(0))))
            .with_max_value(Precision::Exact(ScalarValue::Date32(Some(100))))
            .with_null_count(Precision::Exact(250));
        let city = unknown().with_distinct_count(Precision::Inexact(25));
        Statistics {
            num_rows: Precision::Exact(1000),
            total_byte_size: Precision::Absent,
            column_statistics: vec![number, day, city, unknown()],
        }
    }

    #[test]
    fn shares_follow_from_statistics() {
        let column = |name: &str, data_type| Field::new(name, data_type, true);
        let schema = Schema::new(vec![
            column("number", DataType::Int64),
            column("day", DataType::Date32),
            column("city", DataType::Utf8),
            column("other", DataType::Utf8),
        ]);
        let columns = DFSchema::try_from(schema).unwrap();
        let context = SessionContext::new();
        for (condition, expected) in [
            ("number <= 501", 0.5),
            ("number > 251 AND 501 >= number", 0.25),
            ("number BETWEEN 401 AND 601 AND city = 'Oslo'", 0.2 / 25.0),
            ("number > 5000", 0.0),
            ("number = 7", 0.001),
            ("number <> 7", 0.999),
            ("day < DATE '1970-01-11'", 0.1),
            ("day IS NULL", 0.25),
            ("day IS NOT NULL AND number > 901", 0.075),
            ("city IN ('Oslo', 'Bergen', 'Narvik')", 3.0 / 25.0),
            ("city NOT IN ('Oslo', 'Bergen')", 23.0 / 25.0),
            ("city = 'Oslo' OR number > 901", 0.04 + 0.1 - 0.004),
            ("other = 'x'", EQUAL),
            ("other > 'x' AND other < 'y'", BOUNDED * BOUNDED),
            ("other NOT LIKE '%x%'", 1.0 - LIKE),
            ("NOT city = 'Oslo'", 0.96),
            ("length(other) > 3", BOUNDED),
        ] {
            let expr = context.parse_sql_expr(condition, &columns).unwrap();
            let expr = context.create_physical_expr(expr, &columns).unwrap();
            let expr = PhysicalExprSimplifier::new(columns.as_arrow()).simplify(expr).unwrap();
            let share = selectivity(&expr, &known());
            assert!((share - expected).abs() < 1e-9, "{condition}: {share}, not {expected}");
        }
    }
}
