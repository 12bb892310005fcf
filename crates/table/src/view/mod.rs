//! Readable states of a table: a commit, or an open write.

mod commit;
mod deleted;
mod deleted_cache;
mod engine;
mod expiry;
mod file_checksums;
mod hot;
mod signal;

use std::sync::Arc;

use lath_store::Tree;

use crate::error::Result;
use crate::records::{Index, Manifest, State, TreeName};
use crate::row::TableSchema;

pub(crate) use self::commit::Commit;
pub(crate) use self::deleted::{check_mask, dead_rows, is_masked, parse_mask, read_mask, rows_replaced_by_hot};
pub(crate) use self::engine::{Catalog, Engine, Siblings, database_path, store_path};
pub(crate) use self::expiry::{Expiry, TimeBounds};
pub(crate) use self::file_checksums::checksums_to_bytes;
pub(crate) use self::hot::{HotColumns, HotCursor, HotRows};
pub(crate) use self::signal::{Signal, WakeReason};

/// A readable state of a table.
///
/// A transaction lends one tree at a time, so a reader of two trees copies what it needs from the first.
pub(crate) trait View: Send {
    /// A tree, if it exists.
    fn tree(&mut self, name: TreeName) -> Result<Option<Tree<'_>>>;

    /// The tree of an index, if there are entries.
    fn index_tree(&mut self, number: u64) -> Result<Option<Tree<'_>>>;

    fn indexes(&self) -> &Arc<Vec<Index>>;

    /// The state. In a transaction its stamp is the one that the commit will have.
    fn state(&self) -> &State;

    /// The stamp of the commit that is read, or that the transaction began with.
    fn committed_stamp(&self) -> u64;

    /// The generation of the store's commit that is read, or that the transaction began with.
    fn generation(&self) -> u64;

    fn schema(&self) -> &Arc<TableSchema>;

    fn manifest(&self) -> &Arc<Manifest>;

    /// The rows that have expired, which reads leave out; `None` if rows do not expire.
    fn expiry(&self) -> Option<&Expiry>;
}

impl<V: View + ?Sized> View for &mut V {
    fn tree(&mut self, name: TreeName) -> Result<Option<Tree<'_>>> {
        (**self).tree(name)
    }

    fn index_tree(&mut self, number: u64) -> Result<Option<Tree<'_>>> {
        (**self).index_tree(number)
    }

    fn indexes(&self) -> &Arc<Vec<Index>> {
        (**self).indexes()
    }

    fn state(&self) -> &State {
        (**self).state()
    }

    fn committed_stamp(&self) -> u64 {
        (**self).committed_stamp()
    }

    fn generation(&self) -> u64 {
        (**self).generation()
    }

    fn schema(&self) -> &Arc<TableSchema> {
        (**self).schema()
    }

    fn manifest(&self) -> &Arc<Manifest> {
        (**self).manifest()
    }

    fn expiry(&self) -> Option<&Expiry> {
        (**self).expiry()
    }
}

/// A view with the rows that have expired and were not removed yet.
pub(crate) struct WithExpired<'v>(pub(crate) &'v mut dyn View);

impl View for WithExpired<'_> {
    fn tree(&mut self, name: TreeName) -> Result<Option<Tree<'_>>> {
        self.0.tree(name)
    }

    fn index_tree(&mut self, number: u64) -> Result<Option<Tree<'_>>> {
        self.0.index_tree(number)
    }

    fn indexes(&self) -> &Arc<Vec<Index>> {
        self.0.indexes()
    }

    fn state(&self) -> &State {
        self.0.state()
    }

    fn committed_stamp(&self) -> u64 {
        self.0.committed_stamp()
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn schema(&self) -> &Arc<TableSchema> {
        self.0.schema()
    }

    fn manifest(&self) -> &Arc<Manifest> {
        self.0.manifest()
    }

    fn expiry(&self) -> Option<&Expiry> {
        None
    }
}
