//! Catalogs, schemas and tables.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::sql::{CommandGetCatalogs, CommandGetDbSchemas, CommandGetTables};
use arrow_schema::Schema;
use datafusion::catalog::SchemaProvider;
use datafusion::logical_expr::TableType;
use lath_sql::Session;
use tonic::Status;

use crate::rows::wire_schema;
use crate::status::status;

/// The kinds of tables.
pub(crate) const TABLE_TYPES: [&str; 3] = ["LOCAL TEMPORARY", "TABLE", "VIEW"];

fn table_type(table_type: TableType) -> &'static str {
    match table_type {
        TableType::Base => TABLE_TYPES[1],
        TableType::View => TABLE_TYPES[2],
        TableType::Temporary => TABLE_TYPES[0],
    }
}

/// The schemas of a session's catalogs, each with the names of its catalog and of itself.
fn all_schemas(session: &Session) -> Vec<(String, String, Arc<dyn SchemaProvider>)> {
    let context = session.context();
    let mut schemas = Vec::new();
    for catalog_name in context.catalog_names() {
        let Some(catalog) = context.catalog(&catalog_name) else { continue };
        for name in catalog.schema_names() {
            schemas.extend(catalog.schema(&name).map(|schema| (catalog_name.clone(), name, schema)));
        }
    }
    schemas
}

pub(crate) fn catalogs(session: &Session) -> Result<RecordBatch, Status> {
    let mut builder = CommandGetCatalogs {}.into_builder();
    session.context().catalog_names().into_iter().for_each(|name| builder.append(name));
    Ok(builder.build()?)
}

pub(crate) fn schemas(session: &Session, query: CommandGetDbSchemas) -> Result<RecordBatch, Status> {
    let mut builder = query.into_builder();
    for (catalog, schema, _) in all_schemas(session) {
        builder.append(catalog, schema);
    }
    Ok(builder.build()?)
}

pub(crate) async fn tables(session: &Session, query: CommandGetTables) -> Result<RecordBatch, Status> {
    let catalog_wanted = query.catalog.clone().filter(|catalog| !catalog.is_empty());
    let includes_schema = query.include_schema;
    let mut builder = query.into_builder();
    for (catalog, schema_name, schema) in all_schemas(session) {
        if catalog_wanted.as_ref().is_some_and(|wanted| *wanted != catalog) {
            continue;
        }
        for name in schema.table_names() {
            // A table may be dropped meanwhile, and a view may have lost a table that it reads.
            let kind = match schema.table_type(&name).await {
                Ok(Some(kind)) => table_type(kind),
                Ok(None) => continue,
                Err(_) => table_type(TableType::View),
            };
            let columns = match includes_schema {
                true => match schema.table(&name).await {
                    Ok(Some(table)) => wire_schema(&table.schema()),
                    Ok(None) => continue,
                    Err(_) => Arc::new(Schema::empty()),
                },
                false => Arc::new(Schema::empty()),
            };
            let appended = builder.append(&catalog, &schema_name, &name, kind, &columns);
            appended.map_err(|error| status(&lath_sql::Error::Internal(error.to_string())))?;
        }
    }
    Ok(builder.build()?)
}
