//! Looks up rows by keys or indexed columns that conditions name: `WHERE id = 7`, `WHERE city = 'Oslo' AND id IN (7, 8)`.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use lath_table::{IndexInfo, Key, KeyValue, Snapshot};

use super::source::Reading;
use crate::error::table_work;

/// Maximum number of keys, and of rows of an index, that are looked up. Beyond it, the table is scanned.
const MAX_KEYS: usize = 1024;

/// Returns how to look up all rows that can satisfy the conditions, and their maximum number; `None` if the conditions do not name few
/// rows.
pub(crate) async fn lookup(
    filters: &[Expr],
    schema: &SchemaRef,
    key_columns: &[usize],
    snapshot: &Snapshot,
) -> Result<Option<(Reading, usize)>> {
    if let Some(keys) = matching_keys(filters, schema, key_columns) {
        let rows = keys.len();
        return Ok(Some((Reading::Keys(keys), rows)));
    }
    if filters.is_empty() || snapshot.indexes().is_empty() {
        return Ok(None);
    }
    let (filters, schema, snapshot) = (filters.to_vec(), Arc::clone(schema), snapshot.clone());
    table_work(move || indexed_rows(&filters, &schema, &snapshot)).await
}

/// Returns the keys of all rows that can satisfy the conditions, if these name one or a few values for each key column.
///
/// Floats are not looked up: both zeros are equal in conditions, and different as keys.
pub(crate) fn matching_keys(filters: &[Expr], schema: &Schema, key_columns: &[usize]) -> Option<Vec<Key>> {
    if key_columns.is_empty() {
        return None;
    }
    let mut keys: Vec<Vec<KeyValue>> = vec![Vec::new()];
    for &column in key_columns {
        let field = schema.field(column);
        if field.data_type().is_floating() {
            return None;
        }
        let conditions = filters.iter().flat_map(split_conjunction);
        let values = conditions.filter_map(|filter| matching_values(filter, field.name(), field.data_type()));
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

/// Chooses the index by which the fewest rows have to be looked up, with the values of its first columns and the number of rows; `None` if
/// there are many.
fn indexed_rows(
    filters: &[Expr],
    schema: &Schema,
    snapshot: &Snapshot,
) -> lath_table::Result<Option<(Reading, usize)>> {
    let (mut best, mut fewest) = (None, MAX_KEYS as u64 + 1);
    for IndexInfo { name, columns, .. } in snapshot.indexes() {
        let places: Vec<usize> = columns.iter().map_while(|column| schema.index_of(column).ok()).collect();
        // Uses as many leading columns as the conditions name values for.
        let values = (1..=places.len()).rev().find_map(|len| matching_keys(filters, schema, &places[..len]));
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

/// Returns the values that a column can have in rows that satisfy `filter`, if it names them.
fn matching_values(filter: &Expr, column: &str, data_type: &DataType) -> Option<Vec<ScalarValue>> {
    let is_column = |expr: &Expr| matches!(expr, Expr::Column(named) if named.name == column);
    let value = |expr: &Expr| match expr {
        Expr::Literal(value, _) if value.data_type() == *data_type => Some(value.clone()),
        _ => None,
    };
    let values = match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) if is_column(left) => vec![value(right)?],
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) if is_column(right) => vec![value(left)?],
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let mut values = matching_values(left, column, data_type)?;
            values.extend(matching_values(right, column, data_type)?);
            values
        }
        Expr::InList(list) if !list.negated && is_column(&list.expr) => {
            list.list.iter().map(value).collect::<Option<Vec<_>>>()?
        }
        _ => return None,
    };
    // Nothing is equal to null.
    Some(values.into_iter().filter(|value| !value.is_null()).collect())
}

fn distinct(values: Vec<ScalarValue>) -> Vec<ScalarValue> {
    let mut seen = std::collections::HashSet::new();
    values.into_iter().filter(|value| seen.insert(value.clone())).collect()
}
