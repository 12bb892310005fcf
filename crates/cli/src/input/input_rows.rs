//! Inputs of any format, opened one after another.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use lath_parquet::{Error, ParquetFile, Partitions, Strings};
use lath_text::TextOptions;

use crate::args::{FileArgs, FileFormat, SchemaChoice, TableArgs};
use crate::console::progress::Progress;
use crate::failure::{Failure, Result, scan_failure};
use crate::input::background::BackgroundIterator;
use crate::input::inputs::Inputs;
use crate::input::keyed_input::KeyedInput;
use crate::input::scan::Scan;
use crate::input::table::Table;
use crate::source::{self, Source, file_format, text_options};

/// Inputs, and how they are read.
pub(crate) struct InputRows {
    pub(crate) inputs: Inputs,
    /// The format of all of them, if it is given.
    pub(crate) format: Option<FileFormat>,
    pub(crate) text: TextOptions,
    pub(crate) scan: Scan,
    pub(crate) table: TableArgs,
    /// Columns of the first file, whose types later text files must have.
    pub(crate) first: Option<SchemaRef>,
}

/// An input that is open.
pub(crate) struct OpenInput {
    pub(crate) rows: Source,
    /// The number of bytes that have been read.
    position: Arc<AtomicU64>,
    /// The file, if it is Parquet.
    pub(crate) parquet: Option<ParquetFile>,
}

impl InputRows {
    /// Inputs whose rows are for a table with a primary key.
    pub(crate) fn for_table(inputs: Inputs, files: &FileArgs, no_partitions: bool) -> Result<Self> {
        Ok(Self {
            inputs,
            format: files.format,
            text: text_options(&files.text)?,
            scan: Scan::new(&files.decode, Strings::Offsets),
            table: TableArgs { schema: SchemaChoice::First, no_partitions },
            first: None,
        })
    }

    /// The format of an input, if it is known before the input is read.
    pub(crate) fn known_format(&self, index: usize) -> Option<FileFormat> {
        if self.inputs.lake().is_some() {
            return Some(FileFormat::Parquet);
        }
        let by_name = self.format.or_else(|| self.inputs.path(index).and_then(file_format));
        by_name.or_else(|| self.inputs.is_remote(index).then_some(FileFormat::Parquet))
    }

    /// The size of all inputs, if it is known.
    pub(crate) fn byte_len(&self) -> Option<u64> {
        (0..self.inputs.len()).map(|index| self.inputs.byte_len(index)).sum()
    }

    /// Opens an input.
    pub(crate) fn open(&mut self, index: usize) -> Result<OpenInput> {
        if let Some(folder) = self.inputs.keyed_folder(index) {
            let rows = KeyedInput::open(folder)?.rows(None, None)?;
            self.first.get_or_insert_with(|| Arc::clone(&rows.schema));
            return Ok(OpenInput { rows, position: Arc::default(), parquet: None });
        }
        if self.inputs.lake().is_some() {
            let batches = Table::open_one(&mut self.inputs, index, self.table)?.scan(&self.scan)?;
            let batches = batches.build().map_err(scan_failure)?;
            let schema = batches.schema();
            self.first.get_or_insert_with(|| Arc::clone(&schema));
            let rows = Source { schema, batches: Box::new(batches.map(|batch| batch.map_err(scan_failure))) };
            return Ok(OpenInput { rows, position: Arc::default(), parquet: None });
        }
        let name = self.inputs.name(index);
        let by_name = self.known_format(index);
        if by_name == Some(FileFormat::Parquet) {
            return self.open_parquet(index);
        }
        if self.inputs.is_remote(index) {
            return Err(Failure::Usage(format!("{name}: only Parquet is read from a URL; download the file first")));
        }
        let path = self.inputs.path(index).map(Path::to_owned);
        let mut input = source::open(path.as_deref(), &name)?;
        let format = match by_name {
            Some(format) => format,
            None => source::sniff(&mut input)?.ok_or_else(|| {
                Failure::Usage(format!("{name}: unknown format; add --from csv, jsonl, arrow or parquet"))
            })?,
        };
        if format == FileFormat::Parquet {
            return match path {
                Some(_) => self.open_parquet(index),
                // Its first bytes have been read from the pipe.
                None => Err(Failure::Usage("standard input is Parquet; add --from parquet".to_owned())),
            };
        }
        let position = input.position();
        let rows = source::read(input, format, &self.text, self.scan.batch_size, self.first.as_ref())?;
        self.first.get_or_insert_with(|| Arc::clone(&rows.schema));
        Ok(OpenInput { rows, position, parquet: None })
    }

    fn open_parquet(&mut self, index: usize) -> Result<OpenInput> {
        let table = Table::open_one(&mut self.inputs, index, self.table)?;
        let file = table.file(0)?;
        let batches = table.scan(&self.scan)?.build().map_err(scan_failure)?;
        let schema = batches.schema();
        let position = Arc::new(AtomicU64::new(0));
        let (rows, bytes) = (file.row_count().max(1), self.inputs.byte_len(index).unwrap_or(0));
        let reached = Arc::clone(&position);
        let mut done = 0;
        let batches = batches.map(move |batch| {
            let batch = batch.map_err(scan_failure)?;
            done += batch.num_rows() as u64;
            let share = u128::from(bytes) * u128::from(done) / u128::from(rows);
            reached.store(u64::try_from(share).unwrap_or(bytes), Ordering::Relaxed);
            Ok(batch)
        });
        Ok(OpenInput { rows: Source { schema, batches: Box::new(batches) }, position, parquet: Some(file) })
    }
}

impl OpenInput {
    /// Calls `take` with each batch, which was read while the one before was taken, and counts the bytes that are read.
    pub(crate) fn each_batch(
        self,
        progress: &mut Progress,
        mut take: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let mut seen = 0;
        for batch in BackgroundIterator::new(self.rows.batches) {
            take(batch?)?;
            let now = self.position.load(Ordering::Relaxed);
            progress.advance(now - seen);
            seen = now;
        }
        Ok(())
    }
}

/// The columns of the first input, then partition columns, which replace columns of the same name.
pub(crate) fn table_schema(first: &Schema, partitions: &Partitions, several: bool, strings: Strings) -> SchemaRef {
    let columns = partitions.columns();
    let is_partition = |field: &&FieldRef| columns.iter().any(|column| column.field().name() == field.name());
    // A column that is required here may be optional in another file.
    let set_nullable = |field: &FieldRef| Arc::new(Field::clone(field).with_nullable(several || field.is_nullable()));
    let mut fields: Vec<FieldRef> =
        first.fields().iter().filter(|field| !is_partition(field)).map(set_nullable).collect();
    fields.extend(columns.iter().map(|column| match (column.field().data_type(), strings) {
        (DataType::Utf8View, Strings::Offsets) => Arc::new(Field::clone(column.field()).with_data_type(DataType::Utf8)),
        _ => Arc::clone(column.field()),
    }));
    Arc::new(Schema::new_with_metadata(fields, first.metadata().clone()))
}

/// The error for a file whose columns differ from the first file's.
pub(crate) fn differs(name: &str, first: &str, error: Error) -> Failure {
    match error {
        Error::Invalid { what } => Failure::Usage(format!("{name}: {what}, unlike in {first}")),
        other => Failure::reading(name, other),
    }
}
