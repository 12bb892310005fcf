//! The options for opening a store.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::storage::{DEFAULT_CAPACITY_BYTES, EncryptionKey};

/// The durability of a commit: the failures that it survives once it has returned.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Survives a loss of power: the commit is in the log, and the log is synced.
    #[default]
    Sync,
    /// Survives the end of the process. It survives a loss of power only after a later sync: by a commit with
    /// [`Sync`](Self::Sync), by [`Store::sync`](crate::Store::sync) or by a checkpoint.
    Deferred,
    /// Survives nothing until the next checkpoint.
    Off,
}

/// The options for opening a store.
///
/// ```
/// # fn main() -> lath_store::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("lath-options-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).expect("makes a folder");
/// # let path = folder.join("words");
/// use lath_store::{Durability, Options};
///
/// let store = Options::new().durability(Durability::Deferred).open(&path)?;
/// # drop(store);
/// # std::fs::remove_dir_all(&folder).expect("removes it");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) create: bool,
    pub(crate) read_only: bool,
    pub(crate) capacity_bytes: u64,
    pub(crate) log_limit_bytes: Option<u64>,
    pub(crate) checkpoint_space_bytes: u64,
    pub(crate) background_checkpoints: bool,
    pub(crate) verify_nodes: bool,
    pub(crate) wait: Duration,
    pub(crate) busy_timeout: Option<Duration>,
    pub(crate) encryption_key: Option<EncryptionKey>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            create: true,
            read_only: false,
            capacity_bytes: DEFAULT_CAPACITY_BYTES,
            log_limit_bytes: None,
            checkpoint_space_bytes: Self::DEFAULT_CHECKPOINT_SPACE_BYTES,
            background_checkpoints: true,
            verify_nodes: false,
            wait: Duration::ZERO,
            busy_timeout: None,
            encryption_key: None,
        }
    }
}

impl Options {
    /// The bounds of the default limit of the log, which is twice the length of the data: 256 MiB and 1 GiB. The log of a store with less data than
    /// 64 MiB is shorter: see [`log_limit_bytes`](Self::log_limit_bytes).
    pub const LOG_LIMIT_BYTES: RangeInclusive<u64> = 256 << 20..=1 << 30;

    /// The default for [`checkpoint_space_bytes`](Self::checkpoint_space_bytes): 64 MiB.
    pub const DEFAULT_CHECKPOINT_SPACE_BYTES: u64 = 64 << 20;

    /// The usual [`busy_timeout`](Self::busy_timeout): 5 seconds.
    pub const USUAL_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the durability of commits that do not choose one. The default is [`Durability::Sync`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets whether a missing store is created. The default is `true`. A store that is opened read-only is never
    /// created.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets whether the store is opened read-only. The default is `false`. Another process may write to it at the same
    /// time. No file is created or changed, except for the lock file, in which readers register.
    ///
    /// If no process has the store open, its files are read as they are, and commits that are only in the log are
    /// replayed in memory at each opening. Another process may open the store for writing later; this handle then stays
    /// at the commit that it found. Only a reader that may not write to the lock file keeps writers out, until its last
    /// handle and snapshot are dropped.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets the reserved address space in bytes, beyond which the store cannot grow. The default is 1 TiB.
    #[must_use]
    pub fn capacity_bytes(mut self, capacity_bytes: u64) -> Self {
        self.capacity_bytes = capacity_bytes;
        self
    }

    /// Sets the length of the log at which a checkpoint is made in the background. The default is twice the length of
    /// the data, within [bounds](Self::LOG_LIMIT_BYTES). A longer log needs fewer checkpoints, each of which may write
    /// all of the data, but opening the store after a crash takes longer: about a second for each 20 MiB of small
    /// entries. A checkpoint of little data writes little: one is made at the latest when the log is four times as
    /// long as the data, and longer than 16 MiB.
    #[must_use]
    pub fn log_limit_bytes(mut self, log_limit_bytes: u64) -> Self {
        self.log_limit_bytes = Some(log_limit_bytes);
        self
    }

    /// The maximum length of the log of a store with this much data.
    pub(crate) fn log_limit(&self, data_bytes: u64) -> u64 {
        let (min, max) = Self::LOG_LIMIT_BYTES.into_inner();
        let limit = self.log_limit_bytes.unwrap_or((2 * data_bytes).clamp(min, max));
        limit.min(data_bytes.saturating_mul(4).max(16 << 20))
    }

    /// The maximum space that waits for a checkpoint in a store with this much data.
    pub(crate) fn checkpoint_space(&self, data_bytes: u64) -> u64 {
        self.checkpoint_space_bytes.min(data_bytes.saturating_mul(2).max(16 << 20))
    }

    /// Sets how much space of the file may wait for the next checkpoint before one is made in the background. This
    /// space consists of nodes that only the last checkpoint needs; a checkpoint is made only if it also exceeds a
    /// quarter of the used space. If changes are spread over all of the data, each checkpoint writes all of it, and
    /// more space means fewer checkpoints. While one is made, twice as much may wait. In a store with little data, a checkpoint is made at the
    /// latest when more than twice the data and more than 16 MiB wait.
    #[must_use]
    pub fn checkpoint_space_bytes(mut self, checkpoint_space_bytes: u64) -> Self {
        self.checkpoint_space_bytes = checkpoint_space_bytes;
        self
    }

    /// Sets whether each node that the store has when it is opened is verified by its checksum when it is first read,
    /// so that damage is [`Error::Corrupt`](crate::Error::Corrupt) and never a wrong answer. The default is `false`:
    /// then only [`Store::check`](crate::Store::check) finds damage. Verification costs one pass over the nodes that
    /// are read, and a bit of memory for each 64 bytes of the file.
    #[must_use]
    pub fn verify_nodes(mut self, verify: bool) -> Self {
        self.verify_nodes = verify;
        self
    }

    /// Sets how long [`open`](Self::open) waits for other processes that have the store open in a way that excludes
    /// this one, before it returns [`Error::Busy`](crate::Error::Busy). The default is not to wait.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Lets other processes write to the store while this one has it open, and sets how long this process waits for
    /// them. By default, a process keeps all others from writing for as long as it has the store open.
    ///
    /// With this option, the processes write by turns. [`Store::begin`](crate::Store::begin) waits for the transactions of other
    /// processes; so do [`open`](Self::open), checkpoints, checks and the like. After this time they return
    /// [`Error::BusyTimeout`](crate::Error::BusyTimeout), and changed nothing. A process that commits without a break lets a waiting
    /// one in after the transaction that runs, and after a checkpoint that runs. If a process is killed, the next one recovers the
    /// store. An open [snapshot of a transaction](crate::Transaction::snapshot) keeps other processes from writing.
    ///
    /// A process that opens the store without this option waits for its turn too ([`wait`](Self::wait)), and then keeps it.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let folder = std::env::temp_dir().join(format!("lath-busy-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).expect("makes a folder");
    /// # let path = folder.join("words");
    /// use lath_store::Options;
    ///
    /// let options = Options::new().busy_timeout(Options::USUAL_BUSY_TIMEOUT);
    /// // In two processes, or in one:
    /// let (here, there) = (options.open(&path)?, options.open(&path)?);
    /// for store in [&here, &there] {
    ///     let mut transaction = store.begin()?;
    ///     let mut counts = transaction.tree("counts")?;
    ///     let visits = counts.get(b"visits")?.map_or(0, |bytes| bytes[0]);
    ///     counts.put(b"visits", &[visits + 1])?;
    ///     transaction.commit()?;
    /// }
    /// assert_eq!(here.snapshot()?.tree("counts")?.expect("it was made").get(b"visits")?, Some(&[2][..]));
    /// # drop((here, there));
    /// # std::fs::remove_dir_all(&folder).expect("removes it");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = Some(busy_timeout);
        self
    }

    /// Sets the key of an encrypted store: the store is made encrypted, or is opened with the key. The default is a store without
    /// encryption.
    ///
    /// All files of the store are encrypted (AES-256 in XTS mode), with keys that are encrypted with this one. In memory the data is
    /// plain, and all of it is there from the opening on; the system may swap it to disk. One process at a time has an encrypted store open
    /// for writing, whatever [`busy_timeout`](Self::busy_timeout) says, and readers open it while no process writes. Changed bytes are
    /// found by the checksums of nodes, which are made against accidents. Needs Linux.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let folder = std::env::temp_dir().join(format!("lath-encrypted-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).expect("makes a folder");
    /// # let path = folder.join("words");
    /// use lath_store::{EncryptionKey, Error, Options};
    ///
    /// let key = EncryptionKey::new([7; 32]); // From a safe place; not such a key.
    /// let store = Options::new().encryption_key(key).open(&path)?;
    /// # drop(store);
    /// assert!(matches!(Options::new().open(&path), Err(Error::Key(_))));
    /// # std::fs::remove_dir_all(&folder).expect("removes it");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn encryption_key(mut self, key: EncryptionKey) -> Self {
        self.encryption_key = Some(key);
        self
    }

    /// How long an opening waits for other processes.
    pub(crate) fn opening_timeout(&self) -> Duration {
        self.wait.max(self.busy_timeout.unwrap_or_default())
    }

    /// Sets whether a thread makes checkpoints when they are due. The default is `true`. Without it, only
    /// [`Store::checkpoint`](crate::Store::checkpoint) and closing the store make checkpoints.
    #[must_use]
    pub fn background_checkpoints(mut self, enabled: bool) -> Self {
        self.background_checkpoints = enabled;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_for_checkpoints_grows_with_store() {
        let options = Options::new().checkpoint_space_bytes(100 << 20);
        let space = |data_bytes: u64| options.checkpoint_space(data_bytes) >> 20;
        assert_eq!([0, 8 << 20, 30 << 20, 50 << 20, 1 << 40].map(space), [16, 16, 60, 100, 100]);
    }

    #[test]
    fn log_limit_grows_with_store() {
        let limit = |data_bytes: u64| Options::new().log_limit(data_bytes) >> 20;
        assert_eq!([0, 100 << 20, 200 << 20, 500 << 20, 1 << 40].map(limit), [16, 256, 400, 1000, 1024]);
        assert_eq!([3 << 20, 10 << 20, 60 << 20, 64 << 20].map(limit), [16, 40, 240, 256]);
        assert_eq!(Options::new().log_limit_bytes(1 << 16).log_limit(1 << 40), 1 << 16);
    }
}
