//! Statements that create, alter, drop and maintain tables with a primary key.
//!
//! They run while they are planned, as DataFusion runs statements about views and tables in memory.

mod alter;
mod attach;
mod call;
mod comment;
mod computed;
mod constraint;
mod constraint_names;
mod consumer;
mod create;
mod default;
mod foreign_key;
mod import;
mod index;
mod sequence;
mod time_to_live;
mod view;

use std::sync::Arc;

use datafusion::common::{Result, TableReference, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{CreateMemoryTable, DdlStatement, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{ObjectName, ObjectType, Statement as SqlStatement};
use lath_parquet::Runtime;
use lath_table::{DatabaseTransaction, Transaction};
use lath_writer::UncommittedFiles;

use crate::bind::bind;
use crate::dialect::normal;
use crate::files::Catalogs;
use crate::keyed::{KeyedTable, SessionTables};
use crate::stop::{CommitPoint, stopped};
use crate::transaction::{Step, not_undone};

/// Runs statements that define tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Definitions<'s> {
    pub(crate) tables: &'s SessionTables,
    pub(crate) state: &'s SessionState,
    pub(crate) catalogs: &'s Catalogs,
    pub(crate) runtime: &'s Runtime,
    pub(crate) uncommitted: &'s UncommittedFiles,
    /// The text of the statement.
    pub(crate) text: &'s str,
    /// Whether the statement has `TEMPORARY`.
    pub(crate) is_temporary: bool,
}

/// Removes `TEMPORARY` from a statement that creates a table or view, and returns whether it was there. DataFusion does not plan the word;
/// its tables and views are in memory anyway.
pub(crate) fn take_temporary(statement: &mut Statement) -> bool {
    let Statement::Statement(statement) = statement else { return false };
    match statement.as_mut() {
        SqlStatement::CreateTable(create) => std::mem::take(&mut create.temporary),
        SqlStatement::CreateView(create) => std::mem::take(&mut create.temporary),
        _ => false,
    }
}

impl Definitions<'_> {
    /// Runs a definition that DataFusion does not plan. Returns whether the statement is one.
    pub(crate) async fn run_statement(&self, statement: &Statement) -> Result<bool> {
        let Statement::Statement(statement) = statement else { return Ok(false) };
        if changes_at_once(statement) && !CommitPoint::current().pass() {
            return stopped();
        }
        match statement.as_ref() {
            SqlStatement::AlterTable(alter) => self.alter_table(alter).await?,
            SqlStatement::AttachDuckDBDatabase {
                if_not_exists,
                database: _,
                database_path,
                database_alias: Some(name),
                attach_options: _,
            } => self.attach(database_path, name, *if_not_exists).await?,
            SqlStatement::DetachDuckDBDatabase { if_exists, database: _, database_alias } => {
                self.detach(database_alias, *if_exists)?;
            }
            SqlStatement::CreateIndex(create) => self.create_index(create).await?,
            SqlStatement::Drop { object_type: ObjectType::Index, names, if_exists, table, .. } => {
                self.drop_index(names, table.as_ref(), *if_exists).await?;
            }
            SqlStatement::Comment { object_type, object_name, comment, if_exists } => {
                self.comment(object_type, object_name, comment.as_deref(), *if_exists).await?;
            }
            SqlStatement::CreateSequence {
                temporary: false,
                if_not_exists,
                name,
                data_type,
                sequence_options,
                owned_by: None,
            } => {
                self.create_sequence(name, *if_not_exists, data_type.as_ref(), sequence_options).await?;
            }
            SqlStatement::Drop { object_type: ObjectType::Sequence, names, if_exists, .. } => {
                self.drop_sequence(names, *if_exists).await?;
            }
            SqlStatement::Call(function) => self.call(function).await?,
            SqlStatement::CreateSchema { .. } if self.tables.has_database() => {
                return plan_err!(
                    "a database has one schema, and keeps no other; leave this statement out, and create tables without the name of a schema"
                );
            }
            SqlStatement::CreateTable(create) => return self.create(create).await,
            SqlStatement::CreateView(create) if self.tables.has_database() && !self.is_temporary => {
                self.create_view(create).await?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Runs a plan that defines something about tables with a primary key. Returns any other plan.
    pub(crate) async fn run_plan(&self, plan: LogicalPlan) -> Result<Option<LogicalPlan>> {
        match plan {
            LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(mut create)) => {
                self.check_in_memory(&create)?;
                self.check_is_undoable("CREATE TEMPORARY TABLE")?;
                // The query runs here, so its tables are bound here.
                create.input = bind(Arc::unwrap_or_clone(create.input))?.0.into();
                Ok(Some(LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create))))
            }
            LogicalPlan::Ddl(DdlStatement::DropView(drop)) => match self.drop_view(&drop).await? {
                true => Ok(None),
                false => {
                    self.check_is_undoable("DROP VIEW of a temporary view")?;
                    Ok(Some(LogicalPlan::Ddl(DdlStatement::DropView(drop))))
                }
            },
            LogicalPlan::Ddl(DdlStatement::DropTable(drop)) => match self.database_name(&drop.name)? {
                Some(name) => self.drop_table(name).await.map(|()| None),
                None => {
                    self.check_is_undoable("DROP TABLE of a table outside the database")?;
                    Ok(Some(LogicalPlan::Ddl(DdlStatement::DropTable(drop))))
                }
            },
            other => Ok(Some(other)),
        }
    }

    /// Returns an error for a table in memory that looks like a stored one, or that declares unique rows.
    fn check_in_memory(&self, create: &CreateMemoryTable) -> Result<()> {
        let name = &create.name;
        if create.constraints.iter().count() > 0 {
            return plan_err!(
                "table {name} is in memory, where PRIMARY KEY and UNIQUE are not checked; leave them out, or create the table in a database, without TEMPORARY"
            );
        }
        Ok(())
    }

    async fn drop_table(&self, name: String) -> Result<()> {
        let table = self.stored(&name)?;
        self.change_database(move |transaction| transaction.drop_table(&name)).await?;
        self.drop_identities(table.table().folder()).await
    }

    /// Returns an error in a transaction, which could not undo the statement.
    fn check_is_undoable(&self, words: &str) -> Result<()> {
        match self.tables.transaction().open() {
            Some(_) => not_undone(words),
            None => Ok(()),
        }
    }

    /// Changes the definition of a table: as part of the open transaction, or as a commit.
    async fn change_table(
        &self,
        table: &KeyedTable,
        change: impl FnOnce(&mut Transaction) -> lath_table::Result<()> + Send + 'static,
    ) -> Result<()> {
        self.change_table_by(Step::Last, table, change).await
    }

    /// [`change_table`](Self::change_table) as a step of a statement.
    async fn change_table_by(
        &self,
        step: Step,
        table: &KeyedTable,
        change: impl FnOnce(&mut Transaction) -> lath_table::Result<()> + Send + 'static,
    ) -> Result<()> {
        let is_in_database = table.transaction().is_some();
        if !is_in_database {
            self.check_is_undoable("a change of the columns of an attached table")?;
        }
        self.tables.transaction().change_table(table.name(), table.table(), is_in_database, step, change).await
    }

    /// Changes the definitions of the database: as part of the open transaction, or as a commit.
    async fn change_database<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut DatabaseTransaction) -> lath_table::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.tables.transaction().change_database(self.database()?, Step::Last, change).await
    }

    /// A table of the database, whether or not another one of the session has its name.
    fn stored(&self, name: &str) -> Result<KeyedTable> {
        match self.tables.database_table(name)? {
            Some(table) => Ok(table),
            None => plan_err!("there is no table {name:?} in the database"),
        }
    }

    fn database(&self) -> Result<lath_table::Database> {
        match self.tables.database()? {
            Some(database) => Ok(database),
            None => plan_err!(
                "a table with a primary key needs a database; open the session with one: lath sql --database FOLDER, or SessionBuilder::database"
            ),
        }
    }

    /// The name, if a table of the database has it.
    fn database_name(&self, reference: &TableReference) -> Result<Option<String>> {
        match self.plain_name(reference) {
            Some(name) if self.tables.is_in_database(&name)? => Ok(Some(name)),
            _ => Ok(None),
        }
    }

    /// The bare name, if it refers to the session's own catalog.
    fn plain_name(&self, reference: &TableReference) -> Option<String> {
        let defaults = &self.state.config_options().catalog;
        let resolved = reference.clone().resolve(&defaults.default_catalog, &defaults.default_schema);
        let is_default = *resolved.catalog == *defaults.default_catalog && *resolved.schema == *defaults.default_schema;
        is_default.then(|| resolved.table.to_string())
    }

    /// The table with a primary key that a statement names.
    fn keyed(&self, name: &ObjectName) -> Result<KeyedTable> {
        let reference = object_name_to_table_reference(name.clone(), true)?;
        match self.plain_name(&reference) {
            Some(name) => self.tables.keyed(&name),
            None => plan_err!("there is no table {reference} with a primary key"),
        }
    }
}

/// Whether a statement cannot be stopped once it runs, because it takes a moment.
fn changes_at_once(statement: &SqlStatement) -> bool {
    matches!(
        statement,
        SqlStatement::CreateView(_)
            | SqlStatement::CreateSequence { .. }
            | SqlStatement::Comment { .. }
            | SqlStatement::Drop { .. }
    )
}

/// The last part of a name.
fn last_part(name: &ObjectName) -> Result<String> {
    match name.0.last().and_then(|part| part.as_ident()) {
        Some(ident) => Ok(normal(ident)),
        None => plan_err!("{name} is not a name"),
    }
}
