//! Locations of files: addresses, listings of folders, and partition columns from the names of folders.

mod address;
mod folder_format;
mod listing;
mod partition;

pub use folder_format::FolderFormat;
pub(in crate::dataset) use listing::{ListedFile, expand};
pub use partition::{PartitionColumn, Partitions, partition_directory, text_partition_directory};
