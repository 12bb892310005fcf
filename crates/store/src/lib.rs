//! An embedded, ordered key-value store: a persistent copy-on-write trie whose nodes are searched by SIMD.
//!
//! One process at a time writes to a store, and any number of processes read it meanwhile; with
//! [`Options::busy_timeout`] processes write by turns. A [`Transaction`] changes any
//! number of named trees at once. By default a commit survives a loss of power once it has returned; [`Durability`] trades
//! that for speed. An [`OptimisticTransaction`] runs while others do, and finds out when it commits whether they have changed what it has read. A
//! [`Snapshot`] is a view of one commit that takes no copy and never blocks the writer; it can also be
//! kept by name.
//!
//! ```
//! # fn main() -> lath_store::Result<()> {
//! let store = lath_store::Options::new().open_in_memory()?;
//!
//! let mut transaction = store.begin()?;
//! let mut colours = transaction.tree("colours")?;
//! colours.put(b"grass", b"green")?;
//! colours.put(b"sky", b"blue")?;
//! transaction.commit()?;
//!
//! let snapshot = store.snapshot()?;
//! let colours = snapshot.tree("colours")?.expect("it was made above");
//! assert_eq!(colours.first()?, Some((b"grass".to_vec(), &b"green"[..])));
//! # Ok(())
//! # }
//! ```

mod arena;
mod commits;
mod copy;
mod engine;
mod error;
mod extent;
#[cfg(test)]
mod format_document;
mod handover;
mod idle_view;
mod inspect;
mod log;
mod node;
mod optimistic;
mod options;
mod pending;
mod process_lock;
mod readers;
mod records;
mod recovery;
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod repair;
mod root;
mod snapshot;
mod space;
mod storage;
mod store;
mod takeover;
mod transaction;
mod tree;
mod tree_changes;
mod tree_path;
mod trie;
mod words;
mod writer;

pub use copy::CopyProgress;
pub use copy::{Compaction, CompactionProgress};
pub use error::{Error, Result};
pub use inspect::{CheckReport, Problem};
pub use inspect::{HeldSpace, Holder, Stats};
pub use inspect::{StoreUser, store_users};
pub use optimistic::{
    Isolation, OptimisticCursor, OptimisticRange, OptimisticTransaction, OptimisticTree, OptimisticTreeMut,
};
pub use options::{Durability, Options};
pub use records::{RecordError, RecordReader, RecordWriter};
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub use repair::{RepairReport, repair, repair_with, repair_with_key};
pub use snapshot::Snapshot;
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub use storage::{DEFAULT_CAPACITY_BYTES, EncryptionKey, FileStorage, is_encrypted, is_unfinished};
pub use storage::{Data, Lengths, LogFile, MAX_PROCESSES, MemoryStorage, SharedMemory, Storage};
#[cfg(any(test, feature = "simulation"))]
pub use storage::{Moment, Operation, SECTOR_BYTES, SimulatedStorage};
pub use store::Store;
pub use transaction::{Savepoint, Transaction, TreeMut};
pub use tree::{Cursor, Entry, Item, Range, Tree, prefix_range};
pub use tree_path::TreePath;
