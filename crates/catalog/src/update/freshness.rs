//! Whether a catalog is up to date, and bringing single files of it up to date.

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

/// What [`Catalog::in_folder`] has found.
#[derive(Debug, Clone)]
pub enum InFolder {
    /// No catalog of this folder alone.
    Nothing,
    /// One that is older than the files.
    Stale,
    /// One that has the files as they are.
    Current(Catalog),
}

impl Catalog {
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
        partition_update::finish(edit)?;
        transaction.commit()?;
        Ok(changes)
    }

    /// As [`Catalog::refresh_stale`], of a catalog that was opened to be read: this handle is closed, and the catalog opened anew.
    /// It waits a tenth of a second at most for other processes and other handles of this one.
    ///
    /// # Errors
    /// As [`Catalog::open`] and [`Catalog::add`].
    pub fn update_stale(self) -> Result<Changes> {
        let (stale, path) = (Arc::clone(&self.stale), self.path().to_owned());
        drop(self);
        let catalog = Self { stale, ..Self::try_open(&path)? };
        catalog.refresh_stale()
    }

    /// Whether the locations stand for exactly those files that the catalog has, in the states that it has: they are listed, and each
    /// file is looked at.
    ///
    /// # Errors
    /// As [`Catalog::add`].
    pub fn is_current(&self) -> Result<bool> {
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

    /// The catalog called [`FILE_NAME`](Self::FILE_NAME) in a folder, if it is one of that folder alone; whether it is up to date. What
    /// cannot be opened or read as a catalog is none: files are found without it.
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
        // Directories above the catalog give its files no partition columns, as they do where files are listed.
        if !path.is_file() || folder.as_os_str().as_encoded_bytes().contains(&b'=') {
            return InFolder::Nothing;
        }
        let Ok(catalog) = Self::open_read_only(&path) else { return InFolder::Nothing };
        if !matches!(catalog.is_of_its_folder(), Ok(true)) {
            return InFolder::Nothing;
        }
        match catalog.is_current() {
            Ok(true) => InFolder::Current(catalog),
            Ok(false) => InFolder::Stale,
            Err(_) => InFolder::Nothing,
        }
    }

    /// Whether what was added is the folder that the catalog is in, and nothing else.
    fn is_of_its_folder(&self) -> Result<bool> {
        let roots = roots::read(&self.store.snapshot()?)?;
        Ok(matches!(roots.as_slice(), [root] if root.name == Folder::ITSELF))
    }
}
