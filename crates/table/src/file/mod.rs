//! One Parquet file of a table: blocks, lookups by key, conditions.

mod block_cache;
mod blocks;
mod condition;
mod data_file;
mod folder;
mod link;
mod locate;
mod lookup;
mod unfinished;
mod unsorted_lookup;

pub(crate) use self::block_cache::BlockCache;
pub(crate) use self::condition::{ColdCondition, RestOfCondition, filter_columns};
pub(crate) use self::data_file::{ColdColumns, DataFile, NumberedBatches};
pub(crate) use self::folder::{create_folder, create_folders, entries, file_names, sync_folder};
pub(crate) use self::link::{copy_file, link_or_copy};
pub(crate) use self::locate::{
    block_ranges, columns_of_rows, keys_of_rows, locate, locate_in_files, lower_bound, single_rows,
};
pub(crate) use self::unfinished::UnfinishedCopy;
