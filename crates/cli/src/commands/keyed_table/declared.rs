//! `table create --columns`: a table whose columns are declared in SQL.

use std::fs;
use std::path::Path;

use lath_sql::Error;
use lath_table::Database as Tables;

use super::load::Load;
use crate::args::CreateArgs;
use crate::commands::engine::{self, Database, failed, quoted};
use crate::encryption_key::table_options;
use crate::failure::{Failure, Outcome, Result};

/// The name of a table that is alone in its folder, in its statements.
const ALONE: &str = "the_table";

/// Creates the table by statements of SQL, and loads the rows of files, if any are given. If that fails, there is no table.
pub(super) fn create(
    args: &CreateArgs,
    columns: &str,
    load_rows: impl FnOnce(Load) -> Result<Outcome>,
) -> Result<Outcome> {
    let folder = &args.table.folder;
    let load = match args.rows.inputs.files.is_empty() {
        true => None,
        false => Some(Load::new(&args.rows)?),
    };
    let was_there = fs::symlink_metadata(folder).is_ok();
    let names = |names: &[String]| names.iter().map(|name| quoted(name, '"')).collect::<Vec<_>>().join(", ");
    let key = match args.key.is_empty() {
        true => String::new(),
        false => format!(", PRIMARY KEY ({})", names(&args.key)),
    };
    let cluster = match args.cluster_by.is_empty() {
        true => String::new(),
        false => format!("CLUSTER BY ({})", names(&args.cluster_by)),
    };
    match &args.table.table {
        Some(name) => {
            let with =
                args.cold.as_ref().map_or_else(String::new, |url| format!("WITH (cold = {})", quoted(url, '\'')));
            let database = Database { folder, read_only: false, wait: Some(args.table.wait) };
            let session = engine::session(None, None, Some(database), None, |builder| builder)?;
            let name = quoted(name, '"');
            session.run(&format!("CREATE TABLE {name} ({columns}{key}) {with} {cluster}")).map_err(wrong_columns)?;
        }
        None => create_alone(args, &format!("{columns}{key}"), &cluster)?,
    }
    let Some(load) = load else { return Ok(Outcome::Done) };
    let loaded = load_rows(load);
    if loaded.is_err() {
        remove(args, folder, was_there);
    }
    loaded
}

fn create_alone(args: &CreateArgs, columns: &str, cluster: &str) -> Result<()> {
    if args.cold.is_some() {
        return Err(Failure::Usage(
            "--columns and --cold create a table of a database; name it with --table, or take the columns of a file"
                .to_owned(),
        ));
    }
    let Some(folder) = args.table.folder.to_str() else {
        return Err(Failure::Usage(format!("{}: the name of the folder is no Unicode", args.table.folder.display())));
    };
    let session = engine::session(None, None, None, None, |builder| builder)?;
    let location = quoted(folder, '\'');
    let create = format!("CREATE EXTERNAL TABLE {ALONE} ({columns}) STORED AS LATH LOCATION {location}");
    session.run(&create).map_err(wrong_columns)?;
    if !cluster.is_empty() {
        session.run(&format!("ALTER TABLE {ALONE} {cluster}")).map_err(wrong_columns)?;
    }
    Ok(())
}

/// The error of a statement that the options have made, without words of that statement.
fn wrong_columns(error: Error) -> Failure {
    match failed(error) {
        Failure::Usage(what) if ["EXTERNAL", "CREATE TABLE", "STORED AS"].iter().any(|word| what.contains(word)) => {
            Failure::Usage(
                "--columns takes columns and types, such as 'id BIGINT, name VARCHAR(20) NOT NULL'".to_owned(),
            )
        }
        Failure::Usage(what) => Failure::Usage(what.replace(ALONE, "the table")),
        other => other,
    }
}

/// Removes the table, whose rows could not be loaded.
fn remove(args: &CreateArgs, folder: &Path, was_there: bool) {
    match &args.table.table {
        Some(name) => {
            let Ok(options) = table_options() else { return };
            let database = Tables::open_or_create(folder, options.wait(args.table.wait));
            drop(database.and_then(|database| database.drop_table(name)));
        }
        // It has nothing but the table.
        None if !was_there => drop(fs::remove_dir_all(folder)),
        None => {}
    }
}
