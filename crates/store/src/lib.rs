//! An embedded, ordered key-value store: a persistent copy-on-write trie whose nodes are searched by SIMD.
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
mod background;
mod backup;
mod check;
mod checkpoint;
mod checkpoint_policy;
mod commit;
mod compact;
mod copy_target;
mod engine;
mod error;
mod extent;
mod field_record;
#[cfg(test)]
mod format_document;
mod header;
mod log;
mod node;
mod options;
mod pending;
mod readers;
mod record;
mod recovery;
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod repair;
mod root;
mod signal;
mod snapshot;
mod space;
mod state;
mod stats;
mod storage;
mod store;
mod transaction;
mod tree;
mod trie;
mod users;
mod writer_lock;

pub use check::{CheckReport, Problem};
pub use compact::{Compaction, CompactionProgress};
pub use copy_target::CopyProgress;
pub use error::{Error, Result};
pub use field_record::{RecordError, RecordReader, RecordWriter};
pub use options::{Durability, Options};
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub use repair::{RepairReport, repair, repair_with};
pub use snapshot::Snapshot;
pub use stats::{Held, Holder, Stats};
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub use storage::{DEFAULT_CAPACITY_BYTES, FileStorage};
pub use storage::{Data, Lengths, LogFile, MAX_PROCESSES, MemoryStorage, Shared, Storage};
#[cfg(any(test, feature = "simulation"))]
pub use storage::{Moment, Operation, SECTOR_BYTES, SimulatedStorage};
pub use store::Store;
pub use transaction::{Savepoint, Transaction, TreeMut};
pub use tree::{Cursor, Entry, Range, Tree, prefix_range};
pub use users::{StoreUser, store_users};
