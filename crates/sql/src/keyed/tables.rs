//! Resolves table names of a session: views and tables in memory, attached tables, and its database.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::catalog::{MemorySchemaProvider, SchemaProvider, TableProvider};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{CreateView, Statement as SqlStatement};
use futures_util::FutureExt;
use lath_table::{Database, DatabaseSnapshot, Error, ForeignKeyInfo, Table};

use super::comment_text::split_view_comment;
use super::database::{SessionDatabase, SharedDatabase};
use super::table::{KeyedTable, WITH_ROW_COLUMN};
use crate::error::table_error;
use crate::grammar::parse;
use crate::rewrite::merge_join_columns;
use crate::select_columns::expand_columns;
use crate::transaction::CurrentTransaction;
use crate::with_queries::mark_with_queries;

/// The tables of a session.
#[derive(Debug)]
pub(crate) struct SessionTables {
    // Dropped before the database.
    transaction: Arc<CurrentTransaction>,
    others: MemorySchemaProvider,
    database: Option<Arc<SessionDatabase>>,
    planner: Planner,
}

/// Returns the state of the session, by which views and defaults of columns are planned.
#[derive(Default)]
struct Planner(OnceLock<Box<dyn Fn() -> Option<SessionState> + Send + Sync>>);

impl Planner {
    fn state(&self) -> Option<SessionState> {
        self.0.get().and_then(|state| state())
    }
}

impl fmt::Debug for Planner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Planner")
    }
}

impl SessionTables {
    pub(crate) fn new(database: Option<Arc<SessionDatabase>>) -> Self {
        let (transaction, others) = (Arc::default(), MemorySchemaProvider::new());
        Self { transaction, others, database, planner: Planner::default() }
    }

    /// Sets the function that returns the session's state.
    pub(crate) fn set_planner(&self, state: impl Fn() -> Option<SessionState> + Send + Sync + 'static) {
        let _ = self.planner.0.set(Box::new(state));
    }

    /// The database as it is open now, if the session has one.
    pub(crate) fn database(&self) -> Result<Option<Database>> {
        self.shared_database().map(|database| database.get()).transpose()
    }

    pub(crate) fn shared_database(&self) -> Option<&Arc<SharedDatabase>> {
        self.database.as_deref().map(SessionDatabase::shared)
    }

    /// The database, for another session.
    pub(crate) fn session_database(&self) -> Option<Arc<SessionDatabase>> {
        self.database.clone()
    }

    /// The foreign keys of all tables of the database, each with the name of its table.
    pub(crate) fn foreign_keys(&self) -> Result<Vec<(String, ForeignKeyInfo)>> {
        let Some(commit) = self.commit()? else { return Ok(Vec::new()) };
        let mut keys = Vec::new();
        for table in commit.table_names().map_err(table_error)? {
            let own = commit.foreign_keys(&table).map_err(table_error)?;
            keys.extend(own.into_iter().map(|key| (table.clone(), key)));
        }
        Ok(keys)
    }

    pub(crate) fn has_database(&self) -> bool {
        self.database.is_some()
    }

    /// The transaction that `BEGIN` opens.
    pub(crate) fn transaction(&self) -> &Arc<CurrentTransaction> {
        &self.transaction
    }

    /// The table with a primary key that has this name.
    pub(crate) fn keyed(&self, name: &str) -> Result<KeyedTable> {
        if let Some(table) = self.with_row_column(name) {
            return Ok(table);
        }
        // Tables in memory resolve at once.
        let other = self.others.table(name).now_or_never().transpose()?.flatten();
        let found = match other {
            Some(other) => other.downcast_ref::<KeyedTable>().cloned(),
            None => self.database_table(name)?,
        };
        match found {
            Some(table) => table.with_defaults(|| self.planner.state()),
            None => plan_err!("there is no table {name:?} with a primary key"),
        }
    }

    /// The table without a primary key whose name, with [`WITH_ROW_COLUMN`], this is.
    fn with_row_column(&self, name: &str) -> Option<KeyedTable> {
        let table = self.keyed(name.strip_suffix(WITH_ROW_COLUMN)?).ok()?;
        table.has_row_numbers().then(|| table.with_row_column())
    }

    /// All tables with a primary key.
    pub(crate) fn all_keyed(&self) -> Result<Vec<KeyedTable>> {
        let mut tables = Vec::new();
        for name in self.others.table_names() {
            if let Some(other) = self.others.table(&name).now_or_never().transpose()?.flatten()
                && let Some(table) = other.downcast_ref::<KeyedTable>()
            {
                tables.push(table.clone());
            }
        }
        for name in self.database_names()? {
            tables.extend(self.database_table(&name)?);
        }
        Ok(tables)
    }

    /// Whether the name resolves to a table of the database and no other table shadows it.
    pub(crate) fn is_in_database(&self, name: &str) -> Result<bool> {
        Ok(!self.others.table_exist(name) && self.in_database(name)?.is_some())
    }

    /// The statement that created a view of the database.
    pub(crate) fn view_text(&self, name: &str) -> Result<Option<String>> {
        let Some(commit) = self.commit()? else { return Ok(None) };
        let text = commit.view(name).map_err(table_error)?;
        Ok(text.map(|text| split_view_comment(&text).1.to_owned()))
    }

    /// The comment on a view.
    pub(crate) fn view_comment(&self, name: &str) -> Result<Option<String>> {
        let Some(commit) = self.commit()? else { return Ok(None) };
        let text = commit.view(name).map_err(table_error)?;
        Ok(text.and_then(|text| split_view_comment(&text).0))
    }

    /// The views that have comments.
    pub(super) fn view_comments(&self) -> Result<Vec<(String, String)>> {
        let Some(commit) = self.commit()? else { return Ok(Vec::new()) };
        let mut comments = Vec::new();
        for view in commit.view_names().map_err(table_error)? {
            comments.extend(self.view_comment(&view)?.map(|comment| (view, comment)));
        }
        Ok(comments)
    }

    /// Returns an error for a view that reads itself, directly or through other views.
    pub(crate) fn check_view(&self, state: &SessionState, name: &str, text: &str) -> Result<()> {
        let mut pending = tables_of_view(state, text)?;
        let mut seen = BTreeSet::new();
        while let Some(table) = pending.pop() {
            if table == name {
                return plan_err!("view {name:?} would read itself; give it another name");
            }
            if let Some(text) = self.view_text(&table)?
                && seen.insert(table)
            {
                pending.extend(tables_of_view(state, &text)?);
            }
        }
        Ok(())
    }

    /// Returns an error for a statement that reads a view with missing tables.
    pub(crate) async fn check_views(&self, state: &SessionState, statement: &Statement) -> Result<()> {
        let query = match statement {
            Statement::Statement(inner) => match inner.as_ref() {
                SqlStatement::Drop { .. } => return Ok(()),
                SqlStatement::CreateView(view) => {
                    &Statement::Statement(Box::new(SqlStatement::Query(view.query.clone())))
                }
                _ => statement,
            },
            _ => statement,
        };
        // A reference that cannot be resolved becomes an error when it is planned.
        for table in state.resolve_table_references(query).unwrap_or_default() {
            self.planned_view(state, table.table()).await?;
        }
        Ok(())
    }

    /// Plans the view of the database with this name, unless another table shadows it.
    async fn planned_view(&self, state: &SessionState, name: &str) -> Result<Option<ViewTable>> {
        if self.others.table_exist(name) {
            return Ok(None);
        }
        let Some(text) = self.view_text(name)? else { return Ok(None) };
        let planned = match view_statement(&text)? {
            Some(view) => {
                let query = Statement::Statement(Box::new(SqlStatement::Query(view.query.clone())));
                match Box::pin(self.check_views(state, &query)).await {
                    Ok(()) => {
                        let view = CreateView { if_not_exists: false, temporary: false, ..view };
                        let mut statement = Statement::Statement(Box::new(SqlStatement::CreateView(view)));
                        Box::pin(expand_columns(state, &mut statement)).await?;
                        Box::pin(merge_join_columns(state, &mut statement)).await?;
                        mark_with_queries(state, &mut statement)?;
                        Box::pin(state.statement_to_plan(statement)).await
                    }
                    Err(error) => Err(error),
                }
            }
            None => plan_err!("its text is no CREATE VIEW: {text}"),
        };
        match planned {
            Ok(LogicalPlan::Ddl(DdlStatement::CreateView(view))) => {
                Ok(Some(ViewTable::new(Arc::unwrap_or_clone(view.input), Some(text))))
            }
            Ok(_) => plan_err!("view {name:?} is no view: {text}"),
            Err(error) => plan_err!(
                "view {name:?} cannot be read: {}; create the missing tables, replace the view, or DROP VIEW {name}",
                error.strip_backtrace()
            ),
        }
    }

    /// A view as a table. A view that cannot be planned has no columns: lists of tables and columns include it, and statements that read it
    /// were refused before.
    async fn view(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(state) = self.planner.state() else { return Ok(None) };
        match self.planned_view(&state, name).await {
            Ok(view) => Ok(view.map(|view| Arc::new(view) as _)),
            Err(_) => {
                let nothing = LogicalPlanBuilder::empty(false).build()?;
                Ok(Some(Arc::new(ViewTable::new(nothing, self.view_text(name)?))))
            }
        }
    }

    /// The table of the database with this name, whether or not another table shadows it.
    pub(crate) fn database_table(&self, name: &str) -> Result<Option<KeyedTable>> {
        let found = self.in_database(name)?;
        let keyed = |(table, database)| KeyedTable::from_database(name, table, &database, &self.transaction);
        found.map(keyed).transpose()
    }

    /// The names of the database's tables.
    fn database_names(&self) -> Result<Vec<String>> {
        let Some(commit) = self.commit()? else { return Ok(Vec::new()) };
        commit.table_names().map_err(table_error)
    }

    /// The commit in which names are looked up: what an open transaction reads, or the database's last one.
    fn commit(&self) -> Result<Option<DatabaseSnapshot>> {
        if let Some(view) = self.transaction.view() {
            return Ok(Some(view.snapshot));
        }
        self.database()?.as_ref().map(Database::snapshot).transpose().map_err(table_error)
    }

    /// The database's table with this name, and the database.
    fn in_database(&self, name: &str) -> Result<Option<(Table, Database)>> {
        let (Some(database), Some(commit)) = (self.database()?, self.commit()?) else { return Ok(None) };
        match commit.handle(name) {
            Ok(table) => Ok(Some((table, database))),
            Err(Error::NoSuchTable { .. }) => Ok(None),
            Err(error) => Err(table_error(error)),
        }
    }
}

impl Drop for SessionTables {
    fn drop(&mut self) {
        // Plans that are still there hold the transaction, too.
        self.transaction.rollback();
    }
}

#[async_trait]
impl SchemaProvider for SessionTables {
    fn table_names(&self) -> Vec<String> {
        let in_database = self.database_names().unwrap_or_default();
        let others = self.others.table_names();
        let commit = self.commit().ok().flatten();
        let views = commit.and_then(|commit| commit.view_names().ok()).unwrap_or_default();
        // A table of the session shadows a view of the same name.
        let views = views.into_iter().filter(|view| !others.contains(view)).collect::<Vec<_>>();
        others.into_iter().chain(in_database).chain(views).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = self.with_row_column(name) {
            return Ok(Some(Arc::new(table)));
        }
        match self.others.table(name).await? {
            Some(table) => match table.downcast_ref::<KeyedTable>() {
                Some(keyed) => Ok(Some(Arc::new(keyed.clone().with_defaults(|| self.planner.state())?))),
                None => Ok(Some(table)),
            },
            None => match self.database_table(name)? {
                Some(table) => Ok(Some(Arc::new(table.with_defaults(|| self.planner.state())?))),
                None => self.view(name).await,
            },
        }
    }

    fn register_table(&self, name: String, table: Arc<dyn TableProvider>) -> Result<Option<Arc<dyn TableProvider>>> {
        if self.is_in_database(&name)? {
            return exec_err!("the database has a table {name:?} already; choose another name, or drop it first");
        }
        self.others.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if self.is_in_database(name)? {
            return exec_err!("{name:?} is a table of the database; DROP TABLE removes it with its rows");
        }
        self.others.deregister_table(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.others.table_exist(name)
            || self.in_database(name).is_ok_and(|found| found.is_some())
            || self.view_text(name).is_ok_and(|found| found.is_some())
    }
}

fn view_statement(text: &str) -> Result<Option<CreateView>> {
    let Some(Statement::Statement(statement)) = parse(text)?.pop_front() else { return Ok(None) };
    match *statement {
        SqlStatement::CreateView(view) => Ok(Some(view)),
        _ => Ok(None),
    }
}

/// The names of the tables that a view reads.
fn tables_of_view(state: &SessionState, text: &str) -> Result<Vec<String>> {
    let Some(view) = view_statement(text)? else { return Ok(Vec::new()) };
    let query = Statement::Statement(Box::new(SqlStatement::Query(view.query)));
    let tables = state.resolve_table_references(&query)?;
    Ok(tables.iter().map(|table| table.table().to_owned()).collect())
}
