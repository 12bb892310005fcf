//! The folder with the metadata of a published table.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lath_iceberg::{Snapshot, TableMetadata};

use crate::error::{Error, Result};
use crate::file::{FileFolder, Files};

/// The name of the folder, as Iceberg prescribes it.
const FOLDER: &str = "metadata";

/// The file with the number of the newest metadata file.
const HINT: &str = "version-hint.text";

/// Keys of the summary of a snapshot: the store's commit, the version of the table, and the numbers of the files of metadata that the snapshot has.
pub(super) const COMMIT: &str = "lath.commit";
pub(super) const VERSION: &str = "lath.version";
pub(super) const PARTS: &str = "lath.parts";

/// A kind of file next to the metadata file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The manifest of data files.
    Data,
    /// The manifest of deletion vectors.
    Deletes,
    /// Deletion vectors.
    Vectors,
    /// The manifest list.
    List,
}

impl Part {
    /// The name of the file that the snapshot with this sequence number wrote.
    pub(super) fn file_name(self, sequence: i64) -> String {
        match self {
            Self::Data => format!("{sequence:010}-data.avro"),
            Self::Deletes => format!("{sequence:010}-deletes.avro"),
            Self::Vectors => format!("{sequence:010}-vectors.puffin"),
            Self::List => format!("{sequence:010}-list.avro"),
        }
    }

    /// Whether a name is one of [`file_name`](Self::file_name).
    fn has_name(name: &str) -> bool {
        let Some((number, rest)) = name.split_once('-') else { return false };
        let is_number = number.len() >= 10 && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && ["data.avro", "deletes.avro", "vectors.puffin", "list.avro"].contains(&rest)
    }
}

/// The folder with the metadata of a published table.
#[derive(Debug)]
pub(crate) struct MetadataFolder {
    folder: FileFolder,
    /// The folder of the table, as metadata names it.
    location: String,
}

/// The newest metadata.
#[derive(Debug)]
pub(crate) struct CurrentMetadata {
    /// The number of its file.
    pub(crate) number: u64,
    pub(crate) metadata: TableMetadata,
    pub(crate) snapshot: Snapshot,
}

impl CurrentMetadata {
    /// The store's commits that its snapshots show.
    pub(crate) fn commits(&self) -> impl Iterator<Item = u64> {
        self.metadata.snapshots.iter().filter_map(|snapshot| snapshot.summary.get(COMMIT)?.parse().ok())
    }

    /// The version of the table that the newest snapshot shows.
    pub(crate) fn version(&self) -> Option<u64> {
        self.snapshot.summary.get(VERSION)?.parse().ok()
    }
}

impl MetadataFolder {
    pub(crate) fn new(files: &Files) -> Result<Self> {
        let location = files.folder().location();
        let location = location.to_str().ok_or_else(|| {
            Error::publish(format!("the path {} is not UTF-8, and metadata of Iceberg names it", location.display()))
        })?;
        Ok(Self { folder: files.folder().below(FOLDER), location: location.to_owned() })
    }

    /// The folder of the table.
    pub(super) fn location(&self) -> &str {
        &self.location
    }

    /// The location of a file of this folder.
    pub(super) fn location_of_file(&self, name: &str) -> String {
        format!("{}/{FOLDER}/{name}", self.location)
    }

    pub(crate) fn file_path(&self, number: u64) -> PathBuf {
        self.folder.path(&metadata_name(number))
    }

    /// The newest metadata; `None` if the folder has none. Metadata of another program is an error.
    pub(crate) fn current(&self) -> Result<Option<CurrentMetadata>> {
        let mut newest = None;
        for name in self.folder.names()? {
            if !name.ends_with(".metadata.json") && !name.ends_with(".metadata.json.gz") {
                continue;
            }
            let number = metadata_number(&name).ok_or_else(|| self.foreign(&name))?;
            newest = newest.max(Some(number));
        }
        let Some(number) = newest else { return Ok(None) };
        let name = metadata_name(number);
        let metadata = TableMetadata::from_bytes(&self.read(&name)?)?;
        // Other programs copy snapshots and properties, and set when they changed them.
        let is_own = |snapshot: &&Snapshot| {
            snapshot.summary.contains_key(COMMIT) && snapshot.timestamp_ms == metadata.last_updated_ms
        };
        let snapshot = metadata.current_snapshot().filter(is_own).cloned().ok_or_else(|| self.foreign(&name))?;
        Ok(Some(CurrentMetadata { number, metadata, snapshot }))
    }

    fn foreign(&self, name: &str) -> Error {
        Error::ForeignMetadata { path: self.folder.path(name) }
    }

    /// Reads a file of the folder.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        self.folder.read(name)
    }

    /// Makes the folder if it does not exist.
    pub(super) fn create(&self) -> Result<()> {
        self.folder.create()
    }

    /// Writes a file that no metadata names yet. Its name becomes durable with [`sync`](Self::sync).
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.folder.write(name, bytes)
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.folder.sync()
    }

    /// Writes the metadata file with this number, which does not exist, and then the hint.
    pub(super) fn commit(&self, number: u64, metadata: &TableMetadata) -> Result<()> {
        let name = metadata_name(number);
        if !self.folder.write_new(&name, &metadata.to_bytes()?)? {
            return Err(self.foreign(&name));
        }
        self.write_hint(number)
    }

    /// Makes the hint name the metadata file with this number.
    pub(super) fn write_hint(&self, number: u64) -> Result<()> {
        self.folder.replace(HINT, number.to_string().as_bytes())
    }

    /// Whether the hint names the metadata file with this number.
    pub(super) fn has_hint(&self, number: u64) -> bool {
        self.folder.read(HINT).is_ok_and(|text| text.trim_ascii() == number.to_string().as_bytes())
    }

    /// Removes what no snapshot of `metadata`, which the file with this number has, needs. Older metadata files stay for `keep`.
    pub(super) fn clean(&self, number: u64, metadata: &TableMetadata, keep: Duration) -> Result<()> {
        let mut needed: BTreeSet<String> = BTreeSet::new();
        for snapshot in &metadata.snapshots {
            needed.insert(Part::List.file_name(snapshot.sequence_number));
            needed
                .extend(snapshot.summary.get(PARTS).into_iter().flat_map(|parts| parts.split(' ').map(str::to_owned)));
        }
        let now = SystemTime::now();
        for file in self.folder.files()? {
            let name = &file.name;
            let is_expired = || {
                let written = self.folder.modified(&file);
                written.is_some_and(|written| now.duration_since(written).is_ok_and(|age| age > keep))
            };
            let is_old = match metadata_number(name) {
                Some(older) => older + 1 < number && is_expired(),
                None => (Part::has_name(name) && !needed.contains(name)) || is_partial(name),
            };
            if is_old {
                self.folder.remove(name)?;
            }
        }
        Ok(())
    }

    /// Removes all files that publications have written.
    pub(crate) fn remove_all(&self) -> Result<()> {
        // Without the hint first, so that no reader finds half of the rest.
        self.folder.remove(HINT)?;
        for name in self.folder.names()? {
            if metadata_number(&name).is_some() || Part::has_name(&name) || is_partial(&name) {
                self.folder.remove(&name)?;
            }
        }
        // Other programs may have left files in the folder.
        self.folder.remove_empty()
    }
}

fn metadata_name(number: u64) -> String {
    format!("v{number}.metadata.json")
}

/// The number in the name of a metadata file that [`metadata_name`] has made.
fn metadata_number(name: &str) -> Option<u64> {
    let number: u64 = name.strip_prefix('v')?.strip_suffix(".metadata.json")?.parse().ok()?;
    (metadata_name(number) == name).then_some(number)
}

/// Whether a file was being written when its writer ended.
fn is_partial(name: &str) -> bool {
    name.strip_prefix('.')
        .and_then(|name| name.strip_suffix(".partial"))
        .is_some_and(|name| name == HINT || metadata_number(name).is_some())
}
