//! The Parquet files of a copy.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lath_store::{Snapshot, Store};

use crate::database::relative_folder;
use crate::error::{Error, Result};
use crate::file::{DATA_FOLDER, copy_file, create_folder, entries, is_file_name, sync_folder};
use crate::records::history::History;
use crate::records::{
    DroppedFile, DroppedTable, FileEntry, Manifest, TABLES_DROPPED, TreeName, TreeNames, all_trees, file_number,
    named_snapshots,
};

/// A file of a table: the number of the table, if it is one of a database, and the name in the table's folder.
pub(crate) type FileKey = (Option<u64>, String);

/// Gets data files for a copy.
pub(crate) trait FileSource {
    /// Makes the file at `to`, which does not exist, of the file of the source. Returns whether it is a link. `bytes` is its length, if it is known.
    ///
    /// # Errors
    /// [`Error::Io`] of the kind `NotFound` if the source does not have the file.
    fn fetch(&self, file: &FileKey, bytes: Option<u64>, to: &Path) -> Result<bool>;
}

/// The files in a local folder.
#[derive(Debug)]
pub(crate) struct LocalFiles<'p>(pub(crate) &'p Path);

impl FileSource for LocalFiles<'_> {
    fn fetch(&self, (table, name): &FileKey, _: Option<u64>, to: &Path) -> Result<bool> {
        let from = self.0.join(relative_folder(*table)).join(name);
        if fs::hard_link(&from, to).is_ok() {
            return Ok(true);
        }
        copy_file(&from, to).map_err(Error::io("copy", &from))?;
        Ok(false)
    }
}

/// Counts of the files that a copy got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FetchCounts {
    pub(crate) files: u64,
    pub(crate) links: u64,
    pub(crate) bytes: u64,
}

/// Puts files into the folder of a copy.
#[derive(Debug)]
pub(crate) struct FileFetcher<'f> {
    folder: &'f Path,
    /// Folders whose names in them are not durable yet.
    unsynced: BTreeSet<PathBuf>,
    pub(crate) fetched: FetchCounts,
}

impl<'f> FileFetcher<'f> {
    pub(crate) fn new(folder: &'f Path) -> Self {
        Self { folder, unsynced: BTreeSet::new(), fetched: FetchCounts::default() }
    }

    /// Makes the folder of a table.
    pub(crate) fn create_table_folder(&mut self, table: Option<u64>) -> Result<()> {
        create_folder(&self.folder.join(relative_folder(table)))
    }

    /// Gets a file, unless it is there. No two files ever have the same name, so one with the right length is the right one.
    pub(crate) fn fetch(&mut self, source: &dyn FileSource, file: &FileKey, bytes: Option<u64>) -> Result<()> {
        let (table, name) = file;
        let to = self.folder.join(relative_folder(*table)).join(name);
        let Some(parent) = to.parent() else { return Ok(()) };
        if let Ok(found) = fs::metadata(&to)
            && bytes.is_none_or(|bytes| bytes == found.len())
        {
            return Ok(());
        }
        self.create_table_folder(*table)?;
        create_folder(parent)?;
        // Whole or not there under its name, so that a found one is whole.
        let last = name.rsplit('/').next().unwrap_or(name);
        let partial = parent.join(format!(".{last}.lath-0.partial"));
        remove_file(&partial)?;
        let is_link = source.fetch(file, bytes, &partial)?;
        let found = fs::metadata(&partial).map_err(Error::io("open", &partial))?.len();
        if let Some(bytes) = bytes.filter(|&bytes| bytes != found) {
            let what = format!("{} has {found} bytes in the source, and its entry says {bytes}", to.display());
            return Err(Error::corrupt(what));
        }
        fs::rename(&partial, &to).map_err(Error::io("rename", &partial))?;
        // A rename of a link to another name of the same file leaves both.
        remove_file(&partial)?;
        self.unsynced.insert(parent.to_owned());
        self.fetched.files += 1;
        self.fetched.links += u64::from(is_link);
        self.fetched.bytes += found;
        Ok(())
    }

    /// Makes the names of the files durable.
    pub(crate) fn sync(&mut self) -> Result<()> {
        std::mem::take(&mut self.unsynced).iter().try_for_each(|folder| sync_folder(folder))
    }
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// The files that a commit, its named snapshots and its history may have, each with its length if a list of files has it. A file without a length was
/// dropped, and may be gone.
pub(crate) fn files_of_commit(snapshot: &Snapshot) -> Result<BTreeMap<FileKey, Option<u64>>> {
    let mut files = BTreeMap::new();
    for trees in all_trees(snapshot)? {
        // The history has no other files of these tables.
        add_dropped(snapshot, &trees, &mut files)?;
        add_listed(snapshot, &trees, &mut files)?;
    }
    for named in named_snapshots(snapshot)? {
        for trees in all_trees(&named)? {
            add_listed(&named, &trees, &mut files)?;
        }
    }
    let Some(dropped) = snapshot.tree(TABLES_DROPPED)? else { return Ok(files) };
    let history = History::new(snapshot)?;
    for entry in dropped.iter() {
        let (key, value) = entry?;
        // The last kept commit that has the table. All of the table's files stay as long as there is one.
        if let Some(kept) = history.last_before(DroppedTable::from_bytes(value)?.dropped)? {
            let (kept, trees) = (history.open(kept)?, TreeNames::database_table(file_number(&key)?));
            add_dropped(&kept, &trees, &mut files)?;
            add_listed(&kept, &trees, &mut files)?;
        }
    }
    Ok(files)
}

fn add_dropped(version: &Snapshot, trees: &TreeNames, files: &mut BTreeMap<FileKey, Option<u64>>) -> Result<()> {
    let Some(dropped) = version.tree(trees.get(TreeName::Dropped))? else { return Ok(()) };
    for entry in dropped.iter() {
        let (_, value) = entry?;
        files.entry((trees.number(), DroppedFile::from_bytes(value)?.name)).or_insert(None);
    }
    Ok(())
}

fn add_listed(version: &Snapshot, trees: &TreeNames, files: &mut BTreeMap<FileKey, Option<u64>>) -> Result<()> {
    let manifest = Manifest::read(version.tree(trees.get(TreeName::Files))?)?;
    files.extend(manifest.files().iter().map(|file| ((trees.number(), file.name.clone()), Some(file.bytes))));
    Ok(())
}

/// The table whose list of files a tree is.
pub(crate) fn table_with_files(tree: &str) -> Option<Option<u64>> {
    if tree == TreeNames::single_table().get(TreeName::Files) {
        return Some(None);
    }
    Some(Some(tree.strip_prefix("table/")?.strip_suffix("/files")?.parse().ok()?))
}

/// The file of an entry of such a tree, and its length.
pub(crate) fn file_in_tree(table: Option<u64>, key: &[u8], value: &[u8]) -> Result<(FileKey, u64)> {
    let entry = FileEntry::from_bytes(file_number(key)?, value)?;
    let is_below = !entry.name.is_empty() && !entry.name.split('/').any(|part| matches!(part, "" | "." | ".."));
    if !is_below || entry.name.contains('\\') {
        return Err(Error::corrupt(format!("a file is called {:?}", entry.name)));
    }
    Ok(((table, entry.name), entry.bytes))
}

/// Removes files that the source no longer has, once no reader of the copy needs them.
#[derive(Debug, Default)]
pub(crate) struct UnneededFiles {
    /// Files and folders, and the commit of the copy at which they were found.
    found: HashMap<PathBuf, u64>,
    /// Whether commits since may have dropped files.
    pub(crate) is_due: bool,
}

impl UnneededFiles {
    /// Files may have been dropped before.
    pub(crate) fn due() -> Self {
        Self { is_due: true, ..Self::default() }
    }

    /// Looks for such files, and removes the ones that no reader of an older commit can need.
    pub(crate) fn remove(&mut self, folder: &Path, store: &Store) -> Result<u64> {
        if !self.is_due && self.found.is_empty() {
            return Ok(0);
        }
        let snapshot = store.snapshot()?;
        let newest = snapshot.sequence();
        let unneeded = unneeded(folder, &snapshot)?;
        drop(snapshot);
        self.found.retain(|path, _| unneeded.contains(path));
        for path in unneeded {
            self.found.entry(path).or_insert(newest);
        }
        self.is_due = false;
        let oldest_reader = store.stats()?.oldest_reader;
        let mut removed = 0;
        let is_free = |commit: &u64| oldest_reader.is_none_or(|reader| reader >= *commit);
        for (path, _) in self.found.extract_if(|_, commit| is_free(commit)) {
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
            let gone = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match gone {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path)(error));
                }
                _ => removed += 1,
            }
        }
        Ok(removed)
    }
}

/// Files and folders of tables that a commit does not need.
fn unneeded(folder: &Path, snapshot: &Snapshot) -> Result<Vec<PathBuf>> {
    let needed = files_of_commit(snapshot)?;
    let mut tables: BTreeSet<Option<u64>> = needed.keys().map(|(table, _)| *table).collect();
    tables.extend(all_trees(snapshot)?.iter().map(TreeNames::number));
    let mut unneeded = Vec::new();
    let mut look_in = |table: Option<u64>, parent: &Path, prefix: &str| -> Result<()> {
        for entry in entries(parent)?.into_iter().flatten() {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = format!("{prefix}{name}");
            if is_file_name(&name) && !needed.contains_key(&(table, name)) {
                unneeded.push(entry.path());
            }
        }
        Ok(())
    };
    for &table in &tables {
        let own = folder.join(relative_folder(table));
        look_in(table, &own, "")?;
        look_in(table, &own.join(DATA_FOLDER), &format!("{DATA_FOLDER}/"))?;
    }
    for entry in entries(folder)?.into_iter().flatten() {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(|name| name.strip_prefix("table-")?.parse::<u64>().ok());
        if number.is_some_and(|number| !tables.contains(&Some(number))) {
            unneeded.push(entry.path());
        }
    }
    Ok(unneeded)
}
