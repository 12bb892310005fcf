//! Opening tables with a primary key in folders that a statement names.

use lath_parquet::Runtime;
use lath_table::{EncryptionKey, TableOptions};

/// The runtime of a session, and the key with which it opens encrypted tables.
#[derive(Debug, Clone)]
pub(crate) struct TableOpening {
    pub(crate) runtime: Runtime,
    pub(crate) key: Option<EncryptionKey>,
}

impl TableOpening {
    pub(crate) fn options(&self) -> TableOptions {
        let options = TableOptions::new().runtime(&self.runtime);
        self.key.clone().into_iter().fold(options, TableOptions::available_key)
    }
}
