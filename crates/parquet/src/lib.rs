//! Parquet files, decoded by SIMD kernels and assembled into Arrow.
//!
//! ```no_run
//! # fn main() -> lath_parquet::Result<()> {
//! use lath_parquet::ParquetFile;
//!
//! let file = ParquetFile::open("orders.parquet")?;
//! for batch in file.scan().select(["id", "price"]).build()? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok(())
//! # }
//! ```

mod assemble;
mod codec;
mod dataset;
mod decode;
mod deletes;
mod envelope;
mod error;
mod file;
mod filters;
mod footer_cache;
mod huge_pages;
mod key_filters;
#[cfg(test)]
mod library;
#[doc(hidden)]
pub mod on_threads;
mod options;
mod other_format;
mod page;
mod prune;
mod runtime;
mod scan;
mod schema;
mod sorting;
mod statistics;

pub use dataset::{
    Alignment, Dataset, DatasetDescription, DatasetFile, DatasetOptions, FileSource, FolderFormat, KnownFooters,
    ObjectCache, PartitionColumn, Partitions, partition_directory, text_partition_directory, unite_schemas,
};
pub use deletes::{DeleteMask, DeletedRows};
pub use error::{Error, Location, Result};
pub use file::{ChunkRange, DecryptionKeys, OpenOptions, PageIndex, ParquetFile, Plan};
pub use filters::FilterMemory;
pub use footer_cache::FooterCache;
pub use huge_pages::HugePages;
pub use key_filters::{FilterHash, StoredFilter};
pub use lath_format::Encoding;
pub use lath_predicate::{
    BatchFilter, Column, ConjunctSupport, Error as PredicateError, ExactType, ExactUnit, Literal, Predicate, Support,
    column, column_named, with_decimal_type,
};
pub use lath_source::{
    BlockChecksums, ByteRanges, ChecksummedWriter, CountingSource, GrantedAccess, LocalFile, MappedFile, S3Access,
    S3Keys, Traffic, UnfinishedUpload, Version as FileVersion, is_store,
};
pub use options::{Int96Unit, Limits, Strings};
pub use other_format::OtherFormat;
pub use prune::{ColumnBounds, FileEvidence, PruneReport, PrunedCounts, Pruning, TablePredicate};
pub use runtime::{Runtime, RuntimeBuilder};
pub use scan::{
    Cancel, DynamicFilter, Need, PlanStep, RowReader, RowSelection, Scan, ScanBatches, ScanPlan, ScanPlanner,
    ScanProgress, ScanReport, ScanStream, ScanTask, ScanTimes,
};
pub use schema::{ColumnMapping, MappedColumn, PARQUET_TYPE_KEY, Projection};
pub use sorting::SortingColumn;
pub use statistics::{ColumnStatistics, PageStatistics, Precision, Statistics};

/// Parts of the reader that `lath-writer` uses to copy and rewrite files. They may change in any version.
#[doc(hidden)]
pub mod internal {
    pub use crate::codec::decompress;
    pub use crate::envelope::guard;
    pub use crate::file::{ChunkKeyValues, first_page_version};
    pub use crate::page::{BitOrder, ChunkSpec};
    pub use crate::prune::bloom_filter_sample;
    pub use crate::runtime::threads_or_cores;
    pub use crate::schema::{
        Leaf, Node, NodeKind, SchemaOptions, collect_columns, has_same_annotation, is_stored_alike, nodes, prune,
        stored_type, without_stored_type, without_unknown_types,
    };
    pub use crate::sorting::has_one_order;
}
