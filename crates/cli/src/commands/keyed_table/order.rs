//! `table scan --order-by`: rows in the order of columns; with a limit, the first of them.

use lath_parquet::Predicate;
use lath_sql::{Error, keyed_snapshot};

use super::keys::project;
use super::open::open_for_reading;
use super::state;
use crate::args::TableScanArgs;
use crate::commands::engine::{TABLE, failed, quoted, session, write_answer};
use crate::commands::order_terms::order_terms;
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::output::Output;

/// Writes the rows that satisfy the condition.
pub(super) fn run(args: &TableScanArgs, predicate: Option<Predicate>, order: &str) -> Result<Outcome> {
    let table = open_for_reading(&args.read.table)?;
    let snapshot = match &args.read.at {
        Some(at) => state::state(&table, at),
        None => table.snapshot(),
    };
    let snapshot = snapshot.map_err(table_failure)?;
    let schema = snapshot.schema().clone();
    if let Some(predicate) = &predicate {
        predicate.filter(&schema).map_err(Failure::filtering)?;
    }
    let output = Output::new(&args.output)?;
    let columns = match &args.select {
        Some(columns) => {
            let columns = project(&schema, columns)?;
            columns.iter().map(|&at| quoted(schema.field(at).name(), '"')).collect::<Vec<_>>().join(", ")
        }
        None => "*".to_owned(),
    };
    let limit = args.limit.map_or_else(String::new, |limit| format!(" LIMIT {limit}"));
    let terms = order_terms(order, &schema)?.join(", ");
    let query = format!("SELECT {columns} FROM {TABLE} ORDER BY {terms}{limit}");
    let session = session(None, None, None, None, |builder| builder)?;
    let rows = keyed_snapshot(TABLE, table, snapshot, predicate);
    let registered = rows.and_then(|rows| session.session().context().register_table(TABLE, rows));
    registered.map_err(|error| failed(Error::from(error)))?;
    let answer = session.run(&query).map_err(failed)?;
    let schema = answer.schema().clone();
    let found = write_answer(answer, &output, &schema, Ok)?;
    Ok(if found == 0 { Outcome::Nothing } else { Outcome::Done })
}
