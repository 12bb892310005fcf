//! `ALTER TABLE`: adds, drops, renames and widens columns, and changes the columns that files are sorted by.

use arrow_schema::Field;
use datafusion::catalog::TableProvider;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::sql::sqlparser::ast::{AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, Ident};
use lath_table::KeyValue;

use super::Definitions;
use super::create::cluster_columns;
use super::default::default_text;
use crate::dialect::normal;
use crate::error::table_work;
use crate::grammar::parse;
use crate::keyed::{COLUMN_DEFAULT, ROW_COLUMN};

impl Definitions<'_> {
    pub(super) async fn alter_table(&self, alter: &AlterTable) -> Result<()> {
        let table = match self.keyed(&alter.name) {
            Err(_) if alter.if_exists => return Ok(()),
            found => found?,
        };
        let [operation] = alter.operations.as_slice() else {
            return plan_err!("ALTER TABLE makes one change; write a statement for each");
        };
        if alter.only || alter.location.is_some() || alter.on_cluster.is_some() || alter.table_type.is_some() {
            return plan_err!("{alter}: ALTER TABLE takes the name of a table and one change; leave out other clauses");
        }
        if table.has_row_numbers() && alter.operations.iter().any(names_row_column) {
            return plan_err!(
                "column {ROW_COLUMN} has the numbers of rows, which stay as they are; name another column"
            );
        }
        let handle = table.table().clone();
        let has = |name: &str| table.schema().column_with_name(name).is_some();
        match operation {
            AlterTableOperation::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
                let (field, default) = self.column(column_def).await?;
                if *if_not_exists && has(field.name()) {
                    return Ok(());
                }
                if default.is_none() && !field.is_nullable() {
                    return plan_err!(
                        "column {:?} is NOT NULL, and existing rows have no value for it: give it a DEFAULT that is not null",
                        field.name()
                    );
                }
                table_work(move || handle.add_column(&field, default)).await
            }
            AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior: None, .. } => {
                let [name] = column_names.as_slice() else {
                    return plan_err!("ALTER TABLE drops one column; write a statement for each");
                };
                let name = normal(name);
                if *if_exists && !has(&name) {
                    return Ok(());
                }
                table_work(move || handle.drop_column(&name)).await
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                let (old, new) = (normal(old_column_name), normal(new_column_name));
                table_work(move || handle.rename_column(&old, &new)).await
            }
            AlterTableOperation::AlterColumn {
                column_name,
                op: AlterColumnOperation::SetDataType { data_type, using: None, .. },
            } => {
                let name = normal(column_name);
                let def = ColumnDef { name: column_name.clone(), data_type: data_type.clone(), options: Vec::new() };
                let (field, _) = self.column(&def).await?;
                table_work(move || handle.widen_column(&name, field.data_type())).await
            }
            AlterTableOperation::AlterColumn { column_name, op: AlterColumnOperation::SetDefault { value } } => {
                let name = normal(column_name);
                let schema = table.schema();
                let Some((_, field)) = schema.column_with_name(&name) else {
                    return plan_err!("table {:?} has no column {name:?}", table.name());
                };
                let expr = self.state.create_logical_expr(&value.to_string(), &DFSchema::empty())?;
                self.default_value(expr, field).await?;
                let text = value.to_string();
                table_work(move || handle.set_column_metadata(&name, COLUMN_DEFAULT, Some(&text))).await
            }
            AlterTableOperation::AlterColumn { column_name, op: AlterColumnOperation::DropDefault } => {
                let name = normal(column_name);
                table_work(move || handle.set_column_metadata(&name, COLUMN_DEFAULT, None)).await
            }
            AlterTableOperation::ClusterBy { exprs } => {
                let columns = cluster_columns(exprs)?;
                table_work(move || handle.cluster_by(&columns)).await
            }
            AlterTableOperation::DropClusteringKey => table_work(move || handle.cluster_by::<&str>(&[])).await,
            other => {
                plan_err!(
                    "{other} is not supported; ALTER TABLE has ADD COLUMN, DROP COLUMN, RENAME COLUMN … TO, ALTER COLUMN … TYPE, ALTER COLUMN … SET DEFAULT and DROP DEFAULT, CLUSTER BY (…) and DROP \
                     CLUSTERING KEY"
                )
            }
        }
    }

    /// Returns the field of a column definition, and the value of its default.
    async fn column(&self, def: &ColumnDef) -> Result<(Field, Option<KeyValue>)> {
        let text = format!("CREATE TABLE the_column ({def})");
        let Some(statement) = parse(&text)?.pop_front() else { return plan_err!("{def} is not a column") };
        let plan = self.state.statement_to_plan(statement).await?;
        let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create)) = plan else {
            return plan_err!("{def} is not a column");
        };
        if create.constraints.iter().count() > 0 {
            return plan_err!(
                "{def}: the primary key of a table cannot be changed; to make a column unique, use CREATE UNIQUE INDEX"
            );
        }
        let field = create.input.schema().field(0).as_ref().clone();
        let default = match create.column_defaults.into_iter().next() {
            None => None,
            Some((_, expr)) => self.default_value(expr, &field).await?.map(KeyValue::Array),
        };
        Ok((with_default_text(field, def), default))
    }
}

/// Adds the text of the default to a field's metadata.
fn with_default_text(field: Field, def: &ColumnDef) -> Field {
    let Some(text) = default_text(def) else { return field };
    let mut metadata = field.metadata().clone();
    metadata.insert(COLUMN_DEFAULT.to_owned(), text);
    field.with_metadata(metadata)
}

/// Whether a change of columns names the one with the numbers of rows.
fn names_row_column(operation: &AlterTableOperation) -> bool {
    let is_it = |name: &Ident| normal(name) == ROW_COLUMN;
    match operation {
        AlterTableOperation::AddColumn { column_def, .. } => is_it(&column_def.name),
        AlterTableOperation::DropColumn { column_names, .. } => column_names.iter().any(is_it),
        AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
            is_it(old_column_name) || is_it(new_column_name)
        }
        AlterTableOperation::AlterColumn { column_name, .. } => is_it(column_name),
        _ => false,
    }
}
