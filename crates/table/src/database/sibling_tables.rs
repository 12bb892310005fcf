//! Gives the tables of a database access to each other, for foreign keys.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use lath_store::Store;

use super::table_list::{list_tables, table_folder, table_name};
use crate::error::Result;
use crate::records::{TableOptions, TreeNames, file_place};
use crate::view::{Engine, Siblings};

/// The open tables of a database.
#[derive(Debug)]
pub(super) struct SiblingTables {
    folder: PathBuf,
    store: Store,
    options: TableOptions,
    /// By number, as long as something uses them.
    open: Mutex<HashMap<u64, Weak<Engine>>>,
    this: Weak<Self>,
}

impl SiblingTables {
    pub(super) fn new(folder: PathBuf, store: Store, options: TableOptions) -> Arc<Self> {
        Arc::new_cyclic(|this| Self { folder, store, options, open: Mutex::default(), this: this.clone() })
    }

    /// Opens a table whose files are in its folder or below the URL `place`.
    pub(super) fn open(&self, number: u64, place: Option<&str>) -> Result<Arc<Engine>> {
        let (folder, trees) = (table_folder(&self.folder, number), TreeNames::database_table(number));
        let mut engine = Engine::new(folder, self.store.clone(), trees, self.options.clone(), place)?;
        engine.siblings = self.this.upgrade().map(|this| this as _);
        let engine = Arc::new(engine);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, engine| engine.strong_count() > 0);
        open.insert(number, Arc::downgrade(&engine));
        Ok(engine)
    }
}

impl Siblings for SiblingTables {
    fn engine(&self, number: u64) -> Result<Arc<Engine>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&number).and_then(Weak::upgrade);
        match open {
            Some(engine) => Ok(engine),
            None => self.open(number, file_place(&self.store.snapshot()?, Some(number))?.as_deref()),
        }
    }

    fn name(&self, number: u64) -> Result<String> {
        table_name(list_tables(&self.store.snapshot()?)?, number)
    }
}
