//! Reconciles the actions of a log to the files of one version.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};

use lath_parquet::{Error, Result};

use super::checkpoint::Checkpoint;
use super::commit::Commit;
use super::names::FOLDER;
use super::segment::Segment;
use crate::delta::actions::{Action, DeletionVector, FileAction, Metadata, Protocol, Settings};
use crate::delta::paths;
use crate::storage::Folder;

/// The folder of the sidecars of checkpoints.
const SIDECARS: &str = "_delta_log/_sidecars";

/// Bytes of local commits that are kept between the search for the schema and the search for files; others are read twice.
const KEPT_BYTES: usize = 8 << 20;

/// Maximum files for which memory is allocated before they are read.
const MAX_EXPECTED_FILES: usize = 1 << 20;

/// A version of a table.
#[derive(Debug, Clone)]
pub(in crate::delta) struct Snapshot {
    pub(in crate::delta) version: i64,
    /// The latest version of the table.
    pub(in crate::delta) latest: i64,
    pub(in crate::delta) protocol: Protocol,
    pub(in crate::delta) metadata: Metadata,
    /// Commits, newest first.
    commits: Vec<Commit>,
    checkpoints: Vec<Checkpoint>,
}

impl Snapshot {
    /// Calls `each` with the files of the version, newest commit first. A table may have very many files, so that none is kept here.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if actions are malformed, or if a file is there with two deletion vectors at once; else errors of `each`.
    pub(in crate::delta) fn files(
        self,
        folder: &Folder,
        mut each: impl FnMut(FileAction<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut replay = Replay { folder, each: &mut each, newest: NewestActions::default() };
        for mut commit in self.commits {
            let bytes = commit.take_bytes(folder)?;
            commit.actions(&bytes, |action| replay.apply(action))?;
        }
        let rows = self.checkpoints.iter().map(Checkpoint::row_count).fold(0, usize::saturating_add);
        replay.newest.files.reserve(rows.min(MAX_EXPECTED_FILES));
        for checkpoint in self.checkpoints {
            checkpoint.files(|file| replay.add(file))?;
        }
        Ok(())
    }
}

/// Calls a function with the files that actions add, unless a newer action has replaced them. Actions come from the newest to the oldest.
struct Replay<'r> {
    folder: &'r Folder,
    each: &'r mut dyn FnMut(FileAction<'_>) -> Result<()>,
    newest: NewestActions,
}

impl Replay<'_> {
    fn apply(&mut self, action: Action) -> Result<()> {
        if let Some(add) = action.add {
            add.with_file(|file| self.add(file))?;
        }
        if let Some(remove) = action.remove {
            let path = paths::canonical(self.folder, &remove.path)?;
            self.newest.remove(&path, remove.deletion_vector.as_ref());
        }
        Ok(())
    }

    /// Takes a file that an action adds.
    fn add(&mut self, file: FileAction<'_>) -> Result<()> {
        let path = paths::canonical(self.folder, file.path)?;
        if self.newest.add(&path, file.deletion_vector.as_ref())? { (self.each)(file) } else { Ok(()) }
    }
}

/// Tells the newest action on each file. A file with another deletion vector is another one, but a version has only one of them.
///
/// A table may have very many files, so that they are known by hashes with random keys: of paths, these have 128 bits.
#[derive(Default)]
struct NewestActions {
    hashes: [RandomState; 2],
    /// The path of each file of the version, and its deletion vector, which is 0 for none.
    files: HashMap<[u64; 2], u64>,
    /// Files with their deletion vectors that a newer commit has removed.
    removed: HashSet<[u64; 2]>,
}

impl NewestActions {
    fn hash(&self, value: impl Hash) -> [u64; 2] {
        self.hashes.each_ref().map(|hash| hash.hash_one(&value))
    }

    /// Whether a file that is added belongs to the version.
    fn add(&mut self, path: &str, vector: Option<&DeletionVector>) -> Result<bool> {
        let vector = vector.map(DeletionVector::id);
        if !self.removed.is_empty() && self.removed.contains(&self.hash((path, vector))) {
            return Ok(false);
        }
        let vector = vector.map_or(0, |vector| self.hash(vector)[0] | 1);
        match self.files.entry(self.hash(path)) {
            Entry::Vacant(entry) => {
                entry.insert(vector);
                Ok(true)
            }
            Entry::Occupied(newer) if *newer.get() == vector => Ok(false),
            Entry::Occupied(_) => {
                Err(Error::corrupt(format!("the log has {path} twice, with different deletion vectors")))
            }
        }
    }

    fn remove(&mut self, path: &str, vector: Option<&DeletionVector>) {
        let hash = self.hash((path, vector.map(DeletionVector::id)));
        self.removed.insert(hash);
    }
}

/// The version of the table that a segment of the log describes, without its files.
pub(super) fn replay(folder: &Folder, segment: &Segment) -> Result<Snapshot> {
    let in_log = |name: &String| folder.location(&format!("{FOLDER}/{name}"));
    let locations = segment.commits.iter().rev().map(in_log).collect::<Result<Vec<_>>>()?;
    let mut read = match folder.local() {
        Some(_) => Vec::new(),
        None => folder.read_all(&locations)?,
    };
    read.reverse();
    let (mut commits, mut settings, mut kept) = (Vec::with_capacity(locations.len()), Settings::default(), 0);
    for location in locations {
        let mut commit = Commit { location, bytes: read.pop() };
        if !settings.are_complete() {
            let bytes = commit.bytes(folder)?;
            commit.settings(&bytes, &mut settings)?;
            if kept + bytes.len() <= KEPT_BYTES {
                kept += bytes.len();
                commit.bytes = Some(bytes);
            }
        }
        commits.push(commit);
    }
    let mut checkpoints = Vec::new();
    if let Some((_, names)) = &segment.checkpoint {
        let mut sidecars = Vec::new();
        for name in names {
            let checkpoint = Checkpoint::open(folder, in_log(name)?)?;
            checkpoint.settings(&mut settings, &mut sidecars)?;
            checkpoints.push(checkpoint);
        }
        for sidecar in sidecars {
            checkpoints.push(Checkpoint::open(folder, paths::resolve_below(folder, SIDECARS, &sidecar.path)?)?);
        }
    }
    let lacks = |what: &str| Error::corrupt(format!("the log has no {what} at version {}", segment.version));
    Ok(Snapshot {
        version: segment.version,
        latest: segment.latest,
        protocol: settings.protocol.ok_or_else(|| lacks("protocol"))?,
        metadata: settings.metadata.ok_or_else(|| lacks("metadata"))?,
        commits,
        checkpoints,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_action_on_a_file_counts() {
        let vector = |path: &str| DeletionVector {
            storage_type: "u".to_owned(),
            path_or_inline_dv: path.to_owned(),
            offset: Some(1),
            size_in_bytes: 40,
            cardinality: 2,
        };
        let mut newest = NewestActions::default();
        assert!(newest.add("a", Some(&vector("x"))).unwrap());
        newest.remove("a", None);
        newest.remove("b", Some(&vector("x")));
        // Older actions.
        assert!(!newest.add("a", None).unwrap());
        assert!(!newest.add("a", Some(&vector("x"))).unwrap());
        assert!(!newest.add("b", Some(&vector("x"))).unwrap());
        assert!(newest.add("b", Some(&vector("y"))).unwrap());
        assert!(newest.add("b", None).unwrap_err().to_string().contains("b twice"));
        assert!(newest.add("c", None).unwrap() && !newest.add("c", None).unwrap());
    }
}
