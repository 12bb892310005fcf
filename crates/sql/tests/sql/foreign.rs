//! Queries and changes with results of DuckDB and SQLite, which `interop/python/foreign` writes to `tests/foreign`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;

use arrow_array::{Array, RecordBatch, cast::AsArray, types::Float32Type, types::Float64Type};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use lath_sql::{BlockingSession, Error, Session};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Record, Runner};
use tempfile::TempDir;

/// Maximum number of reported failures of a file.
const MAX_REPORTED: usize = 2000;

struct Database {
    session: BlockingSession,
    _folder: TempDir,
}

impl Database {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let session = Session::builder().database(folder.path()).build().unwrap();
        Self { session: BlockingSession::new(session).unwrap(), _folder: folder }
    }
}

impl DB for Database {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, statement: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        let answer = self.session.run(statement)?;
        let types = answer.schema().fields().iter().map(|_| DefaultColumnType::Any).collect();
        let batches = answer.collect::<Result<Vec<RecordBatch>, Error>>()?;
        Ok(DBOutput::Rows { types, rows: batches.iter().flat_map(rows).collect() })
    }

    fn engine_name(&self) -> &str {
        "lath"
    }
}

/// Values as text that does not depend on an engine's types.
fn rows(batch: &RecordBatch) -> Vec<Vec<String>> {
    (0..batch.num_rows()).map(|row| batch.columns().iter().map(|column| text(column, row)).collect()).collect()
}

fn text(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return "NULL".to_owned();
    }
    match column.data_type() {
        DataType::Float64 => number(column.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => number(column.as_primitive::<Float32Type>().value(row).into()),
        data_type => {
            let options = FormatOptions::default().with_null("NULL");
            let text = ArrayFormatter::try_new(column, &options).unwrap().value(row).to_string();
            match data_type {
                data_type if data_type.is_decimal() => without_zeros(&text),
                DataType::Timestamp(..) => seconds(&text),
                _ => match text.split_whitespace().collect::<Vec<_>>().join(" ") {
                    text if text.is_empty() => "(empty)".to_owned(),
                    text => text,
                },
            }
        }
    }
}

/// Formats a number with twelve digits and no exponent.
fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() || value == 0.0 {
        return if value == 0.0 {
            "0"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        }
        .to_owned();
    }
    let rounded = format!("{value:.11e}");
    let exponent: i32 = rounded.split('e').nth(1).unwrap().parse().unwrap();
    let digits = usize::try_from(11 - exponent).unwrap_or(0);
    without_zeros(&format!("{:.digits$}", rounded.parse::<f64>().unwrap()))
}

fn without_zeros(text: &str) -> String {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Formats a timestamp with six digits of its seconds, or none.
fn seconds(text: &str) -> String {
    let (text, zone) = text.split_at(text.find('Z').unwrap_or(text.len()));
    match text.split_once('.') {
        None => format!("{text}{zone}"),
        Some((seconds, fraction)) => format!("{seconds}.{:0<6}{zone}", &fraction[..fraction.len().min(6)]),
    }
}

/// The failures of a file.
fn failures(file: &Path) -> Vec<String> {
    let mut runner = Runner::new(|| async { Ok(Database::new()) });
    let records = sqllogictest::parse_file(file).unwrap();
    let mut failure = |record: Record<DefaultColumnType>| {
        let text = record.to_string();
        match catch_unwind(AssertUnwindSafe(|| runner.run(record))) {
            Ok(result) => result.err().map(|error| error.to_string()),
            Err(_) => Some(format!("a panic: {text}\nat {}", file.display())),
        }
    };
    records.into_iter().filter_map(&mut failure).collect()
}

#[test]
fn answers_are_the_answers_of_other_engines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign");
    let only = std::env::var("LATH_FOREIGN").unwrap_or_default();
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().contains(&only));
    files.sort_unstable();
    assert!(!files.is_empty());
    let halves: Vec<Vec<PathBuf>> = (0..2).map(|half| files.iter().skip(half).step_by(2).cloned().collect()).collect();
    let failed: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = halves
            .iter()
            .map(|files| scope.spawn(|| files.iter().flat_map(|file| failures(file)).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(
        failed.is_empty(),
        "{} records fail:\n{}",
        failed.len(),
        failed[..failed.len().min(MAX_REPORTED)].join("\n")
    );
}
