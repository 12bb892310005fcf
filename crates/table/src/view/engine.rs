//! State that all handles, snapshots and transactions of an open table share.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lath_parquet::{DatasetOptions, Runtime};
use lath_store::{Snapshot, Store, Tree};

use super::View;
use super::deleted_cache::DeadCache;
use super::expiry::TimeBounds;
use super::signal::Signal;
use crate::consumer_files::{self, StoredConsumer};
use crate::error::{Error, Result};
use crate::file::{BlockCache, CachedObjects, DataFile, DiskCache, Files, Owner, file_name, open_options};
use crate::records::{
    BlockKeys, FileEntry, ForeignKeys, Index, Manifest, STATE_KEY, State, TableOptions, TreeName, TreeNames, file_key,
    schema_key,
};
use crate::row::{Categories, TableSchema};

/// The folder with the cache of blocks of objects, within the table's.
const CACHE_FOLDER: &str = "_cache";

/// Number of lists of files that are cached: the newest and a few snapshots.
const CATALOGS: usize = 8;

/// Number of schemas in which a file is cached: the newest and a few snapshots.
const FILE_SCHEMAS: usize = 4;

/// Age of the list of consumers at which it is read again.
const CONSUMERS_AGE: Duration = Duration::from_millis(100);

/// Number of files that are cached beyond twice the files of the newest commit.
const SPARE_FILES: usize = 64;

/// A catalog, and the commits that have it.
#[derive(Debug)]
struct KnownCatalog {
    incarnation: u64,
    files_stamp: u64,
    catalog: Catalog,
}

/// The other tables of a database.
pub(crate) trait Siblings: fmt::Debug + Send + Sync {
    /// The table with this number.
    fn engine(&self, number: u64) -> Result<Arc<Engine>>;

    /// The name of the table with this number in the newest commit.
    fn name(&self, number: u64) -> Result<String>;
}

/// An open table. Other modules implement its operations.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) folder: PathBuf,
    /// The Parquet files.
    pub(crate) files: Files,
    pub(crate) store: Store,
    pub(crate) trees: Arc<TreeNames>,
    pub(crate) options: TableOptions,
    pub(crate) runtime: Runtime,
    /// A random number that identifies this opening of the table.
    pub(crate) incarnation: u64,
    pub(crate) dead: DeadCache,
    pub(crate) blocks: BlockCache,
    /// The consumers of the change feed, read lately.
    consumers: Mutex<Option<(Instant, Arc<Vec<StoredConsumer>>)>>,
    /// The times in files by which their rows expire, by the numbers of the files.
    pub(crate) time_bounds: Mutex<HashMap<u64, TimeBounds>>,
    /// Locked while files are written or removed.
    pub(crate) maintenance: Mutex<()>,
    /// Wakes the background thread.
    pub(crate) signal: Arc<Signal>,
    /// `None` for a table outside a database.
    pub(crate) siblings: Option<Arc<dyn Siblings>>,
    /// No file of this writer has this number or a higher one.
    next_file: AtomicU64,
    /// Names of files that are being written, and that no commit names yet.
    writing: Mutex<HashSet<String>>,
    catalogs: Mutex<Vec<KnownCatalog>>,
    /// By version. A version is committed durably, so that there is only one.
    schemas: Mutex<BTreeMap<u32, Arc<TableSchema>>>,
    /// By name, for the schemas in which they are read, the last one last.
    open_files: Mutex<HashMap<String, Vec<Arc<DataFile>>>>,
}

/// Schema, files, indexes and foreign keys of a commit.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    pub(crate) schema: Arc<TableSchema>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) indexes: Arc<Vec<Index>>,
    pub(crate) foreign_keys: Arc<ForeignKeys>,
}

impl Engine {
    /// A table in this folder, whose files are there or below the URL `place`.
    pub(crate) fn new(
        folder: PathBuf,
        store: Store,
        trees: TreeNames,
        options: TableOptions,
        place: Option<&str>,
    ) -> Result<Self> {
        if options.write.is_encrypted() {
            let what =
                "options of writing have keys: give the key of an encrypted table with TableOptions::encryption_key";
            return Err(Error::encryption(what));
        }
        let runtime = options.runtime_or_default();
        // No file of a table changes once it has its name, and no name is used twice.
        let dataset = DatasetOptions::new().partitions(false).revalidate(false).runtime(&runtime);
        let dataset = match store.encryption_key() {
            Some(key) => dataset.open_options(open_options(key)),
            None => dataset,
        };
        let incarnation = RandomState::new().build_hasher().finish();
        let uncommitted = options.uncommitted.clone();
        let files = match place {
            None => Files::in_folder(folder.clone(), dataset, uncommitted),
            Some(url) => {
                // A folder that cannot be written to has no cache.
                let cache = DiskCache::open(&folder.join(CACHE_FOLDER), options.disk_cache_bytes).ok().flatten();
                let dataset = match cache {
                    Some(cache) => dataset.object_cache(Arc::new(CachedObjects(Arc::new(cache)))),
                    None => dataset,
                };
                Files::in_bucket(url, dataset, uncommitted, Owner::new(&folder, incarnation))?
            }
        };
        Ok(Self {
            folder,
            files,
            store,
            trees: Arc::new(trees),
            blocks: BlockCache::new(options.cache_bytes),
            options,
            runtime,
            incarnation,
            dead: DeadCache::default(),
            consumers: Mutex::default(),
            time_bounds: Mutex::default(),
            maintenance: Mutex::default(),
            signal: Arc::default(),
            siblings: None,
            next_file: AtomicU64::new(0),
            writing: Mutex::default(),
            catalogs: Mutex::default(),
            schemas: Mutex::default(),
            open_files: Mutex::default(),
        })
    }

    /// A tree of the table in a commit.
    pub(crate) fn read_tree<'s>(&self, snapshot: &'s Snapshot, name: TreeName) -> Result<Option<Tree<'s>>> {
        Ok(snapshot.tree(self.trees.get(name))?)
    }

    /// The table's state in a commit; `None` if the commit does not have the table.
    pub(crate) fn read_state(&self, snapshot: &Snapshot) -> Result<Option<State>> {
        let Some(meta) = self.read_tree(snapshot, TreeName::Meta)? else { return Ok(None) };
        meta.get(STATE_KEY)?.map(State::from_bytes).transpose()
    }

    /// Schema, files and indexes of a commit with this state. `tree` gives its trees.
    pub(crate) fn catalog<'t>(
        &self,
        state: &State,
        mut tree: impl FnMut(TreeName) -> Result<Option<Tree<'t>>>,
    ) -> Result<Catalog> {
        let is_it = |known: &&KnownCatalog| {
            (known.incarnation, known.files_stamp) == (state.incarnation, state.files_stamp)
                && known.catalog.schema.version() == state.schema
        };
        if let Some(known) = lock(&self.catalogs).iter().find(is_it) {
            return Ok(known.catalog.clone());
        }
        let schema = self.with_categories(self.schema(tree(TreeName::Meta)?, state.schema)?, tree(TreeName::Meta)?)?;
        let manifest = Arc::new(Manifest::read(tree(TreeName::Files)?)?);
        let (incarnation, files_stamp) = (state.incarnation, state.files_stamp);
        let indexes = Arc::new(Index::read_all(tree(TreeName::Meta)?, &schema)?);
        let foreign_keys = Arc::new(ForeignKeys::read(tree(TreeName::Meta)?)?);
        let catalog = Catalog { schema, manifest, indexes, foreign_keys };
        let mut catalogs = lock(&self.catalogs);
        if catalogs.len() == CATALOGS {
            catalogs.remove(0);
        }
        catalogs.push(KnownCatalog { incarnation, files_stamp, catalog: catalog.clone() });
        Ok(catalog)
    }

    /// The schema with the categories of a commit. Equal schemas share one value, so that files are cached by it.
    fn with_categories(&self, schema: Arc<TableSchema>, meta: Option<Tree<'_>>) -> Result<Arc<TableSchema>> {
        let categories = Categories::read(meta)?;
        if categories.is_empty() {
            return Ok(schema);
        }
        let is_it =
            |known: &&Arc<TableSchema>| known.version() == schema.version() && **known.categories() == categories;
        if let Some(known) = lock(&self.catalogs).iter().map(|known| &known.catalog.schema).find(is_it) {
            return Ok(Arc::clone(known));
        }
        Ok(Arc::new(schema.with_categories(Arc::new(categories))?))
    }

    /// The schema with this version, without categories.
    fn schema(&self, meta: Option<Tree<'_>>, version: u32) -> Result<Arc<TableSchema>> {
        if let Some(known) = lock(&self.schemas).get(&version) {
            return Ok(Arc::clone(known));
        }
        let schema = Arc::new(read_schema(meta, version)?);
        let mut schemas = lock(&self.schemas);
        if schemas.len() == CATALOGS {
            schemas.pop_first();
        }
        schemas.insert(version, Arc::clone(&schema));
        Ok(schema)
    }

    /// A file that the view has, in the view's schema, opened when it is read.
    pub(crate) fn cold(&self, view: &mut dyn View, entry: &FileEntry) -> Result<Arc<DataFile>> {
        let schema = Arc::clone(view.schema());
        let in_another = {
            let files = lock(&self.open_files);
            let known = files.get(&entry.name).map(Vec::as_slice).unwrap_or_default();
            if let Some(file) = known.iter().find(|file| file.schema().is_same(&schema)) {
                return Ok(Arc::clone(file));
            }
            known.last().cloned()
        };
        let file = Arc::new(match in_another {
            Some(file) => file.in_schema(&schema),
            None => self.find_cold(view, entry, &schema)?,
        });
        let mut files = lock(&self.open_files);
        if files.len() > 2 * view.manifest().files().len() + SPARE_FILES {
            let current: Vec<&str> = view.manifest().files().iter().map(|file| file.name.as_str()).collect();
            files.retain(|name, _| current.contains(&name.as_str()));
        }
        let known = files.entry(entry.name.clone()).or_default();
        if known.len() == FILE_SCHEMAS {
            known.remove(0);
        }
        known.push(Arc::clone(&file));
        Ok(file)
    }

    fn find_cold(&self, view: &mut dyn View, entry: &FileEntry, schema: &Arc<TableSchema>) -> Result<DataFile> {
        let keys = match view.tree(TreeName::BlockIndex)? {
            Some(tree) => {
                let keys = tree.get(&file_key(entry.number))?;
                keys.map(|keys| BlockKeys::from_bytes(entry, keys)).transpose()?
            }
            None => None,
        };
        let keys = keys.ok_or_else(|| Error::corrupt(format!("the keys of blocks of {} are missing", entry.name)))?;
        let checksums = self.checksums(view, entry)?;
        DataFile::find(&self.files, entry, schema, keys, checksums)
    }

    /// Drops removed files from the cache.
    pub(crate) fn forget(&self, names: &[String]) {
        let mut files = lock(&self.open_files);
        for name in names {
            files.remove(name);
        }
    }

    /// Number and name for a new file. Numbers of files that were not committed are not used again by this writer.
    pub(crate) fn new_file(&self, state: &State) -> (u64, String) {
        self.next_file.fetch_max(state.next_file, Ordering::Relaxed);
        let number = self.next_file.fetch_add(1, Ordering::Relaxed);
        (number, file_name(number, self.incarnation))
    }

    /// The names of files that are being written, and that no commit names yet.
    pub(crate) fn writing_files(&self) -> MutexGuard<'_, HashSet<String>> {
        lock(&self.writing)
    }

    /// The consumers of the change feed. Another process may have moved them on a moment ago.
    pub(crate) fn consumers(&self) -> Result<Arc<Vec<StoredConsumer>>> {
        let mut known = lock(&self.consumers);
        if let Some((read, consumers)) = &*known
            && read.elapsed() < CONSUMERS_AGE
        {
            return Ok(Arc::clone(consumers));
        }
        let consumers = Arc::new(consumer_files::load_all(&self.folder)?);
        // For a table without consumers, which is the usual one, this takes no time.
        *known = (!consumers.is_empty()).then(|| (Instant::now(), Arc::clone(&consumers)));
        Ok(consumers)
    }

    /// Reads the consumers again.
    pub(crate) fn forget_consumers(&self) {
        *lock(&self.consumers) = None;
    }

    pub(crate) fn lock_maintenance(&self) -> MutexGuard<'_, ()> {
        lock(&self.maintenance)
    }
}

/// The schema with this version, and those before it.
fn read_schema(meta: Option<Tree<'_>>, version: u32) -> Result<TableSchema> {
    let missing = |version| Error::corrupt(format!("schema {version} is missing"));
    let meta = meta.ok_or_else(|| missing(version))?;
    let read = |version| TableSchema::from_bytes(meta.get(&schema_key(version))?.ok_or_else(|| missing(version))?);
    let older = (1..version).map(|version| read(version).map(Arc::new)).collect::<Result<Vec<_>>>()?;
    Ok(read(version)?.with_older(older))
}

/// The path of the store in a table's folder.
pub(crate) fn store_path(folder: &Path) -> PathBuf {
    let old = folder.join("table.lath");
    // As tables of format 5 and before have it.
    if fs::metadata(&old).is_ok() { old } else { folder.join("_table.lath") }
}

/// The path of the store in a database's folder.
pub(crate) fn database_path(folder: &Path) -> PathBuf {
    folder.join("database.lath")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
