//! The beginning of a read of changes.

use datafusion::common::Result;
use lath_table::Snapshot;

use super::earlier::EarlierState;
use super::source::Reading;

/// The beginning of a read of changes.
#[derive(Debug, Clone)]
pub(crate) enum ChangesOf {
    /// The commit after which the changes are.
    Commits,
    /// The rows of an earlier state.
    Rows(EarlierState),
    /// The changes that this consumer has not acknowledged.
    Consumer(String),
}

impl ChangesOf {
    /// The way to read the changes after the commit `since` up to a snapshot.
    pub(crate) fn reading(&self, since: u64, snapshot: &Snapshot) -> Result<Reading> {
        Ok(match self {
            Self::Commits => Reading::Changes { since },
            Self::Rows(state) => Reading::ChangesFrom { first: Box::new(state.read(snapshot)?) },
            Self::Consumer(name) => Reading::Consumer { name: name.clone() },
        })
    }
}
