//! The folder of a table with a primary key, where files are named: it stands for the rows of the table.

use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use lath_parquet::Predicate;
use lath_table::{Key, RangeBatches, Snapshot, Table};

use crate::args::OpenArgs;
use crate::encryption_key::table_options;
use crate::failure::{Failure, Result};
use crate::input::table_failure::table_failure;
use crate::input::table_folder::is_table_folder;
use crate::source::Source;

/// A table as its last commit left it.
pub(crate) struct KeyedInput {
    pub(crate) folder: PathBuf,
    pub(crate) table: Table,
    pub(crate) snapshot: Snapshot,
}

impl KeyedInput {
    /// The table that is named, if the only name is the folder of one.
    pub(crate) fn find(names: &[PathBuf], args: &OpenArgs) -> Result<Option<Self>> {
        match names {
            [folder] if is_table_folder(folder, args) => Self::open(folder).map(Some),
            _ => Ok(None),
        }
    }

    /// Opens the table in a folder, while another process may write.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let table = Table::open_read_only(folder, table_options()?).map_err(table_failure)?;
        let snapshot = table.snapshot().map_err(table_failure)?;
        Ok(Self { folder: folder.to_owned(), table, snapshot })
    }

    /// The columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.snapshot.schema()
    }

    /// Refuses an option of files.
    pub(crate) fn refuse(&self, option: &str, is_given: bool) -> Result<()> {
        if !is_given {
            return Ok(());
        }
        let folder = self.folder.display();
        Err(Failure::Usage(format!(
            "{option} applies to files, and {folder} is a table with a primary key; leave it out"
        )))
    }

    /// All rows in the order of their keys, or those for which `predicate` is true.
    pub(crate) fn rows(&self, columns: Option<&[String]>, predicate: Option<Predicate>) -> Result<Source> {
        let batches = self.batches(columns, predicate, u64::MAX)?;
        Ok(Source { schema: batches.schema(), batches: Box::new(batches.map(|batch| batch.map_err(table_failure))) })
    }

    /// The rows with these numbers in the order of keys, from 0; the numbers ascend.
    pub(crate) fn rows_at(&self, columns: Option<&[String]>, rows: Vec<Range<u64>>) -> Result<Source> {
        let end = rows.last().map_or(0, |range| range.end);
        let batches = self.batches(columns, None, end)?;
        let schema = batches.schema();
        let (mut start, mut next) = (0, 0);
        let batches = batches.map(move |batch| {
            let batch = batch.map_err(table_failure)?;
            let own = start..start + batch.num_rows() as u64;
            start = own.end;
            choose(&batch, &own, &rows, &mut next)
        });
        Ok(Source { schema, batches: Box::new(batches) })
    }

    fn batches(
        &self,
        columns: Option<&[String]>,
        predicate: Option<Predicate>,
        limit: u64,
    ) -> Result<RangeBatches<'static>> {
        let mut scan = self.snapshot.range::<Key>(..).map_err(table_failure)?.limit(limit);
        if let Some(columns) = columns {
            scan = scan.select(columns);
        }
        if let Some(predicate) = predicate {
            scan = scan.predicate(predicate);
        }
        scan.build().map_err(table_failure)
    }
}

/// The rows of a batch that `rows` has, where the batch has the rows `own`. Ranges before `next` end before it.
fn choose(batch: &RecordBatch, own: &Range<u64>, rows: &[Range<u64>], next: &mut usize) -> Result<RecordBatch> {
    let mut chosen = vec![false; batch.num_rows()];
    while let Some(range) = rows.get(*next).filter(|range| range.start < own.end) {
        let (from, to) = (range.start.max(own.start), range.end.min(own.end));
        if from < to {
            chosen[(from - own.start) as usize..(to - own.start) as usize].fill(true);
        }
        if range.end > own.end {
            break;
        }
        *next += 1;
    }
    filter_record_batch(batch, &BooleanArray::from(chosen))
        .map_err(|error| Failure::internal("rows", &error.to_string()))
}
