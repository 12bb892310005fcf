//! Reads tables of Delta Lake (<https://github.com/delta-io/delta/blob/master/PROTOCOL.md>).

mod actions;
mod deletion_vector;
mod log;
mod partition_values;
mod paths;
mod protocol;
mod schema;
mod statistics;
mod texts;
mod z85;

use std::sync::Arc;

use lath_parquet::{ColumnMapping, Dataset, DatasetFile, DatasetOptions, DeletedRows, Error, FolderFormat, Result};

use self::actions::Add;
use self::schema::TableSchema;
use self::statistics::FileStatistics;
use crate::lake::{Lake, LakeOptions};
use crate::storage::Folder;

/// Opens the table in `folder`.
pub(crate) fn open(folder: &Folder, options: &LakeOptions) -> Result<Lake> {
    let location = folder.location("")?;
    let located = |error: Error| {
        error.locate(|at| {
            at.file.get_or_insert_with(|| location.as_str().into());
        })
    };
    let snapshot = log::snapshot(folder, options.at.as_ref()).map_err(located)?;
    protocol::check(&snapshot.protocol, &snapshot.metadata).map_err(located)?;
    let table = TableSchema::parse(&snapshot.metadata).map_err(located)?;
    let columns = Arc::new(ColumnMapping::new(table.columns));
    let table = TableSchema { columns: Vec::new(), ..table };
    let dataset = dataset(folder, table, &columns, snapshot.files, &options.dataset).map_err(located)?;
    Ok(Lake {
        location,
        format: FolderFormat::DeltaLake,
        id: snapshot.metadata.id.unwrap_or_default(),
        version: snapshot.version,
        dataset,
        columns,
        folder: folder.clone(),
        newest: format!("{}/{}", log::FOLDER, log::commit_name(snapshot.latest)),
    })
}

/// The name of the commit that follows a commit; `None` for other files.
pub(crate) fn following(name: &str) -> Option<String> {
    let version = log::commit_version(name.strip_prefix(log::FOLDER)?.strip_prefix('/')?)?;
    Some(format!("{}/{}", log::FOLDER, log::commit_name(version.checked_add(1)?)))
}

/// The rows of `files`. None of them is opened, and no deletion vector is read.
fn dataset(
    folder: &Folder,
    table: TableSchema,
    columns: &Arc<ColumnMapping>,
    files: Vec<Add>,
    options: &DatasetOptions,
) -> Result<Dataset> {
    let TableSchema { schema, partitions, statistics, .. } = table;
    let statistics = Arc::new(statistics);
    let (partitions, rows) = partition_values::columns(&partitions, &files)?;
    let options = Arc::new(options.clone().columns(Arc::clone(columns)));
    let shared_folder = Arc::new(folder.clone());
    let mut found = Vec::with_capacity(files.len());
    for (add, rows) in files.into_iter().zip(rows) {
        let mut file = DatasetFile::at(&paths::resolve(folder, &add.path)?, add.size, rows, &options)?;
        if let Some(json) = add.stats {
            file = file.with_evidence(Arc::new(FileStatistics { json, columns: Arc::clone(&statistics) }));
        }
        found.push(match add.deletion_vector {
            None => file,
            Some(vector) => {
                let folder = Arc::clone(&shared_folder);
                let count = Some(vector.cardinality);
                file.with_deleted(DeletedRows::new(count, move || deletion_vector::read(&folder, &vector)))
            }
        });
    }
    // In the order of their names, whatever the order of commits.
    found.sort_by(|left, right| left.location().cmp(right.location()));
    Dataset::with_schema(schema, partitions, found)
}
