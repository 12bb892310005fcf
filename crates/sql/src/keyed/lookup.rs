//! Conditions that name keys: `WHERE id = 7`, `WHERE city = 'Oslo' AND id IN (7, 8)`.

use arrow_schema::{DataType, Schema};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use lath_table::{Key, KeyValue};

/// Maximum number of keys that are looked up; a scan reads the rows of more.
const MAX_KEYS: usize = 1024;

/// The keys of all rows for which the conditions can be true, if they name a value, or a few, for each key column.
///
/// Floats are not looked up: conditions take both zeros for one value, and keys do not.
pub(crate) fn keys_of(filters: &[Expr], schema: &Schema, key_columns: &[usize]) -> Option<Vec<Key>> {
    let mut keys: Vec<Vec<KeyValue>> = vec![Vec::new()];
    for &column in key_columns {
        let field = schema.field(column);
        if field.data_type().is_floating() {
            return None;
        }
        let conditions = filters.iter().flat_map(split_conjunction);
        let values = conditions.filter_map(|filter| values_of(filter, field.name(), field.data_type()));
        let values = distinct(values.min_by_key(Vec::len)?);
        if keys.len() * values.len() > MAX_KEYS {
            return None;
        }
        let mut longer = Vec::with_capacity(keys.len() * values.len());
        for key in &keys {
            for value in &values {
                let value = KeyValue::Array(value.to_array().ok()?);
                longer.push(key.iter().cloned().chain([value]).collect());
            }
        }
        keys = longer;
    }
    Some(keys.into_iter().map(Key::new).collect())
}

/// The values that a column has in all rows for which `filter` is true, if it names them.
fn values_of(filter: &Expr, column: &str, data_type: &DataType) -> Option<Vec<ScalarValue>> {
    let is_column = |expr: &Expr| matches!(expr, Expr::Column(named) if named.name == column);
    let value = |expr: &Expr| match expr {
        Expr::Literal(value, _) if value.data_type() == *data_type => Some(value.clone()),
        _ => None,
    };
    let values = match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) if is_column(left) => vec![value(right)?],
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) if is_column(right) => vec![value(left)?],
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let mut values = values_of(left, column, data_type)?;
            values.extend(values_of(right, column, data_type)?);
            values
        }
        Expr::InList(list) if !list.negated && is_column(&list.expr) => {
            list.list.iter().map(value).collect::<Option<Vec<_>>>()?
        }
        _ => return None,
    };
    // No value is equal to null.
    Some(values.into_iter().filter(|value| !value.is_null()).collect())
}

fn distinct(values: Vec<ScalarValue>) -> Vec<ScalarValue> {
    let mut seen = std::collections::HashSet::new();
    values.into_iter().filter(|value| seen.insert(value.clone())).collect()
}
