//! Reads tables of Delta Lake (<https://github.com/delta-io/delta/blob/master/PROTOCOL.md>).

mod actions;
mod deletion_vector;
mod files;
mod log;
mod partition_values;
mod paths;
mod protocol;
mod schema;
mod statistics;
mod texts;
mod z85;

use std::sync::Arc;

use lath_parquet::{ColumnMapping, Dataset, Error, FolderFormat, Result, TablePredicate};

use self::files::TableFiles;
use self::schema::TableSchema;
use crate::lake::{Lake, LakeOptions};
use crate::storage::{Entry, Folder};

/// Opens the table in `folder`. `listed` has the files of its log, if they are known.
pub(crate) fn open(folder: &Folder, listed: Option<Vec<Entry>>, options: &LakeOptions) -> Result<Lake> {
    let location = folder.location("")?;
    let located = |error: Error| {
        error.locate(|at| {
            at.file.get_or_insert_with(|| location.as_str().into());
        })
    };
    let mut snapshot = log::snapshot(folder, listed, options.at.as_ref()).map_err(located)?;
    protocol::check(&snapshot.protocol, &snapshot.metadata).map_err(located)?;
    let TableSchema { schema, columns, partitions, statistics } =
        TableSchema::parse(&snapshot.metadata).map_err(located)?;
    let columns = Arc::new(ColumnMapping::new(columns));
    // A condition that does not fit the columns is an error of the scan that has it.
    let filter = options.filter.as_ref().and_then(|filter| TablePredicate::new(filter, &schema).ok());
    let dataset_options = Arc::new(options.dataset.clone().columns(Arc::clone(&columns)));
    let mut files = TableFiles::new(folder, partitions, statistics, dataset_options, filter);
    snapshot.files(folder, |action| files.add(action)).map_err(located)?;
    let (files, partitions) = files.finish().map_err(located)?;
    let dataset = Dataset::with_schema(schema, partitions, files).map_err(located)?;
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
