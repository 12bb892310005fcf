//! The SQL texts of views, which a database stores for the SQL engine.

use lath_store::Durability;

use super::table_list::find_number;
use super::view_text::{view_names, view_text};
use super::{Database, check_name};
use crate::error::{Error, Result};
use crate::records::{VIEWS, history};

impl Database {
    /// The names of the views of the last commit, in ascending order.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Corrupt`].
    pub fn view_names(&self) -> Result<Vec<String>> {
        view_names(&self.store().snapshot()?)
    }

    /// The SQL text of the view with this name; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Corrupt`].
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
    /// [`Error::TableName`], [`Error::TableExists`], [`Error::Store`].
    pub fn put_view(&self, name: &str, text: &str) -> Result<()> {
        check_name(name)?;
        let mut transaction = self.store().begin()?;
        let newest = self.store().snapshot()?;
        if find_number(&newest, name)?.is_some() {
            return Err(Error::TableExists { name: name.to_owned() });
        }
        transaction.tree(VIEWS)?.put(name.as_bytes(), text.as_bytes())?;
        history::keep_commit_before(&mut transaction, &newest)?;
        Ok(transaction.commit_with(Durability::Sync)?)
    }

    /// Drops the view with this name. Returns whether it existed.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn drop_view(&self, name: &str) -> Result<bool> {
        let mut transaction = self.store().begin()?;
        let newest = self.store().snapshot()?;
        if view_text(&newest, name)?.is_none() {
            return Ok(false);
        }
        transaction.tree(VIEWS)?.remove(name.as_bytes())?;
        history::keep_commit_before(&mut transaction, &newest)?;
        transaction.commit_with(Durability::Sync)?;
        Ok(true)
    }
}
