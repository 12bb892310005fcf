//! `count --by`: the number of rows of each group, the largest first.

use lath_parquet::Predicate;

use crate::args::CountArgs;
use crate::commands::column_path::ColumnPath;
use crate::commands::engine::{InputTable, TABLE, failed, quoted, write_answer};
use crate::failure::{Failure, Outcome, Result};
use crate::input::catalog::Search;
use crate::output::Output;

/// Writes a row for each group of rows that are equal in the columns at `paths`.
pub(in crate::commands) fn run(args: &CountArgs, paths: &[String]) -> Result<Outcome> {
    let output = Output::new(&args.output)?;
    let predicate = args.predicate.as_deref().map(Predicate::parse).transpose().map_err(Failure::filtering)?;
    let predicate = predicate.unwrap_or(Predicate::TRUE);
    let search = Search {
        table: args.table,
        text: &args.text,
        columns: Some(paths),
        predicate,
        prunes_files: true,
        needs_all_files: false,
        explains: false,
    };
    let table = InputTable::open(&args.inputs, search)?;
    let schema = table.schema();
    let columns = paths.iter().map(|path| ColumnPath::find(path, schema, "--by")).collect::<Result<Vec<_>>>()?;
    let session = table.session(args.decode.threads.map(usize::from), None)?;
    let selected: Vec<String> =
        columns.iter().map(|column| format!("{} AS {}", column.expression(), quoted(&column.path(), '"'))).collect();
    // A column may be called so too.
    let is_taken = columns.iter().any(|column| column.path() == "count");
    let count = if is_taken { "count(*)" } else { "count" };
    let groups = (1..=columns.len()).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
    let limit = args.limit.map_or_else(String::new, |limit| format!(" LIMIT {limit}"));
    let query = format!(
        "SELECT {}, count(*) AS \"{count}\" FROM {TABLE} GROUP BY {groups} ORDER BY {} DESC, {groups}{limit}",
        selected.join(", "),
        columns.len() + 1,
    );
    let answer = session.run(&query).map_err(failed)?;
    let schema = answer.schema().clone();
    write_answer(answer, &output, &schema, Ok)?;
    drop(session);
    table.close();
    Ok(Outcome::Done)
}
