//! The SQL texts of views, which a database stores for the SQL engine.

use super::Database;
use super::view_text::{view_names, view_text};
use crate::error::Result;

impl Database {
    /// The names of the views of the last commit, in ascending order.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store), [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn view_names(&self) -> Result<Vec<String>> {
        view_names(&self.store().snapshot()?)
    }

    /// The SQL text of the view with this name; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store), [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn view(&self, name: &str) -> Result<Option<String>> {
        view_text(&self.store().snapshot()?, name)
    }

    /// Stores the text of a view, and replaces an existing view with this name. The name has to be valid for a table, and no table may
    /// have it.
    ///
    /// ```
    /// use lath_table::{Database, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path().join("shop");
    /// let database = Database::create(&folder, TableOptions::new())?;
    /// database.put_view("recent", "CREATE VIEW recent AS SELECT 1")?;
    /// assert_eq!(database.view_names()?, ["recent"]);
    /// assert!(database.drop_view("recent")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::TableName`](crate::Error::TableName), [`Error::TableExists`](crate::Error::TableExists), [`Error::Store`](crate::Error::Store).
    pub fn put_view(&self, name: &str, text: &str) -> Result<()> {
        self.define(|transaction| transaction.put_view(name, text))
    }

    /// Drops the view with this name. Returns whether it existed.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store).
    pub fn drop_view(&self, name: &str) -> Result<bool> {
        if self.view(name)?.is_none() {
            return Ok(false);
        }
        self.define(|transaction| transaction.drop_view(name))
    }
}
