//! Publishes commits of a table as versions of a table of Delta Lake, in the folder `_delta_log` within the table's.
//!
//! | step | after a crash |
//! | --- | --- |
//! | 1. deletion vectors are written to a new file of `_vectors` and synced, and so is the store | no commit of the log names them; they are removed after a later checkpoint |
//! | 2. the commit is written under another name, synced, linked to its name, which no file may have yet, and its folder synced; in a bucket, it is put if there is no such object | it is there or not |
//! | 3. after every 32nd commit, a checkpoint is written under another name, synced, renamed, and `_last_checkpoint` replaced | readers take the commits |
//! | 4. commits and checkpoints before an older checkpoint are removed, and vectors that no version has whose readers may be running | the next checkpoint removes them |
//!
//! Columns are found by their names, since readers of tables with `columnMapping` by id (delta-rs 1.6, DuckDB 1.5) look for the names and return nulls,
//! and polars refuses such tables. So all files need the names and types of the newest schema: others are an error.

mod actions;
mod checkpoint;
mod log;
mod schema;
mod statistics;
mod vectors;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use self::actions::{Action, Add};
use self::schema::{check_schema, schema_string};

pub(super) use self::schema::check_columns;
use self::statistics::statistics;
use self::vectors::{VectorPlace, write_vectors};
use super::commit_files::CommitFiles;
use super::identity::{new_uuid, now_ms, uuid_text};
use crate::error::Result;
use crate::records::Publishing;
use crate::row::TableSchema;
use crate::view::{Commit, Engine};

pub(crate) use self::log::DeltaLog;
use self::log::{COMMIT, CurrentLog, VERSION};

/// Number of commits from one checkpoint to the next.
const CHECKPOINT_COMMITS: u64 = 32;

/// Publishes a commit, unless it is published already. Returns the commit of the log, and the version of the table that it shows.
pub(super) fn publish(engine: &Arc<Engine>, files: &CommitFiles<'_>, setting: Publishing) -> Result<(PathBuf, u64)> {
    let log = DeltaLog::new(&engine.files);
    engine.files.claim()?;
    let current = log.current()?;
    let schema = schema_string(files.schema(), setting.map_types)?;
    check_schema(files)?;
    let next = next_actions(engine, files, current.as_ref(), schema)?;
    let Some(actions) = next else {
        let (version, shown) = current.map_or((0, files.version()), |current| (current.version, current.table_version));
        return Ok((log.commit_path(version), shown));
    };
    log.create()?;
    // A commit that could still be lost must not be published: its files are removed then.
    engine.store.sync()?;
    let version = current.as_ref().map_or(0, |current| current.version + 1);
    log.commit(version, &actions)?;
    if version > 0 && version.is_multiple_of(CHECKPOINT_COMMITS) {
        // From what readers find, not from what was meant to be written.
        if let Some(written) = log.current()? {
            log.write_checkpoint(&written)?;
            clean(engine, &log, &written, setting.keep)?;
        }
    }
    Ok((log.commit_path(version), files.version()))
}

/// Refuses types that Delta Lake lacks.
pub(super) fn check_types(schema: &TableSchema, map_types: bool) -> Result<()> {
    schema_string(schema, map_types).map(drop)
}

/// The actions of the next commit; `None` if nothing has changed.
fn next_actions(
    engine: &Arc<Engine>,
    files: &CommitFiles<'_>,
    current: Option<&CurrentLog>,
    schema: String,
) -> Result<Option<Vec<Action>>> {
    let empty = BTreeMap::new();
    let known = current.map_or(&empty, |current| &current.files);
    let newest = Commit::newest(engine)?;
    let now = now_ms().max(current.map_or(0, |current| current.time_ms + 1));
    let (mut adds, mut removes, mut paths) = (Vec::new(), Vec::new(), BTreeSet::new());
    for entry in files.files() {
        paths.insert(entry.name.as_str());
        let deleted = files.deleted_count(entry);
        let before = known.get(&entry.name);
        // Rows are only added to masks.
        if before.is_some_and(|before| before.deleted_count() == deleted) {
            continue;
        }
        let stats = match before {
            Some(before) => before.stats.clone(),
            None => statistics(engine, &newest, files.schema(), entry)?,
        };
        removes.extend(before.map(|before| Action::Remove(before.clone())));
        adds.push((entry, Add { path: entry.name.clone(), size: entry.bytes, time_ms: now, stats, vector: None }));
    }
    let gone = known.values().filter(|known| !paths.contains(known.path.as_str()));
    removes.extend(gone.map(|gone| Action::Remove(gone.clone())));
    let is_same_table = current.is_some_and(|current| current.schema == schema && current.is_newest_protocol);
    if is_same_table && adds.is_empty() && removes.is_empty() {
        return Ok(None);
    }
    let with_vectors: Vec<_> =
        adds.iter().map(|(entry, _)| *entry).filter(|entry| files.deleted_count(entry) > 0).collect();
    let mut vectors: BTreeMap<u64, VectorPlace> = write_vectors(engine, files, &with_vectors)?;
    let rows: u64 = files.files().iter().map(|entry| entry.rows - files.deleted_count(entry)).sum();
    let mut actions = vec![Action::Info(json!({
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": { "mode": "Append" },
        "operationMetrics": { "numFiles": adds.len().to_string(), "numOutputRows": rows.to_string() },
        "engineInfo": concat!("lath-table ", env!("CARGO_PKG_VERSION")),
        COMMIT: files.commit(),
        VERSION: files.version(),
    }))];
    if !is_same_table {
        let id = current.map_or_else(|| uuid_text(new_uuid()), |current| current.id.clone());
        actions.push(Action::Protocol);
        actions.push(Action::Metadata { id, schema, created_ms: current.map_or(now, |current| current.created_ms) });
    }
    actions.extend(removes);
    for (entry, add) in adds {
        let vector = vectors.remove(&entry.number);
        actions.push(Action::Add(Add { vector, ..add }));
    }
    Ok(Some(actions))
}

/// Removes the log and the vectors, unless another program has written to the log.
pub(crate) fn remove_log(engine: &Engine) -> Result<()> {
    let log = DeltaLog::new(&engine.files);
    if matches!(log.current(), Ok(Some(_))) {
        engine.files.claim()?;
        log.remove_all()?;
        vectors::remove_all(engine)?;
    }
    Ok(())
}

/// Removes what no reader needs who began within `keep`.
fn clean(engine: &Engine, log: &DeltaLog, current: &CurrentLog, keep: Duration) -> Result<()> {
    let Some(oldest) = log.remove_old(current, keep)? else { return Ok(()) };
    let mut needed: BTreeSet<String> = current.files.values().filter_map(Add::vector_file).collect();
    needed.extend(log.vectors_of_commits(oldest)?);
    vectors::remove_unneeded(engine, &needed)
}
