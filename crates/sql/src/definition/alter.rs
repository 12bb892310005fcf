//! `ALTER TABLE`: adds, drops, renames and widens columns, and changes the columns that files are sorted by.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, Ident, ObjectName, RenameTableNameKind,
};
use lath_table::{GENERATED_KEY, KeyValue, TimeToLive, Transaction};
use lath_text::is_uuid;

use super::Definitions;
use super::computed::take_computed;
use super::constraint::{take_constraints, take_length};
use super::create::cluster_columns;
use super::default::{default_text, read_uuid_default};
use super::index::check_are_no_numbers;
use super::time_to_live::{is_ttl, set_ttl};
use crate::computed::{Computation, ComputedColumn, calls_sequence, renamed_expression};
use crate::dialect::normal;
use crate::grammar::parse;
use crate::keyed::{COLUMN_DEFAULT, KeyedTable, ROW_COLUMN};
use crate::rewrite::UUID;
use crate::syntax::call;

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
        let has = |name: &str| table.schema().column_with_name(name).is_some();
        match operation {
            AlterTableOperation::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
                let mut column_def = column_def.clone();
                read_uuid_default(&mut column_def);
                let computed = take_computed(std::slice::from_mut(&mut column_def))?;
                if let Some(text) = computed.only_generated() {
                    return self.add_generated(&table, column_def, text, *if_not_exists).await;
                }
                if !computed.is_empty() {
                    return plan_err!(
                        "column {}: existing rows would have no number of an identity column; create a table with it, and INSERT the rows",
                        column_def.name
                    );
                }
                let mut declared = take_constraints(std::slice::from_mut(&mut column_def), &mut Vec::new());
                let foreign_keys = std::mem::take(&mut declared.foreign_keys);
                if !foreign_keys.is_empty() {
                    self.check_is_in_database(&table)?;
                }
                let (field, default) = self.column(&column_def).await?;
                if *if_not_exists && has(field.name()) {
                    return Ok(());
                }
                if default.is_none() && !field.is_nullable() {
                    return plan_err!(
                        "column {:?} is NOT NULL, and existing rows have no value for it: give it a DEFAULT that is not null",
                        field.name()
                    );
                }
                let name = field.name().clone();
                let fields =
                    table.schema().fields().iter().cloned().chain([Arc::new(field.clone())]).collect::<Vec<_>>();
                let constraints = self.plan_constraints(&table, &Arc::new(Schema::new(fields)), declared)?;
                self.change_table(&table, move |table| match constraints.is_empty() {
                    true => table.add_column(&field, default),
                    false => table.add_constrained_column(&field, default, &constraints),
                })
                .await?;
                if foreign_keys.is_empty() {
                    return Ok(());
                }
                let added = self.add_foreign_keys(table.name(), table.name(), foreign_keys).await;
                if added.is_err() {
                    self.change_table(&table, move |table| table.drop_column(&name)).await?;
                }
                added
            }
            AlterTableOperation::AddConstraint { constraint, not_valid: false } => {
                self.add_constraint(&table, constraint).await
            }
            AlterTableOperation::DropConstraint { if_exists, name, drop_behavior } => {
                self.drop_constraint(&table, name, *if_exists, drop_behavior.as_ref()).await
            }
            AlterTableOperation::SetOptionsParens { options } => {
                let TimeToLive { column, lifetime, .. } = set_ttl(options)?;
                self.change_table(&table, move |table| table.set_ttl(&column, lifetime)).await
            }
            AlterTableOperation::DropColumn { has_column_keyword: false, column_names, .. } if matches!(column_names.as_slice(), [name] if is_ttl(name)) => {
                self.change_table(&table, Transaction::drop_ttl).await
            }
            AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior: None, .. } => {
                let [name] = column_names.as_slice() else {
                    return plan_err!("ALTER TABLE drops one column; write a statement for each");
                };
                let name = normal(name);
                if *if_exists && !has(&name) {
                    return Ok(());
                }
                self.check_is_unused(&table, &name)?;
                self.change_table(&table, move |table| table.drop_column(&name)).await
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                let (old, new) = (normal(old_column_name), normal(new_column_name));
                let mut texts = Vec::new();
                for column in table.computed() {
                    if let Computation::Generated(text) = &column.computation
                        && let Some(renamed) = renamed_expression(text, &old, &new)?
                    {
                        let name = if column.name == old { new.clone() } else { column.name.clone() };
                        texts.push((name, renamed));
                    }
                }
                self.change_table(&table, move |table| {
                    table.rename_column(&old, &new)?;
                    texts.iter().try_for_each(|(name, text)| table.set_column_metadata(name, GENERATED_KEY, Some(text)))
                })
                .await
            }
            AlterTableOperation::AlterColumn {
                column_name,
                op: AlterColumnOperation::SetDataType { data_type, using: None, .. },
            } => {
                let name = normal(column_name);
                let mut data_type = data_type.clone();
                let length = take_length(&mut data_type);
                let def = ColumnDef { name: column_name.clone(), data_type, options: Vec::new() };
                let (field, _) = self.column(&def).await?;
                self.change_table(&table, move |table| {
                    table.widen_column(&name, field.data_type())?;
                    match field.data_type() {
                        DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8 => table.limit_chars(&name, length),
                        _ => Ok(()),
                    }
                })
                .await
            }
            AlterTableOperation::AlterColumn { column_name, op: AlterColumnOperation::SetDefault { value } } => {
                let name = normal(column_name);
                let schema = table.schema();
                let Some((_, field)) = schema.column_with_name(&name) else {
                    return plan_err!("table {:?} has no column {name:?}", table.name());
                };
                let value = if is_uuid(field) { call(UUID, vec![value.clone()]) } else { value.clone() };
                let expr = self.state.create_logical_expr(&value.to_string(), &DFSchema::empty())?;
                check_has_no_values(&table, &name)?;
                self.check_default(expr, field).await?;
                let text = value.to_string();
                let set = move |table: &mut Transaction| table.set_column_metadata(&name, COLUMN_DEFAULT, Some(&text));
                self.change_table(&table, set).await
            }
            AlterTableOperation::AlterColumn { column_name, op: AlterColumnOperation::DropDefault } => {
                let name = normal(column_name);
                self.change_table(&table, move |table| table.set_column_metadata(&name, COLUMN_DEFAULT, None)).await
            }
            AlterTableOperation::AlterColumn {
                column_name,
                op: op @ (AlterColumnOperation::SetNotNull | AlterColumnOperation::DropNotNull),
            } => {
                let (name, is_nullable) = (normal(column_name), matches!(op, AlterColumnOperation::DropNotNull));
                let is_identity = |column: &ComputedColumn| column.name == name && !column.is_generated();
                if is_nullable && table.computed().iter().any(is_identity) {
                    return plan_err!("column {name:?} is an identity column, and has no nulls");
                }
                self.change_table(&table, move |table| table.set_nullable(&name, is_nullable)).await
            }
            AlterTableOperation::ClusterBy { exprs } => {
                let columns = cluster_columns(exprs)?;
                if table.has_row_numbers() {
                    check_are_no_numbers(columns.iter())?;
                }
                self.change_table(&table, move |table| table.cluster_by(&columns)).await
            }
            AlterTableOperation::RenameTable {
                table_name: RenameTableNameKind::To(new_name) | RenameTableNameKind::As(new_name),
            } => self.rename_table(&table, new_name).await,
            AlterTableOperation::DropClusteringKey => {
                self.change_table(&table, |table| table.cluster_by::<&str>(&[])).await
            }
            other => {
                plan_err!(
                    "{other} is not supported; ALTER TABLE has RENAME TO, ADD COLUMN, DROP COLUMN, RENAME COLUMN … TO, ALTER COLUMN … TYPE, ALTER COLUMN … SET DEFAULT, DROP DEFAULT, SET NOT NULL and DROP NOT NULL, ADD [CONSTRAINT name] CHECK (…), UNIQUE (…) or FOREIGN KEY (…) REFERENCES t (…), DROP CONSTRAINT, SET TTL, DROP TTL, CLUSTER BY (…) and DROP \
                     CLUSTERING KEY"
                )
            }
        }
    }

    /// `ALTER TABLE … RENAME TO`. Views that name the table say that it is missing when they are read.
    async fn rename_table(&self, table: &KeyedTable, new_name: &ObjectName) -> Result<()> {
        let name = table.name().to_owned();
        if !self.tables.is_in_database(&name)? {
            return plan_err!(
                "table {name:?} is attached by its folder; DROP TABLE detaches it, and CREATE EXTERNAL TABLE attaches it under another name"
            );
        }
        let reference = object_name_to_table_reference(new_name.clone(), true)?;
        let Some(new_name) = self.plain_name(&reference) else {
            return plan_err!("{reference}: tables of the database have no schema; write the name alone");
        };
        if new_name != name && self.state.schema_for_ref(reference)?.table_exist(&new_name) {
            return plan_err!("there is a table or view {new_name:?} already; drop it first, or choose another name");
        }
        self.change_database(move |transaction| transaction.rename_table(&name, &new_name)).await
    }

    /// Returns the field of a column definition, and the value of its default.
    pub(super) async fn column(&self, def: &ColumnDef) -> Result<(Field, Option<KeyValue>)> {
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
            Some((_, expr)) if calls_sequence(&expr)? => {
                return plan_err!(
                    "{def}: existing rows would all have one number of the sequence; add the column without DEFAULT, UPDATE the rows, and ALTER COLUMN … SET DEFAULT"
                );
            }
            Some((_, expr)) => self.default_value(expr, &field).await?.map(KeyValue::Array),
        };
        Ok((with_default_text(field, def), default))
    }
}

impl Definitions<'_> {
    /// Returns an error for a column that generated columns use.
    fn check_is_unused(&self, table: &KeyedTable, name: &str) -> Result<()> {
        if let Some((column, text)) = table.generated_from(name)? {
            return plan_err!("column {column:?} is generated by {text}; drop it before column {name:?}");
        }
        Ok(())
    }
}

/// Returns an error for a column whose values the table gives.
fn check_has_no_values(table: &KeyedTable, name: &str) -> Result<()> {
    match table.computed().iter().any(|column| column.name == name) {
        true => plan_err!("column {name:?} is an identity or generated column, which has no default"),
        false => Ok(()),
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
