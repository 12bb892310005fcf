//! `INSERT INTO t BY NAME SELECT …`: the query's columns are matched with the table's by their names.

use arrow_schema::Schema;
use datafusion::common::{Result, plan_err};
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{Ident, Insert, ObjectName, Statement as SqlStatement, TableObject};

use crate::grammar::is_by_name;
use crate::rewrite::merge_join_columns;
use crate::statement::explained;

/// Replaces `BY NAME` by the list of the columns that the query returns.
pub(crate) async fn name_columns(state: &SessionState, statement: &mut Statement) -> Result<()> {
    let Statement::Statement(inner) = explained(statement) else { return Ok(()) };
    let inner = match inner.as_mut() {
        SqlStatement::Prepare { statement, .. } => statement.as_mut(),
        other => other,
    };
    let SqlStatement::Insert(insert) = inner else { return Ok(()) };
    if !has_names(insert) {
        return Ok(());
    }
    let (Some(source), TableObject::TableName(name)) = (&insert.source, &insert.table) else {
        return plan_err!("INSERT BY NAME needs the name of a table, and a query");
    };
    let reference = object_name_to_table_reference(name.clone(), true)?;
    let Some(table) = state.schema_for_ref(reference.clone())?.table(reference.table()).await? else {
        return plan_err!("there is no table {reference}");
    };
    let mut query = Statement::Statement(Box::new(SqlStatement::Query(source.clone())));
    merge_join_columns(state, &mut query).await?;
    let rows = state.statement_to_plan(query).await?;
    let schema = table.schema();
    let mut columns: Vec<ObjectName> = Vec::new();
    for field in rows.schema().fields() {
        let name = ObjectName::from(vec![Ident::with_quote('"', matching_name(&schema, field.name())?)]);
        if columns.contains(&name) {
            return plan_err!("two columns of the query are called {name}; rename one with AS");
        }
        columns.push(name);
    }
    insert.columns = columns;
    Ok(())
}

fn has_names(insert: &Insert) -> bool {
    let ident = |name: &ObjectName| name.0.first().and_then(|part| part.as_ident()).is_some_and(is_by_name);
    matches!(insert.columns.as_slice(), [column] if ident(column))
}

/// The table's column with this name, or with one that differs in case only.
pub(super) fn matching_name<'s>(schema: &'s Schema, name: &str) -> Result<&'s str> {
    if let Some((_, field)) = schema.column_with_name(name) {
        return Ok(field.name());
    }
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    let similar: Vec<&str> = names().filter(|other| other.to_lowercase() == name.to_lowercase()).collect();
    match similar.as_slice() {
        [one] => Ok(one),
        _ => plan_err!(
            "the table has no column {name:?}, which the query of INSERT BY NAME returns; rename it with AS, or leave it out; the columns are {}",
            names().collect::<Vec<_>>().join(", ")
        ),
    }
}
