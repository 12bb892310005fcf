//! Reads which files a snapshot has: its manifest list, and the manifests.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread;

use lath_iceberg::{
    DataFile, EntryStatus, FileContent, ManifestContent, ManifestFile, ManifestLocation, PartitionSpec, Snapshot,
    TableMetadata, read_manifest, read_manifest_list,
};
use lath_parquet::{DatasetOptions, Error, Result, on_threads};

use super::located;
use super::paths::Locations;

/// The field of the path of a data file, in files of positions.
pub(super) const DELETED_PATH_ID: i32 = i32::MAX - 101;

/// A file of a snapshot.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) file: DataFile,
    pub(super) sequence_number: i64,
    pub(super) spec: Arc<PartitionSpec>,
}

/// The files of a snapshot, in the order of the manifests. Metrics are kept for the columns with these numbers.
pub(super) fn read(
    locations: &Locations,
    metadata: &TableMetadata,
    snapshot: &Snapshot,
    ids: &HashSet<i32>,
) -> Result<Vec<Entry>> {
    let folder = locations.folder();
    let read_file = |location: &str| {
        let found = locations.find(location)?;
        let bytes = folder.read(&found).map_err(|error| locations.explain(error, location, &found))?;
        Ok::<_, Error>((found, bytes))
    };
    let manifests: Vec<ManifestFile> = match &snapshot.manifests {
        ManifestLocation::List(list) => {
            let (found, bytes) = read_file(list)?;
            let manifests = read_manifest_list(&bytes).map_err(|error| located(error, &found))?;
            check_list(&manifests, snapshot, &found)?;
            manifests
        }
        ManifestLocation::Inline(paths) => paths.iter().map(ManifestFile::inline).collect(),
    };
    let has_files = |manifest: &&ManifestFile| manifest.added_files != Some(0) || manifest.existing_files != Some(0);
    let manifests: Vec<ManifestFile> = manifests.into_iter().filter(|manifest| has_files(&manifest)).collect();
    let specs: HashMap<i32, Arc<PartitionSpec>> =
        metadata.partition_specs.iter().map(|spec| (spec.spec_id, Arc::new(spec.clone()))).collect();
    let read_one = |manifest: &ManifestFile| {
        let (found, bytes) = read_file(&manifest.manifest_path)?;
        // A list that counts files shows which manifest was cut short; some writers give the length before compression.
        let counts_files = manifest.added_files.is_some() && manifest.existing_files.is_some();
        if !counts_files && manifest.manifest_length > 0 && manifest.manifest_length != bytes.len() as u64 {
            let (expected, len) = (manifest.manifest_length, bytes.len());
            return Err(Error::corrupt(format!("{found} has {len} bytes; its manifest list says {expected}")));
        }
        let keeps = |id: i32| match manifest.content {
            ManifestContent::Data => ids.contains(&id),
            ManifestContent::Deletes => id == DELETED_PATH_ID,
        };
        let spec = specs.get(&manifest.partition_spec_id).ok_or_else(|| {
            Error::corrupt(format!(
                "{found} has the partition spec {}, which the table lacks",
                manifest.partition_spec_id
            ))
        })?;
        let mut entries = Vec::new();
        for entry in read_manifest(&bytes, manifest, keeps).map_err(|error| located(error, &found))? {
            if entry.status != EntryStatus::Deleted {
                let file = entry.data_file;
                check_file(&file)?;
                let sequence_number = entry.sequence_number.unwrap_or(0);
                entries.push(Entry { file, sequence_number, spec: Arc::clone(spec) });
            }
        }
        if let (Some(added), Some(existing)) = (manifest.added_files, manifest.existing_files)
            && (entries.len() as u64) < added.saturating_add(existing)
        {
            let (count, expected) = (entries.len(), added.saturating_add(existing));
            return Err(Error::corrupt(format!("{found} has {count} files; its manifest list says {expected}")));
        }
        Ok(entries)
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if folder.local().is_some() { cores } else { DatasetOptions::DEFAULT_REQUESTS_IN_FLIGHT };
    let read = on_threads::each(manifests.len(), threads, "lath-manifest", |at| read_one(&manifests[at]));
    Ok(read.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
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
