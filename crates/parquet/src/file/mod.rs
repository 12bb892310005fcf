//! A Parquet file: its source of bytes, and its footer.

mod check;
mod chunk_key_values;
mod extents;
mod footer;
mod known_end;
mod known_schemas;
mod options;
mod page_index;
mod page_version;
mod plan;
mod ranges;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_schema::SchemaRef;
use bytes::Bytes;
use lath_format::FileMetaData;

use self::footer::Footer;
use self::known_end::KnownEnd;
use crate::deletes::DeletedRows;
use crate::error::{Error, Result};
use crate::filters::FilterStore;
use crate::options::Limits;
use crate::page::ChunkSpec;
use crate::schema::{self, ColumnMapping, Node, Projection, SchemaOptions};
use lath_source::{BlockChecksums, ByteRanges, CountingSource, Traffic, Version};

pub use chunk_key_values::ChunkKeyValues;
pub(crate) use known_schemas::{KnownSchema, KnownSchemas};
pub use lath_format::DecryptionKeys;
pub(crate) use options::LOCAL_FOOTER_GUESS_BYTES;
pub use options::OpenOptions;
pub use page_index::PageIndex;
pub use page_version::first_page_version;
pub use plan::{ChunkRange, Plan};

/// An open Parquet file, whose footer has been read. Clones are handles of the same file.
#[derive(Clone)]
pub struct ParquetFile {
    source: Arc<dyn ByteRanges>,
    shared: Arc<FileParts>,
    /// Rows that are deleted in the dataset that opened the file.
    deleted: Option<DeletedRows>,
}

/// The footer of a file and data derived from it, independent of the file's source.
struct FileParts {
    metadata: Arc<FileMetaData>,
    /// Length of the footer in the file, with its tail.
    footer_bytes: u64,
    /// Bytes of memory of data that was read later and is kept here.
    kept_bytes: AtomicUsize,
    /// Column and offset indexes, once requested.
    page_index: OnceLock<PageIndex>,
    filters: FilterStore,
    schema: Arc<KnownSchema>,
    options: OpenOptions,
}

impl ParquetFile {
    /// Opens a file of the local file system and reads its footer.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().open(path)
    }

    /// Opens a file that is in memory.
    ///
    /// # Errors
    /// As [`OpenOptions::from_source`].
    pub fn from_bytes(bytes: Bytes) -> Result<Self> {
        OpenOptions::new().from_bytes(bytes)
    }

    /// Opens a source of byte ranges, and reads the footer.
    ///
    /// # Errors
    /// As [`OpenOptions::from_source`].
    pub fn from_source(source: Arc<dyn ByteRanges>) -> Result<Self> {
        OpenOptions::new().from_source(source)
    }

    fn new(source: Arc<dyn ByteRanges>, mut options: OpenOptions) -> Result<Self> {
        let known = options.end.take().and_then(|end| Some((end.len() as u64, KnownEnd::new(&*source, end)?)));
        let footer = match &known {
            Some((len, end)) => Footer::read(end, *len, &options.limits)?,
            None => Footer::read(&*source, options.footer_guess_bytes, &options.limits)?,
        };
        let (metadata, schema) =
            footer.parse(options.decryption.as_ref(), &options.schema_options(), &options.schemas)?;
        let footer_bytes = footer.len();
        let shared = Arc::new(FileParts {
            metadata: Arc::new(metadata),
            footer_bytes,
            kept_bytes: AtomicUsize::new(0),
            page_index: OnceLock::new(),
            filters: FilterStore::default(),
            schema,
            options,
        });
        Ok(Self { source, shared, deleted: None })
    }

    /// The metadata in the footer.
    pub fn metadata(&self) -> &Arc<FileMetaData> {
        &self.shared.metadata
    }

    /// The column and offset indexes of the file, without indexes of encrypted columns. The first call reads them; they are kept.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if they cannot be read, [`Error::Corrupt`](crate::Error::Corrupt) if they are malformed,
    /// [`Error::Limit`](crate::Error::Limit) if they are larger than a footer may be.
    pub fn page_index(&self) -> Result<&PageIndex> {
        let FileParts { metadata, page_index, options, .. } = &*self.shared;
        if let Some(page_index) = page_index.get() {
            return Ok(page_index);
        }
        let loaded = PageIndex::read(&*self.source, metadata, &options.limits).map_err(|error| self.locate(error))?;
        Ok(page_index.get_or_init(|| {
            self.shared.kept_bytes.fetch_add(loaded.memory_bytes(), Ordering::Relaxed);
            loaded
        }))
    }

    /// The Arrow schema of the whole file as read by default; strings are views.
    pub fn schema(&self) -> &SchemaRef {
        &self.shared.schema.arrow
    }

    /// The schema, which files of one table share: files with the same one have the same leaves, read in the same way.
    pub(crate) fn known_schema(&self) -> &Arc<KnownSchema> {
        &self.shared.schema
    }

    /// The table's columns in the file ([`OpenOptions::columns`]).
    pub(crate) fn column_mapping(&self) -> Option<&Arc<ColumnMapping>> {
        self.shared.options.columns.as_ref()
    }

    /// The name of the column that has only this leaf, unless it is a field of another column.
    pub(crate) fn flat_column(&self, leaf: usize) -> Option<&str> {
        self.shared.schema.converted.flat_column(leaf)
    }

    /// Rows of the file that are deleted in the dataset that opened it. Scans and statistics leave them out; row groups have them.
    pub fn deleted(&self) -> Option<&DeletedRows> {
        self.deleted.as_ref()
    }

    /// The same file with other deleted rows.
    pub(crate) fn with_deleted(self, deleted: Option<DeletedRows>) -> Self {
        Self { deleted, ..self }
    }

    /// Number of rows in all row groups, including deleted ones.
    pub fn row_count(&self) -> u64 {
        self.shared.metadata.row_counts().iter().sum()
    }

    /// Name of the file in errors: the name given to [`OpenOptions::name`], else its path.
    pub fn name(&self) -> Option<&str> {
        self.shared.options.name.as_deref()
    }

    /// A handle to this file that adds its reads, and the reads of its scans, to `traffic`.
    #[must_use]
    pub fn counted(&self, traffic: &Arc<Traffic>) -> Self {
        self.over(Arc::new(CountingSource::new(Arc::clone(&self.source), Arc::clone(traffic))))
    }

    /// A handle to this file that reads from another source.
    pub(crate) fn over(&self, source: Arc<dyn ByteRanges>) -> Self {
        Self { source, ..self.clone() }
    }

    /// Reads the file's last bytes, from its footer on, for [`OpenOptions::end`].
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if they cannot be read.
    pub fn read_end(&self) -> Result<Bytes> {
        let len = self.source.len();
        let end = len.saturating_sub(self.shared.footer_bytes)..len;
        self.source.read(end).map_err(|error| self.locate(Error::io("read", error)))
    }

    /// The version of the file when it was opened, if known.
    pub(crate) fn version(&self) -> Option<&Version> {
        self.shared.options.version.as_ref()
    }

    /// Whether the file would be the same if it were opened with `options` and these checksums.
    pub(crate) fn is_opened_like(&self, options: &OpenOptions, checksums: Option<&Arc<BlockChecksums>>) -> bool {
        self.shared.options.are_like(options) && self.shared.options.has_checksums(checksums)
    }

    /// Bytes of memory held for the file while nothing is read from it.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.shared.metadata.memory_bytes()
            + self.shared.kept_bytes.load(Ordering::Relaxed)
            + self.source.memory_bytes()
    }

    /// Length of the footer in the file, with its tail.
    pub(crate) fn footer_bytes(&self) -> u64 {
        self.shared.footer_bytes
    }

    #[doc(hidden)]
    pub fn limits(&self) -> &Limits {
        &self.shared.options.limits
    }

    /// The file's source of bytes.
    pub fn source(&self) -> &Arc<dyn ByteRanges> {
        &self.source
    }

    /// Number of rows of each row group.
    #[doc(hidden)]
    pub fn row_group_row_counts(&self) -> &[u64] {
        self.shared.metadata.row_counts()
    }

    /// The Bloom filters read so far.
    pub(crate) fn filters(&self) -> &FilterStore {
        &self.shared.filters
    }

    /// The options that determine the file's schema.
    #[doc(hidden)]
    pub fn schema_options(&self) -> SchemaOptions {
        self.shared.options.schema_options()
    }

    /// The schema of the selected columns, and the tree that assembles them.
    #[doc(hidden)]
    pub fn build_schema(
        &self,
        options: &SchemaOptions,
        projection: Option<&Projection>,
    ) -> Result<(SchemaRef, Vec<Node>)> {
        let KnownSchema { converted, descr, .. } = &*self.shared.schema;
        schema::refine(converted, descr, options, projection).map_err(|error| self.locate(error))
    }

    /// The location of a column chunk's pages, and how to decode them.
    #[doc(hidden)]
    pub fn chunk_spec(&self, row_group: usize, column: usize) -> Result<ChunkSpec> {
        let FileParts { metadata, options, .. } = &*self.shared;
        let spec = ChunkSpec::new(metadata, row_group, column, options.name.clone())?;
        check::check_range(&spec, self.source.len()).map_err(|error| spec.locate(error))?;
        Ok(spec)
    }

    #[doc(hidden)]
    pub fn locate(&self, error: Error) -> Error {
        error.locate(|at| at.file = at.file.take().or_else(|| self.shared.options.name.clone()))
    }
}

impl fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetFile")
            .field("name", &self.name())
            .field("row_count", &self.row_count())
            .field("row_groups", &self.shared.metadata.row_group_count())
            .field("schema", self.schema())
            .finish_non_exhaustive()
    }
}
