//! Checks whether a catalog is up to date, and updates the records of single files.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::changes::Changes;
use super::discovery::put;
use super::edit::Edit;
use super::partition_update;
use crate::catalog::Catalog;
use crate::error::Result;
use crate::file::facts;
use crate::records::{Folder, roots};

/// The result of [`Catalog::in_folder`].
#[derive(Debug, Clone)]
pub enum InFolder {
    /// There is no catalog of exactly this folder.
    Nothing,
    /// The catalog is older than the files.
    Stale,
    /// The catalog has the current versions of all files, or it has the files of a table.
    Current(Catalog),
}

impl Catalog {
    /// Reads the files again that scans found changed, and removes the records of removed files.
    ///
    /// # Errors
    /// As [`Catalog::add`].
    pub fn refresh_stale(&self) -> Result<Changes> {
        let stale = self.stale.take();
        let mut changes = Changes::default();
        if stale.is_empty() {
            return Ok(changes);
        }
        if let Some(table) = self.table()? {
            return self.refresh_table(self.store.begin()?, &table, &stale);
        }
        let options = Self::reading_options();
        let mut transaction = self.store.begin()?;
        let mut edit = Edit::new(&mut transaction)?;
        let content = edit.state.content.clone();
        for slot in stale {
            // The file may have been removed by another refresh.
            let Ok(entry) = edit.entry(slot) else { continue };
            let location = self.folder.location(&entry.name)?;
            match facts::read(&location, None, &options, &content)? {
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
        partition_update::finish(edit)?;
        transaction.commit()?;
        self.publish()?;
        Ok(changes)
    }

    /// As [`Catalog::refresh_stale`], for a catalog that was opened read-only: closes this handle and opens the catalog for writing. Waits at
    /// most 0.1 seconds for other processes, and for other handles in this one. A catalog in a bucket stays as it is: who searches it need not be
    /// allowed to write it.
    ///
    /// # Errors
    /// As [`Catalog::open`] and [`Catalog::add`].
    pub fn update_stale(self) -> Result<Changes> {
        if self.bucket.is_some() {
            return Ok(Changes::default());
        }
        let (stale, path) = (Arc::clone(&self.stale), self.path().to_owned());
        drop(self);
        let catalog = Self { stale, ..Self::try_open(&path)? };
        catalog.refresh_stale()
    }

    /// Whether the catalog has exactly the files of its locations, in their current versions. Lists the locations, and checks each file;
    /// for a table of Delta Lake or Iceberg, checks its log alone.
    ///
    /// # Errors
    /// As [`Catalog::add`].
    pub fn is_current(&self) -> Result<bool> {
        if let Some(table) = self.table()? {
            return self.is_latest_table(&table);
        }
        let snapshot = self.store.snapshot()?;
        let mut known = HashMap::new();
        self.each_entry(&snapshot, |_, entry| {
            known.insert(entry.name, entry.version);
            Ok(())
        })?;
        let options = Self::reading_options();
        let mut seen = HashSet::new();
        for root in roots::read(&snapshot)? {
            for found in self.find(&root, &options, true)? {
                let Some(version) = known.get(&found.name) else { return Ok(false) };
                let now = match found.version {
                    Some(version) => Some(version),
                    None => facts::current_version(&found.location, &options)?,
                };
                if now.as_ref() != Some(version) {
                    return Ok(false);
                }
                seen.insert(found.name);
            }
        }
        Ok(seen.len() == known.len())
    }

    /// Opens the catalog called [`FILE_NAME`](Self::FILE_NAME) in a folder, if it is a catalog of exactly that folder and up to date. A file
    /// that cannot be opened or read as a catalog counts as none, because a search works without it.
    ///
    /// ```no_run
    /// use std::path::Path;
    ///
    /// use lath_catalog::{Catalog, InFolder};
    ///
    /// if let InFolder::Stale = Catalog::in_folder(Path::new("trips/")) {
    ///     println!("lath catalog refresh trips/");
    /// }
    /// ```
    pub fn in_folder(folder: &Path) -> InFolder {
        let path = folder.join(Self::FILE_NAME);
        // A listing takes partition columns from directories above the folder too, but the catalog does not have them.
        if !path.is_file() || folder.as_os_str().as_encoded_bytes().contains(&b'=') {
            return InFolder::Nothing;
        }
        let Ok(catalog) = Self::open_read_only(&path) else { return InFolder::Nothing };
        if !matches!(catalog.has_only_its_folder(), Ok(true)) {
            return InFolder::Nothing;
        }
        // Searches of a table read its log if that is newer.
        if catalog.table().is_ok_and(|table| table.is_some()) {
            return if cfg!(feature = "lake") { InFolder::Current(catalog) } else { InFolder::Nothing };
        }
        match catalog.is_current() {
            Ok(true) => InFolder::Current(catalog),
            Ok(false) => InFolder::Stale,
            Err(_) => InFolder::Nothing,
        }
    }

    /// Whether exactly the catalog's own folder was added.
    fn has_only_its_folder(&self) -> Result<bool> {
        let roots = roots::read(&self.store.snapshot()?)?;
        Ok(matches!(roots.as_slice(), [root] if root.name == Folder::ITSELF))
    }
}
