use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::known_parts::KnownParts;
use super::options::DatasetOptions;
use crate::dataset::location::{self, ListedFile};
use crate::deletes::DeletedRows;
use crate::error::{Error, Result};
use crate::file::{OpenOptions, ParquetFile};
use crate::footer_cache::FooterCache;
use crate::prune::FileEvidence;
use lath_source::{BlockChecksums, ByteRanges, PooledFile, Store, Version, VersionCheck};

/// The bytes of a file, and its version.
#[derive(Debug, Clone)]
pub struct FileSource {
    pub(crate) bytes: Arc<dyn ByteRanges>,
    pub(crate) version: Option<Version>,
}

impl FileSource {
    /// The bytes.
    pub fn bytes(&self) -> &Arc<dyn ByteRanges> {
        &self.bytes
    }
}

/// A file of a dataset, open or not.
#[derive(Clone)]
pub struct DatasetFile {
    location: Arc<str>,
    len: Option<u64>,
    partition: Box<[u32]>,
    options: Arc<DatasetOptions>,
    deleted: Option<DeletedRows>,
    evidence: Option<Arc<dyn FileEvidence>>,
    /// A table may have very many local files, which have no such properties.
    rare: Option<Box<RareProperties>>,
}

/// Properties that a local file at a Unicode path does not have.
#[derive(Clone, Default)]
struct RareProperties {
    /// The path, if the location cannot represent it.
    odd_path: Option<Box<Path>>,
    store: Option<Store>,
    /// The version of an object: as listed, or else as first opened.
    version: OnceLock<Version>,
    /// The open file, if it was given instead of found.
    opened: Option<ParquetFile>,
    /// Checksums of its blocks from when it was written, if known.
    checksums: Option<Arc<BlockChecksums>>,
}

impl DatasetFile {
    /// The entry of [`DatasetFile::partition`] for a partition column that the file has itself, instead of one value for all rows.
    pub const NO_CONSTANT: u32 = u32::MAX;

    pub(super) fn new(found: ListedFile, options: Arc<DatasetOptions>) -> Self {
        let ListedFile { location, odd_path, len, version, store } = found;
        let is_rare = odd_path.is_some() || version.is_some() || store.is_some();
        let rare = is_rare.then(|| {
            let version = version.map_or_else(OnceLock::new, OnceLock::from);
            Box::new(RareProperties { odd_path, store, version, ..RareProperties::default() })
        });
        Self { location, len, partition: Box::default(), options, deleted: None, evidence: None, rare }
    }

    pub(super) fn opened(file: ParquetFile, options: Arc<DatasetOptions>) -> Self {
        Self {
            location: file.name().unwrap_or_default().into(),
            len: Some(file.source().len()),
            partition: Box::default(),
            options,
            deleted: file.deleted().cloned(),
            evidence: None,
            rare: Some(Box::new(RareProperties { opened: Some(file), ..RareProperties::default() })),
        }
    }

    fn store(&self) -> Option<&Store> {
        self.rare.as_ref()?.store.as_ref()
    }

    fn open_file(&self) -> Option<&ParquetFile> {
        self.rare.as_ref()?.opened.as_ref()
    }

    pub(crate) fn checksums(&self) -> Option<&Arc<BlockChecksums>> {
        self.rare.as_ref()?.checksums.as_ref()
    }

    /// The path, if the file is local and was not given open.
    fn local_path(&self) -> &Path {
        let odd_path = self.rare.as_ref().and_then(|rare| rare.odd_path.as_deref());
        odd_path.unwrap_or(Path::new(&*self.location))
    }

    /// The same file within a dataset that has these options and partitions.
    pub(super) fn within(self, options: &Arc<DatasetOptions>, partition: Box<[u32]>) -> Self {
        Self { options: Arc::clone(options), partition, ..self }
    }

    /// Lists the files of a location as [`Dataset::open`](super::Dataset::open) does, without opening them. They have no
    /// partitions, which belong to a dataset ([`Dataset::from_files`](super::Dataset::from_files)).
    ///
    /// # Errors
    /// [`Error::Io`] for locations that cannot be reached and for locations without files, [`Error::Invalid`] for malformed
    /// locations.
    pub fn find(location: impl AsRef<OsStr>, options: &DatasetOptions) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        location::expand(location.as_ref(), options, &mut found)?;
        let options = Arc::new(options.clone());
        Ok(found.into_iter().map(|found| Self::new(found, Arc::clone(&options))).collect())
    }

    /// The file called `location` in `version`, opened on first use; at `path` if it is local.
    pub(crate) fn described(
        location: &str,
        path: Option<&str>,
        version: Version,
        partition: Box<[u32]>,
        options: &Arc<DatasetOptions>,
    ) -> Result<Self> {
        let mut file = Self::new(ListedFile::described(location, path, version, options)?, Arc::clone(options));
        file.partition = partition;
        Ok(file)
    }

    /// The file at the path or URL `location`, with its version and its partition: for each partition column of the dataset, the
    /// row of its values ([`DatasetFile::partition`]). It is opened on first use.
    ///
    /// Reading an object whose version has changed is an error; a local file is read as it is then.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a URL that is not of a store.
    pub fn known(
        location: &str,
        version: Version,
        partition: impl Into<Box<[u32]>>,
        options: &Arc<DatasetOptions>,
    ) -> Result<Self> {
        Self::described(location, None, version, partition.into(), options)
    }

    /// The file at the path or URL `location`, which is taken literally, of `len` bytes if known, with its partition as for
    /// [`DatasetFile::known`]. Nothing is read, and no request is made, before it is opened.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a URL that is not of a store.
    pub fn at(
        location: &str,
        len: Option<u64>,
        partition: impl Into<Box<[u32]>>,
        options: &Arc<DatasetOptions>,
    ) -> Result<Self> {
        let mut file = Self::new(ListedFile::at(location, len, options)?, Arc::clone(options));
        file.partition = partition.into();
        Ok(file)
    }

    /// Sets rows of the file that are deleted: every scan and all statistics leave them out.
    #[must_use]
    pub fn with_deleted(self, deleted: DeletedRows) -> Self {
        Self { deleted: Some(deleted), ..self }
    }

    /// The deleted rows of the file.
    pub fn deleted(&self) -> Option<&DeletedRows> {
        self.deleted.as_ref()
    }

    /// Sets evidence that may rule the file out before it is opened.
    #[must_use]
    pub fn with_evidence(self, evidence: Arc<dyn FileEvidence>) -> Self {
        Self { evidence: Some(evidence), ..self }
    }

    pub(crate) fn evidence(&self) -> Option<&dyn FileEvidence> {
        self.evidence.as_deref()
    }

    /// The same file with the deleted rows, the evidence and the checksums of another.
    pub(crate) fn with_rows_from(self, other: &Self) -> Self {
        let verified = other.checksums().cloned().into_iter().fold(self, Self::verified);
        Self { deleted: other.deleted.clone(), evidence: other.evidence.clone(), ..verified }
    }

    /// Sets the checksums of the file's blocks: reading it is an error if it was replaced or damaged.
    #[must_use]
    pub fn verified(mut self, checksums: Arc<BlockChecksums>) -> Self {
        self.rare.get_or_insert_default().checksums = Some(checksums);
        self
    }

    /// Sets the version that an object is expected to have: opening it takes no request for its state then, and reading another
    /// version is an error. A local file is read as it is.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.rare.get_or_insert_default().version = OnceLock::from(version);
        self
    }

    /// The version that was found with the file: for objects in a listing.
    pub fn listed_version(&self) -> Option<&Version> {
        self.rare.as_ref()?.version.get()
    }

    /// Keeps the version of an object that was opened.
    fn keep_version(&self, version: &Version) {
        if let Some(rare) = &self.rare {
            rare.version.get_or_init(|| version.clone());
        }
    }

    /// The current version of the file; `None` if it does not exist. Takes one system call, or one request.
    ///
    /// # Errors
    /// [`Error::Io`] if the storage fails.
    pub fn current_version(&self) -> Result<Option<Version>> {
        let version = match (self.open_file(), self.store()) {
            (Some(file), _) => return Ok(file.version().cloned()),
            (None, Some(store)) => store.version(),
            (None, None) => fs::metadata(self.local_path()).map(|metadata| Version::from_metadata(&metadata)),
        };
        match version {
            Ok(version) => Ok(Some(version)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("look at", error).locate(|at| at.file = Some(Arc::clone(&self.location)))),
        }
    }

    /// Options for opening the file.
    pub(crate) fn options(&self) -> &DatasetOptions {
        &self.options
    }

    /// Whether it was given open.
    pub(crate) fn is_given_open(&self) -> bool {
        self.open_file().is_some()
    }

    /// Path or URL of the file, which errors contain.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The path of a local file.
    pub fn path(&self) -> Option<&Path> {
        let is_local = self.open_file().is_none() && self.store().is_none();
        is_local.then(|| self.local_path())
    }

    /// Length in bytes, if it was found with the file.
    pub fn size(&self) -> Option<u64> {
        self.len
    }

    /// For each of [`Dataset::partitions`](super::Dataset::partitions), the row of
    /// [`PartitionColumn::values`](super::PartitionColumn::values) with the value of this file, or [`DatasetFile::NO_CONSTANT`].
    pub fn partition(&self) -> &[u32] {
        &self.partition
    }

    /// Opens the file, with a current footer from the cache if there is one; see
    /// [`DatasetOptions::revalidate`](super::DatasetOptions::revalidate).
    ///
    /// The file has a descriptor while it is read, and afterwards until other files need it. If it is replaced or changed, reads
    /// through an earlier handle may fail with [`Error::Io`]; opening it again gives the new file.
    ///
    /// # Errors
    /// As [`OpenOptions::open`](crate::OpenOptions::open).
    pub fn open(&self) -> Result<ParquetFile> {
        let file = match (self.open_file(), self.store()) {
            (Some(file), _) => ParquetFile::clone(file),
            (None, Some(store)) => self.open_in_store(store)?,
            (None, None) => self.open_local(self.local_path())?,
        };
        Ok(file.with_deleted(self.deleted.clone()))
    }

    /// The file's bytes and version, without reading a footer.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be opened.
    pub fn source(&self) -> Result<FileSource> {
        if let Some(file) = self.open_file() {
            return Ok(FileSource { bytes: Arc::clone(file.source()), version: file.version().cloned() });
        }
        let failed = |error| Error::io("open", error).locate(|at| at.file = Some(Arc::clone(&self.location)));
        if let Some(store) = self.store() {
            let (bytes, version) = match self.cached_object(store) {
                Some(object) => object.map_err(failed)?,
                None => {
                    let (source, version) = store.open(self.listed_version()).map_err(failed)?;
                    (Arc::new(source) as Arc<dyn ByteRanges>, version)
                }
            };
            return Ok(FileSource { bytes, version: Some(version) });
        }
        let source = PooledFile::open(self.local_path(), &self.options.files).map_err(failed)?;
        let version = source.version().clone();
        Ok(FileSource { bytes: Arc::new(source), version: Some(version) })
    }

    /// Opens the file with the bytes of `source`, without the cache.
    pub(crate) fn open_source(&self, source: Arc<dyn ByteRanges>, version: Option<Version>) -> Result<ParquetFile> {
        let open = self.open_options();
        let open = version.into_iter().fold(open, OpenOptions::version);
        match self.store() {
            Some(_) => open.open_store_source(source),
            None => open.open_local_source(source, self.options.footers_read.guess_bytes()),
        }
    }

    /// Opens the file with other options than the dataset's, without the cache. The columns of the dataset's table
    /// ([`OpenOptions::columns`]) stay, unless the options set others.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open_with(&self, options: OpenOptions) -> Result<ParquetFile> {
        let options = match (options.column_mapping(), self.options.open.column_mapping()) {
            (None, Some(columns)) => options.columns(Arc::clone(columns)),
            _ => options,
        };
        let open =
            DatasetOptions { open: options, footers: FooterCache::new(0), ..DatasetOptions::clone(&self.options) };
        Self { options: Arc::new(open), ..self.clone() }.open()
    }

    /// The results of `evaluate` for the `files` (all of one dataset) that are local and whose footers are cached and current. It
    /// is called once for all files, with `None` for the others.
    pub(crate) fn evaluate_cached<T>(
        files: &[Self],
        evaluate: impl FnOnce(&[Option<&ParquetFile>]) -> Vec<Option<T>>,
    ) -> Vec<Option<T>> {
        let Some(options) = files.first().map(|first| &*first.options).filter(|options| !options.open.has_keys())
        else {
            return files.iter().map(|_| None).collect();
        };
        let locations: Vec<Option<&str>> =
            files.iter().map(|file| file.path().is_some().then_some(&*file.location)).collect();
        let results = options.footers.evaluate(&locations, |found| {
            let is_like = |found: &ParquetFile, file: &Self| found.is_opened_like(&options.open, file.checksums());
            let found = found.iter().zip(files).map(|(found, file)| found.filter(|found| is_like(found, file)));
            evaluate(&found.collect::<Vec<_>>())
        });
        // Checking whether a file has changed takes most of the time: only files with a result are checked.
        let mut check = VersionCheck::default();
        let current = files.iter().zip(results).map(|(file, result)| {
            let (result, version) = result?;
            let mut is_current = || file.path().is_some_and(|path| check.is_current(path, &version));
            (!options.revalidates || is_current()).then_some(result)
        });
        current.collect()
    }

    /// Options for opening the file, with its name.
    fn open_options(&self) -> OpenOptions {
        let open = self.options.open_options_for(&self.location);
        self.checksums().into_iter().cloned().fold(open, OpenOptions::checksums)
    }

    /// Whether an open file is the same file, opened with the same options.
    fn is_like(&self, file: &ParquetFile) -> bool {
        file.is_opened_like(&self.options.open, self.checksums())
    }

    fn open_local(&self, path: &Path) -> Result<ParquetFile> {
        let options = &*self.options;
        let may_be_cached = !options.open.has_keys();
        if may_be_cached && let Some((file, version)) = options.footers.get(&self.location) {
            let is_current = || fs::metadata(path).is_ok_and(|metadata| Version::from_metadata(&metadata) == version);
            if self.is_like(&file) && (!options.revalidates || is_current()) {
                return Ok(file);
            }
            options.footers.remove(&self.location);
        }
        let failed = |error| Error::io("open", error).locate(|at| at.file = Some(Arc::clone(&self.location)));
        let open = self.open_options();
        let (file, version) = if open.maps() {
            let version = Version::from_metadata(&fs::metadata(path).map_err(failed)?);
            (open.version(version.clone()).open(path)?, version)
        } else {
            let source = PooledFile::open(path, &options.files).map_err(failed)?;
            let version = source.version().clone();
            let open = open.version(version.clone());
            let end = self.known_end(&version);
            let is_known = end.is_some();
            let open = end.into_iter().fold(open, OpenOptions::end);
            let file = open.open_local_source(Arc::new(source), options.footers_read.guess_bytes())?;
            options.footers_read.add(file.footer_bytes());
            if !is_known {
                self.make_known(&file, &version)?;
            }
            if may_be_cached {
                file.filters().cache_in(options.footers.filters());
            }
            (file, version)
        };
        if may_be_cached {
            options.footers.insert(&self.location, version, file.clone());
        }
        Ok(file)
    }

    fn open_in_store(&self, store: &Store) -> Result<ParquetFile> {
        let options = &*self.options;
        let failed = |error| Error::io("open", error).locate(|at| at.file = Some(Arc::clone(&self.location)));
        let may_be_cached = !options.open.has_keys();
        if may_be_cached && let Some((file, version)) = options.footers.get(&self.location) {
            let is_current = match self.listed_version() {
                Some(known) => *known == version,
                None => !options.revalidates || store.version().map_err(failed)? == version,
            };
            if is_current && self.is_like(&file) {
                self.keep_version(&version);
                return Ok(file);
            }
            options.footers.remove(&self.location);
        }
        let known = self.listed_version().and_then(|version| Some((self.known_end(version)?, version)));
        let is_known = known.is_some();
        let (source, version, end): (Arc<dyn ByteRanges>, _, _) = match (known, self.cached_object(store)) {
            (Some((end, version)), None) => {
                let source = store.open_unread(version).map_err(failed)?;
                (Arc::new(source), version.clone(), Some(end))
            }
            (known, Some(object)) => {
                let (source, version) = object.map_err(failed)?;
                (source, version, known.map(|(end, _)| end))
            }
            (None, None) => {
                let (source, version) = store.open(self.listed_version()).map_err(failed)?;
                (Arc::new(source), version, None)
            }
        };
        let open = self.open_options().version(version.clone());
        let parts = end.as_ref().map_or_else(Vec::new, |end| self.known_parts(&version, end, source.len()));
        let open = end.into_iter().fold(open, OpenOptions::end);
        let file = open.open_store_source(KnownParts::over(source, parts))?;
        if !is_known {
            self.make_known(&file, &version)?;
        }
        self.keep_version(&version);
        if may_be_cached {
            file.filters().cache_in(options.footers.filters());
            options.footers.insert(&self.location, version, file.clone());
        }
        Ok(file)
    }

    /// The object in its known version, read through the cache of objects; `None` if there is no such cache, or its version is not known.
    fn cached_object(&self, store: &Store) -> Option<io::Result<(Arc<dyn ByteRanges>, Version)>> {
        let cache = self.options.object_cache.as_ref()?;
        let version = self.listed_version()?;
        let object = store.open_unread(version);
        Some(object.map(|object| (cache.cached(&self.location, version, Arc::new(object)), version.clone())))
    }

    /// The cached end of the file in `version`, from outside the process.
    fn known_end(&self, version: &Version) -> Option<Bytes> {
        let known = self.options.known_footers.as_ref().filter(|_| !self.options.open.has_keys())?;
        known.get(&self.location, version)
    }

    /// Cached parts of the file in `version`, including its end.
    fn known_parts(&self, version: &Version, end: &Bytes, len: u64) -> Vec<(u64, Bytes)> {
        let Some(known) = &self.options.known_footers else { return Vec::new() };
        let mut parts = known.parts(&self.location, version);
        parts.extend(len.checked_sub(end.len() as u64).map(|start| (start, end.clone())));
        parts
    }

    fn make_known(&self, file: &ParquetFile, version: &Version) -> Result<()> {
        if let Some(known) = self.options.known_footers.as_ref().filter(|_| !self.options.open.has_keys()) {
            known.put(&self.location, version, file.read_end()?);
        }
        Ok(())
    }

    /// As [`Dataset::concurrency`](super::Dataset::concurrency), for this file.
    pub(super) fn concurrency(&self) -> usize {
        if self.store().is_some() { self.options.store.requests_in_flight } else { 1 }
    }
}

impl From<ParquetFile> for DatasetFile {
    /// A file that is open already, in memory or from another source. Its location is its name.
    fn from(file: ParquetFile) -> Self {
        Self::opened(file, Arc::new(DatasetOptions::new()))
    }
}

impl fmt::Debug for DatasetFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatasetFile")
            .field("location", &self.location)
            .field("len", &self.len)
            .field("partition", &self.partition)
            .finish_non_exhaustive()
    }
}
