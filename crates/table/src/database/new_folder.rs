//! The folder of a table that a transaction has created.

use std::sync::Arc;

use super::table_folders::remove_folder;
use crate::view::Engine;

/// The folder of a table that a transaction has created. It is removed if the transaction does not commit.
#[derive(Debug)]
pub(super) struct NewFolder {
    engine: Arc<Engine>,
    is_kept: bool,
}

impl NewFolder {
    pub(super) fn new(engine: &Arc<Engine>) -> Self {
        Self { engine: Arc::clone(engine), is_kept: false }
    }

    /// Whether the folder stays when this is dropped.
    pub(super) fn keep(&mut self, is_kept: bool) {
        self.is_kept = is_kept;
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // A folder that cannot be removed now is removed when the database is next opened.
            let _ = remove_folder(&self.engine.folder);
        }
    }
}
