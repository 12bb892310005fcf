//! `parquet_metadata('trips/*.parquet')`, `parquet_schema(…)`, `parquet_file_metadata(…)` and `glob(…)`: footers of files as tables, with the
//! columns of DuckDB.

mod chunk;
mod field;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use datafusion::common::{Result, plan_err};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::planner::{RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::sql::sqlparser::ast::TableFactor;
use lath_parquet::{DatasetFile, DatasetOptions, ParquetFile};

use self::chunk::Chunk;
use self::field::Field;
use super::read_parquet::locations;
use super::table_function;
use crate::error::external;
use crate::table_opening::TableOpening;

/// The rows of a function.
#[derive(Debug, Clone, Copy)]
enum Listing {
    Files,
    FileMetadata,
    Schema,
    Chunks,
}

const FUNCTIONS: [(&str, Listing); 4] = [
    ("glob", Listing::Files),
    ("parquet_file_metadata", Listing::FileMetadata),
    ("parquet_schema", Listing::Schema),
    ("parquet_metadata", Listing::Chunks),
];

/// Plans calls of the functions.
#[derive(Debug)]
pub(crate) struct FileMetadata {
    pub(crate) opening: TableOpening,
}

impl RelationPlanner for FileMetadata {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let Some((name, listing, arguments)) = table_function::called(&relation, &FUNCTIONS) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let [argument] = arguments else { return plan_err!("{name} takes the name of a file, a folder or a glob") };
        let (None, files) = table_function::named(name, argument, context)? else {
            return plan_err!("{name} takes the name of a file, a folder or a glob, and no options");
        };
        let files = locations(name, files)?;
        let options = DatasetOptions::new().runtime(&self.opening.runtime);
        table_function::plan(name, relation, move || {
            let mut found = Vec::new();
            for location in files {
                found.extend(DatasetFile::find(location, &options).map_err(external)?);
            }
            let rows = listing.rows(&found)?;
            Ok(Arc::new(MemTable::try_new(rows.schema(), vec![vec![rows]])?))
        })
    }
}

impl Listing {
    fn rows(self, files: &[DatasetFile]) -> Result<RecordBatch> {
        let opened = || files.iter().map(|file| Ok((file.location(), file.open().map_err(external)?)));
        match self {
            Self::Files => batch(vec![("file", texts(files.iter().map(|file| Some(file.location().to_owned()))))]),
            Self::FileMetadata => {
                let opened = opened().collect::<Result<Vec<_>>>()?;
                let numbers =
                    |number: &dyn Fn(&ParquetFile) -> i64| numbers(opened.iter().map(|(_, file)| number(file)));
                batch(vec![
                    ("file_name", texts(opened.iter().map(|(name, _)| Some((*name).to_owned())))),
                    (
                        "created_by",
                        texts(opened.iter().map(|(_, file)| file.metadata().created_by().map(str::to_owned))),
                    ),
                    ("num_rows", numbers(&|file| file.metadata().num_rows())),
                    ("num_row_groups", numbers(&|file| signed(file.metadata().row_group_count() as u64))),
                    ("format_version", numbers(&|file| i64::from(file.metadata().version()))),
                    ("file_size_bytes", Arc::new(files.iter().map(DatasetFile::size).collect::<UInt64Array>())),
                ])
            }
            Self::Schema => {
                let mut fields = Vec::new();
                for file in opened() {
                    let (name, file) = file?;
                    let first = fields.len();
                    Field::add(name, first, file.metadata().schema_descr().root_schema(), &mut fields);
                }
                Field::rows(&fields)
            }
            Self::Chunks => {
                let mut chunks = Vec::new();
                for file in opened() {
                    let (name, file) = file?;
                    Chunk::add(name, &file, &mut chunks)?;
                }
                Chunk::rows(&chunks)
            }
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn texts(texts: impl Iterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(texts.collect::<StringArray>())
}

fn numbers(numbers: impl Iterator<Item = i64>) -> ArrayRef {
    optional_numbers(numbers.map(Some))
}

fn optional_numbers(numbers: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(numbers.collect::<Int64Array>())
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, values)| (name, values, true)))?)
}
