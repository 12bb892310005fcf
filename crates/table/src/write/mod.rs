//! Writing: transactions, pending rows, new files.

mod bulk;
mod change_log;
mod expired_rows;
mod flushed_rows;
mod foreign_keys;
mod index_change;
mod merge;
mod open_write;
mod ordered_files;
mod pending_rows;
mod rows_where;
mod sorted_files;
mod touched_values;
mod transaction;

pub(crate) use self::expired_rows::ExpiredRows;
pub(crate) use self::flushed_rows::FlushedRows;
pub(crate) use self::foreign_keys::{WriteTables, apply_actions, check_table};
pub use self::merge::{MergeCounts, MergeWhen, WhenMatched, WhenNotMatched};
pub(crate) use self::open_write::{OpenWrite, WriteMark};
pub(crate) use self::ordered_files::OrderedFiles;
pub(crate) use self::sorted_files::{NewFile, NewFiles, SortedFiles};
pub use self::transaction::{Transaction, UpdateCounts};
