//! Conditions that arrive while a scan runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lath_predicate::Predicate;

/// A condition that becomes known while a scan runs: the keys of a join's other side, or the value that a row has to beat to be
/// among the first ten. Clones are handles of the same condition.
///
/// A scan that has the filter ([`Scan::dynamic_filter`](super::Scan::dynamic_filter)) goes by what it says from the next window of
/// rows on: row groups that are not begun are ruled out by statistics, Bloom filters and the page index, and the rows of others
/// are tested. Rows for which the condition is not true may still come, as long as it is not known or where testing them is not
/// worth it: who needs them gone tests them again.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// use lath_parquet::{Dataset, DatasetOptions, DynamicFilter, Predicate};
///
/// let orders = Dataset::open(["orders/"], DatasetOptions::new())?;
/// let filter = DynamicFilter::new();
/// let mut batches = orders.scan().select(["id", "total"]).dynamic_filter(&filter).build()?;
/// let first = batches.next().transpose()?;
/// // From here on only orders of these customers matter.
/// filter.set(Predicate::parse("customer IN (17, 4711)")?);
/// for batch in batches {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct DynamicFilter {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// That of `current`; 0 while there is none.
    version: AtomicU64,
    current: Mutex<Option<Arc<Narrowing>>>,
}

/// What a filter says, at one time.
#[derive(Debug)]
pub(super) struct Narrowing {
    /// Counted from 1.
    pub(super) version: u64,
    pub(super) predicate: Predicate,
}

impl DynamicFilter {
    /// A filter that says nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says for which rows the condition has to be true from now on. It has to be false or null for every row that it was false
    /// or null for before: rows that were passed over do not come back.
    pub fn set(&self, predicate: Predicate) {
        let mut current = self.shared.current.lock().unwrap_or_else(PoisonError::into_inner);
        let version = current.as_ref().map_or(0, |current| current.version) + 1;
        *current = Some(Arc::new(Narrowing { version, predicate }));
        self.shared.version.store(version, Ordering::Release);
    }

    /// The condition, if it is known.
    pub fn predicate(&self) -> Option<Predicate> {
        self.current().map(|current| current.predicate.clone())
    }

    fn current(&self) -> Option<Arc<Narrowing>> {
        self.shared.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it says, unless that is `version` or older.
    pub(super) fn newer_than(&self, version: u64) -> Option<Arc<Narrowing>> {
        if self.shared.version.load(Ordering::Acquire) <= version { None } else { self.current() }
    }
}
