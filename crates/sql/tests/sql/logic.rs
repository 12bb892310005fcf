//! Runs files of statements and their results, in the format of sqllogictest.
//!
//! With `LATH_WRITE_ANSWERS` set, results are written to the files instead, to be reviewed and committed.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use lath_sql::{BlockingSession, Error, Session};
use sqllogictest::{
    ColumnType, DB, DBOutput, Runner, default_column_validator, default_normalizer, default_validator,
    strict_column_validator,
};
use tempfile::TempDir;
use tokio::task::block_in_place;

/// The type of a column, as a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Letter(char);

impl ColumnType for Letter {
    fn from_char(letter: char) -> Option<Self> {
        Some(Self(letter))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

fn letter(data_type: &DataType) -> Letter {
    Letter(match data_type {
        DataType::Boolean => 'B',
        data_type if data_type.is_integer() => 'I',
        data_type if data_type.is_floating() || data_type.is_decimal() => 'R',
        DataType::Timestamp(..) => 'P',
        DataType::Date32 | DataType::Date64 => 'D',
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
        _ => '?',
    })
}

struct Database {
    session: BlockingSession,
    /// The folder of the session's database.
    _folder: Option<TempDir>,
}

impl Database {
    /// A session for the statements of a file, with a database if the file's name says so.
    fn new(file: &Path) -> Self {
        let has_database = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("database"));
        let folder = has_database.then(|| tempfile::tempdir().unwrap());
        let builder = match &folder {
            Some(folder) => Session::builder().database(folder.path()),
            None => Session::builder(),
        };
        Self { session: BlockingSession::new(builder.build().unwrap()).unwrap(), _folder: folder }
    }
}

impl DB for Database {
    type Error = Error;
    type ColumnType = Letter;

    fn run(&mut self, statement: &str) -> Result<DBOutput<Letter>, Error> {
        // A future writes the results, and nothing within it may block.
        block_in_place(|| {
            let answer = self.session.run(statement)?;
            let types = answer.schema().fields().iter().map(|field| letter(field.data_type())).collect();
            let batches = answer.collect::<Result<Vec<RecordBatch>, Error>>()?;
            Ok(DBOutput::Rows { types, rows: batches.iter().flat_map(rows).collect() })
        })
    }

    fn engine_name(&self) -> &str {
        "lath"
    }
}

fn rows(batch: &RecordBatch) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<ArrayFormatter> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    let text = |column: &ArrayFormatter, row: usize| match column.value(row).to_string() {
        text if text.is_empty() => "(empty)".to_owned(),
        text => text,
    };
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| text(column, row)).collect()).collect()
}

#[test]
fn statements_answer_as_their_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logic");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_unstable();
    assert!(files.len() >= 8, "{files:?}");
    for file in files {
        let mut runner = Runner::new(|| async { Ok(Database::new(&file)) });
        if std::env::var_os("LATH_WRITE_ANSWERS").is_some() {
            let update =
                runner.update_test_file(&file, " ", default_validator, default_normalizer, default_column_validator);
            crate::wait(update).unwrap();
        } else {
            runner.with_column_validator(strict_column_validator);
            runner.run_file(&file).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
