//! Runs a transaction again after a conflict.

use super::{Isolation, OptimisticTransaction};
use crate::error::{Error, Result};
use crate::store::Store;

impl Store {
    /// The number of times that [`transact`](Self::transact) runs without the writer.
    pub const TRANSACT_ATTEMPTS: usize = 8;

    /// Runs a transaction and commits it, and runs it again if it conflicts with another one. After a number of
    /// [attempts](Self::TRANSACT_ATTEMPTS) it runs while it has the writer, as one of [`begin`](Self::begin) does, so that it certainly ends.
    /// Returns what `run` has returned for the attempt that was committed.
    ///
    /// `run` may be called several times, and has no effect but by its transaction. An error of it undoes the attempt, and is returned. It must
    /// not wait for the writer ([`begin`](Self::begin), [`checkpoint`](Self::checkpoint) and others): during the last attempt it would wait
    /// for itself.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| {
    ///             store.transact(|transaction| {
    ///                 let mut counts = transaction.tree("counts")?;
    ///                 let visits = counts.get(b"visits")?.map_or(0, |bytes| bytes[0]);
    ///                 counts.put(b"visits", &[visits + 1])
    ///             })
    ///         });
    ///     }
    /// });
    /// let snapshot = store.snapshot()?;
    /// assert_eq!(snapshot.tree("counts")?.expect("it was made").get(b"visits")?, Some(&[4][..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of `run`, and the same as [`begin`](Self::begin) and [`Transaction::commit`](crate::Transaction::commit); never
    /// [`Error::Conflict`], unless `run` returns it.
    pub fn transact<T, E: From<Error>>(
        &self,
        mut run: impl FnMut(&mut OptimisticTransaction) -> Result<T, E>,
    ) -> Result<T, E> {
        for _ in 0..Self::TRANSACT_ATTEMPTS {
            let mut transaction = self.begin_optimistic()?;
            let value = run(&mut transaction)?;
            match transaction.commit() {
                Ok(()) => return Ok(value),
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let writer = Some(self.begin()?);
        let mut transaction = OptimisticTransaction::new(self, Isolation::Serializable, writer, None)?;
        let value = run(&mut transaction)?;
        transaction.commit()?;
        Ok(value)
    }
}
