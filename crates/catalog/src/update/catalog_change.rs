//! Adds, removes and refreshes files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::Arc;

use lath_parquet::DatasetOptions;

use super::add_options::AddOptions;
use super::changes::Changes;
use super::discovery::{FILES_AT_A_TIME, FoundFile, read_into};
use super::edit::{Edit, root_slots};
use super::partition_update;
use super::table_update::Reread;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::file::facts;
use crate::records::{META, Root, TABLE_KEY, TableRecord, roots};

impl Catalog {
    /// Adds the files at `locations`, which are found as by [`Dataset::open`](lath_parquet::Dataset::open), and reads their footers, page
    /// indexes and filters. Files that are already in the catalog are refreshed. This is one transaction: a failure leaves the catalog
    /// unchanged. A location may also be a table of Delta Lake or Iceberg, which is then the only one of the catalog.
    ///
    /// # Errors
    /// [`Error::Parquet`] for locations that cannot be listed, [`Error::Invalid`] for invalid keys and for paths that are not Unicode,
    /// [`Error::Store`] if the catalog cannot be written. An unreadable file is no error, but reported in [`Changes::unreadable`].
    pub fn add<L: AsRef<OsStr>>(
        &self,
        locations: impl IntoIterator<Item = L>,
        options: &AddOptions,
    ) -> Result<Changes> {
        let mut roots = Vec::new();
        for location in locations {
            let location = location.as_ref().to_str();
            let location = location
                .ok_or_else(|| Error::invalid("a location is not Unicode, as locations in a catalog have to be"))?;
            roots.push(self.folder.name(location)?);
        }
        let mut transaction = self.store.begin()?;
        let mut edit = Edit::new(&mut transaction)?;
        let content = options.content(&edit.state.content)?;
        let has_new_keys = content.keys != edit.state.content.keys;
        edit.set_content(content)?;
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
        let table = TableRecord::read(Some(edit.transaction.tree(META)?.as_tree()?))?;
        if let Some(root) = self.table_root(table.is_some(), &known, &added)? {
            let none = BTreeSet::new();
            let reread = if has_new_keys { Reread::All } else { Reread::Slots(&none) };
            let changes = self.update_table(edit, root, table.as_ref(), reread)?;
            transaction.commit()?;
            self.publish()?;
            return Ok(changes);
        }
        let all: Vec<Root> = known.iter().chain(added.iter().filter(|root| !known.contains(root))).cloned().collect();
        // Locations that were added before are only listed if their files have to be read again.
        let listed = if has_new_keys { &all } else { &added };
        let changes = self.update(&mut edit, listed, &all, has_new_keys, false)?;
        partition_update::finish(edit)?;
        transaction.commit()?;
        self.publish()?;
        Ok(changes)
    }

    /// Lists all locations again. Reads new and changed files, and removes the records of removed files. For a table of Delta Lake or
    /// Iceberg, its log is read instead, and the new files.
    ///
    /// # Errors
    /// As [`Catalog::add`]; a location that no longer exists is no error.
    pub fn refresh(&self) -> Result<Changes> {
        let mut transaction = self.store.begin()?;
        let roots = roots::read(&self.store.snapshot()?)?;
        if let Some(table) = self.table()? {
            return self.refresh_table(transaction, &table, &BTreeSet::new());
        }
        self.check_plain(&roots)?;
        let mut edit = Edit::new(&mut transaction)?;
        let changes = self.update(&mut edit, &roots, &roots, false, true)?;
        if changes.is_empty() {
            transaction.abort();
            return Ok(changes);
        }
        partition_update::finish(edit)?;
        transaction.commit()?;
        self.publish()?;
        Ok(changes)
    }

    /// Removes locations and their files from the catalog. The files themselves stay.
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
            let name = self.folder.name(location)?;
            let Some(root) = roots.iter().find(|root| root.name == name) else {
                let known: Vec<&str> = roots.iter().map(|root| root.name.as_str()).collect();
                let known = known.join(", ");
                return Err(Error::invalid(format!("{location} is not in the catalog; it has {known}")));
            };
            for slot in root_slots(&mut edit, root.number)? {
                edit.remove(slot)?;
                changes.removed += 1;
            }
            roots::remove(edit.transaction, root.number)?;
        }
        if edit.transaction.tree(META)?.remove(TABLE_KEY)? {
            edit.clear()?;
        }
        partition_update::finish(edit)?;
        transaction.commit()?;
        self.publish()?;
        Ok(changes)
    }

    /// Lists `roots`, and reads the new and changed files, or all files.
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
        let mut to_read: Vec<FoundFile> = Vec::new();
        for root in roots {
            let before = root_slots(edit, root.number)?;
            let mut seen = BTreeSet::new();
            for found in self.find(root, &options, may_be_gone)? {
                // A file that several locations include belongs to the first of them.
                let others = all.iter().filter(|other| other.number < root.number);
                let mut is_known = false;
                for other in others {
                    is_known |= edit.slot(other.number, &found.name)?.is_some();
                }
                if is_known {
                    continue;
                }
                let slot = edit.slot(root.number, &found.name)?;
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

/// Whether the catalog has read the current version of a file.
fn is_current(edit: &mut Edit<'_>, slot: u32, found: &FoundFile, options: &Arc<DatasetOptions>) -> Result<bool> {
    let entry = edit.entry(slot)?;
    let now = match &found.version {
        Some(version) => Some(version.clone()),
        None => facts::current_version(&found.location, options)?,
    };
    Ok(entry.read.is_some() && now.as_ref() == Some(&entry.version))
}
