//! Begins optimistic transactions.

use std::collections::BTreeSet;

use super::{Isolation, OptimisticTransaction};
use crate::error::Result;
use crate::store::Store;
use crate::transaction::check_name;

impl Store {
    /// Begins a transaction that others do not wait for, and that must be serializable with them when it commits.
    ///
    /// # Errors
    /// [`Error::ReadOnly`](crate::Error::ReadOnly), [`Error::Poisoned`](crate::Error::Poisoned), and the same as [`snapshot`](Self::snapshot).
    pub fn begin_optimistic(&self) -> Result<OptimisticTransaction> {
        self.begin_optimistic_with(Isolation::default())
    }

    /// Like [`begin_optimistic`](Self::begin_optimistic), with this isolation.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// use lath_store::Isolation;
    ///
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// let mut first = store.begin_optimistic_with(Isolation::Snapshot)?;
    /// let mut second = store.begin_optimistic_with(Isolation::Snapshot)?;
    /// assert_eq!(first.tree("on call")?.get(b"bob")?, None);
    /// first.tree("on call")?.put(b"ada", b"")?;
    /// assert_eq!(second.tree("on call")?.get(b"ada")?, None);
    /// second.tree("on call")?.put(b"bob", b"")?;
    /// first.commit()?;
    /// // It has read what the first one changed, and changes something else: a conflict only if serializable.
    /// second.commit()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The same as [`begin_optimistic`](Self::begin_optimistic).
    pub fn begin_optimistic_with(&self, isolation: Isolation) -> Result<OptimisticTransaction> {
        OptimisticTransaction::new(self, isolation, None, None)
    }

    /// Begins a transaction on these trees, which no other transaction begun by this method or [`try_begin_on`](Self::try_begin_on) has at the
    /// same time in this process: waits for the ones that have them. Transactions on other trees run meanwhile.
    ///
    /// It is a serializable [`OptimisticTransaction`] that uses no other trees, so it has no conflict with others that begin like this in this
    /// process. [`begin`](Self::begin), [`begin_optimistic`](Self::begin_optimistic) and other processes do not wait for it: if they change what
    /// it has read, its commit is [`Error::Conflict`](crate::Error::Conflict).
    ///
    /// A thread that has such a transaction must not begin another one on one of its trees: it would wait for itself. Ask for all trees at
    /// once.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// std::thread::scope(|scope| {
    ///     for name in ["apples", "pears"] {
    ///         let store = &store;
    ///         scope.spawn(move || {
    ///             let mut transaction = store.begin_on(&[name])?;
    ///             transaction.tree(name)?.put(b"colour", b"green")?;
    ///             transaction.commit()
    ///         });
    ///     }
    /// });
    /// assert_eq!(store.snapshot()?.tree_names()?, ["apples", "pears"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The same as [`begin_optimistic`](Self::begin_optimistic), [`Error::Limit`](crate::Error::Limit) for a name longer than 1,024 bytes.
    pub fn begin_on(&self, trees: &[&str]) -> Result<OptimisticTransaction> {
        self.engine.check_writable()?;
        let locked = self.engine.tree_locks.lock(checked_names(trees)?);
        OptimisticTransaction::new(self, Isolation::Serializable, None, Some(locked))
    }

    /// Like [`begin_on`](Self::begin_on), without waiting.
    ///
    /// # Errors
    /// [`Error::TreeBusy`](crate::Error::TreeBusy) if another transaction has one of the trees or waits for it; otherwise the same as [`begin_on`](Self::begin_on).
    pub fn try_begin_on(&self, trees: &[&str]) -> Result<OptimisticTransaction> {
        self.engine.check_writable()?;
        let locked = self.engine.tree_locks.try_lock(checked_names(trees)?)?;
        OptimisticTransaction::new(self, Isolation::Serializable, None, Some(locked))
    }
}

fn checked_names(trees: &[&str]) -> Result<Vec<String>> {
    trees.iter().try_for_each(|name| check_name(name))?;
    Ok(trees.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>().into_iter().collect())
}
