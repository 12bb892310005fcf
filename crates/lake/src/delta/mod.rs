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

use lath_parquet::{ColumnMapping, Dataset, Error, FolderFormat, Predicate, Result, TablePredicate};

use self::files::TableFiles;
use self::schema::{PartitionField, TableSchema};
use self::statistics::StatisticsColumns;
use crate::lake::{Contents as LakeContents, Head, LakeOptions, LakeVersion};
use crate::storage::{Entry, Folder};

/// A version of a log, from which files are listed.
#[derive(Debug, Clone)]
pub(crate) struct Contents {
    snapshot: log::Snapshot,
    partitions: Vec<PartitionField>,
    statistics: StatisticsColumns,
}

/// Finds the version of the table in `folder` that `options` choose. `listed` has the files of its log, if they are known.
pub(crate) fn open(folder: &Folder, listed: Option<Vec<Entry>>, options: &LakeOptions) -> Result<LakeVersion> {
    let location = folder.location("")?;
    let found = log::snapshot(folder, listed, options.at.as_ref()).and_then(|snapshot| {
        protocol::check(&snapshot.protocol, &snapshot.metadata)?;
        let schema = TableSchema::parse(&snapshot.metadata)?;
        Ok((snapshot, schema))
    });
    let (mut snapshot, schema) = found.map_err(|error| located(error, &location))?;
    let TableSchema { schema, columns, partitions, statistics } = schema;
    let head = Head {
        location,
        format: FolderFormat::DeltaLake,
        id: snapshot.metadata.id.take().unwrap_or_default(),
        version: snapshot.version,
        schema,
        columns: Arc::new(ColumnMapping::new(columns)),
        folder: folder.clone(),
        newest: format!("{}/{}", log::FOLDER, log::commit_name(snapshot.latest)),
    };
    Ok(LakeVersion { head, contents: Arc::new(Contents { snapshot, partitions, statistics }) })
}

impl LakeContents for Contents {
    fn dataset(&self, head: &Head, filter: Option<&Predicate>) -> Result<Dataset> {
        let Self { snapshot, partitions, statistics } = self.clone();
        let Head { folder, schema, columns, .. } = head;
        // A condition that does not fit the columns is an error of the scan that has it.
        let filter = filter.and_then(|filter| TablePredicate::new(filter, schema).ok());
        let options = Arc::new(folder.options().clone().columns(Arc::clone(columns)));
        let mut files = TableFiles::new(folder, partitions, statistics, options, filter);
        let listed = snapshot.files(folder, |action| files.add(action)).and_then(|()| files.finish());
        let listed = listed.and_then(|(files, partitions)| Dataset::with_schema(Arc::clone(schema), partitions, files));
        listed.map_err(|error| located(error, &head.location))
    }
}

/// An error of the table at `location`, unless it names a file.
fn located(error: Error, location: &str) -> Error {
    error.locate(|at| {
        at.file.get_or_insert_with(|| location.into());
    })
}

/// The name of the commit that follows a commit; `None` for other files.
pub(crate) fn following(name: &str) -> Option<String> {
    let version = log::commit_version(name.strip_prefix(log::FOLDER)?.strip_prefix('/')?)?;
    Some(format!("{}/{}", log::FOLDER, log::commit_name(version.checked_add(1)?)))
}
