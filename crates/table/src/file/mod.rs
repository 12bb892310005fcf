//! One Parquet file of a table: blocks, lookups by key, conditions.

mod block_cache;
mod blocks;
mod condition;
mod data_file;
mod disk_cache;
mod encryption;
mod file_folder;
mod file_name;
mod files;
mod folder;
mod link;
mod locate;
mod lookup;
mod owner;
mod unfinished;
mod unsorted_lookup;

pub(crate) use self::block_cache::BlockCache;
pub(crate) use self::condition::{ColdCondition, RestOfCondition, filter_columns};
pub(crate) use self::data_file::{ColdColumns, DataFile, NumberedBatches};
pub(crate) use self::disk_cache::{CachedObjects, DiskCache};
pub(crate) use self::encryption::{encrypted, open_options};
pub(crate) use self::file_folder::{FileFolder, FoundFile, is_partial_name};
pub(crate) use self::file_name::{DATA_FOLDER, exported_name, file_name, is_file_name, is_old_file_name};
pub(crate) use self::files::Files;
pub(crate) use self::folder::{create_folder, create_folders, entries, sync_folder};
pub(crate) use self::link::{copy_file, link_or_copy};
pub(crate) use self::locate::{
    block_ranges, columns_of_rows, keys_of_rows, locate, locate_in_files, lower_bound, single_rows,
};
pub(crate) use self::owner::Owner;
pub(crate) use self::unfinished::UnfinishedCopy;
