//! The tables of a session by their names: views and tables in memory, attached ones, and those of its database.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{MemorySchemaProvider, SchemaProvider, TableProvider};
use datafusion::common::{Result, exec_err, plan_err};
use futures_util::FutureExt;
use lath_table::{Database, Error, Table};

use super::table::KeyedTable;
use crate::error::of_table;

/// The tables of a session.
#[derive(Debug)]
pub(crate) struct SessionTables {
    others: MemorySchemaProvider,
    database: Option<Database>,
}

impl SessionTables {
    pub(crate) fn new(database: Option<Database>) -> Self {
        Self { others: MemorySchemaProvider::new(), database }
    }

    pub(crate) fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// The table with a primary key that has this name.
    pub(crate) fn keyed(&self, name: &str) -> Result<KeyedTable> {
        // Nothing is waited for where tables are in memory.
        let other = self.others.table(name).now_or_never().transpose()?.flatten();
        let found = match other {
            Some(other) => other.downcast_ref::<KeyedTable>().cloned(),
            None => self.of_database(name)?,
        };
        match found {
            Some(table) => Ok(table),
            None => plan_err!("there is no table {name:?} with a primary key"),
        }
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
        if let Some(database) = &self.database {
            for name in database.table_names().map_err(of_table)? {
                tables.extend(self.of_database(&name)?);
            }
        }
        Ok(tables)
    }

    /// Whether the database has a table with this name, and it is not hidden by another.
    pub(crate) fn is_of_database(&self, name: &str) -> Result<bool> {
        Ok(!self.others.table_exist(name) && self.in_database(name)?.is_some())
    }

    fn of_database(&self, name: &str) -> Result<Option<KeyedTable>> {
        let found = self.in_database(name)?;
        found.map(|(table, database)| KeyedTable::of_database(name, table, database)).transpose()
    }

    /// The database's table with this name, and the database.
    fn in_database(&self, name: &str) -> Result<Option<(Table, &Database)>> {
        let Some(database) = &self.database else { return Ok(None) };
        match database.table(name) {
            Ok(table) => Ok(Some((table, database))),
            Err(Error::NoSuchTable { .. }) => Ok(None),
            Err(error) => Err(of_table(error)),
        }
    }
}

#[async_trait]
impl SchemaProvider for SessionTables {
    fn table_names(&self) -> Vec<String> {
        let of_database = self.database.as_ref().and_then(|database| database.table_names().ok()).unwrap_or_default();
        self.others.table_names().into_iter().chain(of_database).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        match self.others.table(name).await? {
            Some(table) => Ok(Some(table)),
            None => Ok(self.of_database(name)?.map(|table| Arc::new(table) as _)),
        }
    }

    fn register_table(&self, name: String, table: Arc<dyn TableProvider>) -> Result<Option<Arc<dyn TableProvider>>> {
        if self.is_of_database(&name)? {
            return exec_err!("the database has a table {name:?} already; choose another name, or drop it first");
        }
        self.others.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if self.is_of_database(name)? {
            return exec_err!("{name:?} is a table of the database; DROP TABLE removes it with its rows");
        }
        self.others.deregister_table(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.others.table_exist(name) || self.in_database(name).is_ok_and(|found| found.is_some())
    }
}
