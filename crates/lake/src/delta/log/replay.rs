//! Reconciles the actions of a log to the files of one version.

use std::collections::HashSet;

use lath_parquet::{Error, Result};

use super::checkpoint;
use super::names::{COMPACTION_END, FOLDER};
use super::segment::Segment;
use crate::delta::actions::{Action, Add, DeletionVector, Metadata, Protocol};
use crate::delta::paths;
use crate::storage::Folder;

/// The folder of the sidecars of checkpoints.
const SIDECARS: &str = "_delta_log/_sidecars";

/// A version of a table.
#[derive(Debug)]
pub(in crate::delta) struct Snapshot {
    pub(in crate::delta) version: i64,
    /// The latest version of the table.
    pub(in crate::delta) latest: i64,
    pub(in crate::delta) protocol: Protocol,
    pub(in crate::delta) metadata: Metadata,
    /// The files of the table, newest commit first.
    pub(in crate::delta) files: Vec<Add>,
}

/// The newest actions that were seen. Actions come from the newest commit to the oldest.
#[derive(Debug, Default)]
struct Replay {
    protocol: Option<Protocol>,
    metadata: Option<Metadata>,
    files: Vec<Add>,
    /// Files that a newer commit has added or removed. A file with another deletion vector is another one.
    seen: HashSet<(String, Option<VectorId>)>,
}

type VectorId = (String, String, Option<u64>);

impl Replay {
    fn apply(&mut self, folder: &Folder, action: Action) -> Result<()> {
        if let Some(protocol) = action.protocol {
            self.protocol.get_or_insert(protocol);
        }
        if let Some(metadata) = action.metadata {
            self.metadata.get_or_insert(metadata);
        }
        if let Some(add) = action.add
            && self.seen.insert(key(folder, &add.path, add.deletion_vector.as_ref())?)
        {
            self.files.push(add);
        }
        if let Some(remove) = action.remove {
            self.seen.insert(key(folder, &remove.path, remove.deletion_vector.as_ref())?);
        }
        Ok(())
    }

    /// Checks that no file has two deletion vectors at once.
    fn check_paths(&self, folder: &Folder) -> Result<()> {
        let mut paths = HashSet::with_capacity(self.files.len());
        for file in &self.files {
            if !paths.insert(paths::canonical(folder, &file.path)?) {
                let path = &file.path;
                return Err(Error::corrupt(format!("the log has {path} twice, with different deletion vectors")));
            }
        }
        Ok(())
    }
}

fn key(folder: &Folder, path: &str, vector: Option<&DeletionVector>) -> Result<(String, Option<VectorId>)> {
    let id = vector.map(|vector| {
        let (storage_type, path, offset) = vector.id();
        (storage_type.to_owned(), path.to_owned(), offset)
    });
    Ok((paths::canonical(folder, path)?.into_owned(), id))
}

/// The state of the table that a segment of the log describes.
pub(super) fn replay(folder: &Folder, segment: &Segment) -> Result<Snapshot> {
    let mut replay = Replay::default();
    let in_log = |name: &String| folder.location(&format!("{FOLDER}/{name}"));
    let commits = segment.commits.iter().rev().map(in_log).collect::<Result<Vec<_>>>()?;
    for (location, bytes) in commits.iter().zip(folder.read_all(&commits)?) {
        let mut actions = parse(location, &bytes)?;
        if location.ends_with(COMPACTION_END) {
            // Its actions are in no order, and some writers keep the `add` of a file that a later commit removed.
            actions.sort_by_key(|action| action.remove.is_none());
        } else {
            // Within a commit, too, a later action replaces an earlier one.
            actions.reverse();
        }
        actions.into_iter().try_for_each(|action| replay.apply(folder, action))?;
    }
    if let Some((_, names)) = &segment.checkpoint {
        let mut sidecars = Vec::new();
        for name in names {
            read_checkpoint(folder, &in_log(name)?, |mut action| {
                sidecars.extend(action.sidecar.take());
                replay.apply(folder, action)
            })?;
        }
        for sidecar in &sidecars {
            let location = paths::resolve_below(folder, SIDECARS, &sidecar.path)?;
            checkpoint::read(folder, &location, |action| replay.apply(folder, action))?;
        }
    }
    replay.check_paths(folder)?;
    let lacks = |what: &str| Error::corrupt(format!("the log has no {what} at version {}", segment.version));
    Ok(Snapshot {
        version: segment.version,
        latest: segment.latest,
        protocol: replay.protocol.ok_or_else(|| lacks("protocol"))?,
        metadata: replay.metadata.ok_or_else(|| lacks("metadata"))?,
        files: replay.files,
    })
}

/// Calls `each` with the actions of a file of a checkpoint, which is Parquet or JSON.
fn read_checkpoint(folder: &Folder, location: &str, mut each: impl FnMut(Action) -> Result<()>) -> Result<()> {
    if location.ends_with(".json") {
        return parse(location, &folder.read(location)?)?.into_iter().try_for_each(each);
    }
    checkpoint::read(folder, location, &mut each)
}

/// The actions of a file. Most have one on each line, but actions may also span lines.
pub(super) fn parse(location: &str, bytes: &[u8]) -> Result<Vec<Action>> {
    let located = |error: Error| error.locate(|at| at.file = Some(location.into()));
    let mut actions = Vec::new();
    for action in serde_json::Deserializer::from_slice(bytes).into_iter() {
        let malformed = |error| located(Error::corrupt(format!("expected actions of Delta Lake: {error}")));
        actions.push(action.map_err(malformed)?);
    }
    if actions.is_empty() {
        return Err(located(Error::corrupt("a commit without actions")));
    }
    Ok(actions)
}
