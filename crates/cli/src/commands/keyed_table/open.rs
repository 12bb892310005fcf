//! Opening a table, alone in its folder or one of a database.

use lath_table::{Database, Error, Snapshot, Table, TableOptions};

use super::state;
use crate::args::{KeyedTableArgs, TableReadArgs};
use crate::encryption_key::table_options;
use crate::failure::{Failure, Result};
use crate::input::table_failure::table_failure;
use crate::interrupt;

/// Options for opening a table.
pub(super) fn options(args: &KeyedTableArgs) -> Result<TableOptions> {
    let options = table_options()?.wait(args.wait).uncommitted(interrupt::uncommitted());
    Ok(args.cache_bytes.into_iter().fold(options, TableOptions::disk_cache_bytes))
}

/// Opens a table for writing.
pub(super) fn open(args: &KeyedTableArgs) -> Result<Table> {
    let opened = match &args.table {
        Some(name) => Database::open(&args.folder, options(args)?).and_then(|database| database.table(name)),
        None => Table::open(&args.folder, options(args)?),
    };
    opened.map_err(|error| explain(args, error))
}

/// Opens a table for reading, while another process may write.
pub(super) fn open_for_reading(args: &KeyedTableArgs) -> Result<Table> {
    let opened = match &args.table {
        Some(name) => Database::open_read_only(&args.folder, options(args)?).and_then(|database| database.table(name)),
        None => Table::open_read_only(&args.folder, options(args)?),
    };
    opened.map_err(|error| explain(args, error))
}

/// Opens a table for reading, unless there is none.
pub(super) fn open_existing(args: &KeyedTableArgs) -> Result<Option<Table>> {
    let opened = match &args.table {
        Some(name) => Database::open_read_only(&args.folder, options(args)?).and_then(|database| database.table(name)),
        None => Table::open_read_only(&args.folder, options(args)?),
    };
    match opened {
        Ok(table) => Ok(Some(table)),
        Err(error @ Error::NoTable { .. }) if Database::open_read_only(&args.folder, options(args)?).is_ok() => {
            Err(explain(args, error))
        }
        Err(Error::NoTable { .. } | Error::NoDatabase { .. } | Error::NoSuchTable { .. }) => Ok(None),
        Err(error) => Err(explain(args, error)),
    }
}

/// The requested state, or the last commit.
pub(super) fn snapshot(args: &TableReadArgs) -> Result<Snapshot> {
    let table = open_for_reading(&args.table)?;
    let snapshot = match &args.at {
        Some(at) => state::state(&table, at),
        None => table.snapshot(),
    };
    snapshot.map_err(table_failure)
}

/// Explains what a folder without such a table has.
fn explain(args: &KeyedTableArgs, error: Error) -> Failure {
    let is_missing = matches!(error, Error::NoTable { .. } | Error::NoSuchTable { .. });
    if is_missing && let Ok(options) = options(args) {
        let names = match Database::open_read_only(&args.folder, options) {
            Err(key @ Error::Store { source: lath_store::Error::Key(_) }) => return table_failure(key),
            Err(_) => return table_failure(error),
            Ok(database) => database.table_names(),
        };
        let Ok(names) = names else { return table_failure(error) };
        let folder = args.folder.display();
        return Failure::Usage(match &names[..] {
            [] => format!("{folder} is a database without tables"),
            [name] => format!("{folder} is a database: choose its table with --table {name}"),
            names => format!("{folder} is a database of several tables: choose one with --table: {}", names.join(", ")),
        });
    }
    table_failure(error)
}
