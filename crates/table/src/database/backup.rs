//! Copies a table or database to another folder, even while it is written to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lath_store::{Durability, EncryptionKey, Snapshot, Store, Transaction, TreeMut};

use super::Database;
use super::open_tables::OpenTables;
use super::table_list::folder_name;
use crate::error::{Error, Result};
use crate::file::{UnfinishedCopy, create_folder, sync_folder};
use crate::records::{
    DroppedFile, DroppedTable, FILE_PLACES, FileEntry, Manifest, SEQUENCES_FILE, STATE_KEY, State, TABLES_DROPPED,
    TableOptions, TreeName, TreeNames, all_trees, file_number, file_place, history, named_snapshots, table_number,
};
use crate::table::Table;
use crate::view::{Engine, database_path, store_path};

/// Counts of [`Table::backup`] or [`Database::backup`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackedUp {
    /// Number of Parquet files in the backup.
    pub files: usize,
    /// Number of these that are hard links to files of the table.
    pub links: usize,
}

/// A file of a backup.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupFile {
    /// The path below the folder of the backup, with slashes.
    pub name: String,
    /// The file to copy.
    pub path: PathBuf,
}

impl Table {
    /// Copies the last commit of the table to another folder, with all named snapshots and the change feed. Other threads and processes
    /// can read, write, flush and compact at the same time.
    ///
    /// Parquet files never change, so the backup has hard links to them if the file system supports links, else copies. The store is
    /// copied. The backup is complete and durable when this returns. If a backup is killed, its folder has no table, and the next
    /// backup into the same folder removes the remains.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_table::{Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    /// # let rows = RecordBatch::try_from_iter([("id", ids)])?;
    /// # let table = Table::create(folder.path().join("jobs"), &rows.schema(), &["id"], TableOptions::new())?;
    /// table.upsert(&rows)?;
    /// let backup = folder.path().join("backup");
    /// table.backup(&backup)?;
    /// table.delete([1])?;
    /// assert_eq!(Table::open(&backup, TableOptions::new())?.count()?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if the folder has anything in it, [`Error::PartOfDatabase`] for a table of a database, [`Error::Io`] and
    /// [`Error::Store`].
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<BackedUp> {
        let engine = self.engine();
        if engine.trees.number().is_some() {
            return Err(Error::PartOfDatabase { folder: engine.folder.clone() });
        }
        let snapshot = engine.store.snapshot()?;
        Backup { source: &engine.folder, target: folder.as_ref(), store: &engine.store, options: &engine.options }
            .make(&snapshot, &store_path(folder.as_ref()))
    }

    /// Passes the files of the last commit to `copy`, for a backup to another place than a folder, such as a bucket: a folder with copies
    /// of these files is a table. The last one is the store, which is copied to the folder `scratch` for this, as files in a bucket are; the others are
    /// the table's own, and none of them is removed while `copy` runs.
    ///
    /// # Errors
    /// [`Error::PartOfDatabase`] for a table of a database, [`Error::Io`] and [`Error::Store`].
    pub fn backup_files<T>(&self, scratch: impl AsRef<Path>, copy: impl FnOnce(&[BackupFile]) -> T) -> Result<T> {
        let engine = self.engine();
        if engine.trees.number().is_some() {
            return Err(Error::PartOfDatabase { folder: engine.folder.clone() });
        }
        let snapshot = engine.store.snapshot()?;
        let target = scratch.as_ref();
        Backup { source: &engine.folder, target, store: &engine.store, options: &engine.options }.pass(
            &snapshot,
            &store_path(target),
            copy,
        )
    }
}

impl Database {
    /// Copies the last commit of the database to another folder, like [`Table::backup`].
    ///
    /// # Errors
    /// As there.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<BackedUp> {
        let snapshot = self.store().snapshot()?;
        let OpenTables { folder: source, store, options, .. } = self.tables();
        let backup = Backup { source, target: folder.as_ref(), store, options };
        backup.make(&snapshot, &database_path(folder.as_ref()))
    }

    /// Passes the files of the last commit to `copy`, like [`Table::backup_files`].
    ///
    /// # Errors
    /// As there.
    pub fn backup_files<T>(&self, scratch: impl AsRef<Path>, copy: impl FnOnce(&[BackupFile]) -> T) -> Result<T> {
        let snapshot = self.store().snapshot()?;
        let (target, OpenTables { folder: source, store, options, .. }) = (scratch.as_ref(), self.tables());
        Backup { source, target, store, options }.pass(&snapshot, &database_path(target), copy)
    }
}

/// The entries of files of a table.
type FilesByName = BTreeMap<String, Arc<FileEntry>>;

/// The folders.
#[derive(Debug)]
struct Backup<'p> {
    source: &'p Path,
    target: &'p Path,
    store: &'p Store,
    options: &'p TableOptions,
}

impl Backup<'_> {
    /// While the snapshot lives, none of the files that it or its named snapshots have is removed.
    fn make(&self, snapshot: &Snapshot, store: &Path) -> Result<BackedUp> {
        let unfinished = UnfinishedCopy::begin(self.target, store)?;
        let mut made = BackedUp::default();
        for (number, entries) in &data_files(snapshot)? {
            self.copy_files(&self.engine(snapshot, *number)?, entries, &mut made)?;
        }
        sync_folder(self.target)?;
        self.copy_sequences()?;
        // Last, since there is no table without a store.
        let copy = unfinished.store();
        snapshot.backup(&copy)?;
        settle_dropped(&copy, self.store.encryption_key(), snapshot.sequence())?;
        unfinished.finish(store)?;
        Ok(made)
    }

    /// While the snapshot lives, none of its files is removed.
    fn pass<T>(&self, snapshot: &Snapshot, store: &Path, copy: impl FnOnce(&[BackupFile]) -> T) -> Result<T> {
        let mut files = Vec::new();
        for (number, entries) in &data_files(snapshot)? {
            let engine = self.engine(snapshot, *number)?;
            let is_local = engine.files.url().is_none();
            if !is_local {
                self.copy_files(&engine, entries, &mut BackedUp::default())?;
            }
            for file in entries.keys() {
                let name = relative_folder(*number).join(file);
                let path = if is_local { engine.files.path(file) } else { self.target.join(&name) };
                files.push(BackupFile { path, name: with_slashes(&name) });
            }
        }
        // Later than the snapshot, so that no number that it has is given again.
        let sequences = self.source.join(SEQUENCES_FILE);
        if sequences.is_file() {
            files.push(BackupFile { name: SEQUENCES_FILE.to_owned(), path: sequences });
        }
        snapshot.backup(store)?;
        settle_dropped(store, self.store.encryption_key(), snapshot.sequence())?;
        let name = store.strip_prefix(self.target).map_or_else(|_| with_slashes(store), with_slashes);
        files.push(BackupFile { name, path: store.to_owned() });
        Ok(copy(&files))
    }

    /// Copies the sequences of a database. They are later than the snapshot, so that no number that it has is given again.
    fn copy_sequences(&self) -> Result<()> {
        let (from, to) = (self.source.join(SEQUENCES_FILE), self.target.join(SEQUENCES_FILE));
        match fs::copy(&from, &to).and_then(|_| fs::File::open(&to)?.sync_all()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("copy", &from)(error)),
            _ => sync_folder(self.target),
        }
    }

    /// The files of a table.
    fn engine(&self, snapshot: &Snapshot, number: Option<u64>) -> Result<Engine> {
        let (trees, place) = (TreeNames::for_table(number), file_place(snapshot, number)?);
        let (folder, options) = (self.source.join(relative_folder(number)), self.options.clone().disk_cache_bytes(0));
        Engine::new(folder, self.store.clone(), trees, options, place.as_deref())
    }

    /// Links or copies the files of a table to its folder in the backup.
    fn copy_files(&self, engine: &Engine, entries: &FilesByName, made: &mut BackedUp) -> Result<()> {
        let target = self.target.join(relative_folder(engine.trees.number()));
        create_folder(&target)?;
        let mut folders = BTreeSet::from([target.clone()]);
        for (name, entry) in entries {
            let to = target.join(name);
            if let Some(parent) = to.parent()
                && folders.insert(parent.to_owned())
            {
                create_folder(parent)?;
            }
            made.links += usize::from(engine.files.copy_to(entry, &to)?);
            made.files += 1;
        }
        folders.iter().try_for_each(|folder| sync_folder(folder))
    }
}

/// The files of a commit and of its named snapshots by their names, for each table by its number.
fn data_files(snapshot: &Snapshot) -> Result<BTreeMap<Option<u64>, FilesByName>> {
    let versions = named_snapshots(snapshot)?;
    let mut files: BTreeMap<Option<u64>, FilesByName> = BTreeMap::new();
    for version in versions.iter().chain([snapshot]) {
        for trees in all_trees(version)? {
            // Databases have a folder for each table, also for one without files.
            let entries = files.entry(trees.number()).or_default();
            let manifest = Manifest::read(version.tree(trees.get(TreeName::Files))?)?;
            entries.extend(manifest.files().iter().map(|file| (file.name.clone(), Arc::clone(file))));
        }
    }
    Ok(files)
}

/// A path below a folder as text. The names that tables give are Unicode.
fn with_slashes(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The folder of a table, relative to the backup.
pub(crate) fn relative_folder(number: Option<u64>) -> PathBuf {
    number.map(folder_name).map_or_else(PathBuf::new, PathBuf::from)
}

/// Removes the records of dropped files and tables from a backup, except the ones that its named snapshots need. These get stamp 0: the
/// copied store had other commits, so the old stamps mean nothing. The last commit gets the number of the copied one, so that versions of the copy follow it.
fn settle_dropped(path: &Path, key: Option<&EncryptionKey>, number: u64) -> Result<()> {
    let options = key.cloned().into_iter().fold(lath_store::Options::new(), lath_store::Options::encryption_key);
    let store = options.create(false).open(path)?;
    let snapshot = store.snapshot()?;
    let named = named_snapshots(&snapshot)?;
    let mut transaction = store.begin()?;
    history::forget(&mut transaction, &snapshot)?;
    for trees in all_trees(&snapshot)? {
        settle_files(&mut transaction, &trees, &named)?;
        settle_place(&mut transaction, &trees)?;
    }
    transaction.drop_tree(FILE_PLACES)?;
    settle_tables(&mut transaction, &named)?;
    let last = snapshot.sequence();
    drop((snapshot, named));
    if number <= last {
        return Ok(transaction.commit_with(Durability::Sync)?);
    }
    transaction.commit_numbered(number)?;
    Ok(store.checkpoint()?)
}

fn settle_files(transaction: &mut Transaction, trees: &TreeNames, named: &[Snapshot]) -> Result<()> {
    let mut needed = BTreeSet::new();
    for version in named {
        let manifest = Manifest::read(version.tree(trees.get(TreeName::Files))?)?;
        needed.extend(manifest.files().iter().map(|file| file.number));
    }
    let Some(mut dropped) = transaction.existing_tree(trees.get(TreeName::Dropped))? else { return Ok(()) };
    for key in tree_keys(&mut dropped)? {
        if !needed.contains(&file_number(&key)?) {
            dropped.remove(&key)?;
        } else if let Some(file) = dropped.get(&key)?.map(DroppedFile::from_bytes).transpose()? {
            dropped.put(&key, &DroppedFile { stamp: 0, dropped: 0, ..file }.to_bytes())?;
        }
    }
    Ok(())
}

/// The copy has its files in its folder.
fn settle_place(transaction: &mut Transaction, trees: &TreeNames) -> Result<()> {
    let Some(mut meta) = transaction.existing_tree(trees.get(TreeName::Meta))? else { return Ok(()) };
    if let Some(state) = meta.get(STATE_KEY)?.map(State::from_bytes).transpose()?
        && state.is_in_bucket
    {
        meta.put(STATE_KEY, &State { is_in_bucket: false, ..state }.to_bytes())?;
    }
    Ok(())
}

fn settle_tables(transaction: &mut Transaction, named: &[Snapshot]) -> Result<()> {
    let mut needed = BTreeSet::new();
    for version in named {
        needed.extend(version.tree_names()?.iter().filter_map(|name| table_number(name)));
    }
    let Some(mut dropped) = transaction.existing_tree(TABLES_DROPPED)? else { return Ok(()) };
    for key in tree_keys(&mut dropped)? {
        if needed.contains(&file_number(&key)?) {
            dropped.put(&key, &DroppedTable { stamp: 0, dropped: 0 }.to_bytes())?;
        } else {
            dropped.remove(&key)?;
        }
    }
    Ok(())
}

fn tree_keys(tree: &mut TreeMut<'_>) -> Result<Vec<Vec<u8>>> {
    Ok(tree.as_tree()?.iter().map(|entry| entry.map(|(key, _)| key)).collect::<lath_store::Result<_>>()?)
}
