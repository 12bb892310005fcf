//! Opens the store of a table or a database.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lath_store::{Store, is_unfinished, store_users};

use super::layout::SEQUENCES_FILE;
use super::options::TableOptions;
use crate::error::{Error, Result};

/// Time that a process with nothing to do has to let another one write: it looks more often whether one waits.
const LEAST_WAIT: Duration = Duration::from_millis(100);

/// Two changes within this time may give a file the same time.
const TIME_GRAIN: Duration = Duration::from_millis(50);

/// Files and folders that only a table or a database has.
const OWN_FILES: [&str; 4] = ["_data", "_consumers", "_owner", SEQUENCES_FILE];

/// Opens the store at `path`.
///
/// A process that is killed while it creates the store can leave an empty file. The folder is then no table yet, and a store without trees is
/// opened. If the folder has files of a table, an empty store is an error, because it has lost its contents.
pub(crate) fn open_store(path: &Path, options: &TableOptions, read_only: bool, create: bool) -> Result<Store> {
    let waited = options.wait;
    let store = options.store.clone();
    let key = options.key_for(path)?.cloned();
    let is_encrypted = key.is_some();
    let store = key.into_iter().fold(store, lath_store::Options::encryption_key);
    let options =
        store.durability(options.durability).verify_nodes(true).wait(options.wait).read_only(read_only).create(create);
    // One process at a time has an encrypted store open, so that readers wait, too.
    let opened = match read_only && !is_encrypted {
        true => options.open(path),
        // The process that writes may let this one in when it knows that it waits.
        false => match options.clone().wait(Duration::ZERO).open(path) {
            Err(lath_store::Error::Busy) => {
                let _until_opened = WaitingProcess::begin(path);
                options.clone().wait(waited.max(LEAST_WAIT)).open(path)
            }
            opened => opened,
        },
    };
    match opened {
        Err(lath_store::Error::Corrupt { .. }) if !create && !read_only && has_no_tables(path)? => {
            Ok(options.create(true).open(path)?)
        }
        Err(lath_store::Error::Busy) => {
            let mut users = store_users(path);
            // A reader in this process keeps no other one waiting.
            users.retain(|user| user.is_writer || user.process != std::process::id());
            Err(Error::InUse { folder: path.parent().unwrap_or(path).to_owned(), users, waited })
        }
        opened => Ok(opened?),
    }
}

/// The lengths and times of the files of a store, by which later commits are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileTimes(Vec<Option<(u64, SystemTime)>>);

impl FileTimes {
    /// `None` if a file was changed so lately that another change may not be noticed.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let now = SystemTime::now();
        let mut files = Vec::new();
        for suffix in ["", "-log0", "-log1"] {
            let metadata = fs::metadata(with_suffix(path, suffix)).ok();
            let file = metadata.and_then(|metadata| Some((metadata.len(), metadata.modified().ok()?)));
            if file.is_some_and(|(_, time)| time + TIME_GRAIN > now) {
                return None;
            }
            files.push(file);
        }
        Some(Self(files))
    }
}

/// A process that waits for the writer has a shared lock on a file for as long as it waits.
#[derive(Debug)]
struct WaitingProcess {
    _file: Option<File>,
}

impl WaitingProcess {
    /// Without the file, this waits like others and is not noticed.
    fn begin(path: &Path) -> Self {
        let file = File::options().create(true).truncate(false).write(true).open(waiting_path(path));
        Self { _file: file.ok().filter(|file| file.lock_shared().is_ok()) }
    }
}

/// Whether another process waits to open the store at `path` for writing.
pub(crate) fn is_awaited(path: &Path) -> bool {
    let Ok(file) = File::open(waiting_path(path)) else { return false };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

fn waiting_path(path: &Path) -> PathBuf {
    with_suffix(path, "-waiting")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether the creation of the store at `path` was interrupted, so that its folder is no table and no database yet.
pub(crate) fn is_half_created(path: &Path) -> Result<bool> {
    Ok(is_unfinished(path)? && has_no_tables(path)?)
}

/// Whether the folder of the store at `path` has no other files of a table or database.
fn has_no_tables(path: &Path) -> Result<bool> {
    let Some(folder) = path.parent() else { return Ok(false) };
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let name = entry.map_err(Error::io("list", folder))?.file_name();
        let name = name.to_string_lossy();
        let is_table = name.strip_prefix("table-").is_some_and(|number| number.parse::<u64>().is_ok());
        if is_table || is_old_file(&name) || OWN_FILES.contains(&name.as_ref()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a file has the name of rows of a table of format 5 or before: `0000000001-0123456789abcdef.parquet`.
fn is_old_file(name: &str) -> bool {
    let stem = name.strip_suffix(".parquet").and_then(|stem| stem.split_once('-'));
    stem.is_some_and(|(number, writer)| {
        number.bytes().all(|byte| byte.is_ascii_digit())
            && writer.len() == 16
            && writer.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
