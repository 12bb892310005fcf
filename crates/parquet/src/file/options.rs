#![expect(unsafe_code, reason = "maps files into memory for callers that guarantee that they do not change")]
//! Options of opening files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use lath_format::DecryptionKeys;

use super::ParquetFile;
use super::known_schemas::KnownSchemas;
use crate::error::{Error, Result};
use crate::options::{Int96Unit, Limits};
use crate::schema::{ColumnMapping, SchemaOptions};
use lath_source::{BlockChecksums, ByteRanges, LocalFile, MappedFile, STORE_TAIL_BYTES, VerifiedFile, Version};

/// Options of opening a file.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// use lath_parquet::{Limits, OpenOptions};
///
/// let mut limits = Limits::default();
/// limits.footer_bytes = 1 << 20;
/// let file = OpenOptions::new().limits(limits).name("orders").open("orders.parquet")?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct OpenOptions {
    pub(super) limits: Limits,
    pub(super) decryption: Option<DecryptionKeys>,
    pub(super) name: Option<Arc<str>>,
    pub(super) use_hint: bool,
    pub(super) int96_unit: Int96Unit,
    pub(super) footer_guess_bytes: u64,
    memory_map: bool,
    /// The version of the file, if known.
    pub(super) version: Option<Version>,
    pub(super) schemas: Arc<KnownSchemas>,
    /// The table's columns in the file; `None` for the file's own.
    pub(super) columns: Option<Arc<ColumnMapping>>,
    /// The end of the file, if known.
    pub(super) end: Option<Bytes>,
    /// Checksums of the file's blocks from when it was written, if known.
    checksums: Option<Arc<BlockChecksums>>,
}

/// Bytes that are read first from a source: most footers are within them, and reading again may cost a request.
const FOOTER_GUESS_BYTES: u64 = 64 << 10;

/// Bytes that are read first from a local file: reading again costs less than copying unneeded bytes.
pub(crate) const LOCAL_FOOTER_GUESS_BYTES: u64 = 8 << 10;

impl OpenOptions {
    /// The defaults: [`Limits::default`], no keys, a file's path as its name, the Arrow schema of the writer used, INT96 in
    /// nanoseconds, no memory map.
    pub fn new() -> Self {
        Self {
            limits: Limits::default(),
            decryption: None,
            name: None,
            use_hint: true,
            int96_unit: Int96Unit::default(),
            footer_guess_bytes: FOOTER_GUESS_BYTES,
            memory_map: false,
            version: None,
            schemas: KnownSchemas::global(),
            columns: None,
            end: None,
            checksums: None,
        }
    }

    /// Sets limits on the memory and work that the file may cause.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the keys of an encrypted file.
    #[must_use]
    pub fn decryption(mut self, keys: DecryptionKeys) -> Self {
        self.decryption = Some(keys);
        self
    }

    /// Sets the name of the file in errors.
    #[must_use]
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the last bytes of the next file, kept from an earlier [`ParquetFile::read_end`]: from the footer on they are not read
    /// again. The caller ensures that the file has not changed.
    #[must_use]
    pub fn end(mut self, bytes: Bytes) -> Self {
        self.end = Some(bytes);
        self
    }

    /// Sets the checksums of the file's blocks, which verify everything that is read, including footer, indexes and Bloom
    /// filters.
    #[must_use]
    pub fn checksums(mut self, checksums: Arc<BlockChecksums>) -> Self {
        self.checksums = Some(checksums);
        self
    }

    /// Whether types follow the Arrow schema that a writer may have stored in the file (key `ARROW:schema`), as far as it fits
    /// the Parquet schema (on by default). A malformed schema, or one that does not fit, is ignored.
    #[must_use]
    pub fn arrow_schema_hint(mut self, follow: bool) -> Self {
        self.use_hint = follow;
        self
    }

    /// Sets the columns of the table that the file belongs to: the file then has the table's names, and only its columns. Types
    /// follow the Parquet schema alone, without a stored Arrow schema, and timestamps of INT96 columns are in microseconds, as tables
    /// have them: nanoseconds do not reach the year 9999.
    #[must_use]
    pub fn columns(mut self, columns: Arc<ColumnMapping>) -> Self {
        self.columns = Some(columns);
        self.use_hint = false;
        self.int96_unit = Int96Unit::Microseconds;
        self
    }

    /// Sets the unit of timestamps of INT96 columns, for rows, predicates and statistics.
    #[must_use]
    pub fn int96_unit(mut self, unit: Int96Unit) -> Self {
        self.int96_unit = unit;
        self
    }

    /// Whether [`OpenOptions::open`], and a dataset with these options, maps local files into memory instead of reading them: a
    /// fifth faster for uncompressed files (off by default).
    ///
    /// # Safety
    /// With `true`, the files opened with these options must not be written to or truncated while the result, or anything read
    /// from it, is alive: [`MappedFile::open`] has the details.
    #[must_use]
    pub unsafe fn memory_map(mut self, map: bool) -> Self {
        self.memory_map = map;
        self
    }

    /// Opens a file of the local file system and reads its footer.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be opened or read; else as [`OpenOptions::from_source`].
    pub fn open(mut self, path: impl AsRef<Path>) -> Result<ParquetFile> {
        let path = path.as_ref();
        let name = self.name.get_or_insert_with(|| path.display().to_string().into());
        let source: io::Result<Arc<dyn ByteRanges>> = if self.memory_map {
            // SAFETY: the caller of `memory_map` guarantees that the file is not changed.
            unsafe { MappedFile::open(path) }.map(|file| Arc::new(file) as _)
        } else {
            LocalFile::open(path).map(|file| Arc::new(file) as _)
        };
        let source = source.map_err(|error| Error::io("open", error).locate(|at| at.file = Some(Arc::clone(name))))?;
        self.open_local_source(source, LOCAL_FOOTER_GUESS_BYTES)
    }

    /// As [`OpenOptions::from_source`], if a read costs little and the last `footer_guess_bytes` are read first.
    pub(crate) fn open_local_source(
        mut self,
        source: Arc<dyn ByteRanges>,
        footer_guess_bytes: u64,
    ) -> Result<ParquetFile> {
        self.footer_guess_bytes = footer_guess_bytes;
        self.from_source(source)
    }

    /// As [`OpenOptions::from_source`], if the source has the end of the file already.
    pub(crate) fn open_store_source(mut self, source: Arc<dyn ByteRanges>) -> Result<ParquetFile> {
        self.footer_guess_bytes = STORE_TAIL_BYTES;
        self.from_source(source)
    }

    /// Sets the cache of schemas.
    pub(crate) fn schemas(mut self, schemas: &Arc<KnownSchemas>) -> Self {
        self.schemas = Arc::clone(schemas);
        self
    }

    /// Sets the version of the file.
    pub(crate) fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Copies the options that determine the schema of a file, except keys and limits, from `other`.
    pub(crate) fn with_schema_options_from(self, other: &Self) -> Self {
        let columns = other.columns.clone();
        Self { use_hint: other.use_hint, int96_unit: other.int96_unit, columns, ..self }
    }

    /// Whether the writer's Arrow schema is used, and the unit of INT96.
    pub(crate) fn schema_choices(&self) -> (bool, Int96Unit) {
        (self.use_hint, self.int96_unit)
    }

    /// The options that determine the schema of a file.
    pub(super) fn schema_options(&self) -> SchemaOptions {
        SchemaOptions {
            use_hint: self.use_hint,
            int96_unit: self.int96_unit,
            columns: self.columns.clone(),
            limits: self.limits.clone(),
            ..SchemaOptions::default()
        }
    }

    /// The table's columns in the file.
    pub(crate) fn column_mapping(&self) -> Option<&Arc<ColumnMapping>> {
        self.columns.as_ref()
    }

    /// Whether there are keys.
    pub(crate) fn has_keys(&self) -> bool {
        self.decryption.is_some()
    }

    /// Whether files are mapped into memory.
    pub(crate) fn maps(&self) -> bool {
        self.memory_map
    }

    /// Whether a file is the same when opened with either options, except for its name; false if there are keys.
    pub(super) fn are_like(&self, other: &Self) -> bool {
        !self.has_keys()
            && !other.has_keys()
            && self.use_hint == other.use_hint
            && self.int96_unit == other.int96_unit
            && self.memory_map == other.memory_map
            && self.limits == other.limits
            && ColumnMapping::is_same(self.columns.as_ref(), other.columns.as_ref())
    }

    /// Whether these are the checksums that verify the file, or there are none.
    pub(super) fn has_checksums(&self, checksums: Option<&Arc<BlockChecksums>>) -> bool {
        match (&self.checksums, checksums) {
            (Some(own), Some(others)) => Arc::ptr_eq(own, others) || own == others,
            (own, others) => own.is_none() && others.is_none(),
        }
    }

    /// Opens a file that is in memory.
    ///
    /// # Errors
    /// As [`OpenOptions::from_source`].
    pub fn from_bytes(self, bytes: Bytes) -> Result<ParquetFile> {
        self.from_source(Arc::new(bytes))
    }

    /// Opens a source of byte ranges, and reads the footer: the last 64 KiB (from local files 8 KiB, or in a dataset an eighth
    /// more than the largest footer so far), and more if it is longer.
    ///
    /// # Errors
    /// [`Error::NotParquet`] for a file that neither begins nor ends as a Parquet file, [`Error::Corrupt`] for a file that is
    /// truncated or has a malformed footer, [`Error::Limit`] for a footer over the limits, [`Error::Unsupported`] for an
    /// unsupported feature, [`Error::Encrypted`] if the footer is encrypted and no keys were given.
    pub fn from_source(self, source: Arc<dyn ByteRanges>) -> Result<ParquetFile> {
        let name = self.name.clone();
        let verified = match self.checksums.clone() {
            Some(checksums) => VerifiedFile::new(source, checksums).map(|file| Arc::new(file) as _),
            None => Ok(source),
        };
        let opened = verified.map_err(|error| Error::io("open", error));
        opened
            .and_then(|source| ParquetFile::new(source, self))
            .map_err(|error| error.locate(|at| at.file = at.file.take().or(name)))
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}
