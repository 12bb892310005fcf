//! The handle to an open catalog.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lath_parquet::{DatasetOptions, FileVersion, FolderFormat, FooterCache};
use lath_store::{Snapshot, Store};

use crate::bucket::{BucketObject, bucket_url};
use crate::error::{Error, Result};
use crate::file::{Entry, State};
use crate::records::{
    ENDS, FILES, Folder, META, NAMES, PAGE_INDEXES, Root, SEGMENTS, TableRecord, len_bytes, number_in, number_key,
    roots,
};
use crate::stale_files::StaleFiles;

/// The maximum time that opening waits for other processes.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The maximum time that a search waits to update the catalog: threads of its scans may hold the catalog a moment longer.
const MAX_BRIEF_WAIT: Duration = Duration::from_millis(100);

/// The time between two attempts to open.
const WAIT_INTERVAL: Duration = Duration::from_millis(10);

/// Metadata of many Parquet files in one store file: names, sizes, versions, footers, page indexes, bounds and Bloom filters.
/// Clones are handles of the same catalog.
///
/// ```no_run
/// # fn main() -> lath_catalog::Result<()> {
/// use lath_catalog::{AddOptions, Catalog};
/// use lath_parquet::{DatasetOptions, Predicate};
///
/// let catalog = Catalog::create("lake.catalog")?;
/// catalog.add(["trips/", "s3://bucket/trips/"], &AddOptions::new().key(["id"]))?;
///
/// let wanted = Predicate::parse("id = 4711")?;
/// let files = catalog.select(&wanted, &DatasetOptions::new())?;
/// println!("{} of {} files can have it", files.files().len(), catalog.file_count()?);
/// println!("{} rows", files.scan().count()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Catalog {
    pub(crate) store: Store,
    pub(crate) folder: Folder,
    pub(crate) stale: Arc<StaleFiles>,
    pub(crate) path: PathBuf,
    /// The object of a catalog in a bucket, of which `store` is a copy.
    pub(crate) bucket: Option<Arc<BucketObject>>,
    /// The version that is read of the table whose files the catalog has; the latest if `None`.
    #[cfg(feature = "lake")]
    pub(crate) at: Option<lath_lake::At>,
}

/// A file in a catalog.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct CatalogFile {
    /// Path or URL.
    pub location: String,
    /// The version that the catalog has read.
    pub version: FileVersion,
    /// Length in bytes.
    pub len_bytes: u64,
    /// Number of rows; `None` for a file that could not be read.
    pub row_count: Option<u64>,
    /// Number of row groups; `None` for a file that could not be read.
    pub row_group_count: Option<u32>,
}

/// The table of Delta Lake or Iceberg whose files a catalog has.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogTable {
    /// The format of the table.
    pub format: FolderFormat,
    /// The version that the catalog has read: the number of a commit of Delta Lake, or the ID of a snapshot of Iceberg.
    pub version: i64,
}

/// The contents of a catalog, and the space that they take.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogStats {
    /// Locations that were added.
    pub locations: Vec<String>,
    /// The table whose files these are; `None` for plain files.
    pub table: Option<CatalogTable>,
    /// The columns of each key for which the catalog makes filters.
    pub keys: Vec<Vec<String>>,
    /// Number of files.
    pub files: u64,
    /// Files that could not be read: every search opens them.
    pub unreadable_files: u64,
    /// Rows of all files.
    pub rows: u64,
    /// Bytes of all files.
    pub file_bytes: u64,
    /// Bytes of the footers that are kept.
    pub footer_bytes: u64,
    /// Bytes of the page indexes that are kept.
    pub page_index_bytes: u64,
    /// Bytes of the Bloom filters that are kept.
    pub filter_bytes: u64,
}

impl Catalog {
    /// The name of a catalog that commands use on their own if it is in the folder that they search. Searches for Parquet files skip
    /// names that begin with `_`.
    pub const FILE_NAME: &str = "_lath_catalog";

    /// Opens the catalog at `path`, and creates it if there is none. Waits up to five seconds for other processes: a writer excludes
    /// other writers and all readers.
    ///
    /// The path may also be the URL of an object (`s3://bucket/lake.catalog`). A catalog in a bucket has files of stores alone. Each change
    /// replaces the object, unless another program has changed it meanwhile.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Format`]; [`Error::Parquet`] if a request fails.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        match bucket_url(path.as_ref()) {
            Some(url) => Self::open_private(url, true),
            None => Self::open_with(path.as_ref(), lath_store::Options::new(), MAX_WAIT),
        }
    }

    /// Opens the catalog at `path` for reading and writing.
    ///
    /// # Errors
    /// [`Error::NoCatalog`] if there is none; else as [`Catalog::create`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        if let Some(url) = bucket_url(path.as_ref()) {
            return Self::open_private(url, false);
        }
        Self::check_is_there(path.as_ref())?;
        Self::open_with(path.as_ref(), lath_store::Options::new().create(false), MAX_WAIT)
    }

    /// As [`Catalog::open`], but waits at most 0.1 seconds for other processes.
    pub(crate) fn try_open(path: &Path) -> Result<Self> {
        Self::open_with(path, lath_store::Options::new().create(false), MAX_BRIEF_WAIT)
    }

    /// Opens the catalog at `path` for reading. The newest version of a catalog in a bucket is copied to the user's cache once.
    ///
    /// # Errors
    /// As [`Catalog::open`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        if let Some(url) = bucket_url(path.as_ref()) {
            return Self::open_cached(url);
        }
        Self::check_is_there(path.as_ref())?;
        Self::open_with(path.as_ref(), lath_store::Options::new().read_only(true), MAX_WAIT)
    }

    fn open_private(url: &str, creates: bool) -> Result<Self> {
        let (object, path) = BucketObject::private(url, creates)?;
        let store = Self::open_store(&path, &lath_store::Options::new(), MAX_WAIT)?;
        Self::from_copy(store, url, object)
    }

    fn open_cached(url: &str) -> Result<Self> {
        let options = lath_store::Options::new().read_only(true);
        let (mut object, path) = BucketObject::cached(url)?;
        let store = match Self::open_store(&path, &options, MAX_WAIT) {
            // Another process has just replaced the copy by one of a newer version.
            Err(_) if !path.exists() => {
                let newer = BucketObject::cached(url)?;
                object = newer.0;
                Self::open_store(&newer.1, &options, MAX_WAIT)?
            }
            opened => opened?,
        };
        Self::from_copy(store, url, object)
    }

    fn from_copy(store: Store, url: &str, object: BucketObject) -> Result<Self> {
        let catalog = Self::from_store(store, Folder::in_bucket(), PathBuf::from(url))?;
        Ok(Self { bucket: Some(Arc::new(object)), ..catalog })
    }

    /// Writes a catalog in a bucket back after a commit.
    pub(crate) fn publish(&self) -> Result<()> {
        self.bucket.as_ref().map_or(Ok(()), |object| object.publish(&self.store))
    }

    fn check_is_there(path: &Path) -> Result<()> {
        match path.is_file() {
            true => Ok(()),
            false => Err(Error::NoCatalog { path: path.to_owned() }),
        }
    }

    fn open_with(path: &Path, options: lath_store::Options, max_wait: Duration) -> Result<Self> {
        let folder = Folder::containing(path)?;
        Self::from_store(Self::open_store(path, &options, max_wait)?, folder, path.to_owned())
    }

    fn open_store(path: &Path, options: &lath_store::Options, max_wait: Duration) -> Result<Store> {
        let started = Instant::now();
        loop {
            match options.clone().verify_nodes(true).open(path) {
                Err(lath_store::Error::Busy) if started.elapsed() < max_wait => thread::sleep(WAIT_INTERVAL),
                opened => return Ok(opened?),
            }
        }
    }

    /// The catalog in a store. Its relative names are below `folder`.
    pub(crate) fn from_store(store: Store, folder: Folder, path: PathBuf) -> Result<Self> {
        let catalog = Self {
            store,
            folder,
            stale: Arc::default(),
            path,
            bucket: None,
            #[cfg(feature = "lake")]
            at: None,
        };
        catalog.state(&catalog.store.snapshot()?)?;
        Ok(catalog)
    }

    /// The path with which the catalog was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state in a snapshot. The catalog is empty before its first commit.
    pub(crate) fn state(&self, snapshot: &Snapshot) -> Result<State> {
        match snapshot.tree(META)? {
            Some(meta) if !meta.is_empty() => State::read(meta),
            _ if snapshot.tree_names()?.is_empty() => Ok(State::new()),
            _ => Err(Error::invalid(format!("{}: this store is not a catalog", self.path.display()))),
        }
    }

    /// Checks the locations of a catalog of plain files before a search: there has to be one, and none may have become a table since, whose
    /// files also have rows that were deleted. Locations in stores are not looked at, which would take requests.
    pub(crate) fn check_locations(&self, roots: &[Root]) -> Result<()> {
        let path = self.path.display();
        if roots.is_empty() {
            return Err(Error::invalid(format!(
                "{path} has no files: add some by lath catalog add … --catalog {path}"
            )));
        }
        self.check_plain(roots)
    }

    /// As [`Catalog::check_locations`], also for a catalog without locations.
    pub(crate) fn check_plain(&self, roots: &[Root]) -> Result<()> {
        for root in roots {
            let location = self.folder.location(&root.name)?;
            let folder = Path::new(&location);
            if folder.is_dir()
                && let Some(format) = FolderFormat::at(folder)
            {
                let path = self.path.display();
                return Err(Error::invalid(format!(
                    "{location} is {format} now, and {path} has its plain files, with rows that were deleted: remove them (lath catalog remove \
                     {path} {location}), and add the table to a catalog without other files"
                )));
            }
        }
        Ok(())
    }

    /// Options to read files for the catalog. Footers are not cached, because each is read once.
    pub(crate) fn reading_options() -> Arc<DatasetOptions> {
        Arc::new(DatasetOptions::new().footer_cache(FooterCache::new(0)))
    }

    /// Number of files.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Corrupt`], as for all methods that read.
    pub fn file_count(&self) -> Result<u64> {
        Ok(self.state(&self.store.snapshot()?)?.files.into())
    }

    /// The locations that were added.
    pub fn locations(&self) -> Result<Vec<String>> {
        let roots = roots::read(&self.store.snapshot()?)?;
        roots.iter().map(|root| self.folder.location(&root.name)).collect()
    }

    /// All files, in the order of the locations and of their names.
    pub fn files(&self) -> Result<Vec<CatalogFile>> {
        let snapshot = self.store.snapshot()?;
        let mut found = Vec::new();
        self.each_entry(&snapshot, |_, entry| {
            found.push(CatalogFile {
                location: self.folder.location(&entry.name)?,
                len_bytes: len_bytes(&entry.version),
                row_count: entry.read.as_ref().map(|read| read.rows),
                row_group_count: entry.read.as_ref().map(|read| read.row_groups),
                version: entry.version,
            });
            Ok(())
        })?;
        Ok(found)
    }

    /// Passes slot and entry of each file to `take`, in order.
    pub(crate) fn each_entry(&self, snapshot: &Snapshot, mut take: impl FnMut(u32, Entry) -> Result<()>) -> Result<()> {
        let (Some(names), Some(files)) = (snapshot.tree(NAMES)?, snapshot.tree(FILES)?) else { return Ok(()) };
        for name in names.iter() {
            let slot = number_in(name?.1).ok_or_else(|| Error::corrupt("a name without a slot"))?;
            let record = files.get(&number_key(slot))?.ok_or_else(|| Error::corrupt("a name without a file"))?;
            take(slot, Entry::from_record(record)?)?;
        }
        Ok(())
    }

    /// Statistics of the catalog, computed from all of its contents.
    pub fn stats(&self) -> Result<CatalogStats> {
        let snapshot = self.store.snapshot()?;
        let mut stats = CatalogStats {
            locations: self.locations()?,
            table: TableRecord::read(snapshot.tree(META)?)?
                .map(|table| CatalogTable { format: table.format, version: table.version }),
            keys: self.state(&snapshot)?.content.keys,
            footer_bytes: bytes_in(&snapshot, ENDS)?,
            page_index_bytes: bytes_in(&snapshot, PAGE_INDEXES)?,
            filter_bytes: bytes_in(&snapshot, SEGMENTS)?,
            ..CatalogStats::default()
        };
        self.each_entry(&snapshot, |_, entry| {
            stats.files += 1;
            stats.file_bytes += len_bytes(&entry.version);
            match &entry.read {
                Some(read) => stats.rows += read.rows,
                None => stats.unreadable_files += 1,
            }
            Ok(())
        })?;
        Ok(stats)
    }

    /// Number of files that scans found changed since the catalog read them. [`Catalog::refresh_stale`] reads these files again.
    pub fn stale_file_count(&self) -> usize {
        self.stale.len()
    }
}

/// The total bytes of the values of a tree.
fn bytes_in(snapshot: &Snapshot, tree: &str) -> Result<u64> {
    let Some(tree) = snapshot.tree(tree)? else { return Ok(0) };
    tree.iter().try_fold(0, |sum, entry| Ok(sum + entry?.1.len() as u64))
}
