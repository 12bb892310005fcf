//! The SQL engine, and the input files as a table of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_parquet::{DatasetOptions, Predicate, Runtime};
use lath_sql::{
    Answer, BlockingSession, CatalogTable, Error, LathTable, Session, SessionBuilder, SomeColumns, keyed_table,
};

use crate::args::SearchInputArgs;
use crate::console::watch::Watch;
use crate::encryption_key;
use crate::failure::{Failure, Result, scan_failure};
use crate::input::catalog::{Search, catalog_failure, catalog_path, open_table};
use crate::input::keyed_input::KeyedInput;
use crate::input::scan::cores;
use crate::input::table::Table;
use crate::input::table_failure::table_failure;
use crate::interrupt;
use crate::output::{Output, RowSink};

/// The name of the input files as a table.
pub(super) const TABLE: &str = "files";

/// The folder of a database, whether it is only read, and how long other processes are waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Database<'a> {
    pub(super) folder: &'a Path,
    pub(super) read_only: bool,
    pub(super) wait: Option<Duration>,
}

/// An engine with the requested threads and memory, the tables of a database, and the files of a catalog as [`TABLE`]; `extend` adds settings.
pub(super) fn session(
    threads: Option<usize>,
    memory: Option<usize>,
    database: Option<Database<'_>>,
    catalog: Option<&Path>,
    extend: impl FnOnce(SessionBuilder) -> SessionBuilder,
) -> Result<BlockingSession> {
    let (session, runtime) = with_runtime(threads, memory, database, extend)?;
    if let Some(named) = catalog {
        let files = CatalogTable::open(catalog_path(named), DatasetOptions::new(), &runtime);
        let registered = files.and_then(|files| session.session().context().register_table(TABLE, Arc::new(files)));
        registered.map_err(|error| failed(Error::from(error)))?;
    }
    Ok(session)
}

/// Registers the columns of `rows` called `names` as the table `table`, which plans handle faster than all columns.
pub(super) fn register_columns(
    session: &BlockingSession,
    rows: &Arc<LathTable>,
    table: &str,
    names: &[&str],
) -> Result<()> {
    let schema = rows.dataset().schema();
    let mut columns: Vec<usize> = names.iter().filter_map(|name| schema.index_of(name).ok()).collect();
    columns.sort_unstable();
    columns.dedup();
    let context = session.session().context();
    let chosen = SomeColumns::new(rows, columns).and_then(|chosen| context.register_table(table, Arc::new(chosen)));
    chosen.map(drop).map_err(|error| failed(Error::from(error)))
}

/// The rows that a command works on: of files as one table, or of a table with a primary key.
pub(super) enum InputTable {
    Files(Table),
    /// The rows for which the condition is true.
    Keyed(KeyedInput, Predicate),
}

impl InputTable {
    /// Opens the inputs of a search.
    pub(super) fn open(args: &SearchInputArgs, search: Search<'_>) -> Result<Self> {
        match KeyedInput::find(&args.files, &args.open)? {
            Some(keyed) if args.catalog.is_none() => Self::keyed(keyed, search.predicate),
            _ => open_table(args, search).map(Self::Files),
        }
    }

    /// The rows of a table with a primary key for which `condition` is true.
    pub(super) fn keyed(keyed: KeyedInput, condition: Predicate) -> Result<Self> {
        condition.filter(keyed.schema()).map_err(Failure::filtering)?;
        Ok(Self::Keyed(keyed, condition))
    }

    /// The columns.
    pub(super) fn schema(&self) -> &SchemaRef {
        match self {
            Self::Files(table) => table.schema(),
            Self::Keyed(keyed, _) => keyed.schema(),
        }
    }

    /// Closes the inputs, and updates a catalog for files that have changed.
    pub(super) fn close(self) {
        if let Self::Files(table) = self {
            table.close();
        }
    }

    /// An engine with the rows as [`TABLE`].
    pub(super) fn session(&self, threads: Option<usize>, memory: Option<usize>) -> Result<BlockingSession> {
        self.session_and_rows(threads, memory).map(|(session, _)| session)
    }

    /// As [`InputTable::session`], with the rows of files, from which [`register_columns`] makes tables with fewer columns.
    pub(super) fn session_and_rows(
        &self,
        threads: Option<usize>,
        memory: Option<usize>,
    ) -> Result<(BlockingSession, Option<Arc<LathTable>>)> {
        let (session, runtime) = with_runtime(threads, memory, None, |builder| builder)?;
        let context = session.session().context();
        let (rows, registered) = match self {
            Self::Files(table) => {
                let rows = Arc::new(table.sql_table(&runtime));
                (Some(Arc::clone(&rows)), context.register_table(TABLE, rows))
            }
            Self::Keyed(keyed, condition) => {
                let condition = (*condition != Predicate::TRUE).then(|| condition.clone());
                let rows = keyed_table(TABLE, keyed.table.clone(), condition);
                (None, rows.and_then(|rows| context.register_table(TABLE, rows)))
            }
        };
        registered.map_err(|error| failed(Error::from(error)))?;
        Ok((session, rows))
    }
}

fn with_runtime(
    threads: Option<usize>,
    memory: Option<usize>,
    database: Option<Database<'_>>,
    extend: impl FnOnce(SessionBuilder) -> SessionBuilder,
) -> Result<(BlockingSession, Runtime)> {
    let runtime = Runtime::builder().threads(threads.unwrap_or_else(cores)).build();
    let mut builder = Session::builder().runtime(&runtime).uncommitted(interrupt::uncommitted());
    if let Some(bytes) = memory {
        builder = builder.memory_budget_bytes(bytes);
    }
    if let Some(Database { folder, read_only, wait }) = database {
        builder = if read_only { builder.read_only_database(folder) } else { builder.database(folder) };
        builder = wait.into_iter().fold(builder, SessionBuilder::database_wait);
    }
    builder = encryption_key::key()?.into_iter().fold(builder, SessionBuilder::encryption_key);
    let session = extend(builder).build().map_err(Error::from).and_then(BlockingSession::new).map_err(failed)?;
    Ok((session, runtime))
}

/// Writes the answer of a query, each batch after it went through `change`; gives the number of rows.
pub(super) fn write_answer(
    answer: Answer,
    output: &Output<'_>,
    schema: &SchemaRef,
    change: impl Fn(RecordBatch) -> Result<RecordBatch>,
) -> Result<u64> {
    let (sink, found) = write_rows(answer, output, schema, change)?;
    sink.finish()?;
    Ok(found)
}

/// As [`write_answer`], without the end of the output: a file does not have its name yet.
pub(super) fn write_rows(
    answer: Answer,
    output: &Output<'_>,
    schema: &SchemaRef,
    change: impl Fn(RecordBatch) -> Result<RecordBatch>,
) -> Result<(Box<dyn RowSink>, u64)> {
    let mut watch = watch(&answer);
    let mut sink = output.open_presorted(schema)?;
    let mut found = 0;
    for batch in answer {
        let batch = batch.map_err(failed)?;
        found += batch.num_rows() as u64;
        // Rows on a terminal would be disturbed by it.
        watch = watch.filter(|_| !output.is_terminal());
        sink.write(&change(batch)?)?;
    }
    drop(watch);
    Ok((sink, found))
}

/// Shows how far the scans of a query are, if it has any.
pub(super) fn watch(answer: &Answer) -> Option<Watch> {
    let progress = answer.progress();
    let (_, total) = progress.rows();
    (total > 0).then(|| Watch::of(false, move || progress.rows()))
}

/// `text` in quotes.
pub(super) fn quoted(text: &str, quote: char) -> String {
    let doubled = format!("{quote}{quote}");
    format!("{quote}{}{quote}", text.replace(quote, &doubled))
}

/// The failure of a statement.
pub(super) fn failed(error: Error) -> Failure {
    match error {
        Error::File(error) => scan_failure(*error),
        Error::Table(error) => table_failure(*error),
        Error::Catalog(error) => catalog_failure(Path::new("the catalog"), *error),
        Error::Statement(what) | Error::Rows(what) => Failure::Usage(what),
        Error::Mistake(mistake) => Failure::Usage(mistake.to_string()),
        Error::Resources(what) => Failure::Io(what),
        Error::Stopped => Failure::Interrupted,
        Error::Internal(what) => Failure::Internal(what),
        other => Failure::Internal(other.to_string()),
    }
}
