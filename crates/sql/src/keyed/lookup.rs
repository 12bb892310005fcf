//! Conditions that name keys or values of indexed columns: `WHERE id = 7`, `WHERE city = 'Oslo' AND id IN (7, 8)`.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use lath_table::{IndexInfo, Key, KeyValue, Snapshot};

use super::source::Reading;
use crate::error::table_work;

/// Maximum number of keys, and of rows of an index, that are looked up; a scan reads more.
const MAX_KEYS: usize = 1024;

/// How the rows can be looked up for which the conditions can be true, and how many there are at most, if the conditions name few.
pub(crate) async fn lookup(
    filters: &[Expr],
    schema: &SchemaRef,
    key_columns: &[usize],
    snapshot: &Snapshot,
) -> Result<Option<(Reading, usize)>> {
    if let Some(keys) = keys_of(filters, schema, key_columns) {
        let rows = keys.len();
        return Ok(Some((Reading::Keys(keys), rows)));
    }
    if filters.is_empty() || snapshot.indexes().is_empty() {
        return Ok(None);
    }
    let (filters, schema, snapshot) = (filters.to_vec(), Arc::clone(schema), snapshot.clone());
    table_work(move || indexed_rows(&filters, &schema, &snapshot)).await
}

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

/// An index, values of its first columns that all rows have for which the conditions can be true, and the number of rows with these, if
/// there are few of them.
fn indexed_rows(
    filters: &[Expr],
    schema: &Schema,
    snapshot: &Snapshot,
) -> lath_table::Result<Option<(Reading, usize)>> {
    let (mut best, mut fewest) = (None, MAX_KEYS as u64 + 1);
    for IndexInfo { name, columns, .. } in snapshot.indexes() {
        let places: Vec<usize> = columns.iter().map_while(|column| schema.index_of(column).ok()).collect();
        // As many of its columns as the conditions name values for.
        let values = (1..=places.len()).rev().find_map(|len| keys_of(filters, schema, &places[..len]));
        let Some(values) = values else { continue };
        let mut rows = 0;
        for values in &values {
            rows += snapshot.count_by_index(&name, values.clone())?;
            if rows >= fewest {
                break;
            }
        }
        if rows < fewest {
            (best, fewest) = (Some((Reading::Index { name, values }, rows as usize)), rows);
        }
    }
    Ok(best)
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
