//! The file that makes a folder a follower: a copy that only its follower process changes.
//!
//! | the folder has | it is |
//! | --- | --- |
//! | `_follower` | a follower; opening it for writing is [`Error::Follower`] |
//! | no `_follower` | an ordinary table or database, also one that was promoted |

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::file::FileFolder;

/// The file, within the folder of the table or database.
pub(crate) const MARKER: &str = "_follower";

const FORMAT: u64 = 1;

/// The source of a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    /// The path or URL of the source.
    pub(crate) source: String,
    /// The identity of the source's store.
    pub(crate) identity: u64,
    /// The stream of a bucket from which it was copied.
    pub(crate) stream: Option<u64>,
}

impl Marker {
    /// The marker of a folder; `None` if it is no follower.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MARKER);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return Err(Error::io("read", &path)(error)),
        };
        let value = serde_json::from_slice(&text).ok();
        let corrupt = || {
            let what = "does not say what the folder follows: remove the folder, and follow again";
            Error::corrupt(format!("{} {what}", path.display()))
        };
        value.as_ref().and_then(Self::parse).map(Some).ok_or_else(corrupt)
    }

    /// Makes the folder a follower, durably.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let value = json!({
            "format": FORMAT,
            "source": self.source,
            "identity": format!("{:016x}", self.identity),
            "stream": self.stream.map(|stream| format!("{stream:016x}")),
        });
        FileFolder::Local(folder.to_owned()).replace(MARKER, format!("{value:#}\n").as_bytes())
    }

    /// Makes the folder an ordinary one, durably.
    pub(crate) fn remove(folder: &Path) -> Result<()> {
        let folder = FileFolder::Local(folder.to_owned());
        folder.remove(MARKER)?;
        folder.sync()
    }

    fn parse(value: &Value) -> Option<Self> {
        let number = |name: &str| u64::from_str_radix(value.get(name)?.as_str()?, 16).ok();
        if value.get("format")?.as_u64()? != FORMAT {
            return None;
        }
        let stream = match value.get("stream")? {
            Value::Null => None,
            _ => Some(number("stream")?),
        };
        Some(Self { source: value.get("source")?.as_str()?.to_owned(), identity: number("identity")?, stream })
    }
}

/// Refuses to change a folder that is a follower.
pub(crate) fn check_not_follower(folder: &Path) -> Result<()> {
    match Marker::read(folder)? {
        None => Ok(()),
        Some(marker) => Err(Error::Follower { folder: folder.to_owned(), source: marker.source }),
    }
}

/// As [`check_not_follower`], for the folder of a table that may be one of a database.
pub(crate) fn check_table_not_follower(table: &Path) -> Result<()> {
    check_not_follower(table)?;
    let is_in_database = table.file_name().is_some_and(|name| name.to_string_lossy().starts_with("table-"));
    match table.parent().map(PathBuf::from) {
        Some(database) if is_in_database => check_not_follower(&database),
        _ => Ok(()),
    }
}
