//! Iceberg tables of versions 1, 2 and 3.
//!
//! | module | what it does |
//! | --- | --- |
//! | `metadata_file` | Finds the metadata file of a table. |
//! | `snapshot` | Chooses a snapshot by number, time, branch or tag. |
//! | `paths` | Finds files of a table that may have been moved. |
//! | `columns` | Makes Arrow columns, and says how files store them. |
//! | `manifests` | Reads which data files and delete files a snapshot has. |
//! | `evidence` | Rules files out by metrics and partitions. |
//! | `deletes` | Finds the deleted rows of a data file. |
//! | `values` | Converts single values. |

mod columns;
mod deletes;
mod evidence;
mod manifests;
mod metadata_file;
mod partitions;
mod paths;
mod snapshot;
mod values;

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

use lath_iceberg::{ManifestContent, TableMetadata};
use lath_parquet::{Dataset, DatasetFile, DatasetOptions, Error, FolderFormat, Predicate, Result, TablePredicate};

use self::columns::{StoredNames, TableColumns};
use self::deletes::Deletes;
use self::evidence::FileMetrics;
use self::manifests::Manifests;
use self::partitions::PartitionValues;
use self::paths::Locations;
use crate::lake::{Contents as LakeContents, Head, LakeOptions, LakeVersion};
use crate::storage::{Entry, Folder};

pub(crate) use self::metadata_file::{is_metadata_file, newest};

/// The metadata of a table and one of its snapshots, from which files are listed.
#[derive(Debug)]
pub(crate) struct Contents {
    metadata: TableMetadata,
    /// `None` for a table without any.
    snapshot: Option<i64>,
    columns: Arc<TableColumns>,
    names: StoredNames,
}

/// Finds the snapshot of the table in a folder that `options` choose. `listed` has the files of its folder of metadata, if they are known.
pub(crate) fn open(folder: &Folder, listed: Option<Vec<Entry>>, options: &LakeOptions) -> Result<LakeVersion> {
    let name = newest(folder, listed)?;
    let metadata = metadata_file::read(folder, &folder.location(&name)?)?;
    open_metadata(folder, &folder.location("")?, name, metadata, options)
}

/// As [`open`], for the table with the metadata file at a path or URL.
pub(crate) fn open_file(location: &str, options: &LakeOptions) -> Result<LakeVersion> {
    let (folder, name) = folder_of_file(location, &options.dataset)?;
    let metadata = metadata_file::read(&folder, &folder.location(&name)?)?;
    open_metadata(&folder, location, name, metadata, options)
}

/// The folder of the table with the metadata file at a path or URL, and the name of the file within it.
pub(crate) fn folder_of_file(location: &str, options: &DatasetOptions) -> Result<(Folder, String)> {
    let whole = match location.contains("://") {
        true => location.to_owned(),
        false => {
            let path = std::path::absolute(location).map_err(|error| Error::io("find", error))?;
            let text = path.to_str().ok_or_else(|| Error::invalid(format!("{location}: the path is not Unicode")))?;
            text.to_owned()
        }
    };
    let parts = whole.rsplit_once('/').and_then(|(above, name)| Some((above.rsplit_once('/')?, name)));
    let Some(((table, metadata_folder), name)) = parts else {
        return Err(Error::invalid(format!("{location}: a metadata file is in a folder of the table")));
    };
    let folder = Folder::open(if table.is_empty() { "/" } else { table }, options)?;
    Ok((folder, format!("{metadata_folder}/{name}")))
}

/// As [`open`], for the table with metadata that the catalog has sent, whose file is `metadata_file`; `place` is the table in the catalog.
pub(crate) fn open_sent(
    metadata: &[u8],
    metadata_file: Option<&str>,
    place: &str,
    options: &LakeOptions,
) -> Result<LakeVersion> {
    let metadata = TableMetadata::from_bytes(metadata).map_err(|error| located(error, place))?;
    let table = paths::plain(&metadata.location);
    let folder = Folder::open(&table, &options.dataset)?;
    let file = paths::plain(metadata_file.unwrap_or_default());
    let below = file.strip_prefix(table.trim_end_matches('/')).map(|name| name.trim_start_matches('/').to_owned());
    let name = below.filter(|name| !name.is_empty()).unwrap_or_else(|| "metadata".to_owned());
    open_metadata(&folder, place, name, metadata, options)
}

/// The table called `table` with the metadata file called `name` in `folder`.
fn open_metadata(
    folder: &Folder,
    table: &str,
    name: String,
    metadata: TableMetadata,
    options: &LakeOptions,
) -> Result<LakeVersion> {
    let location = folder.location(&name)?;
    let chosen = snapshot::choose(&metadata, options.at.as_ref(), &location)?;
    let names = match metadata.properties.get(StoredNames::PROPERTY) {
        Some(text) => {
            StoredNames::parse(text).map_err(|error| error.locate(|at| at.file = Some(location.as_str().into())))?
        }
        None => StoredNames::default(),
    };
    let columns = Arc::new(TableColumns::new(chosen.schema, &names)?);
    let snapshot = chosen.snapshot.map(|snapshot| snapshot.snapshot_id);
    let head = Head {
        location: table.to_owned(),
        format: FolderFormat::Iceberg,
        // Tables of version 1 may have no number.
        id: metadata.table_uuid.clone().unwrap_or_else(|| metadata.location.clone()),
        version: snapshot.unwrap_or(-1),
        schema: Arc::clone(&columns.schema),
        columns: Arc::clone(&columns.mapping),
        folder: folder.clone(),
        newest: name,
    };
    let contents = Contents { metadata, snapshot, columns, names };
    Ok(LakeVersion { head, contents: Arc::new(contents) })
}

impl LakeContents for Contents {
    fn dataset(&self, head: &Head, filter: Option<&Predicate>) -> Result<Dataset> {
        let Self { metadata, columns, names, .. } = self;
        let Some(snapshot) = self.snapshot.and_then(|id| metadata.snapshot(id)) else {
            return Dataset::with_schema(Arc::clone(&columns.schema), Vec::new(), Vec::new());
        };
        let dataset_options = Arc::new(head.folder.options().clone().columns(Arc::clone(&columns.mapping)));
        let locations = Arc::new(Locations::new(&head.folder, &metadata.location));
        let ids: HashSet<i32> = columns.ids().collect();
        let manifests = Manifests::list(&locations, metadata, snapshot, &ids)?;
        let mut deletes = Deletes::new(&locations, metadata, names);
        for entry in manifests.files(ManifestContent::Deletes, |entry| Ok(Some(entry)))? {
            deletes.add(&entry)?;
        }
        // A condition that does not fit the columns is an error of the scan that has it.
        let filter = filter.and_then(|filter| TablePredicate::new(filter, &columns.schema).ok());
        let partitions = PartitionValues::new(columns, metadata);
        let files = manifests.files(ManifestContent::Data, |entry| {
            let metrics = FileMetrics::new(&entry.file, columns, &entry.spec);
            if filter.as_ref().is_some_and(|filter| !filter.may_have_rows(&metrics)) {
                return Ok(None);
            }
            let path = locations.find(&entry.file.file_path)?;
            let rows = partitions.rows(&entry)?;
            let file = DatasetFile::at(&path, Some(entry.file.file_size_in_bytes), rows, &dataset_options)?;
            let file = match deletes.of(&entry, &path)? {
                Some(deleted) => file.with_deleted(deleted),
                None => file,
            };
            Ok(Some(file.with_evidence(Arc::new(metrics))))
        })?;
        Dataset::with_schema(Arc::clone(&columns.schema), partitions.finish()?, files)
    }
}

/// An error of reading Iceberg's files, with the file or part that it is about.
fn located(error: impl Into<lath_iceberg::Error>, place: &str) -> Error {
    let error = error.into();
    let describe = |what: &dyn Display| format!("{place}: {what}");
    match error {
        lath_iceberg::Error::Unsupported { feature } => Error::unsupported(describe(&feature)),
        other => Error::corrupt(describe(&other)),
    }
}
