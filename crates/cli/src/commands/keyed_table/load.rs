//! Rows of files of any format, batch by batch in the columns of a table.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use lath_parquet::{Alignment, DatasetOptions, Partitions, Strings};

use crate::args::{FileArgs, RowArgs, SchemaChoice, TableArgs};
use crate::background::BackgroundIterator;
use crate::failure::{Failure, Result};
use crate::input_rows::{InputRows, OpenInput, differs, table_schema};
use crate::inputs::Inputs;
use crate::interrupt::GracefulStop;
use crate::progress::Progress;
use crate::scan::Scan;
use crate::source::TextOptions;
use crate::table::scan_failure;

/// Files with rows for a table.
pub(super) struct Load {
    rows: InputRows,
    names: Vec<String>,
    partitions: Partitions,
    batch_rows: usize,
    /// The columns of the table, once they are known, and what has them.
    schema: Option<(SchemaRef, String)>,
}

impl Load {
    /// Finds the files.
    pub(super) fn new(args: &RowArgs) -> Result<Self> {
        let FileArgs { format, text, decode } = &args.files;
        let rows = InputRows {
            inputs: Inputs::find(&args.inputs)?,
            format: *format,
            text: TextOptions::of(text)?,
            scan: Scan::new(decode, Strings::Offsets),
            table: TableArgs { schema: SchemaChoice::First, no_partitions: args.no_partitions },
            first: None,
        };
        let names: Vec<String> = (0..rows.inputs.len()).map(|index| rows.inputs.name(index)).collect();
        let locations: Vec<&str> = names.iter().map(String::as_str).collect();
        let options = DatasetOptions::new().partitions(!args.no_partitions);
        let partitions = Partitions::of(&locations, &options).map_err(scan_failure)?;
        Ok(Self { rows, names, partitions, batch_rows: args.batch as usize, schema: None })
    }

    /// Rows have to have the columns of the table called `name`; text is read as their types.
    pub(super) fn into_table(mut self, name: &str, schema: &SchemaRef) -> Self {
        self.rows.text = self.rows.text.with_types_of(name, schema);
        self.schema = Some((Arc::clone(schema), name.to_owned()));
        self
    }

    /// The columns of the first file. It is opened again when rows are read, so it cannot be a pipe.
    pub(super) fn columns(&mut self) -> Result<SchemaRef> {
        let name = self.names.first().ok_or_else(|| Failure::Usage("no files were given".to_owned()))?;
        if self.rows.inputs.path(0).is_none() && !self.rows.inputs.is_remote(0) {
            return Err(Failure::Usage(format!("{name} cannot be read twice: write it to a file first")));
        }
        let OpenInput { rows, .. } = self.rows.open(0)?;
        Ok(table_schema(&rows.schema, &self.partitions, self.names.len() > 1, Strings::Offsets))
    }

    /// Calls `take` with the rows of all files, so many at a time; how many there were. An interrupted command takes no more.
    pub(super) fn each(mut self, mut take: impl FnMut(&RecordBatch) -> Result<()>) -> Result<u64> {
        let stop = GracefulStop::new();
        let mut progress = Progress::of_bytes(self.rows.byte_len().unwrap_or(0), false);
        let (mut waiting, mut count) = (Waiting::default(), 0);
        for index in 0..self.names.len() {
            let OpenInput { rows, position, .. } = self.rows.open(index)?;
            let name = &self.names[index];
            let (schema, owner) = self.schema.get_or_insert_with(|| {
                let schema = table_schema(&rows.schema, &self.partitions, self.names.len() > 1, Strings::Offsets);
                (schema, name.clone())
            });
            let alignment = Alignment::from_source(schema, &rows.schema, &self.partitions.values(index));
            let alignment = alignment.map_err(|error| differs(name, owner, error))?;
            let mut seen = 0;
            for batch in BackgroundIterator::new(rows.batches) {
                if stop.poll().is_break() {
                    return Err(Failure::Interrupted);
                }
                let batch = alignment.apply(&batch?).map_err(|error| Failure::reading(name, error))?;
                count += batch.num_rows() as u64;
                waiting.push(batch);
                if waiting.rows >= self.batch_rows {
                    take(&waiting.join()?)?;
                }
                let now = position.load(Ordering::Relaxed);
                progress.advance(now - seen);
                seen = now;
            }
        }
        if waiting.rows > 0 {
            take(&waiting.join()?)?;
        }
        Ok(count)
    }
}

/// Calls `take` with the batches of files, whatever columns they have. Text is read as the types of the table called `name`.
pub(super) fn each_batch_of(
    inputs: Inputs,
    FileArgs { format, text, decode }: &FileArgs,
    (name, schema): (&str, &SchemaRef),
    mut take: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut rows = InputRows {
        inputs,
        format: *format,
        text: TextOptions::of(text)?.with_types_of(name, schema),
        scan: Scan::new(decode, Strings::Offsets),
        table: TableArgs { schema: SchemaChoice::First, no_partitions: true },
        first: None,
    };
    let mut progress = Progress::of_bytes(rows.byte_len().unwrap_or(0), false);
    for index in 0..rows.inputs.len() {
        let OpenInput { rows, position, .. } = rows.open(index)?;
        let mut seen = 0;
        for batch in BackgroundIterator::new(rows.batches) {
            take(&batch?)?;
            let now = position.load(Ordering::Relaxed);
            progress.advance(now - seen);
            seen = now;
        }
    }
    Ok(())
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

    fn join(&mut self) -> Result<RecordBatch> {
        let batches = std::mem::take(&mut self.batches);
        self.rows = 0;
        let first = batches.first().ok_or_else(|| Failure::internal("the files", "no batches wait"))?;
        concat_batches(&first.schema(), &batches).map_err(|error| Failure::internal("the files", &error.to_string()))
    }
}
