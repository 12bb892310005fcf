//! Keyed tables: hot rows in an ordered store, cold rows in plain Parquet files.
//!
//! [`Table`] has an example, and [`Database`] one of several tables in one store. A table is a folder with one store and Parquet files. An
//! upsert puts encoded rows under their encoded keys into the store and commits; nothing cold is read. Many rows in one transaction become files
//! at once ([`TableOptions::bulk_rows`]). A flush turns hot rows into a sorted file and masks the rows that they replace in older files, in one
//! transaction. So a scan merges nothing: it reads files without the rows that are masked or whose keys are hot, and then the hot rows.
//!
//! | subject | how it works |
//! | --- | --- |
//! | Deleted rows | A row of a file is deleted if the file's mask has it, or if its key is hot or has a tombstone. A deleted row stays deleted, so the set of one commit is extended for the next by the keys that changed since. |
//! | Lookup of a key in a file | Files are sorted by key, and the store has the first key of every 1,024 rows, so a lookup reads one block of the key columns, unless the Bloom filter rules the key out. Filters and blocks are cached ([`TableOptions::cache_bytes`]). |
//! | Files sorted by other columns ([`Table::cluster_by`]) | The store has the least and greatest key of every 1,024 rows. A lookup reads the key columns of the blocks that may have the key, unless the row group's Bloom filter rules it out. Scans in key order read such a file several times. |
//! | Removal of files | A file is removed once the commit that dropped it is durable, and no named snapshot and no reader in any process sees an older commit. |
//! | Crashes | A file is synced under its name before the transaction that names it commits. Files that no commit names are removed when the table is next opened for writing. |

mod background;
mod backup;
mod block_cache;
mod block_keys;
mod bulk;
mod byte_list;
mod canonical_floats;
mod change;
mod change_retention;
mod changes;
mod changing;
mod check;
mod cluster;
mod cold;
mod cold_blocks;
mod cold_condition;
mod cold_lookup;
mod cold_scan;
mod compact;
mod conform;
mod count;
mod database;
mod database_snapshot;
mod database_transaction;
mod dead;
mod dead_cache;
mod dropped_tables;
mod engine;
mod error;
mod export;
mod export_files;
mod fences;
mod file_check;
mod file_checksums;
mod flush;
mod get;
mod hot;
mod hot_scan;
mod index;
mod index_change;
mod index_scan;
mod indexes;
mod key;
mod key_codec;
mod key_range;
mod key_windows;
mod layout;
mod link;
mod locate;
mod lookup;
mod manifest;
mod merge;
mod named_snapshots;
mod one_row;
mod open_tables;
mod options;
mod ordered_files;
mod pending_rows;
mod pinned;
mod range;
mod reading;
mod repair;
mod row_columns;
mod row_merge;
mod row_order;
mod row_source;
mod scan;
mod schema;
mod schema_change;
mod signal;
mod snapshot;
mod sorted_files;
mod statistics;
mod store_file;
mod stored_rows;
mod table;
mod transaction;
mod unfinished;
mod unsorted_lookup;
mod upgrade;
mod vacuum;
mod value_codec;
mod value_columns;
mod view;
mod view_text;
mod views;

pub use backup::BackedUp;
pub use change_retention::ChangeRetention;
pub use changes::Changes;
pub use check::{CheckReport, Problem};
pub use compact::Compacted;
pub use conform::conform_batch;
pub use database::Database;
pub use database_snapshot::DatabaseSnapshot;
pub use database_transaction::DatabaseTransaction;
pub use error::{Error, Result};
pub use export::Exported;
pub use export_files::ExportedWithDeletes;
pub use flush::Flushed;
pub use index_scan::IndexBatches;
pub use indexes::IndexInfo;
pub use key::{Key, KeyColumns, KeyValue, Keys};
pub use lath_parquet::Predicate;
pub use lookup::Found;
pub use merge::{MergeWhen, Merged, WhenMatched, WhenNotMatched};
pub use options::{Durability, TableOptions};
pub use range::{RangeBatches, RangeScan};
pub use repair::Repaired;
pub use scan::{TableBatches, TableScan};
pub use snapshot::Snapshot;
pub use statistics::{FileStatistics, TableStatistics};
pub use table::Table;
pub use transaction::{Transaction, Updated};
