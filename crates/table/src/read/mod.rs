//! Reading: gets, lookups, scans, ranges, counts, changes.

mod changes;
mod count;
pub(crate) mod get;
mod index_scan;
mod lookup;
mod range;
pub(crate) mod reading;
pub(crate) mod scan;
mod snapshot;
mod statistics;
mod values;

pub use self::changes::Changes;
pub(crate) use self::changes::{KIND, SEQUENCE};
pub(crate) use self::count::{count_all, count_by_files, rows_of_range};
pub use self::index_scan::IndexBatches;
pub(crate) use self::index_scan::{entries_of_rows, find_index, get_by_index};
pub use self::lookup::FoundRows;
pub(crate) use self::lookup::{Place, SortedKeys, contains_many, find_places, get_many};
pub use self::range::{RangeBatches, RangeScan};
pub use self::snapshot::Snapshot;
pub use self::statistics::{FileStatistics, TableStatistics};
pub(crate) use self::values::{all_values, encode_values, has_values, with_codec};
