//! Rows of several files as one stream.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use lath_parquet::{Batches, ParquetFile, ReadBuilder, Strings};

use crate::args::{DecodeArgs, ReadArgs, RowGroupList};
use crate::failure::{Failure, Result};

/// What is read of each file, and how.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) row_groups: Option<RowGroupList>,
    pub(crate) threads: usize,
    pub(crate) batch_size: usize,
    pub(crate) verify_crc: bool,
    pub(crate) strings: Strings,
}

impl Scan {
    /// All of the columns and rows, decoded as `args` say.
    pub(crate) fn new(args: &DecodeArgs, strings: Strings) -> Self {
        Self {
            columns: None,
            row_groups: None,
            threads: threads(args),
            batch_size: args.batch_size as usize,
            verify_crc: !args.no_crc,
            strings,
        }
    }

    /// The columns and row groups of `args`.
    pub(crate) fn of(args: &ReadArgs, strings: Strings) -> Self {
        Self { columns: args.columns.clone(), row_groups: args.row_groups.clone(), ..Self::new(&args.decode, strings) }
    }

    /// The row groups of `file` to read; `None` for all.
    pub(crate) fn row_groups_of(&self, file: &ParquetFile, name: &str) -> Result<Option<Vec<usize>>> {
        let Some(list) = &self.row_groups else { return Ok(None) };
        let count = file.metadata().num_row_groups();
        match list.resolve(count) {
            Ok(row_groups) => Ok(Some(row_groups)),
            Err(index) => Err(Failure::Usage(format!(
                "{name}: there is no row group {index}; the file has {count}, counted from 0"
            ))),
        }
    }

    /// Row numbers of the chosen row groups of `file`, ascending.
    pub(crate) fn row_ranges_of(&self, file: &ParquetFile, name: &str) -> Result<Vec<Range<u64>>> {
        let mut end = 0;
        let groups = file.metadata().row_groups().iter().map(|row_group| {
            let start = end;
            end += u64::try_from(row_group.num_rows()).unwrap_or(0);
            start..end
        });
        let groups: Vec<_> = groups.collect();
        Ok(match self.row_groups_of(file, name)? {
            Some(chosen) => chosen.into_iter().map(|index| groups[index].clone()).collect(),
            None => groups,
        })
    }

    /// A reader of `columns` (all of them if `None`), with everything else as chosen but for row groups.
    pub(crate) fn builder(&self, file: &ParquetFile, columns: Option<&[String]>) -> ReadBuilder {
        let mut builder = file
            .read()
            .batch_size(self.batch_size)
            .threads(self.threads)
            .verify_crc(self.verify_crc)
            .strings(self.strings);
        if let Some(columns) = columns {
            builder = builder.columns(columns.iter().cloned());
        }
        builder
    }

    /// Starts to read `rows` of `file`, or all rows of the chosen row groups.
    pub(crate) fn read(&self, file: &ParquetFile, name: &str, rows: Option<Vec<Range<u64>>>) -> Result<Batches> {
        let mut builder = self.builder(file, self.columns.as_deref());
        if let Some(row_groups) = self.row_groups_of(file, name)? {
            builder = builder.row_groups(row_groups);
        }
        if let Some(rows) = rows {
            builder = builder.row_ranges(rows);
        }
        builder.build().map_err(|error| Failure::reading(name, error))
    }
}

/// How many threads can run at the same time.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// How many threads are to work.
pub(crate) fn threads(args: &DecodeArgs) -> usize {
    args.threads.map_or_else(cores, usize::from)
}

/// Keeps the columns of several files in the order, and of the types, of the first.
#[derive(Debug, Clone)]
pub(crate) struct Alignment {
    schema: SchemaRef,
    first_file: String,
}

impl Alignment {
    /// Takes the schema of the first file. `columns` are the paths that were asked for: they set the order.
    pub(crate) fn new(schema: &SchemaRef, columns: Option<&[String]>, file: &str, several_files: bool) -> Self {
        let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
        if let Some(columns) = columns {
            let position = |field: &FieldRef| columns.iter().position(|path| is_at_or_below(path, field.name()));
            fields.sort_by_key(|field| position(field).unwrap_or(usize::MAX));
        }
        if several_files {
            // A required column may be followed by an optional one in another file.
            for field in &mut fields {
                *field = Arc::new(field.as_ref().clone().with_nullable(true));
            }
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        Self { schema, first_file: file.to_owned() }
    }

    /// The schema of all rows.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Where a file with `schema` has the columns of the first; an error names what differs.
    pub(crate) fn sources(&self, schema: &Schema, file: &str) -> Result<Vec<usize>> {
        let differs = |what: String| {
            Failure::Usage(format!(
                "{file}: {what}, unlike in {}; choose columns that they share with --columns",
                self.first_file
            ))
        };
        if let Some(field) = schema.fields().iter().find(|field| self.schema.column_with_name(field.name()).is_none()) {
            return Err(differs(format!("there is a column {:?}", field.name())));
        }
        let mut sources = Vec::with_capacity(self.schema.fields().len());
        for (position, field) in self.schema.fields().iter().enumerate() {
            // Names may occur twice; then the order decides.
            let here = schema.fields().get(position).filter(|here| here.name() == field.name());
            let (index, here) = match here {
                Some(here) => (position, here),
                None => schema
                    .fields()
                    .find(field.name())
                    .ok_or_else(|| differs(format!("there is no column {:?}", field.name())))?,
            };
            if here.data_type() != field.data_type() && !is_same_text(here.data_type(), field.data_type()) {
                return Err(differs(format!(
                    "column {:?} is {} here and {} there",
                    field.name(),
                    here.data_type(),
                    field.data_type()
                )));
            }
            sources.push(index);
        }
        Ok(sources)
    }

    /// The batch in the common schema; `sources` are those of its file.
    pub(crate) fn align(&self, batch: &RecordBatch, sources: &[usize]) -> Result<RecordBatch> {
        let failed = |error| Failure::Corrupt(format!("columns do not fit their schema: {error}"));
        let columns = sources.iter().zip(self.schema.fields()).map(|(&source, field)| {
            let column = batch.column(source);
            if column.data_type() == field.data_type() {
                Ok(Arc::clone(column))
            } else {
                cast(column, field.data_type()).map_err(failed)
            }
        });
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(failed)
    }
}

/// Whether the dotted `path` names the top-level column `name`, or something in it.
pub(crate) fn is_at_or_below(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether two types hold the same values in other layouts.
fn is_same_text(left: &DataType, right: &DataType) -> bool {
    let value = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        other => other.clone(),
    };
    let (left, right) = (value(left), value(right));
    left == right || (left.is_string() && right.is_string()) || (left.is_binary() && right.is_binary())
}
