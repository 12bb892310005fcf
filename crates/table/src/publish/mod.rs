//! Publishes commits of a table as snapshots of a table of Iceberg, in the folder `metadata` within the table's.
//!
//! A flush publishes the commit whose hot rows it has moved to files: with them, and with the masks of that commit, the files are the table.
//! Each step leaves what was published before, until the name of the new metadata file is durable:
//!
//! | step | after a crash |
//! | --- | --- |
//! | 1. manifests, manifest list and deletion vectors are written and synced under new names, and the store is synced | no metadata names them; the next publication writes them again |
//! | 2. `vN.metadata.json` is written under another name, synced, renamed, and its folder synced | it is there or not |
//! | 3. `version-hint.text` is replaced | readers of the hint see the snapshot before, whose files stay |
//! | 4. files of snapshots that are no longer kept are removed | the next publication removes them |
//!
//! The store has no record of what was published: the metadata says it. `lath.commit` in the summary of a snapshot is the number of the store's
//! commit, so that files of the table that were dropped after the oldest published commit stay.

mod commit_files;
mod delta;
mod folder;
mod identity;
mod metrics;
mod schema;
mod single_value;
mod snapshot;
mod type_mapping;

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Result;
use crate::records::{Publishing, TreeName};
use crate::view::{Commit, Engine, View};

pub(crate) use self::commit_files::CommitFiles;
pub(crate) use self::folder::MetadataFolder;
use self::type_mapping::widened;

pub(crate) use self::delta::{DeltaLog, remove_log};
pub use self::type_mapping::MappedColumn;

/// The setting of the newest commit; `None` if the table is not published.
pub(crate) fn setting(engine: &Engine) -> Result<Option<Publishing>> {
    Publishing::read(Commit::newest(engine)?.shared_tree(TreeName::Meta)?)
}

/// The columns of the newest commit that are published in a wider type.
pub(crate) fn mapped_columns(engine: &Engine) -> Result<Vec<MappedColumn>> {
    Ok(widened(View::schema(&Commit::newest(engine)?).file_schema()).1)
}

/// The numbers of the files of a commit that readers of the formats would not read as they are: their fields have no numbers, or they have columns
/// of an older version in a way that readers do not follow. Types that a format lacks are an error.
pub(crate) fn unpublishable(engine: &Engine, commit: &Arc<Commit>, setting: Publishing) -> Result<Vec<u64>> {
    let newest = View::schema(commit);
    let iceberg = setting.iceberg.then(|| schema::iceberg_schema(newest, setting.map_types)).transpose()?;
    if setting.delta {
        delta::check_types(newest, setting.map_types)?;
    }
    let mut found = Vec::new();
    for entry in commit.manifest().files() {
        let stored = newest.with_version(entry.schema)?;
        let is_fit = match &iceberg {
            Some(schema) => {
                schema::check_widening(&stored, schema).is_ok() && metrics::has_numbers(engine, commit, newest, entry)?
            }
            None => true,
        };
        if !is_fit || (setting.delta && delta::check_columns(&stored, newest).is_err()) {
            found.push(entry.number);
        }
    }
    Ok(found)
}

/// A commit that is published.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedCommit {
    /// The number of the commit, as [`Snapshot::version`](crate::Snapshot::version) gives it.
    pub version: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of data files.
    pub files: usize,
    /// The metadata file that readers of Iceberg open; the commit in the log of Delta Lake if the table is published in that format alone.
    pub metadata: PathBuf,
    /// The columns that are published in a wider type, because the format lacks theirs.
    pub mapped: Vec<MappedColumn>,
    /// Number of files that were written again before, because readers would not have read them as they were.
    pub rewritten: usize,
}

/// The store's commit that the oldest published version shows; `None` if nothing is published. Files that were dropped later stay.
pub(crate) fn oldest_commit(engine: &Engine) -> Result<Option<u64>> {
    let Some(setting) = setting(engine)? else { return Ok(None) };
    let mut oldest = None;
    if setting.iceberg {
        let current = MetadataFolder::new(&engine.files)?.current()?;
        oldest = current.and_then(|current| current.commits().min());
    }
    if setting.delta {
        let commit = DeltaLog::new(&engine.files).oldest_commit(setting.keep)?;
        oldest = oldest.into_iter().chain(commit).min();
    }
    Ok(oldest)
}

/// Removes what a table has in a bucket, and returns the number of files.
pub(crate) fn remove_objects(engine: &Engine) -> Result<usize> {
    if engine.files.url().is_none() {
        return Ok(0);
    }
    engine.files.claim()?;
    MetadataFolder::new(&engine.files)?.remove_all()?;
    remove_log(engine)?;
    engine.files.remove_all()
}

/// Publishes a commit if the table is set to be published.
pub(crate) fn publish_if_set(engine: &Arc<Engine>, files: CommitFiles<'_>) -> Result<Option<PublishedCommit>> {
    let Some(setting) = setting(engine)? else { return Ok(None) };
    // An error of one format does not keep the other from being published.
    let iceberg = setting.iceberg.then(|| snapshot::publish(engine, &files, setting));
    let delta = setting.delta.then(|| delta::publish(engine, &files, setting));
    let (iceberg, delta) = (iceberg.transpose()?, delta.transpose()?);
    let (metadata, version) = iceberg.or(delta).unwrap_or_default();
    let rows = files.files().iter().map(|entry| entry.rows - files.deleted_count(entry)).sum();
    let mapped = widened(files.schema().file_schema()).1;
    Ok(Some(PublishedCommit { version, rows, files: files.files().len(), metadata, mapped, rewritten: 0 }))
}
