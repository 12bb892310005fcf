//! `SHOW TABLES FROM lake.namespace`: the tables of a catalog, of one of its namespaces, or of a schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use datafusion::catalog::CatalogProviderList;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, TableType};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ObjectName, ObjectNamePart, ShowStatementIn, ShowStatementOptions, Statement as SqlStatement,
};

use super::catalogs::Catalogs;
use super::rest_catalog::AttachedCatalog;
use crate::dialect::normal;
use crate::error::blocking;

/// The columns, as `SHOW TABLES` has them.
const COLUMNS: [&str; 4] = ["table_catalog", "table_schema", "table_name", "table_type"];

/// A row of the answer.
type Row = [String; 4];

/// The name after `SHOW TABLES FROM`, if the statement has one.
pub(crate) fn shown_names(statement: &Statement) -> Option<&ObjectName> {
    let Statement::Statement(statement) = statement else { return None };
    let SqlStatement::ShowTables { show_options: ShowStatementOptions { show_in, .. }, .. } = statement.as_ref() else {
        return None;
    };
    let ShowStatementIn { parent_name, .. } = show_in.as_ref()?;
    parent_name.as_ref()
}

/// Plans the list of the tables below `name`. `default_catalog` has the session's own schemas.
pub(crate) async fn show_tables(catalogs: &Catalogs, default_catalog: &str, name: &ObjectName) -> Result<LogicalPlan> {
    let parts: Vec<String> = name.0.iter().filter_map(ObjectNamePart::as_ident).map(normal).collect();
    let rows = match parts.split_first().map(|(first, levels)| (catalogs.attached(first), levels)) {
        Some((Some(catalog), levels)) => {
            let (catalog_name, namespace) = (parts[0].clone(), (!levels.is_empty()).then(|| levels.join(".")));
            blocking(move || attached_tables(&catalog, &catalog_name, namespace)).await?
        }
        _ => own_tables(catalogs, default_catalog, &parts).await?,
    };
    let column =
        |at: usize| Arc::new(rows.iter().map(|row| Some(row[at].as_str())).collect::<StringArray>()) as ArrayRef;
    let fields: Vec<Field> = COLUMNS.iter().map(|name| Field::new(*name, DataType::Utf8, false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let rows = RecordBatch::try_new(Arc::clone(&schema), (0..COLUMNS.len()).map(column).collect())?;
    let table = MemTable::try_new(schema, vec![vec![rows]])?;
    LogicalPlanBuilder::scan("tables", provider_as_source(Arc::new(table)), None)?.build()
}

/// The tables of an attached catalog, or of one of its namespaces.
fn attached_tables(catalog: &AttachedCatalog, name: &str, namespace: Option<String>) -> Result<Vec<Row>> {
    let row = |namespace: &str, table: String| [name.to_owned(), namespace.to_owned(), table, "BASE TABLE".to_owned()];
    if let Some(namespace) = namespace {
        let tables = catalog.tables(&namespace)?;
        return Ok(tables.into_iter().map(|table| row(&namespace, table)).collect());
    }
    let mut rows = Vec::new();
    for namespace in catalog.namespaces()? {
        rows.extend(catalog.tables_if_present(&namespace)?.into_iter().map(|table| row(&namespace, table)));
    }
    Ok(rows)
}

/// The tables of a schema of the session.
async fn own_tables(catalogs: &Catalogs, default_catalog: &str, parts: &[String]) -> Result<Vec<Row>> {
    let (catalog, schema) = match parts {
        [schema] => (default_catalog, schema.as_str()),
        [catalog, schema] => (catalog.as_str(), schema.as_str()),
        _ => return plan_err!("SHOW TABLES FROM takes a catalog, CATALOG.NAMESPACE or a schema"),
    };
    let Some(found) = catalogs.catalog(catalog).and_then(|catalog| catalog.schema(schema)) else {
        return plan_err!(
            "there is no catalog or schema {}; SHOW TABLES lists all tables, and ATTACH 'rest://HOST' AS name adds a catalog",
            parts.join(".")
        );
    };
    let mut rows = Vec::new();
    for table in found.table_names() {
        if let Some(table_type) = found.table_type(&table).await? {
            let table_type = match table_type {
                TableType::Base => "BASE TABLE",
                TableType::View => "VIEW",
                TableType::Temporary => "LOCAL TEMPORARY",
            };
            rows.push([catalog.to_owned(), schema.to_owned(), table, table_type.to_owned()]);
        }
    }
    Ok(rows)
}
