//! `COPY t FROM 'files'`: inserts the rows of files.
//!
//! Columns of files with names go to the table's columns of these names. Files without names, and statements with a list of columns, go by
//! position. Texts are parsed as the types of the table's columns, so that nothing is lost to types that are inferred.

use std::sync::Arc;

use arrow_schema::{FieldRef, Schema, SchemaRef};
use datafusion::common::{Result, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;

use super::by_name::matching_name;
use super::insertion::table_values;
use crate::dialect::normal;
use crate::files::{CopiedColumns, open_copied};
use crate::grammar::CopyFrom;
use crate::keyed::KeyedTable;
use crate::table_opening::TableOpening;

/// Plans the insertion; `None` for other statements.
pub(crate) async fn plan_copy_from(
    state: &SessionState,
    opening: &TableOpening,
    statement: &Statement,
) -> Result<Option<LogicalPlan>> {
    let Some(copy) = CopyFrom::from_statement(statement) else { return Ok(None) };
    let reference = object_name_to_table_reference(copy.table.clone(), true)?;
    let Some(table) = state.schema_for_ref(reference.clone())?.table(reference.table()).await? else {
        return plan_err!(
            "there is no table {reference}; CREATE TABLE {reference} AS SELECT * FROM '{}' makes one",
            copy.location
        );
    };
    let schema = table.schema();
    let computed = table.downcast_ref::<KeyedTable>().map(KeyedTable::computed).unwrap_or_default();
    let is_generated = |name: &str| computed.iter().any(|column| column.name == name && column.is_generated());
    let listed = listed_columns(&copy, &schema)?;
    if let Some(field) = listed.iter().find(|field| is_generated(field.name())) {
        return plan_err!("column {:?} is generated from others; leave it out, also of the file", field.name());
    }
    let given = schema.fields().iter().filter(|field| !is_generated(field.name()));
    let columns = match listed.is_empty() {
        true => CopiedColumns { fields: given.cloned().collect(), are_listed: false },
        false => CopiedColumns { fields: listed, are_listed: true },
    };
    let opened = open_copied(&copy, &columns, opening).await?;
    let target = match opened.has_names && !columns.are_listed {
        true => named_targets(&copy, &opened.table.schema(), &schema)?,
        false => placed_targets(&copy, &opened.table.schema(), &columns)?,
    };
    let rows = LogicalPlanBuilder::scan("copied", provider_as_source(opened.table), None)?.build()?;
    let table = provider_as_source(table);
    let exprs = table_values(table.as_ref(), &rows, &target)?;
    let rows = LogicalPlanBuilder::from(rows).project(exprs)?.build()?;
    LogicalPlanBuilder::insert_into(rows, reference, table, InsertOp::Append)?.build().map(Some)
}

/// The columns that the statement names.
fn listed_columns(copy: &CopyFrom<'_>, schema: &Schema) -> Result<Vec<FieldRef>> {
    let mut listed: Vec<FieldRef> = Vec::new();
    for ident in copy.columns {
        let name = normal(ident);
        let Some((_, field)) = schema.fields().find(&name) else {
            return plan_err!("table {} has no column {name:?}", copy.table);
        };
        if listed.iter().any(|other| *other.name() == name) {
            return plan_err!("column {name:?} is named twice; name it once");
        }
        listed.push(Arc::clone(field));
    }
    Ok(listed)
}

/// The name of the table's column for each column of the files, by its name.
fn named_targets(copy: &CopyFrom<'_>, found: &Schema, schema: &SchemaRef) -> Result<Vec<String>> {
    let mut targets: Vec<String> = Vec::new();
    for field in found.fields() {
        let Ok(target) = matching_name(schema, field.name()) else {
            let (name, columns) = (field.name(), names(schema.fields()));
            return plan_err!(
                "{} has a column {name:?}, and table {} has none of this name: its columns are {columns}; write COPY {} (columns in the order of the file) FROM …, or INSERT INTO {} SELECT … FROM '{}'",
                copy.location,
                copy.table,
                copy.table,
                copy.table,
                copy.location
            );
        };
        if targets.iter().any(|other| other == target) {
            return plan_err!(
                "{}: two columns are called {target:?}; INSERT INTO {} SELECT … chooses one",
                copy.location,
                copy.table
            );
        }
        targets.push(target.to_owned());
    }
    Ok(targets)
}

/// The name of the table's column for each column of the files, by its position.
fn placed_targets(copy: &CopyFrom<'_>, found: &Schema, columns: &CopiedColumns) -> Result<Vec<String>> {
    let (expected, found) = (&columns.fields, found.fields());
    if expected.len() != found.len() {
        return plan_err!(
            "{} has {} columns, and the statement {} ({}); name the columns of the file in their order: COPY {} (a, b) FROM …",
            copy.location,
            found.len(),
            expected.len(),
            names(expected),
            copy.table
        );
    }
    let sorted = |fields: &[FieldRef]| {
        let mut sorted: Vec<String> = fields.iter().map(|field| field.name().to_lowercase()).collect();
        sorted.sort_unstable();
        sorted
    };
    let is_same = expected.iter().zip(found).all(|(one, other)| one.name().eq_ignore_ascii_case(other.name()));
    if !is_same && sorted(expected) == sorted(found) {
        return plan_err!(
            "{} has the columns in another order: {}; leave out the list of columns, and they go by their names",
            copy.location,
            names(found)
        );
    }
    Ok(expected.iter().map(|field| field.name().clone()).collect())
}

fn names(fields: &[FieldRef]) -> String {
    fields.iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ")
}
