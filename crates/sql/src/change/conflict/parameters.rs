//! Parameters and texts among the values of an `INSERT … ON CONFLICT DO UPDATE`. Rewritten to a MERGE, its VALUES have no columns that their
//! types would follow from.

use arrow_schema::{DataType, Schema};
use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Statement as SqlStatement, Value};

use super::excluded::typed;
use crate::grammar::parse;

/// Casts parameters that are values of columns to the columns' types, and texts to the types of numbers, times and Booleans.
pub(super) fn cast_parameters(source: &mut Query, columns: &[String], schema: &Schema) -> Result<()> {
    cast_in(source.body.as_mut(), columns, schema)
}

fn cast_in(body: &mut SetExpr, columns: &[String], schema: &Schema) -> Result<()> {
    match body {
        SetExpr::Values(values) => {
            for row in &mut values.rows {
                for (value, column) in row.content.iter_mut().zip(columns) {
                    cast_parameter(value, column, schema)?;
                }
            }
            Ok(())
        }
        SetExpr::Select(select) => {
            for (item, column) in select.projection.iter_mut().zip(columns) {
                match item {
                    SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. } => {
                        cast_parameter(value, column, schema)?;
                    }
                    _ => return Ok(()),
                }
            }
            Ok(())
        }
        SetExpr::Query(query) => cast_in(query.body.as_mut(), columns, schema),
        SetExpr::SetOperation { left, right, .. } => {
            cast_in(left, columns, schema)?;
            cast_in(right, columns, schema)
        }
        _ => Ok(()),
    }
}

fn cast_parameter(value: &mut Expr, column: &str, schema: &Schema) -> Result<()> {
    let Ok(field) = schema.field_with_name(column) else { return Ok(()) };
    let mut plain = &*value;
    while let Expr::Nested(inner) = plain {
        plain = inner;
    }
    let is_cast = match plain {
        Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => true,
        Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)) => {
            let data_type = field.data_type();
            data_type.is_numeric() || data_type.is_temporal() || *data_type == DataType::Boolean
        }
        _ => false,
    };
    if !is_cast {
        return Ok(());
    }
    let text = format!("SELECT {}", typed(&value.to_string(), field.data_type()));
    let Some(Statement::Statement(statement)) = parse(&text)?.pop_front() else { return plan_err!("{text}") };
    if let SqlStatement::Query(query) = *statement
        && let SetExpr::Select(select) = *query.body
        && let Some(SelectItem::UnnamedExpr(cast)) = select.projection.into_iter().next()
    {
        *value = cast;
    }
    Ok(())
}
