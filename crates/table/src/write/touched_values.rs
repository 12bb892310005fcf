//! Values that a transaction has put or removed and that foreign keys may forbid.

use std::collections::{BTreeMap, BTreeSet};

/// Encoded values by the index that has them, or by [`PRIMARY_KEY`](crate::records::PRIMARY_KEY). Some may have been undone since.
#[derive(Debug, Default)]
pub(crate) struct TouchedValues {
    /// Values of foreign keys of the table.
    pub(crate) put: BTreeMap<u64, BTreeSet<Vec<u8>>>,
    /// Values that foreign keys may refer to.
    pub(crate) removed: BTreeMap<u64, BTreeSet<Vec<u8>>>,
}

impl TouchedValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty()
    }
}
