//! What can be chosen when a store is opened.

use std::ops::RangeInclusive;

use crate::storage::DEFAULT_CAPACITY_BYTES;

/// What a commit has survived when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The loss of power: the commit is in the log, and the log is synced.
    #[default]
    Sync,
    /// The end of the process. The loss of power only after a later sync: of a commit, of [`Store::sync`] or of a
    /// checkpoint.
    Deferred,
    /// Nothing, until a checkpoint.
    Off,
}

/// How a store is opened.
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
    pub(crate) background: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            create: true,
            read_only: false,
            capacity_bytes: DEFAULT_CAPACITY_BYTES,
            log_limit_bytes: None,
            background: true,
        }
    }
}

impl Options {
    /// Unless [`log_limit_bytes`](Self::log_limit_bytes) is set, the log may become twice as long as the data, but at least and
    /// at most so long: 256 MiB and 1 GiB.
    pub const LOG_LIMIT_BYTES: RangeInclusive<u64> = 256 << 20..=1 << 30;

    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// What commits survive unless they say otherwise; [`Durability::Sync`] unless it is set.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Whether a store that is not there is made; it is unless this is set to `false`, or the store is opened for reading only.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Opens the store for reading only, beside whichever process writes. No file is created or changed, but for the lock file
    /// where another process has the store open.
    ///
    /// Where no process writes or has written to the store that others still read, it is read as it lies there: commits that
    /// are in the log only are done again in memory, by each opening. Until the last handle and snapshot is dropped nobody can
    /// open it for writing.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// How many bytes of address space are set aside, beyond which the store cannot grow: 1 TiB unless this is set.
    pub fn capacity_bytes(mut self, capacity_bytes: u64) -> Self {
        self.capacity_bytes = capacity_bytes;
        self
    }

    /// How long the log grows before a checkpoint is made in the background; twice as long as the data unless this is set, within
    /// [bounds](Self::LOG_LIMIT_BYTES). A longer log makes for fewer checkpoints, each of which may write all of the data, and
    /// for a slower opening after a crash: about a second for each 20 MiB of small entries.
    pub fn log_limit_bytes(mut self, log_limit_bytes: u64) -> Self {
        self.log_limit_bytes = Some(log_limit_bytes);
        self
    }

    /// How long the log of a store with so much data may become.
    pub(crate) fn log_limit(&self, data_bytes: u64) -> u64 {
        let (least, most) = Self::LOG_LIMIT_BYTES.into_inner();
        self.log_limit_bytes.unwrap_or((2 * data_bytes).clamp(least, most))
    }

    /// Whether a thread makes checkpoints when they are due; it does unless this is set to `false`, and then they are made
    /// by [`Store::checkpoint`] and when the store is closed.
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_larger_store_may_become_longer() {
        let limit = |data_bytes: u64| Options::new().log_limit(data_bytes) >> 20;
        assert_eq!([0, 100 << 20, 200 << 20, 500 << 20, 1 << 40].map(limit), [256, 256, 400, 1000, 1024]);
        assert_eq!(Options::new().log_limit_bytes(1 << 16).log_limit(1 << 40), 1 << 16);
    }
}
