//! Values that a transaction has put or removed and that foreign keys may forbid.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Values that were removed, and the values that took their places in the same rows.
pub(crate) type RemovedValues = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Encoded values by the index that has them, or by [`PRIMARY_KEY`](crate::records::PRIMARY_KEY). Some may have been undone since.
#[derive(Debug, Default)]
pub(crate) struct TouchedValues {
    /// Values of foreign keys of the table.
    pub(crate) put: BTreeMap<u64, BTreeSet<Vec<u8>>>,
    /// Values that foreign keys may refer to.
    pub(crate) removed: BTreeMap<u64, BTreeSet<Vec<u8>>>,
    /// Values that were removed since the actions of foreign keys were last done. Shared with marks to return to.
    pub(crate) due: Arc<BTreeMap<u64, RemovedValues>>,
}

impl TouchedValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty() && self.due.is_empty()
    }
}

impl TouchedValues {
    /// Remembers that rows had a value, and the value that a row has in its place.
    pub(crate) fn remove(&mut self, target: u64, value: Vec<u8>, new: Option<Vec<u8>>) {
        let due = Arc::make_mut(&mut self.due).entry(target).or_default();
        // A row that has moved is then deleted at its old key.
        due.entry(value).or_insert(new);
    }
}
