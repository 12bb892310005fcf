//! Rows of files of any format, batch by batch in the columns of a table.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use lath_parquet::{Alignment, DatasetOptions, Partitions};
use lath_table::conform_batch;

use crate::args::RowArgs;
use crate::console::progress::Progress;
use crate::failure::{Failure, Result, scan_failure};
use crate::input::input_rows::{InputRows, OpenInput, differs, table_schema};
use crate::input::inputs::Inputs;
use crate::interrupt::GracefulStop;

/// Files with rows for a table.
pub(super) struct Load {
    rows: InputRows,
    names: Vec<String>,
    partitions: Partitions,
    batch_rows: usize,
    /// The first file, once its columns have been read.
    first: Option<OpenInput>,
}

impl Load {
    /// Finds the files.
    pub(super) fn new(args: &RowArgs) -> Result<Self> {
        let rows = InputRows::for_table(Inputs::find(&args.inputs)?, &args.files, args.no_partitions)?;
        let names: Vec<String> = (0..rows.inputs.len()).map(|index| rows.inputs.name(index)).collect();
        let locations: Vec<&str> = names.iter().map(String::as_str).collect();
        let options = DatasetOptions::new().partitions(!args.no_partitions);
        let partitions = Partitions::of(&locations, &options).map_err(scan_failure)?;
        Ok(Self { rows, names, partitions, batch_rows: args.batch as usize, first: None })
    }

    /// The columns of a table for the rows of all files, which are the first file's.
    pub(super) fn columns(&mut self) -> Result<SchemaRef> {
        if self.names.is_empty() {
            return Err(Failure::Usage("no files were found".to_owned()));
        }
        let first = self.rows.open(0)?;
        let columns = table_schema(&first.rows.schema, &self.partitions, self.names.len() > 1, self.rows.scan.strings);
        self.first = Some(first);
        Ok(columns)
    }

    /// Calls `take` with the rows of all files, a number of rows at a time, and returns their total. The rows need the columns of the table
    /// called `name`, and text is read as their types. An interrupted command takes no more.
    pub(super) fn each(
        mut self,
        (name, schema): (&str, &SchemaRef),
        mut take: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<u64> {
        let stop = GracefulStop::new();
        self.rows.text = self.rows.text.with_types_from(name, schema);
        let mut progress = Progress::new_bytes(self.rows.byte_len().unwrap_or(0), false);
        let (mut waiting, mut count) = (Waiting::default(), 0);
        for (index, file) in self.names.iter().enumerate() {
            let input = match self.first.take() {
                Some(first) => first,
                None => self.rows.open(index)?,
            };
            let own_types = with_file_types(schema, &input.rows.schema);
            let alignment = Alignment::from_source(&own_types, &input.rows.schema, &self.partitions.values(index));
            let alignment = alignment.map_err(|error| differs(file, name, error))?;
            input.each_batch(&mut progress, |batch| {
                if stop.poll().is_break() {
                    return Err(Failure::Interrupted);
                }
                let batch = alignment.apply(&batch).map_err(|error| Failure::reading(file, error))?;
                // Here, since batches of several files become one.
                let batch = conform_batch(&batch, schema);
                let batch = batch.map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
                count += batch.num_rows() as u64;
                // Joining them would mix their categories.
                if !waiting.shares_dictionaries(&batch) {
                    take(&waiting.join()?)?;
                }
                let mut at = 0;
                while at < batch.num_rows() {
                    let rows = (batch.num_rows() - at).min(self.batch_rows - waiting.rows);
                    waiting.push(batch.slice(at, rows));
                    at += rows;
                    if waiting.rows == self.batch_rows {
                        take(&waiting.join()?)?;
                    }
                }
                Ok(())
            })?;
        }
        if waiting.rows > 0 {
            take(&waiting.join()?)?;
        }
        Ok(count)
    }
}

/// The schema of a table with those types of numbers and times that a file has, which are cast where nothing is lost.
fn with_file_types(schema: &SchemaRef, file: &Schema) -> SchemaRef {
    let is_simple = |data_type: &DataType| data_type.is_primitive() || data_type.is_null();
    let field = |field: &FieldRef| match file.field_with_name(field.name()) {
        Ok(own) if is_simple(own.data_type()) && is_simple(field.data_type()) => {
            Arc::new(Field::clone(field).with_data_type(own.data_type().clone()))
        }
        _ => Arc::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Batches that become one.
#[derive(Default)]
struct Waiting {
    batches: Vec<RecordBatch>,
    rows: usize,
}

impl Waiting {
    fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.batches.push(batch);
    }

    /// Whether a batch has the same dictionaries as the waiting batches.
    fn shares_dictionaries(&self, batch: &RecordBatch) -> bool {
        let Some(last) = self.batches.last() else { return true };
        let is_same =
            |(one, other): (&ArrayRef, &ArrayRef)| match (one.as_any_dictionary_opt(), other.as_any_dictionary_opt()) {
                (Some(one), Some(other)) => Arc::ptr_eq(one.values(), other.values()),
                _ => true,
            };
        last.columns().iter().zip(batch.columns()).all(is_same)
    }

    fn join(&mut self) -> Result<RecordBatch> {
        let batches = std::mem::take(&mut self.batches);
        self.rows = 0;
        let first = batches.first().ok_or_else(|| Failure::internal("the files", "no batches wait"))?;
        concat_batches(&first.schema(), &batches).map_err(|error| Failure::internal("the files", &error.to_string()))
    }
}
