//! Adding files to a catalog, removing them, and taking note of what has changed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::Arc;

use lath_parquet::DatasetOptions;

use super::add_options::AddOptions;
use super::changes::Changes;
use super::discovery::{Found, read_into};
use super::edit::Edit;
use super::partition_update;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::file::facts;
use crate::records::{NAMES, Root, number_of, roots};

/// Files that are read before what they say is written.
const FILES_AT_A_TIME: usize = 1024;

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
        partition_update::finish(edit)?;
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
        partition_update::finish(edit)?;
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
                return Err(Error::invalid(format!("{location} is not in the catalog; it has {known}")));
            };
            for slot in slots_of_root(&mut edit, root.number)? {
                edit.remove(slot)?;
                changes.removed += 1;
            }
            roots::remove(edit.transaction, root.number)?;
        }
        partition_update::finish(edit)?;
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
                    Some(slot) if !read_all => is_current(edit, slot, &found, &options)?,
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
}

/// Whether a file is in the state that the catalog has, which could read it.
fn is_current(edit: &mut Edit<'_>, slot: u32, found: &Found, options: &Arc<DatasetOptions>) -> Result<bool> {
    let entry = edit.entry(slot)?;
    let now = match &found.version {
        Some(version) => Some(version.clone()),
        None => facts::current_version(&found.location, options)?,
    };
    Ok(entry.read.is_some() && now.as_ref() == Some(&entry.version))
}

/// The slots of the files of a location.
fn slots_of_root(edit: &mut Edit<'_>, root: u32) -> Result<Vec<u32>> {
    let mut slots = Vec::new();
    for entry in edit.transaction.tree(NAMES)?.as_tree()?.prefix(&root.to_be_bytes()) {
        slots.extend(number_of(entry?.1));
    }
    Ok(slots)
}
