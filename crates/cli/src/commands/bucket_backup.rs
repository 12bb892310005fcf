//! Backups of tables in buckets.
//!
//! | step | what others see |
//! | --- | --- |
//! | the files are sent to a folder with a unique name | no backup |
//! | the list of files is written, if there is none | the whole backup |
//! | a failure or a signal before | no backup; the files that were sent are deleted |
//! | the process is killed before | no backup; the folder stays |

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use lath_parquet::{ByteRanges, DatasetOptions, is_store};
use lath_table::BackupFile;
use lath_writer::AtomicFile;
use serde_json::{Value, json};
use tempfile::TempDir;
use xxhash_rust::xxh3::Xxh3;

use crate::console::quantity::{bytes, plural};
use crate::failure::{Failure, Outcome, Result};
use crate::interrupt::{self, GracefulStop};
use crate::output::layout::printable;

/// The list of the files of a backup, below the folder of the backup.
const LIST: &str = "_lath_backup";
/// The beginning of the name of the folder that has the files.
const FOLDER: &str = "_files-";
/// The version of the list.
const FORMAT: u64 = 1;
/// Files that are sent or read at the same time. Each takes up to 40 MiB.
const THREADS: usize = 4;
/// Bytes that are read at once from a file, and from an object.
const BUFFER_BYTES: usize = 1 << 20;
const RANGE_BYTES: u64 = 8 << 20;

/// The URL that `path` is, if it is one.
pub(super) fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_store(text))
}

/// The error for a backup from one bucket to another.
pub(super) fn both_remote() -> Failure {
    Failure::Usage("one of the two has to be on this machine; copy objects by the tools of the store".to_owned())
}

/// A temporary folder on the disk of `near`, or where the system has such folders if that is not writable.
pub(super) fn scratch(near: &Path) -> Result<TempDir> {
    let parent = near.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let made = tempfile::Builder::new().prefix(".lath-backup-").tempdir_in(parent);
    made.or_else(|_| TempDir::new()).map_err(|error| Failure::Io(format!("cannot make a temporary folder: {error}")))
}

/// A file of a backup: the name in the folder of the table, the object, its length and the XXH3 of its bytes.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    name: String,
    object: String,
    len: u64,
    checksum: u64,
}

/// Backs files up to the folder `url`, where there is no backup yet.
pub(super) fn send(url: &str, files: &[BackupFile]) -> Result<Outcome> {
    let base = url.trim_end_matches('/');
    let list = format!("{base}/{LIST}");
    let exists = || Failure::Usage(format!("{url} has a backup already; choose another folder"));
    let store = DatasetOptions::new().object_store(&list).map_err(unusable)?;
    if store.is_web() {
        return Err(Failure::Usage(format!("{url}: backups are not written to web servers")));
    }
    match store.version() {
        Ok(_) => return Err(exists()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(Failure::Io(format!("{list}: {error}"))),
    }
    let stop = GracefulStop::new();
    let folder = format!("{FOLDER}{:016x}", RandomState::new().hash_one(url));
    let sent = in_parallel(files, |file| {
        let object = format!("{folder}/{}", file.name);
        let (len, checksum) = send_file(&file.path, &format!("{base}/{object}"), false, &stop)?;
        Ok(Entry { name: file.name.clone(), object, len, checksum })
    });
    let (entries, result) = match sent {
        Ok(entries) if stop.poll().is_break() => (entries, Err(Failure::Interrupted)),
        Ok(entries) => {
            let written = write_list(&list, &entries).map_err(|error| match error {
                lath_parquet::Error::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists => exists(),
                other => Failure::writing_file(&list, other),
            });
            (entries, written)
        }
        Err((entries, error)) => (entries, Err(error)),
    };
    if let Err(error) = result {
        // Objects that stay belong to no backup.
        let _ = in_parallel(&entries, |entry| {
            let object = DatasetOptions::new().object_store(&format!("{base}/{}", entry.object)).map_err(unusable)?;
            let _ = object.version().and_then(|version| object.delete(&version));
            Ok(())
        });
        return Err(error);
    }
    let total = entries.iter().map(|entry| entry.len).sum();
    eprintln!("{}, {}", plural(entries.len() as u64, "file"), bytes(total));
    Ok(Outcome::Done)
}

/// Writes the object `url`, which must not exist, from a file.
pub(super) fn send_object(path: &Path, url: &str) -> Result<()> {
    let stop = GracefulStop::new();
    send_file(path, url, true, &stop).map(drop)
}

/// Copies the object `url` to a new file.
pub(super) fn fetch_object(url: &str, path: &Path) -> Result<()> {
    let stop = GracefulStop::new();
    fetch_file(url, Some(path), &stop).map(drop)
}

/// Copies a backup to the folder `target`, which appears whole or not at all.
pub(super) fn restore(url: &str, target: &Path) -> Result<Outcome> {
    if fs::read_dir(target).map_or(target.exists(), |mut entries| entries.next().is_some()) {
        return Err(Failure::Usage(format!("{}: expected a folder that is empty or does not exist", target.display())));
    }
    let (base, entries) = read_list(url)?;
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(|error| Failure::reaching(parent, &error))?;
    }
    let scratch = scratch(target)?;
    let stop = GracefulStop::new();
    let made = scratch.path().join("made");
    fs::create_dir(&made).map_err(|error| Failure::reaching(&made, &error))?;
    let fetched = in_parallel(&entries, |entry| {
        let path = made.join(&entry.name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| Failure::reaching(parent, &error))?;
        }
        let object = format!("{base}/{}", entry.object);
        let found = fetch_file(&object, Some(&path), &stop)?;
        if found != (entry.len, entry.checksum) { Err(Failure::Corrupt(damage(&object))) } else { Ok(()) }
    });
    fetched.map_err(|(_, error)| error)?;
    sync_folders(&made).map_err(|error| Failure::reaching(&made, &error))?;
    // An empty folder may be there.
    let _ = fs::remove_dir(target);
    fs::rename(&made, target).map_err(|error| Failure::reaching(target, &error))?;
    eprintln!("{}", plural(entries.len() as u64, "file"));
    Ok(Outcome::Done)
}

/// Reads all objects of a backup, and compares them with its list.
pub(super) fn check(url: &str) -> Result<Outcome> {
    let (base, entries) = read_list(url)?;
    let stop = GracefulStop::new();
    let problems = in_parallel(&entries, |entry| {
        let object = format!("{base}/{}", entry.object);
        match fetch_file(&object, None, &stop) {
            Ok(found) if found == (entry.len, entry.checksum) => Ok(None),
            Ok(_) => Ok(Some(damage(&object))),
            Err(Failure::Io(problem)) => Ok(Some(problem)),
            Err(other) => Err(other),
        }
    });
    let problems: Vec<String> = problems.map_err(|(_, error)| error)?.into_iter().flatten().collect();
    let mut text: String = problems.iter().map(|problem| format!("{}\n", printable(problem.clone()))).collect();
    if problems.is_empty() {
        let total = entries.iter().map(|entry| entry.len).sum();
        text = format!("{url}: intact: {}, {}\n", plural(entries.len() as u64, "file"), bytes(total));
    }
    super::print(&text)?;
    Ok(if problems.is_empty() { Outcome::Done } else { Outcome::Corrupt })
}

fn damage(object: &str) -> String {
    format!("{object}: the object is not as the backup wrote it")
}

/// The failure for a URL that names no store.
fn unusable(error: lath_parquet::Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// Sends a file; returns its length and checksum.
fn send_file(path: &Path, url: &str, is_new: bool, stop: &GracefulStop) -> Result<(u64, u64)> {
    let mut source = File::open(path).map_err(|error| Failure::reaching(path, &error))?;
    let begun = match is_new {
        true => AtomicFile::create_new_with(url, interrupt::uncommitted()),
        false => AtomicFile::create_with(url, interrupt::uncommitted()),
    };
    let failed = |error: lath_parquet::Error| match error {
        lath_parquet::Error::Io { source, .. } if is_new && source.kind() == ErrorKind::AlreadyExists => {
            Failure::Usage(format!("{url} exists; give the backup another name"))
        }
        other => Failure::writing_file(url, other),
    };
    let mut object = begun.map_err(failed)?;
    let (mut hasher, mut len) = (Xxh3::new(), 0);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        // Dropping the object deletes its parts.
        if stop.poll().is_break() {
            return Err(Failure::Interrupted);
        }
        let count = source.read(&mut buffer).map_err(|error| Failure::reaching(path, &error))?;
        let part = buffer.get(..count).unwrap_or_default();
        if part.is_empty() {
            break;
        }
        hasher.update(part);
        len += part.len() as u64;
        object.write_all(part).map_err(|error| Failure::writing(url, &error))?;
    }
    object.commit().map_err(failed)?;
    Ok((len, hasher.digest()))
}

/// Reads an object, to a new file if there is a path; returns its length and checksum.
fn fetch_file(url: &str, path: Option<&Path>, stop: &GracefulStop) -> Result<(u64, u64)> {
    let failed = |error: io::Error| Failure::Io(format!("{url}: {error}"));
    let (object, _) = DatasetOptions::new().object_store(url).map_err(unusable)?.open(None).map_err(failed)?;
    let target = path.map(|path| File::create_new(path).map_err(|error| Failure::reaching(path, &error)));
    let mut target = target.transpose()?;
    let written = |error: io::Error| Failure::reaching(path.unwrap_or(Path::new("")), &error);
    let (mut hasher, len, mut at) = (Xxh3::new(), ByteRanges::len(&object), 0);
    while at < len {
        if stop.poll().is_break() {
            return Err(Failure::Interrupted);
        }
        let end = len.min(at + RANGE_BYTES);
        let part = object.read(at..end).map_err(failed)?;
        hasher.update(&part);
        if let Some(target) = &mut target {
            target.write_all(&part).map_err(written)?;
        }
        at = end;
    }
    if let Some(target) = target {
        target.sync_all().map_err(written)?;
    }
    Ok((len, hasher.digest()))
}

fn write_list(url: &str, entries: &[Entry]) -> lath_parquet::Result<()> {
    let files: Vec<Value> = entries
        .iter()
        .map(|Entry { name, object, len, checksum }| {
            json!({ "name": name, "object": object, "bytes": len, "xxh3": format!("{checksum:016x}") })
        })
        .collect();
    let text = format!("{:#}\n", json!({ "lath_backup": FORMAT, "files": files }));
    let mut list = AtomicFile::create_new_with(url, interrupt::uncommitted())?;
    list.write_all(text.as_bytes()).map_err(|error| lath_parquet::Error::io("write", error))?;
    list.commit()
}

/// The folder of a backup, without a slash at its end, and its files.
fn read_list(url: &str) -> Result<(&str, Vec<Entry>)> {
    let base = url.trim_end_matches('/');
    let list = format!("{base}/{LIST}");
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Failure::Io(format!("{url}: there is no backup, or it was not finished")),
        _ => Failure::Io(format!("{list}: {error}")),
    };
    let (object, _) = DatasetOptions::new().object_store(&list).map_err(unusable)?.open(None).map_err(failed)?;
    let text = object.read(0..ByteRanges::len(&object)).map_err(failed)?;
    let damaged = || Failure::Corrupt(format!("{list}: the list of the backup is damaged"));
    let value: Value = serde_json::from_slice(&text).map_err(|_| damaged())?;
    match value["lath_backup"].as_u64().ok_or_else(damaged)? {
        FORMAT => {}
        other => {
            return Err(Failure::Corrupt(format!(
                "{list}: the backup has format {other}, which this version of Lath does not read; use a newer version"
            )));
        }
    }
    let entries = value["files"].as_array().ok_or_else(damaged)?.iter().map(|file| entry(file).ok_or_else(damaged));
    Ok((base, entries.collect::<Result<_>>()?))
}

/// An entry of the list, unless it names a file outside of the folder.
fn entry(file: &Value) -> Option<Entry> {
    let below = |name: &str| {
        let name = file[name].as_str()?;
        let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        (is_below && !name.is_empty() && !name.contains('\\')).then(|| name.to_owned())
    };
    let checksum = u64::from_str_radix(file["xxh3"].as_str()?, 16).ok()?;
    Some(Entry { name: below("name")?, object: below("object")?, len: file["bytes"].as_u64()?, checksum })
}

/// Syncs a folder and those below it.
fn sync_folders(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            }
        }
        File::open(&next)?.sync_all()?;
    }
    Ok(())
}

/// The results of `work` for all items, in their order; or the results that there are, and the first error.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> std::result::Result<Vec<R>, (Vec<R>, Failure)> {
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = || {
        let mut done: Vec<(usize, Result<R>)> = Vec::new();
        while !has_failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            let result = work(item);
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((at, result));
        }
        done
    };
    let mut all: Vec<(usize, Result<R>)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS.min(items.len())).map(|_| scope.spawn(run)).collect();
        threads
            .into_iter()
            .flat_map(|thread| {
                thread.join().unwrap_or_else(|_| vec![(0, Err(Failure::internal("backup", "a thread ended early")))])
            })
            .collect()
    });
    all.sort_by_key(|(at, _)| *at);
    let (mut results, mut error) = (Vec::new(), None);
    for (_, result) in all {
        match result {
            Ok(result) => results.push(result),
            Err(found) => error = error.or(Some(found)),
        }
    }
    match error {
        None => Ok(results),
        Some(error) => Err((results, error)),
    }
}
