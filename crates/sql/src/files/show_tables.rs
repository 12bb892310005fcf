//! `SHOW TABLES`: the session's own tables and views. `SHOW TABLES FROM lake.namespace`: the tables of a catalog, of one of its namespaces, or of
//! a schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use datafusion::catalog::CatalogProviderList;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableType};
use datafusion::prelude::{col, lit};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ObjectName, ObjectNamePart, ShowStatementFilter, ShowStatementFilterPosition, ShowStatementIn,
    ShowStatementOptions, Statement as SqlStatement,
};

use super::catalogs::Catalogs;
use super::rest_catalog::AttachedCatalog;
use crate::dialect::normal;
use crate::error::blocking;

/// The columns of `SHOW TABLES FROM`, as `information_schema.tables` has them.
const COLUMNS: [&str; 4] = ["table_catalog", "table_schema", "table_name", "table_type"];

/// The columns of `SHOW TABLES`.
const OWN_COLUMNS: [&str; 2] = ["name", "kind"];

/// The schema of views about the session itself.
const INFORMATION_SCHEMA: &str = "information_schema";

/// A row of the answer.
type Row = [String; 4];

/// A `SHOW TABLES` statement.
pub(crate) struct ShownTables<'s> {
    /// The name after `FROM`.
    from: Option<&'s ObjectName>,
    filter: Option<&'s ShowStatementFilter>,
}

impl<'s> ShownTables<'s> {
    /// The statement, if it is one.
    pub(crate) fn new(statement: &'s Statement) -> Option<Self> {
        let Statement::Statement(statement) = statement else { return None };
        let SqlStatement::ShowTables { show_options, .. } = statement.as_ref() else { return None };
        let ShowStatementOptions { show_in, filter_position, .. } = show_options;
        let from = show_in.as_ref().and_then(|ShowStatementIn { parent_name, .. }| parent_name.as_ref());
        let filter = filter_position.as_ref().map(|position| match position {
            ShowStatementFilterPosition::Infix(filter) | ShowStatementFilterPosition::Suffix(filter) => filter,
        });
        Some(Self { from, filter })
    }

    /// Plans the list. `catalog` has the session's own schemas, of which `schema` is the default.
    pub(crate) async fn plan(&self, catalogs: &Catalogs, catalog: &str, schema: &str) -> Result<LogicalPlan> {
        let (listed, name) = match self.from {
            Some(name) => (tables_below(catalogs, catalog, name).await?, "table_name"),
            None => (all_own_tables(catalogs, catalog, schema).await?, "name"),
        };
        let Some(filter) = self.filter else { return Ok(listed) };
        LogicalPlanBuilder::from(listed).filter(name_filter(filter, name)?)?.build()
    }
}

fn name_filter(filter: &ShowStatementFilter, name: &str) -> Result<Expr> {
    match filter {
        ShowStatementFilter::Like(pattern) | ShowStatementFilter::NoKeyword(pattern) => {
            Ok(col(name).like(lit(pattern.as_str())))
        }
        ShowStatementFilter::ILike(pattern) => Ok(col(name).ilike(lit(pattern.as_str()))),
        ShowStatementFilter::Where(_) => plan_err!("SHOW TABLES takes LIKE; for WHERE, ask information_schema.tables"),
    }
}

/// The tables and views of the session's own schemas, each with its kind.
async fn all_own_tables(catalogs: &Catalogs, catalog: &str, default_schema: &str) -> Result<LogicalPlan> {
    let mut rows = Vec::new();
    if let Some(catalog) = catalogs.catalog(catalog) {
        for schema_name in catalog.schema_names().into_iter().filter(|name| name != INFORMATION_SCHEMA) {
            let Some(schema) = catalog.schema(&schema_name) else { continue };
            for table_name in schema.table_names() {
                let Some(table) = schema.table(&table_name).await? else { continue };
                let kind = match table.table_type() {
                    TableType::View => "view",
                    TableType::Temporary => "temporary table",
                    TableType::Base if table.downcast_ref::<MemTable>().is_some() => "temporary table",
                    TableType::Base => "table",
                };
                let name = match schema_name == default_schema {
                    true => table_name,
                    false => format!("{schema_name}.{table_name}"),
                };
                rows.push([name, kind.to_owned()]);
            }
        }
    }
    rows.sort_unstable();
    rows_plan(OWN_COLUMNS, &rows)
}

/// Plans a table of texts.
fn rows_plan<const N: usize>(names: [&str; N], rows: &[[String; N]]) -> Result<LogicalPlan> {
    let column =
        |at: usize| Arc::new(rows.iter().map(|row| Some(row[at].as_str())).collect::<StringArray>()) as ArrayRef;
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Utf8, false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let rows = RecordBatch::try_new(Arc::clone(&schema), (0..N).map(column).collect())?;
    let table = MemTable::try_new(schema, vec![vec![rows]])?;
    LogicalPlanBuilder::scan("tables", provider_as_source(Arc::new(table)), None)?.build()
}

/// Plans the list of the tables below `name`. `default_catalog` has the session's own schemas.
async fn tables_below(catalogs: &Catalogs, default_catalog: &str, name: &ObjectName) -> Result<LogicalPlan> {
    let parts: Vec<String> = name.0.iter().filter_map(ObjectNamePart::as_ident).map(normal).collect();
    let rows = match parts.split_first().map(|(first, levels)| (catalogs.attached(first), levels)) {
        Some((Some(catalog), levels)) => {
            let (catalog_name, namespace) = (parts[0].clone(), (!levels.is_empty()).then(|| levels.join(".")));
            blocking(move || attached_tables(&catalog, &catalog_name, namespace)).await?
        }
        _ => own_tables(catalogs, default_catalog, &parts).await?,
    };
    rows_plan(COLUMNS, &rows)
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
