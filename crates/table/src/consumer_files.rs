//! Files with the positions of consumers of the change feed: one file for each consumer, which its process replaces as a whole.
//!
//! They are not in the store, because a process that reads changes while another one writes cannot change the store. A file has its old or its
//! new contents after a crash. A backup has none.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::file::{create_folders, sync_folder};
use crate::follower_marker::check_table_not_follower;

/// The folder of the files, within the table's.
const FOLDER: &str = "_consumers";

const FORMAT: u64 = 1;

/// Maximum length of a name.
const NAME_LEN: usize = 100;

/// Progress of the rows that a consumer gets before the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bootstrap {
    /// There is none, or all of its rows were acknowledged.
    Done,
    /// It has not begun.
    Pending,
    /// Some of its rows may have been delivered.
    Begun,
}

/// A consumer as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredConsumer {
    pub(crate) name: String,
    /// The last commit all of whose changes were acknowledged.
    pub(crate) position: u64,
    pub(crate) bootstrap: Bootstrap,
    /// Number of changes that are kept for it.
    pub(crate) max_rows: u64,
}

/// Refuses a name that is no name of a file everywhere.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=NAME_LEN).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('.') {
        return Ok(());
    }
    Err(Error::consumer(format!(
        "{name:?} is no name of a consumer: a name has 1 to {NAME_LEN} letters of ASCII, digits, '-', '_' and '.', and does not begin with '.'"
    )))
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(FOLDER).join(format!("{name}.json"))
}

/// The consumer with this name.
pub(crate) fn load(folder: &Path, name: &str) -> Result<Option<StoredConsumer>> {
    check_name(name)?;
    read(&path(folder, name), name)
}

fn read(path: &Path, name: &str) -> Result<Option<StoredConsumer>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let parsed = serde_json::from_slice(&text).ok().and_then(|value: Value| parse(&value, name));
    let corrupt = || Error::corrupt(format!("{} is not the position of a consumer: drop the consumer", path.display()));
    parsed.map(Some).ok_or_else(corrupt)
}

/// All consumers, in the order of their names.
pub(crate) fn load_all(folder: &Path) -> Result<Vec<StoredConsumer>> {
    let folder = folder.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("list", &folder)(error)),
    };
    let mut consumers = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::io("list", &folder))?;
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".json")) else { continue };
        if check_name(name).is_ok() {
            consumers.extend(read(&entry.path(), name)?);
        }
    }
    consumers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(consumers)
}

/// Replaces the file of a consumer, durably.
pub(crate) fn store(folder: &Path, consumer: &StoredConsumer) -> Result<()> {
    check_name(&consumer.name)?;
    check_table_not_follower(folder)?;
    let path = path(folder, &consumer.name);
    let parent = folder.join(FOLDER);
    create_folders(&parent)?;
    let bootstrap = match consumer.bootstrap {
        Bootstrap::Done => "done",
        Bootstrap::Pending => "pending",
        Bootstrap::Begun => "begun",
    };
    let value =
        json!({"format": FORMAT, "position": consumer.position, "bootstrap": bootstrap, "max_rows": consumer.max_rows});
    // Two processes do not write to the same file, even if both are the same consumer.
    let partial = parent.join(format!(".{}.{}.partial", consumer.name, std::process::id()));
    let written = fs::File::create(&partial).and_then(|mut file| {
        file.write_all(format!("{value:#}\n").as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&partial, &path)).map_err(Error::io("write", &path))?;
    sync_folder(&parent)
}

/// Removes the file of a consumer. Returns whether there was one.
pub(crate) fn remove(folder: &Path, name: &str) -> Result<bool> {
    check_name(name)?;
    check_table_not_follower(folder)?;
    let path = path(folder, name);
    match fs::remove_file(&path) {
        Ok(()) => sync_folder(&folder.join(FOLDER)).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("remove", &path)(error)),
    }
}

fn parse(value: &Value, name: &str) -> Option<StoredConsumer> {
    if value.get("format")?.as_u64()? != FORMAT {
        return None;
    }
    let bootstrap = match value.get("bootstrap")?.as_str()? {
        "done" => Bootstrap::Done,
        "pending" => Bootstrap::Pending,
        "begun" => Bootstrap::Begun,
        _ => return None,
    };
    let (position, max_rows) = (value.get("position")?.as_u64()?, value.get("max_rows")?.as_u64()?);
    Some(StoredConsumer { name: name.to_owned(), position, bootstrap, max_rows })
}
