//! Texts as values of UUID columns are read as UUIDs, and UUIDs as values of text columns written as texts, which DataFusion 55 does not do.

use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, CastKind, DataType, Expr, Insert, MergeAction, MergeInsertKind, ObjectName,
    OnConflictAction, OnInsert, Query, SetExpr, Statement as SqlStatement, TableFactor, TableObject, Values,
};
use lath_text::is_uuid;

use super::derived::select_from;
use crate::dialect::normal;
use crate::rewrite::UUID;
use crate::statement::explained;
use crate::syntax::call;

/// Reads the values that a statement gives to UUID columns as UUIDs.
pub(crate) async fn adapt_uuids(state: &SessionState, statement: &mut Statement) -> Result<()> {
    let Statement::Statement(inner) = explained(statement) else { return Ok(()) };
    match inner.as_mut() {
        SqlStatement::Insert(insert) => {
            let TableObject::TableName(name) = &insert.table else { return Ok(()) };
            let Some(schema) = schema_with_uuids(state, name).await? else { return Ok(()) };
            adapt_insert(insert, &schema)
        }
        SqlStatement::Update(update) => {
            if let Some(schema) = target_with_uuids(state, &update.table.relation).await? {
                adapt_assignments(&mut update.assignments, &schema);
            }
            Ok(())
        }
        SqlStatement::Merge(merge) => {
            let Some(schema) = target_with_uuids(state, &merge.table).await? else { return Ok(()) };
            for clause in &mut merge.clauses {
                match &mut clause.action {
                    MergeAction::Update(update) => adapt_assignments(&mut update.assignments, &schema),
                    MergeAction::Insert(insert) => {
                        if let MergeInsertKind::Values(values) = &mut insert.kind {
                            adapt_values(values, &given_columns(&insert.columns, &schema), &schema);
                        }
                    }
                    MergeAction::Delete { .. } => {}
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

async fn target_with_uuids(state: &SessionState, target: &TableFactor) -> Result<Option<SchemaRef>> {
    match target {
        TableFactor::Table { name, args: None, .. } => schema_with_uuids(state, name).await,
        _ => Ok(None),
    }
}

/// The columns of a table, if one of them has UUIDs.
async fn schema_with_uuids(state: &SessionState, name: &ObjectName) -> Result<Option<SchemaRef>> {
    let Ok(reference) = object_name_to_table_reference(name.clone(), true) else { return Ok(None) };
    let Ok(tables) = state.schema_for_ref(reference.clone()) else { return Ok(None) };
    let schema = tables.table(reference.table()).await?.map(|table| table.schema());
    Ok(schema.filter(|schema| schema.fields().iter().any(|field| is_uuid(field))))
}

fn adapt_insert(insert: &mut Insert, schema: &SchemaRef) -> Result<()> {
    let columns = given_columns(&insert.columns, schema);
    if let Some(source) = &mut insert.source {
        match source.body.as_mut() {
            SetExpr::Values(values) => adapt_values(values, &columns, schema),
            _ if columns.iter().any(|column| has_uuids(schema, column) || has_texts(schema, column)) => {
                let query = with_uuids(source, &columns, schema)?;
                *source = query;
            }
            _ => {}
        }
    }
    adapt_assignments(&mut insert.assignments, schema);
    if let Some(OnInsert::OnConflict(conflict)) = &mut insert.on
        && let OnConflictAction::DoUpdate(update) = &mut conflict.action
    {
        adapt_assignments(&mut update.assignments, schema);
    }
    Ok(())
}

/// The columns that an INSERT gives values for.
fn given_columns(columns: &[ObjectName], schema: &SchemaRef) -> Vec<String> {
    match columns {
        [] => schema.fields().iter().map(|field| field.name().clone()).collect(),
        columns => {
            let name = |name: &ObjectName| name.0.last().and_then(|part| part.as_ident()).map(normal);
            columns.iter().map(|column| name(column).unwrap_or_default()).collect()
        }
    }
}

fn has_uuids(schema: &SchemaRef, column: &str) -> bool {
    schema.field_with_name(column).is_ok_and(is_uuid)
}

fn has_texts(schema: &SchemaRef, column: &str) -> bool {
    schema.field_with_name(column).is_ok_and(|field| field.data_type().is_string())
}

fn adapt_values(values: &mut Values, columns: &[String], schema: &SchemaRef) {
    for (place, column) in columns.iter().enumerate() {
        for value in values.rows.iter_mut().filter_map(|row| row.content.get_mut(place)) {
            adapt_value(value, column, schema);
        }
    }
}

/// Reads the value of a UUID column as a UUID, and writes a UUID for a text column as a text.
fn adapt_value(value: &mut Expr, column: &str, schema: &SchemaRef) {
    if has_uuids(schema, column) {
        read(value);
    } else if has_texts(schema, column) && !matches!(value, Expr::Value(_)) {
        *value = as_text(value.clone());
    }
}

fn as_text(value: Expr) -> Expr {
    let expr = Box::new(value);
    Expr::Cast { kind: CastKind::Cast, expr, data_type: DataType::Varchar(None), array: false, format: None }
}

fn adapt_assignments(assignments: &mut [Assignment], schema: &SchemaRef) {
    for assignment in assignments {
        if let AssignmentTarget::ColumnName(name) = &assignment.target
            && let Some(column) = name.0.last().and_then(|part| part.as_ident()).map(normal)
        {
            adapt_value(&mut assignment.value, &column, schema);
        }
    }
}

/// Reads a value as a UUID. A UUID or a null stays as it is.
fn read(value: &mut Expr) {
    *value = call(UUID, vec![value.clone()]);
}

/// A query whose columns for UUIDs are UUIDs.
fn with_uuids(source: &Query, columns: &[String], schema: &SchemaRef) -> Result<Box<Query>> {
    let names: Vec<String> = (0..columns.len()).map(|place| format!("c{place}")).collect();
    let item = |(name, column): (&String, &String)| match has_uuids(schema, column) {
        true => format!("{UUID}({name})"),
        false if has_texts(schema, column) => format!("CAST({name} AS VARCHAR) AS {name}"),
        false => name.clone(),
    };
    let items = names.iter().zip(columns).map(item).collect::<Vec<_>>().join(", ");
    select_from(&items, Box::new(source.clone()), "given", &names)
}
