//! Chooses a snapshot of a table.

use lath_iceberg::{Schema, Snapshot, TableMetadata};
use lath_parquet::{Error, Result};

use crate::lake::At;

const MAIN: &str = "main";

/// A snapshot, and the columns with which it is read.
pub(super) struct Selection<'m> {
    /// `None` for a table without any.
    pub(super) snapshot: Option<&'m Snapshot>,
    pub(super) schema: &'m Schema,
}

/// The snapshot at `at`, or the newest one. The newest snapshot of a branch is read with the table's current columns, and others with
/// the columns of their time.
pub(super) fn choose<'m>(metadata: &'m TableMetadata, at: Option<&At>, file: &str) -> Result<Selection<'m>> {
    let current = metadata.current_schema().ok_or_else(|| Error::corrupt(format!("{file} has no current schema")))?;
    let by_id = |id: i64| {
        metadata
            .snapshot(id)
            .ok_or_else(|| Error::invalid(format!("{file} has no snapshot {id}: it was never made, or has expired")))
    };
    let of_its_time = |snapshot: &'m Snapshot| {
        let schema = match snapshot.schema_id {
            Some(id) => metadata.schema(id).ok_or_else(|| Error::corrupt(format!("{file} has no schema {id}")))?,
            // Snapshots of version 1 may not have one.
            None => current,
        };
        Ok(Selection { snapshot: Some(snapshot), schema })
    };
    match at {
        None => Ok(Selection { snapshot: metadata.current_snapshot_id.map(by_id).transpose()?, schema: current }),
        Some(At::Version(id)) => of_its_time(by_id(*id)?),
        Some(At::Time(micros)) => {
            let before = metadata.snapshot_log.iter().filter(|(time, _)| time.saturating_mul(1000) <= *micros);
            let (_, id) = before
                .max_by_key(|(time, _)| *time)
                .ok_or_else(|| Error::invalid(format!("{file} has no snapshot of that time or before it")))?;
            of_its_time(by_id(*id)?)
        }
        Some(At::Name(name)) => match metadata.refs.get(name) {
            Some(reference) if reference.is_branch => {
                Ok(Selection { snapshot: Some(by_id(reference.snapshot_id)?), schema: current })
            }
            Some(reference) => of_its_time(by_id(reference.snapshot_id)?),
            None if name == MAIN => choose(metadata, None, file),
            None => {
                let names: Vec<&str> = metadata.refs.keys().map(String::as_str).collect();
                Err(Error::invalid(format!("{file} has no branch or tag {name:?}; there are {}", names.join(", "))))
            }
        },
    }
}
