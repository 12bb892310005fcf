//! Reads which files a snapshot has: its manifest list, and the manifests.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use lath_iceberg::{
    DataFile, EntryStatus, FileContent, ManifestContent, ManifestFile, ManifestLocation, PartitionSpec, Snapshot,
    TableMetadata, read_manifest_list, visit_manifest,
};
use lath_parquet::{DatasetOptions, Error, Result, on_threads};
use lath_source::split_scheme;

use super::located;
use super::paths::Locations;
use crate::storage::{Folder, read_failure};

/// The field of the path of a data file, in files of positions.
pub(super) const DELETED_PATH_ID: i32 = i32::MAX - 101;

/// A file of a snapshot.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) file: DataFile,
    pub(super) sequence_number: i64,
    pub(super) spec: Arc<PartitionSpec>,
}

/// The manifests of a snapshot.
pub(super) struct Manifests<'m> {
    locations: &'m Locations,
    manifests: Vec<ManifestFile>,
    specs: HashMap<i32, Arc<PartitionSpec>>,
    /// The columns whose metrics are needed.
    ids: &'m HashSet<i32>,
}

/// An error of a manifest, or of the function that takes its entries.
enum Failure {
    Manifest(lath_iceberg::Error),
    Entry(Error),
}

impl From<lath_iceberg::Error> for Failure {
    fn from(error: lath_iceberg::Error) -> Self {
        Self::Manifest(error)
    }
}

impl<'m> Manifests<'m> {
    /// Lists the manifests of a snapshot. Metrics of data files will be read for the columns with the numbers `ids`.
    pub(super) fn list(
        locations: &'m Locations,
        metadata: &TableMetadata,
        snapshot: &Snapshot,
        ids: &'m HashSet<i32>,
    ) -> Result<Self> {
        let mut manifests: Vec<ManifestFile> = match &snapshot.manifests {
            ManifestLocation::List(list) => {
                let (found, bytes) = read_file(locations, list)?;
                let manifests = read_manifest_list(&bytes).map_err(|error| located(error, &found))?;
                check_list(&manifests, snapshot, &found)?;
                manifests
            }
            ManifestLocation::Inline(paths) => paths.iter().map(ManifestFile::inline).collect(),
        };
        manifests.retain(|manifest| manifest.added_files != Some(0) || manifest.existing_files != Some(0));
        let specs = metadata.partition_specs.iter().map(|spec| (spec.spec_id, Arc::new(spec.clone()))).collect();
        Ok(Self { locations, manifests, specs, ids })
    }

    /// The results of `make` for the files of one kind, in the order of the manifests, without `None`. Several manifests are
    /// read at a time, and a table may have very many files, so that entries are not kept.
    pub(super) fn files<T: Send>(
        &self,
        content: ManifestContent,
        make: impl Fn(Entry) -> Result<Option<T>> + Sync,
    ) -> Result<Vec<T>> {
        let manifests: Vec<_> = self.manifests.iter().filter(|manifest| manifest.content == content).collect();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let is_local = self.locations.folder().local().is_some();
        let threads = if is_local { cores } else { DatasetOptions::DEFAULT_REQUESTS_IN_FLIGHT };
        let read = on_threads::each(manifests.len(), threads, "lath-manifest", |at| self.read(manifests[at], &make));
        let mut files = Vec::new();
        for mut made in read.into_iter().collect::<Result<Vec<_>>>()? {
            if files.is_empty() { files = made } else { files.append(&mut made) }
        }
        Ok(files)
    }

    fn read<T>(&self, manifest: &ManifestFile, make: impl Fn(Entry) -> Result<Option<T>>) -> Result<Vec<T>> {
        let found = self.locations.find(&manifest.manifest_path)?;
        let explain = |error| self.locations.explain(error, &manifest.manifest_path, &found);
        let (bytes, len) = open_file(self.locations.folder(), &found).map_err(explain)?;
        // A list that counts files shows which manifest was cut short; some writers give the length before compression.
        let counts_files = manifest.added_files.is_some() && manifest.existing_files.is_some();
        if !counts_files && manifest.manifest_length > 0 && manifest.manifest_length != len {
            let expected = manifest.manifest_length;
            return Err(Error::corrupt(format!("{found} has {len} bytes; its manifest list says {expected}")));
        }
        let keeps = |id: i32| match manifest.content {
            ManifestContent::Data => self.ids.contains(&id),
            ManifestContent::Deletes => id == DELETED_PATH_ID,
        };
        let spec = self.specs.get(&manifest.partition_spec_id).ok_or_else(|| {
            Error::corrupt(format!(
                "{found} has the partition spec {}, which the table lacks",
                manifest.partition_spec_id
            ))
        })?;
        let (mut made, mut count) = (Vec::new(), 0);
        let read = visit_manifest(bytes, manifest, keeps, |entry| -> Result<(), Failure> {
            if entry.status == EntryStatus::Deleted {
                return Ok(());
            }
            let (file, sequence_number) = (entry.data_file, entry.sequence_number.unwrap_or(0));
            count += 1;
            check_file(&file).map_err(Failure::Entry)?;
            made.extend(make(Entry { file, sequence_number, spec: Arc::clone(spec) }).map_err(Failure::Entry)?);
            Ok(())
        });
        read.map_err(|failure| match failure {
            Failure::Manifest(lath_iceberg::Error::Io { kind, what }) => {
                read_failure(&found, io::Error::new(kind, what))
            }
            Failure::Manifest(error) => located(error, &found),
            Failure::Entry(error) => error,
        })?;
        match (manifest.added_files, manifest.existing_files) {
            (Some(added), Some(existing)) if count < added.saturating_add(existing) => {
                let expected = added.saturating_add(existing);
                Err(Error::corrupt(format!("{found} has {count} files; its manifest list says {expected}")))
            }
            _ => Ok(made),
        }
    }
}

/// The bytes of a file, and their number. A local file is read in parts, because it may be long; an object takes one request.
fn open_file(folder: &Folder, found: &str) -> Result<(Box<dyn Read>, u64)> {
    if split_scheme(found).is_some() {
        let bytes = folder.read(found)?;
        let len = bytes.len() as u64;
        return Ok((Box::new(io::Cursor::new(bytes)), len));
    }
    let failed = |error| Error::io("open", error).locate(|at| at.file = Some(found.into()));
    let file = File::open(found).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    Ok((Box::new(file), len))
}

/// Finds and reads the file at a location.
fn read_file(locations: &Locations, location: &str) -> Result<(String, Bytes)> {
    let found = locations.find(location)?;
    let bytes = locations.folder().read(&found).map_err(|error| locations.explain(error, location, &found))?;
    Ok((found, bytes))
}

/// An error for an empty list of a snapshot that has files: a container of Avro that was cut short may be a whole one.
fn check_list(manifests: &[ManifestFile], snapshot: &Snapshot, location: &str) -> Result<()> {
    let files: Option<u64> = snapshot.summary.get("total-data-files").and_then(|files| files.parse().ok());
    match (manifests.is_empty(), files) {
        (true, Some(files @ 1..)) => {
            Err(Error::corrupt(format!("{location} lists no manifest, and its snapshot has {files} files")))
        }
        _ => Ok(()),
    }
}

fn check_file(file: &DataFile) -> Result<()> {
    let path = &file.file_path;
    let is_vector = file.content == FileContent::PositionDeletes && file.file_format == "PUFFIN";
    if file.file_format != "PARQUET" && !is_vector {
        return Err(Error::unsupported(format!("{path}: files of the format {}", file.file_format)));
    }
    if file.key_metadata.is_some() {
        return Err(Error::unsupported(format!("{path}: files that Iceberg encrypts")));
    }
    Ok(())
}
