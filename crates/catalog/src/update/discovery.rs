//! Finds the files of locations, and reads them into the catalog.

use std::sync::Arc;
use std::thread;

use lath_parquet::{DatasetFile, DatasetOptions, FileVersion, on_threads};

use super::changes::Changes;
use super::edit::Edit;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::file::{Facts, facts};
use crate::records::Root;

/// The number of files that are read before their records are written.
pub(super) const FILES_AT_A_TIME: usize = 1024;

/// A file of a location, with its name in the catalog.
pub(crate) struct FoundFile {
    pub(crate) root: u32,
    pub(crate) name: String,
    pub(crate) location: String,
    pub(crate) version: Option<FileVersion>,
}

impl Catalog {
    /// Lists the files of a location.
    pub(crate) fn find(&self, root: &Root, options: &Arc<DatasetOptions>, may_be_gone: bool) -> Result<Vec<FoundFile>> {
        let location = self.folder.location(&root.name)?;
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
                return Err(Error::invalid(format!(
                    "{}: the name is not Unicode, as names in a catalog have to be; rename it",
                    path.display()
                )));
            }
            Ok(FoundFile {
                root: root.number,
                name: self.folder.name(file.location())?,
                location: file.location().to_owned(),
                version: file.listed_version().cloned(),
            })
        };
        files.into_iter().map(found).collect()
    }
}

/// Writes the metadata of a file to the catalog.
pub(crate) fn put(edit: &mut Edit<'_>, root: u32, name: &str, facts: Facts, changes: &mut Changes) -> Result<()> {
    if let Err(why) = &facts.read {
        changes.unreadable.push(why.clone());
    }
    edit.put(root, name, facts)
}

/// Reads files, several at a time, and writes their metadata to the catalog.
pub(crate) fn read_into(
    edit: &mut Edit<'_>,
    files: &mut Vec<FoundFile>,
    options: &Arc<DatasetOptions>,
    changes: &mut Changes,
) -> Result<()> {
    let content = edit.state.content.clone();
    let is_remote = files.iter().any(|file| file.location.contains("://"));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if is_remote { DatasetOptions::DEFAULT_REQUESTS_IN_FLIGHT } else { cores };
    let read = on_threads::each(files.len(), threads, "lath-read", |at| {
        facts::read(&files[at].location, files[at].version.as_ref(), options, &content)
    });
    let read = read.into_iter().collect::<Result<Vec<_>>>()?;
    for (file, facts) in files.drain(..).zip(read) {
        let is_known = edit.slot(file.root, &file.name)?;
        match (facts, is_known) {
            (Some(facts), slot) => {
                if slot.is_some() {
                    changes.updated += 1;
                } else {
                    changes.added += 1;
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
