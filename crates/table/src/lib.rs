//! Keyed tables: hot rows in an ordered store, cold rows in plain Parquet files.
//!
//! [`Table`] has an example, and [`Database`] an example with several tables in one store. A table is a folder with one store and Parquet
//! files. An upsert writes rows to the store, by key, and commits without reading cold rows. Large transactions are written to files directly
//! ([`TableOptions::bulk_rows`]). A flush moves hot rows to a sorted file and masks the rows that they replace in older files, in one
//! transaction. So a scan does not merge: it reads the files, without rows that are masked or whose keys are hot, and then the hot rows.
//!
//! | subject | how it works |
//! | --- | --- |
//! | Deleted rows | A row of a file is deleted if the file's mask has it, or if its key is hot or has a tombstone. A deleted row stays deleted, so the cached set of deleted rows of one commit is extended for the next one by the keys that changed since. |
//! | Lookup of a key in a file | Files are sorted by key, and the store has the first key of every 1,024 rows, so a lookup reads one block of the key columns, unless the Bloom filter rules the key out. Filters and blocks are cached ([`TableOptions::cache_bytes`]). |
//! | Files sorted by other columns ([`Table::cluster_by`]) | The store has the smallest and the largest key of every 1,024 rows. A lookup reads the key columns of the blocks that may have the key, unless the row group's Bloom filter rules it out. Scans in key order read such a file several times. |
//! | Removal of files | A file is removed once the commit that dropped it is durable, and no named snapshot and no reader in any process sees an older commit. |
//! | Crashes | A file is synced under its name before the transaction that names it commits. Files that no commit names are removed when the table is next opened for writing. |

mod change_retention;
mod cluster;
mod computed;
mod constraint;
mod consumer_files;
mod consumers;
mod database;
mod error;
mod export;
mod file;
mod follower_marker;
mod history;
mod import;
mod indexes;
mod maintenance;
mod publish;
mod publishing;
mod read;
mod records;
mod repair;
mod replica;
mod row;
mod schema_change;
mod sequence;
mod table;
mod time_to_live;
mod view;
mod write;

pub use change_retention::ChangeRetention;
pub use computed::IDENTITY_KEY;
pub use constraint::ForeignKeyInfo;
pub use consumers::{Consumer, ConsumerOptions, Follower};
pub use database::Database;
pub use database::DatabaseSnapshot;
pub use database::{BackedUp, BackupFile};
pub use database::{DatabaseSavepoint, DatabaseTransaction};
pub use error::{Error, Result};
pub use export::ExportReport;
pub use export::ExportedWithDeletes;
pub use export::ROW_NUMBERS_KEY;
pub use history::{KeptCommit, KeptSnapshot};
pub use import::{ImportOptions, ImportProgress, ImportReport, RewrittenFile};
pub use indexes::IndexInfo;
pub use lath_parquet::Predicate;
pub use maintenance::CompactReport;
pub use maintenance::FlushReport;
pub use maintenance::{CheckReport, Problem};
pub use publish::{MappedColumn, PublishedCommit};
pub use publishing::{Publication, PublishOptions};
pub use read::Changes;
pub use read::FoundRows;
pub use read::IndexBatches;
pub use read::Snapshot;
pub use read::scan::{FilesPlan, PlannedColumn, TableBatches, TablePlan, TableScan};
pub use read::{FileStatistics, TableStatistics};
pub use read::{RangeBatches, RangeScan};
pub use records::{
    Clock, Durability, EncryptionKey, ForeignKeyAction, ForeignKeyActions, HistoryRetention, TableOptions,
};
pub use repair::RepairReport;
pub use replica::{CatchUp, Replica, ReplicaStatus};
pub use row::Constraint;
pub use row::GENERATED_KEY;
pub use row::TimeToLive;
pub use row::conform_batch;
pub use row::key::{Key, KeyColumns, KeyValue, Keys};
pub use sequence::{SequenceChanges, SequenceOptions};
pub use table::Table;
pub use write::{MergeCounts, MergeWhen, WhenMatched, WhenNotMatched};
pub use write::{Transaction, UpdateCounts};
