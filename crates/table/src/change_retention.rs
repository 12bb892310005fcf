//! The change feed of a table: turns it on and off, and sets how long changes are kept.

use lath_store::Durability;

use crate::error::{Error, Result};
use crate::read::{KIND, SEQUENCE};
use crate::records::Feed;
use crate::table::Table;
use crate::write::OpenWrite;

/// Retention of the change feed; see [`Table::keep_changes`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeRetention {
    /// The maximum number of changes. The changes of the oldest commits are dropped, whole commits at a time; the newest commit's changes
    /// are always kept, and so are the ones that a [consumer](Table::add_consumer) needs, up to a limit. The default is 1,048,576.
    pub rows: u64,
    /// The number of commits for which changes are kept. Commits of all tables of a database count, including flushes and compactions.
    /// There is no limit by default.
    pub commits: u64,
}

impl Default for ChangeRetention {
    fn default() -> Self {
        Self { rows: 1 << 20, commits: u64::MAX }
    }
}

impl ChangeRetention {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of changes.
    #[must_use]
    pub fn rows(mut self, rows: u64) -> Self {
        self.rows = rows;
        self
    }

    /// Sets the number of commits for which changes are kept.
    #[must_use]
    pub fn commits(mut self, commits: u64) -> Self {
        self.commits = commits.max(1);
        self
    }
}

impl Table {
    /// Starts the change feed, which [`Snapshot::changes`](crate::Snapshot::changes) reads: every later commit records its changes. If the
    /// table has a feed, this sets how long changes are kept. The setting is stored in the table.
    ///
    /// A change is recorded in the transaction that makes it, so the feed has it if and only if the transaction commits. Each change costs
    /// a second copy of the new row in the store, and a lookup of its key, which tells an insert from an update. Without a change feed, an
    /// upsert reads no file.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::cast::AsArray;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_table::{ChangeRetention, Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let rows = |ids: &[i64]| RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef)]);
    /// # let table = Table::create(folder.path().join("jobs"), &rows(&[])?.schema(), &["id"], TableOptions::new())?;
    /// table.keep_changes(ChangeRetention::new().rows(100_000))?;
    /// let since = table.snapshot()?.version();
    /// table.upsert(&rows(&[1, 2])?)?;
    /// table.delete([1])?;
    /// let mut changes = table.snapshot()?.changes(since)?;
    /// for batch in &mut changes {
    ///     let kinds: Vec<Option<String>> = batch?.column(0).as_string::<i32>().iter().map(|kind| kind.map(str::to_owned)).collect();
    ///     assert_eq!(kinds.into_iter().flatten().collect::<Vec<_>>(), ["insert", "insert", "delete"]);
    /// }
    /// // Where the next reading begins.
    /// assert_eq!(changes.resume_at(), table.snapshot()?.version());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`] for a table with a column `_change` or `_sequence`.
    pub fn keep_changes(&self, retention: ChangeRetention) -> Result<()> {
        let mut changing = OpenWrite::begin(self.engine())?;
        for name in [KIND, SEQUENCE] {
            if changing.schema().column(name).is_ok() {
                return Err(Error::schema(format!("a table with a column {name:?} cannot keep changes: rename it")));
            }
        }
        let from = changing.state().feed.as_ref().map_or(changing.state().stamp + 1, |feed| feed.from);
        changing.set_feed(Some(Feed { from, max_commits: retention.commits.max(1), max_rows: retention.rows }));
        changing.commit(Durability::Sync)
    }

    /// Drops all changes and turns the change feed off.
    ///
    /// # Errors
    /// [`Error::Consumer`] if the feed has [consumers](Self::add_consumer), which have to be dropped first; [`Error::Store`].
    pub fn drop_changes(&self) -> Result<()> {
        let consumers = self.consumers()?;
        if !consumers.is_empty() {
            let names: Vec<&str> = consumers.iter().map(|consumer| consumer.name.as_str()).collect();
            let names = names.join(", ");
            return Err(Error::consumer(format!(
                "the change feed has consumers, which would miss changes: drop them first: {names}"
            )));
        }
        let mut changing = OpenWrite::begin(self.engine())?;
        if changing.state().feed.is_some() {
            changing.changes_tree()?.remove_range(&[], None)?;
            changing.set_feed(None);
        }
        changing.commit(Durability::Sync)
    }
}
