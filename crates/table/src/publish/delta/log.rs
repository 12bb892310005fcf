//! The folder with the log.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::actions::{Action, Add};
use super::checkpoint;
use super::schema::WRITER_FEATURES;
use crate::error::{Error, Result};
use crate::file::{FileFolder, Files, FoundFile, is_partial_name};

/// The name of the folder, as Delta Lake prescribes it.
const FOLDER: &str = "_delta_log";

/// The folder of a log that is being removed.
const REMOVED: &str = "_removed_delta_log";

/// The file that names the newest checkpoint.
const LAST_CHECKPOINT: &str = "_last_checkpoint";

/// Keys of the information of a commit: the store's commit, and the version of the table.
pub(super) const COMMIT: &str = "lath.commit";
pub(super) const VERSION: &str = "lath.version";

/// The folder with the log of a published table.
#[derive(Debug)]
pub(crate) struct DeltaLog {
    folder: FileFolder,
    removed: FileFolder,
}

/// The newest version.
#[derive(Debug)]
pub(crate) struct CurrentLog {
    pub(crate) version: u64,
    /// The version of the table that it shows.
    pub(crate) table_version: u64,
    pub(crate) time_ms: i64,
    /// Number of commits in the folder.
    pub(crate) commits: usize,
    pub(super) id: String,
    pub(super) created_ms: i64,
    pub(super) schema: String,
    /// Whether the protocol is the one that this version of Lath writes.
    pub(super) is_newest_protocol: bool,
    /// By path.
    pub(super) files: BTreeMap<String, Add>,
}

/// The names in the folder.
#[derive(Debug, Default)]
struct Names {
    /// The versions of commits and checkpoints, in ascending order.
    commits: Vec<u64>,
    checkpoints: Vec<u64>,
    /// The files of the commits.
    files: BTreeMap<u64, FoundFile>,
}

impl DeltaLog {
    pub(crate) fn new(files: &Files) -> Self {
        Self { folder: files.folder().below(FOLDER), removed: files.folder().below(REMOVED) }
    }

    pub(super) fn create(&self) -> Result<()> {
        self.folder.create()
    }

    /// The file of a commit.
    pub(crate) fn commit_path(&self, version: u64) -> PathBuf {
        self.folder.path(&commit_name(version))
    }

    /// The newest version; `None` if the log has none. A commit of another program is an error.
    pub(crate) fn current(&self) -> Result<Option<CurrentLog>> {
        let names = self.names()?;
        let Some(&version) = names.commits.last() else { return Ok(None) };
        let foreign = || Error::ForeignMetadata { path: self.commit_path(version) };
        let info = self.info(version)?.ok_or_else(foreign)?;
        let table_version = info.get(VERSION).and_then(Value::as_u64).ok_or_else(foreign)?;
        let time_ms = info.get("timestamp").and_then(Value::as_i64).ok_or_else(foreign)?;
        let mut current = CurrentLog {
            version,
            table_version,
            time_ms,
            commits: names.commits.len(),
            id: String::new(),
            created_ms: 0,
            schema: String::new(),
            is_newest_protocol: false,
            files: BTreeMap::new(),
        };
        let checkpoint = names.checkpoints.iter().rev().find(|checkpoint| **checkpoint <= version).copied();
        if let Some(checkpoint) = checkpoint {
            let name = checkpoint_name(checkpoint);
            for action in checkpoint::read(self.folder.read(&name)?, &self.folder.path(&name))? {
                current.apply(&action)?;
            }
        }
        let first = checkpoint.map_or(0, |checkpoint| checkpoint + 1);
        for version in first..=version {
            for action in self.actions(version)? {
                current.apply(&action)?;
            }
        }
        Ok(Some(current))
    }

    /// The store's commit of the oldest version whose readers may still be running; `None` if there is no log.
    pub(crate) fn oldest_commit(&self, keep: Duration) -> Result<Option<u64>> {
        let names = self.names()?;
        let Some(at) = self.oldest_kept(&names, keep) else { return Ok(None) };
        let info = self.info(names.commits[at])?;
        Ok(info.and_then(|info| info.get(COMMIT)?.as_u64()))
    }

    /// The place of the oldest of these commits that was the newest one within `keep`, or the one before the last.
    fn oldest_kept(&self, names: &Names, keep: Duration) -> Option<usize> {
        let now = SystemTime::now();
        let is_older = |version: &u64| {
            let written = names.files.get(version).and_then(|file| self.folder.modified(file));
            written.is_some_and(|written| now.duration_since(written).is_ok_and(|age| age > keep))
        };
        let commits = &names.commits;
        let kept = commits.partition_point(is_older).saturating_sub(1);
        Some(kept.min(commits.len().checked_sub(1)?.saturating_sub(1)))
    }

    /// Writes the commit with this version, which does not exist.
    pub(super) fn commit(&self, version: u64, actions: &[Action]) -> Result<()> {
        let now_ms = actions.iter().find_map(|action| match action {
            Action::Info(info) => info.get("timestamp").and_then(Value::as_i64),
            _ => None,
        });
        let lines: Vec<String> =
            actions.iter().map(|action| action.to_json(now_ms.unwrap_or(0), true).to_string()).collect();
        let text = format!("{}\n", lines.join("\n"));
        match self.folder.write_new(&commit_name(version), text.as_bytes())? {
            true => Ok(()),
            false => Err(Error::ForeignMetadata { path: self.commit_path(version) }),
        }
    }

    /// Writes a checkpoint of the newest version, unless another program has.
    pub(super) fn write_checkpoint(&self, current: &CurrentLog) -> Result<()> {
        let version = current.version;
        if self.names()?.checkpoints.contains(&version) {
            return Ok(());
        }
        let metadata =
            Action::Metadata { id: current.id.clone(), schema: current.schema.clone(), created_ms: current.created_ms };
        let actions: Vec<Value> = [Action::Protocol, metadata]
            .into_iter()
            .chain(current.files.values().cloned().map(Action::Add))
            .map(|action| action.to_json(current.time_ms, false))
            .collect();
        let bytes = checkpoint::to_bytes(&actions)?;
        self.folder.replace(&checkpoint_name(version), &bytes)?;
        let last = serde_json::json!({
            "version": version,
            "size": actions.len(),
            "sizeInBytes": bytes.len(),
            "numOfAddFiles": current.files.len(),
        });
        self.folder.replace(LAST_CHECKPOINT, last.to_string().as_bytes())
    }

    /// Removes commits and checkpoints that no version needs whose readers began within `keep`. Returns the oldest commit that is left, if any went.
    pub(super) fn remove_old(&self, current: &CurrentLog, keep: Duration) -> Result<Option<u64>> {
        let names = self.names()?;
        let Some(kept) = self.oldest_kept(&names, keep).map(|at| names.commits[at]) else { return Ok(None) };
        let base = names.checkpoints.iter().rev().find(|version| **version <= kept && **version < current.version);
        let Some(&base) = base else { return Ok(None) };
        // The newest last: what is left after a crash has no gap.
        for version in names.commits.iter().filter(|version| **version < base) {
            self.folder.remove(&commit_name(*version))?;
        }
        for version in names.checkpoints.iter().filter(|version| **version < base) {
            self.folder.remove(&checkpoint_name(*version))?;
        }
        for name in self.folder.names()?.iter().filter(|name| is_partial_name(name)) {
            self.folder.remove(name)?;
        }
        Ok(Some(base))
    }

    /// The files of the vectors of all commits from `first` on.
    pub(super) fn vectors_of_commits(&self, first: u64) -> Result<Vec<String>> {
        let mut files = Vec::new();
        for version in self.names()?.commits.into_iter().filter(|version| *version >= first) {
            for action in self.actions(version)? {
                let file = action.get("add").or_else(|| action.get("remove"));
                files.extend(file.map(Add::from_json).transpose()?.and_then(|add| add.vector_file()));
            }
        }
        Ok(files)
    }

    /// Removes the whole log.
    pub(crate) fn remove_all(&self) -> Result<()> {
        if self.folder.is_in_bucket() {
            return self.remove_objects();
        }
        let (path, gone) = (self.folder.location(), self.removed.location());
        let removed = |result: io::Result<()>| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
            _ => Ok(()),
        };
        removed(fs::remove_dir_all(gone))?;
        // At once, so that no reader finds half of it.
        removed(fs::rename(path, gone))?;
        removed(fs::remove_dir_all(gone))
    }

    /// Removes the objects of the log from the newest version to the oldest, so that a reader finds an older version or none.
    fn remove_objects(&self) -> Result<()> {
        self.folder.remove(LAST_CHECKPOINT)?;
        let names = self.names()?;
        for version in names.commits.iter().rev() {
            self.folder.remove(&commit_name(*version))?;
            if names.checkpoints.contains(version) {
                self.folder.remove(&checkpoint_name(*version))?;
            }
        }
        names.checkpoints.iter().try_for_each(|version| self.folder.remove(&checkpoint_name(*version)))
    }

    fn actions(&self, version: u64) -> Result<Vec<Value>> {
        let text = self.folder.read(&commit_name(version))?;
        let parse = |line: &[u8]| {
            let at = |error| Error::corrupt(format!("{}: {error}", self.commit_path(version).display()));
            serde_json::from_slice(line).map_err(at)
        };
        text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).map(parse).collect()
    }

    /// The information of a commit; `None` for a commit of another program.
    fn info(&self, version: u64) -> Result<Option<Value>> {
        let actions = self.actions(version)?;
        Ok(actions
            .into_iter()
            .find_map(|action| action.get("commitInfo").cloned())
            .filter(|info| info.get(COMMIT).is_some()))
    }

    fn names(&self) -> Result<Names> {
        let mut names = Names::default();
        for file in self.folder.files()? {
            if let Some(version) = parse_version(&file.name, ".json") {
                names.commits.push(version);
                names.files.insert(version, file);
            } else if let Some(version) = parse_version(&file.name, ".checkpoint.parquet") {
                names.checkpoints.push(version);
            }
        }
        names.commits.sort_unstable();
        names.checkpoints.sort_unstable();
        Ok(names)
    }
}

impl CurrentLog {
    fn apply(&mut self, action: &Value) -> Result<()> {
        let text = |fields: &Value, name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_there = |name: &str| action.get(name).filter(|fields| fields.is_object());
        if let Some(protocol) = is_there("protocol") {
            let features = protocol.get("writerFeatures").and_then(Value::as_array);
            self.is_newest_protocol = features.is_some_and(|features| features == &WRITER_FEATURES);
        }
        if let Some(metadata) = is_there("metaData") {
            self.id = text(metadata, "id");
            self.schema = text(metadata, "schemaString");
            self.created_ms = metadata.get("createdTime").and_then(Value::as_i64).unwrap_or(0);
        }
        if let Some(removed) = is_there("remove") {
            self.files.remove(&text(removed, "path"));
        }
        if let Some(added) = is_there("add") {
            let add = Add::from_json(added)?;
            self.files.insert(add.path.clone(), add);
        }
        Ok(())
    }
}

fn commit_name(version: u64) -> String {
    format!("{version:020}.json")
}

fn checkpoint_name(version: u64) -> String {
    format!("{version:020}.checkpoint.parquet")
}

/// The version in the name of a commit or a checkpoint.
fn parse_version(name: &str, ending: &str) -> Option<u64> {
    let digits = name.strip_suffix(ending)?;
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}
