//! Conditions that arrive while a scan runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lath_predicate::Predicate;

/// A condition that becomes known while a scan runs: the keys of a join's other side, or the bound of a query for the first ten
/// rows. Clones are handles of the same condition.
///
/// A scan with the filter ([`Scan::dynamic_filter`](super::Scan::dynamic_filter)) applies its current condition from the next
/// window of rows on: statistics, Bloom filters and the page index rule out row groups that have not been started, and the rows
/// of others are tested. The result may still contain rows for which the condition is false, because it was not known yet or
/// because testing them costs too much: a caller that cannot use them has to test them again.
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
    shared: Arc<FilterState>,
}

#[derive(Debug, Default)]
struct FilterState {
    /// The version of `current`; 0 while there is none.
    version: AtomicU64,
    current: Mutex<Option<Arc<Narrowing>>>,
}

/// The condition of a filter, with its version.
#[derive(Debug)]
pub(super) struct Narrowing {
    /// Counted from 1.
    pub(super) version: u64,
    pub(super) predicate: Predicate,
}

impl DynamicFilter {
    /// A filter without a condition.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the condition. It must be false for every row for which an earlier condition of the filter was false: dropped rows do
    /// not come back.
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

    /// The condition, if it is newer than `version`.
    pub(super) fn newer_than(&self, version: u64) -> Option<Arc<Narrowing>> {
        if self.shared.version.load(Ordering::Acquire) <= version { None } else { self.current() }
    }
}
