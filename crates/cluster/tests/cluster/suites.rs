//! The queries of the SQL engine's suites, over files that workers read.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use lath_cluster::{Cluster, ClusterOptions};
use lath_parquet::Runtime;
use lath_sql::{BlockingSession, Session};
use lath_writer::{ParquetWriter, WriteOptions};
use sqllogictest::{DefaultColumnType, Record};
use tempfile::TempDir;

use crate::{Workers, register, rows};

/// Rows of a row group, so that a small table is divided among workers.
const GROUP_ROWS: usize = 2;

/// One query of this many is run; all are with `LATH_FULL`.
fn step() -> usize {
    if std::env::var_os("LATH_FULL").is_some() { 1 } else { 100 }
}

/// The answer of a query, its rows in a fixed order; floats with twelve digits, because sums depend on the order of the rows.
fn answer(session: &BlockingSession, query: &str) -> Result<Vec<String>, String> {
    let batches = rows(session, query).map_err(|error| error.to_string())?;
    let mut rows: Vec<String> = batches.iter().flat_map(texts).collect();
    rows.sort_unstable();
    Ok(rows)
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    let text = |row: usize| batch.columns().iter().map(|column| value(column, row)).collect::<Vec<_>>().join(" | ");
    (0..batch.num_rows()).map(text).collect()
}

fn value(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return "NULL".to_owned();
    }
    match column.data_type() {
        DataType::Float64 => format!("{:.11e}", column.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => format!("{:.5e}", column.as_primitive::<Float32Type>().value(row)),
        _ => ArrayFormatter::try_new(column, &FormatOptions::default()).unwrap().value(row).to_string(),
    }
}

/// The tables of a session as folders of files of a few rows.
fn export(session: &BlockingSession, folder: &Path) -> Vec<String> {
    let listed =
        rows(session, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1")
            .unwrap();
    let names: Vec<String> = listed.iter().flat_map(texts).collect();
    for name in &names {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        let answer = session.run(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let schema = answer.schema().clone();
        let batches: Vec<RecordBatch> = answer.collect::<Result<_, _>>().unwrap();
        for file in 0..2 {
            let options = WriteOptions::default().row_group_rows(GROUP_ROWS);
            let mut writer = ParquetWriter::create(folder.join(format!("{file}.parquet")), &schema, options).unwrap();
            for batch in &batches {
                let half = batch.num_rows() / 2;
                let part = if file == 0 { batch.slice(0, half) } else { batch.slice(half, batch.num_rows() - half) };
                writer.write(&part).unwrap();
            }
            writer.finish().unwrap();
        }
    }
    names
}

/// A file of statements, run in one process, and its queries also on workers.
struct Suite<'a> {
    cluster: &'a Cluster,
    runtime: &'a Runtime,
    folder: &'a Path,
    /// The session that has the tables and changes them.
    tables: BlockingSession,
    _database: TempDir,
    /// The session on workers with the tables as they are now.
    copy: Option<BlockingSession>,
    exports: usize,
    /// Number of queries seen, and run.
    seen: usize,
    queries: usize,
    differences: Vec<String>,
}

impl<'a> Suite<'a> {
    fn new(cluster: &'a Cluster, runtime: &'a Runtime, folder: &'a Path) -> Self {
        let database = tempfile::tempdir().unwrap();
        let tables = Session::builder().runtime(runtime).database(database.path()).build().unwrap();
        let tables = BlockingSession::new(tables).unwrap();
        Self {
            cluster,
            runtime,
            folder,
            tables,
            _database: database,
            copy: None,
            exports: 0,
            seen: 0,
            queries: 0,
            differences: Vec::new(),
        }
    }

    fn run(&mut self, record: &Record<DefaultColumnType>) {
        match record {
            // Whether it fails as expected is another test's concern.
            Record::Statement { sql, .. } => {
                drop(rows(&self.tables, sql));
                self.copy = None;
            }
            Record::Query { sql, .. } if is_read(sql) => {
                self.seen += 1;
                if self.seen.is_multiple_of(step()) {
                    self.compare(sql);
                }
            }
            Record::Query { sql, .. } => {
                drop(rows(&self.tables, sql));
                self.copy = None;
            }
            _ => {}
        }
    }

    fn compare(&mut self, query: &str) {
        let expected = answer(&self.tables, query);
        let copy = self.copy.take().unwrap_or_else(|| self.copied());
        let found = answer(&copy, query);
        self.copy = Some(copy);
        self.queries += 1;
        let is_same = match (&expected, &found) {
            (Ok(expected), Ok(found)) => expected == found,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        if !is_same {
            self.differences.push(format!("{query}\n  one process: {expected:?}\n  on workers:  {found:?}"));
        }
    }

    fn copied(&mut self) -> BlockingSession {
        self.exports += 1;
        let folder = self.folder.join(self.exports.to_string());
        let names = export(&self.tables, &folder);
        let builder = self.cluster.extend(Session::builder().runtime(self.runtime));
        let session = BlockingSession::new(builder.build().unwrap()).unwrap();
        names.iter().for_each(|name| register(&session, name, &folder.join(name)));
        session
    }
}

/// Whether a query changes nothing.
fn is_read(query: &str) -> bool {
    let first = query.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    ["SELECT", "WITH", "(", "VALUES", "TABLE", "FROM"].iter().any(|word| first.starts_with(word))
}

#[test]
fn the_queries_of_other_engines_answer_as_in_one_process() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/tests/foreign");
    let only = std::env::var("LATH_FOREIGN").unwrap_or_default();
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().contains(&only));
    files.sort_unstable();
    let folder = tempfile::tempdir().unwrap();
    let workers = Workers::start(3, folder.path());
    let cluster = Cluster::new(&workers.addresses, ClusterOptions::new().min_bytes(0)).unwrap();
    let runtime = Runtime::builder().threads(2).build();
    let (mut queries, mut differences) = (0, Vec::new());
    for file in &files {
        let name = file.file_stem().unwrap();
        let copies = folder.path().join(name);
        let mut suite = Suite::new(&cluster, &runtime, &copies);
        sqllogictest::parse_file(file).unwrap().iter().for_each(|record| suite.run(record));
        queries += suite.queries;
        differences.extend(suite.differences.drain(..).map(|text| format!("{}: {text}", name.display())));
    }
    assert!(queries > 10, "{queries} queries of {files:?}");
    assert!(differences.is_empty(), "{} of {queries} differ:\n{}", differences.len(), differences.join("\n"));
    workers.stop();
}
