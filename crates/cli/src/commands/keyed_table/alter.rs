//! `table alter`.

use super::open::open_for_reading;
use crate::args::TableAlterArgs;
use crate::commands::engine::{self, Database, failed, quoted};
use crate::failure::{Failure, Outcome, Result};

/// The name of a table that is alone in its folder, in its statement.
const ALONE: &str = "the_table";

/// Runs the change as a statement of SQL.
pub(super) fn run(args: &TableAlterArgs) -> Result<Outcome> {
    // An error of opening lists the tables of a database.
    drop(open_for_reading(&args.table)?);
    let (folder, wait) = (&args.table.folder, Some(args.table.wait));
    let database = args.table.table.as_ref().map(|_| Database { folder, read_only: false, wait });
    let session = engine::session(None, None, database, None, |builder| builder)?;
    let name = args.table.table.as_deref().unwrap_or(ALONE);
    if args.table.table.is_none() {
        let Some(folder) = folder.to_str() else {
            return Err(Failure::Usage(format!("{}: the name of the folder is no Unicode", folder.display())));
        };
        let attach = format!("CREATE EXTERNAL TABLE {ALONE} STORED AS LATH LOCATION {}", quoted(folder, '\''));
        session.run(&attach).map_err(failed)?;
    }
    let statement = format!("ALTER TABLE {} {}", quoted(name, '"'), args.change);
    session.run(&statement).map_err(failed)?;
    Ok(Outcome::Done)
}
