//! Values that a transaction has put or removed and that foreign keys may forbid.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Values that were removed, and the values that took their places in the same rows, which may have nulls.
pub(crate) type RemovedValues = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Encoded values by the index that has them, or by [`PRIMARY_KEY`](crate::records::PRIMARY_KEY). Some may have been undone since.
#[derive(Debug, Default)]
pub(crate) struct TouchedValues {
    /// Values of foreign keys of the table.
    pub(crate) put: BTreeMap<u64, BTreeSet<Vec<u8>>>,
    /// Values that foreign keys may refer to.
    pub(crate) removed: BTreeMap<u64, BTreeSet<Vec<u8>>>,
    /// Changes since the actions of foreign keys were last done. Shared with marks to return to.
    pub(crate) statement: Arc<StatementValues>,
}

/// Values that have changed since the actions of foreign keys were last done.
#[derive(Debug, Default, Clone)]
pub(crate) struct StatementValues {
    /// Values to which foreign keys with actions refer.
    pub(crate) removed: BTreeMap<u64, RemovedValues>,
    /// Entries of the indexes of foreign keys that were put, if the table is referred to itself.
    entries: BTreeMap<u64, BTreeSet<Vec<u8>>>,
    /// The keys of rows that have moved and kept their values in an index of a foreign key.
    kept: BTreeMap<u64, BTreeSet<Vec<u8>>>,
}

impl TouchedValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty() && !self.is_due()
    }

    /// Whether there may be actions to do.
    pub(crate) fn is_due(&self) -> bool {
        !self.statement.removed.is_empty()
    }

    /// Remembers that a row had a value, and the value that it has in its place.
    pub(crate) fn remove(&mut self, target: u64, value: Vec<u8>, new: Option<Vec<u8>>) {
        let removed = Arc::make_mut(&mut self.statement).removed.entry(target).or_default();
        // A row that has moved is then deleted at its old key.
        removed.entry(value).or_insert(new);
    }

    /// Remembers entries that were put into the index of a foreign key.
    pub(crate) fn put_entries<'e>(&mut self, index: u64, entries: impl Iterator<Item = &'e [u8]>) {
        let all = Arc::make_mut(&mut self.statement).entries.entry(index).or_default();
        all.extend(entries.map(<[u8]>::to_vec));
    }

    /// Remembers that a row has moved to this key and has kept its values in the index of a foreign key.
    pub(crate) fn keep_values(&mut self, index: u64, row_key: Vec<u8>) {
        Arc::make_mut(&mut self.statement).kept.entry(index).or_default().insert(row_key);
    }
}

impl StatementValues {
    /// Whether the statement has put values into the columns of an index.
    pub(crate) fn has_put(&self, index: u64) -> bool {
        self.entries.get(&index).is_some_and(|entries| !entries.is_empty())
    }

    /// Whether the statement itself has given the row of an entry its values, so that they are values of the state after the statement.
    pub(crate) fn is_put(&self, index: u64, entry: &[u8], row_key: &[u8]) -> bool {
        self.entries.get(&index).is_some_and(|entries| entries.contains(entry))
            && !self.kept.get(&index).is_some_and(|kept| kept.contains(row_key))
    }
}
