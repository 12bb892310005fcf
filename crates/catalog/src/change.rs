//! Adding files to a catalog, removing them, and taking note of what has changed.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use lath_parquet::{DatasetFile, DatasetOptions, FileVersion};

use crate::catalog::Catalog;
use crate::edit::Edit;
use crate::error::{Error, Result};
use crate::facts::{self, Facts, Wanted};
use crate::made_filter::MAX_KEY_COLUMNS;
use crate::roots::{self, Root};
use crate::trees::{NAMES, number_of};

/// Files that are read before what they say is written.
const FILES_AT_A_TIME: usize = 1024;

/// What a catalog keeps of files that are added.
#[derive(Debug, Clone)]
pub struct AddOptions {
    keys: Vec<Vec<String>>,
    filter_budget_bytes: Option<usize>,
}

/// What has changed in a catalog.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that are new.
    pub added: u64,
    /// Files that were read anew.
    pub updated: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Files that are as they were.
    pub unchanged: u64,
    /// Why files could not be read, which the catalog has nevertheless: every search looks into them.
    pub unreadable: Vec<String>,
}

impl Changes {
    /// Whether anything is different.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.updated == 0 && self.removed == 0
    }
}

impl AddOptions {
    /// Without keys; at most 1 MiB of filters for each file and column.
    pub fn new() -> Self {
        Self { keys: Vec::new(), filter_budget_bytes: None }
    }

    /// Makes Bloom filters of a column of those files that have none of their own, or of up to four columns that are looked up
    /// together. It holds for all files of the catalog, which are read anew where the key is new.
    #[must_use]
    pub fn key<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.keys.push(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the maximum bytes of the filters of a column that are kept for a file: a file's own are not kept, and made ones are
    /// made smaller or not at all. It holds for all files that are read from then on.
    #[must_use]
    pub fn filter_budget_bytes(mut self, bytes: usize) -> Self {
        self.filter_budget_bytes = Some(bytes);
        self
    }

    fn wanted(&self, before: &Wanted) -> Result<Wanted> {
        let mut wanted = before.clone();
        for key in &self.keys {
            let distinct: HashSet<&String> = key.iter().collect();
            if key.is_empty() || key.len() > MAX_KEY_COLUMNS || distinct.len() != key.len() {
                return Err(Error::invalid(format!(
                    "the key {key:?}: name one to {MAX_KEY_COLUMNS} different columns"
                )));
            }
            if !wanted.keys.contains(key) {
                wanted.keys.push(key.clone());
            }
        }
        wanted.filter_budget_bytes = self.filter_budget_bytes.unwrap_or(before.filter_budget_bytes);
        Ok(wanted)
    }
}

impl Default for AddOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A file that a location stands for, by its name in the catalog.
struct Found {
    root: u32,
    name: String,
    location: String,
    version: Option<FileVersion>,
}

impl Catalog {
    /// Adds the files that `locations` stand for, as [`Dataset::open`](lath_parquet::Dataset::open) finds them, and reads their
    /// footers, page indexes and filters. Files that the catalog has already are refreshed. All of it is one transaction: a
    /// failure leaves the catalog as it was.
    ///
    /// # Errors
    /// [`Error::Parquet`] for what cannot be found, [`Error::Invalid`] for keys that cannot be and for paths that are not
    /// Unicode, [`Error::Store`] if the catalog cannot be written. A file that cannot be read is none: [`Changes::unreadable`].
    pub fn add<L: AsRef<OsStr>>(
        &self,
        locations: impl IntoIterator<Item = L>,
        options: &AddOptions,
    ) -> Result<Changes> {
        let mut roots = Vec::new();
        for location in locations {
            let location = location.as_ref().to_str();
            let location = location.ok_or_else(|| Error::invalid("a catalog takes only locations that are Unicode"))?;
            roots.push(self.folder.name_of(location)?);
        }
        let mut transaction = self.store.begin()?;
        let mut edit = Edit::new(&mut transaction)?;
        let wanted = options.wanted(&edit.state.wanted)?;
        let has_new_keys = wanted.keys != edit.state.wanted.keys;
        edit.want(wanted)?;
        let known = roots::read(&self.store.snapshot()?)?;
        let mut added: Vec<Root> = Vec::new();
        for name in roots {
            let root = match known.iter().chain(&added).find(|root| root.name == name) {
                Some(root) => root.clone(),
                None => {
                    let root = Root { number: edit.state.next_root, name };
                    edit.state.next_root += 1;
                    roots::put(edit.transaction, &root)?;
                    root
                }
            };
            added.push(root);
        }
        let all: Vec<Root> = known.iter().chain(added.iter().filter(|root| !known.contains(root))).cloned().collect();
        // What was added before is looked at only where it has to be read anew.
        let looked_at = if has_new_keys { &all } else { &added };
        let changes = self.update(&mut edit, looked_at, &all, has_new_keys, false)?;
        edit.finish()?;
        transaction.commit()?;
        Ok(changes)
    }

    /// Lists all locations anew: files that are new or have changed are read, and those that are gone are removed.
    ///
    /// # Errors
    /// As [`Catalog::add`]; a location that is gone is none.
    pub fn refresh(&self) -> Result<Changes> {
        let mut transaction = self.store.begin()?;
        let roots = roots::read(&self.store.snapshot()?)?;
        let mut edit = Edit::new(&mut transaction)?;
        let changes = self.update(&mut edit, &roots, &roots, false, true)?;
        if changes.is_empty() {
            transaction.abort();
            return Ok(changes);
        }
        edit.finish()?;
        transaction.commit()?;
        Ok(changes)
    }

    /// Reads those files anew that scans have found to be in another state than the catalog has, and removes those that are gone.
    ///
    /// # Errors
    /// As [`Catalog::add`].
    pub fn refresh_stale(&self) -> Result<Changes> {
        let stale = self.stale.take();
        let mut changes = Changes::default();
        if stale.is_empty() {
            return Ok(changes);
        }
        let options = Self::reading_options();
        let mut transaction = self.store.begin()?;
        let mut edit = Edit::new(&mut transaction)?;
        let wanted = edit.state.wanted.clone();
        for slot in stale {
            // The file may have been removed by another refresh.
            let Ok(entry) = edit.entry(slot) else { continue };
            let location = self.folder.location_of(&entry.name)?;
            match facts::read(&location, None, &options, &wanted)? {
                Some(facts) => {
                    changes.updated += 1;
                    put(&mut edit, entry.root, &entry.name, facts, &mut changes)?;
                }
                None => {
                    changes.removed += 1;
                    edit.remove(slot)?;
                }
            }
        }
        edit.finish()?;
        transaction.commit()?;
        Ok(changes)
    }

    /// Removes locations, as they were added, and their files. The files themselves stay.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a location that was not added.
    pub fn remove<L: AsRef<str>>(&self, locations: impl IntoIterator<Item = L>) -> Result<Changes> {
        let mut changes = Changes::default();
        let roots = roots::read(&self.store.snapshot()?)?;
        let mut transaction = self.store.begin()?;
        let mut edit = Edit::new(&mut transaction)?;
        for location in locations {
            let location = location.as_ref();
            let name = self.folder.name_of(location)?;
            let Some(root) = roots.iter().find(|root| root.name == name) else {
                let known: Vec<&str> = roots.iter().map(|root| root.name.as_str()).collect();
                let known = known.join(", ");
                return Err(Error::invalid(format!("{location}: it was not added; there are {known}")));
            };
            for slot in slots_of_root(&mut edit, root.number)? {
                edit.remove(slot)?;
                changes.removed += 1;
            }
            roots::remove(edit.transaction, root.number)?;
        }
        edit.finish()?;
        transaction.commit()?;
        Ok(changes)
    }

    /// Compares what `roots` stand for now with what the catalog has, and reads what is new or has changed, or everything.
    fn update(
        &self,
        edit: &mut Edit<'_>,
        roots: &[Root],
        all: &[Root],
        read_all: bool,
        may_be_gone: bool,
    ) -> Result<Changes> {
        let mut changes = Changes::default();
        let options = Self::reading_options();
        let mut to_read: Vec<Found> = Vec::new();
        for root in roots {
            let before = slots_of_root(edit, root.number)?;
            let mut seen = BTreeSet::new();
            for found in self.find(root, &options, may_be_gone)? {
                // A file that several locations stand for is that of the first.
                let others = all.iter().filter(|other| other.number < root.number);
                let mut is_known = false;
                for other in others {
                    is_known |= edit.slot_of(other.number, &found.name)?.is_some();
                }
                if is_known {
                    continue;
                }
                let slot = edit.slot_of(root.number, &found.name)?;
                seen.extend(slot);
                let is_current = match slot {
                    Some(slot) if !read_all => self.is_current(edit, slot, &found, &options)?,
                    _ => false,
                };
                if is_current {
                    changes.unchanged += 1;
                    continue;
                }
                to_read.push(found);
                if to_read.len() == FILES_AT_A_TIME {
                    read_into(edit, &mut to_read, &options, &mut changes)?;
                }
            }
            read_into(edit, &mut to_read, &options, &mut changes)?;
            for slot in before.into_iter().filter(|slot| !seen.contains(slot)) {
                edit.remove(slot)?;
                changes.removed += 1;
            }
        }
        Ok(changes)
    }

    /// The files that a location stands for now.
    fn find(&self, root: &Root, options: &Arc<DatasetOptions>, may_be_gone: bool) -> Result<Vec<Found>> {
        let location = self.folder.location_of(&root.name)?;
        let files = match DatasetFile::find(&location, options) {
            Err(lath_parquet::Error::Io { source, .. })
                if may_be_gone && source.kind() == std::io::ErrorKind::NotFound =>
            {
                return Ok(Vec::new());
            }
            found => found?,
        };
        let found = |file: DatasetFile| {
            if let Some(path) = file.path()
                && path.to_str().is_none()
            {
                return Err(Error::invalid(format!("{}: its name is not Unicode; rename it", path.display())));
            }
            Ok(Found {
                root: root.number,
                name: self.folder.name_of(file.location())?,
                location: file.location().to_owned(),
                version: file.listed_version().cloned(),
            })
        };
        files.into_iter().map(found).collect()
    }

    fn is_current(&self, edit: &mut Edit<'_>, slot: u32, found: &Found, options: &Arc<DatasetOptions>) -> Result<bool> {
        let entry = edit.entry(slot)?;
        let now = match &found.version {
            Some(version) => Some(version.clone()),
            None => facts::current_version(&found.location, options)?,
        };
        Ok(entry.read.is_some() && now.as_ref() == Some(&entry.version))
    }
}

/// The slots of the files of a location.
fn slots_of_root(edit: &mut Edit<'_>, root: u32) -> Result<Vec<u32>> {
    let mut slots = Vec::new();
    for entry in edit.transaction.tree(NAMES)?.as_tree()?.prefix(&root.to_be_bytes()) {
        slots.extend(number_of(entry?.1));
    }
    Ok(slots)
}

fn put(edit: &mut Edit<'_>, root: u32, name: &str, facts: Facts, changes: &mut Changes) -> Result<()> {
    if let Err(why) = &facts.read {
        changes.unreadable.push(why.clone());
    }
    edit.put(root, name, facts)
}

/// Reads files, several at a time, and puts what they say into the catalog.
fn read_into(
    edit: &mut Edit<'_>,
    files: &mut Vec<Found>,
    options: &Arc<DatasetOptions>,
    changes: &mut Changes,
) -> Result<()> {
    let wanted = edit.state.wanted.clone();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut own = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(file) = files.get(at)
        {
            own.push((at, facts::read(&file.location, file.version.as_ref(), options, &wanted)));
        }
        own
    };
    let is_remote = files.iter().any(|file| file.location.contains("://"));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if is_remote { DatasetOptions::DEFAULT_REQUESTS_IN_FLIGHT } else { cores }.min(files.len());
    let mut read = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut read = work();
        others.into_iter().for_each(|other| read.extend(other.join().unwrap_or_default()));
        read
    });
    if read.len() != files.len() {
        return Err(Error::invalid("a thread that read files ended early; report this"));
    }
    read.sort_unstable_by_key(|(at, _)| *at);
    for (file, (_, facts)) in files.drain(..).zip(read) {
        let is_known = edit.slot_of(file.root, &file.name)?;
        match (facts?, is_known) {
            (Some(facts), slot) => {
                if slot.is_some() {
                    changes.updated += 1
                } else {
                    changes.added += 1
                }
                put(edit, file.root, &file.name, facts, changes)?;
            }
            (None, Some(slot)) => {
                edit.remove(slot)?;
                changes.removed += 1;
            }
            (None, None) => {}
        }
    }
    Ok(())
}
