use std::error::Error;
use std::fmt;
use std::io::Write;
use std::marker::PhantomData;
use std::path::Path;

use arrow_schema::{FieldRef, Schema, SchemaRef};
use lath_writer::{AtomicFile, ParquetWriter, WriteOptions, WriteSummary};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_arrow::ArrayBuilder;
use serde_arrow::schema::{SchemaLike, TracingOptions};

/// The number of rows that are collected before they are written.
const BATCH_ROWS: usize = 8_192;

/// Writes values of a Rust type as the rows of a Parquet file.
///
/// A field of `T` becomes the column of its name: a nested struct a struct, `Vec` a list, `Option` a nullable column,
/// an enum without data its name. Columns follow from the type in [`create`](Self::create) and [`new`](Self::new), or
/// are given as an Arrow schema (for dates, timestamps, decimals, dictionaries) in [`with_writer`](Self::with_writer).
///
/// ```
/// use lath::{ParquetFile, RowWriter, WriteOptions};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Trip {
///     from: String,
///     to: Option<String>,
///     minutes: Vec<u16>,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("trips.parquet");
/// let trip = Trip { from: "Harbour".to_owned(), to: None, minutes: vec![5, 7] };
/// let mut writer = RowWriter::create(&path, WriteOptions::default())?;
/// writer.write(&trip)?;
/// writer.finish()?;
///
/// let read = lath::rows::<Trip>(ParquetFile::open(&path)?.scan().build()?);
/// assert_eq!(read.collect::<Result<Vec<_>, _>>()?, [trip]);
/// # Ok(())
/// # }
/// ```
pub struct RowWriter<T, W: Write = AtomicFile> {
    writer: ParquetWriter<W>,
    builder: ArrayBuilder,
    /// Rows in the builder.
    row_count: usize,
    row: PhantomData<fn(&T)>,
}

impl<T: Serialize + DeserializeOwned> RowWriter<T, AtomicFile> {
    /// Creates the file `path`, which appears complete when it is finished, or not at all.
    ///
    /// # Errors
    /// [`WriteRowError::Type`] if the type does not determine the columns: a sequence of values of any type, an enum
    /// with data; [`WriteRowError::Write`] if the file cannot be created.
    pub fn create(path: impl AsRef<Path>, options: WriteOptions) -> Result<Self, WriteRowError> {
        Self::with_writer(ParquetWriter::create(path, &infer_schema::<T>()?, options).map_err(WriteRowError::Write)?)
    }
}

impl<T: Serialize + DeserializeOwned, W: Write> RowWriter<T, W> {
    /// Starts a file that is written to `sink`.
    ///
    /// # Errors
    /// The same as [`create`](RowWriter::create).
    pub fn new(sink: W, options: WriteOptions) -> Result<Self, WriteRowError> {
        Self::with_writer(ParquetWriter::new(sink, &infer_schema::<T>()?, options).map_err(WriteRowError::Write)?)
    }
}

impl<T: Serialize, W: Write> RowWriter<T, W> {
    /// Writes rows to `writer`, in the columns of its schema.
    ///
    /// # Errors
    /// [`WriteRowError::Type`] if no Rust value converts to a type of the schema.
    pub fn with_writer(writer: ParquetWriter<W>) -> Result<Self, WriteRowError> {
        let builder = ArrayBuilder::from_arrow(writer.schema().fields()).map_err(WriteRowError::Type)?;
        Ok(Self { writer, builder, row_count: 0, row: PhantomData })
    }

    /// Writes a row.
    ///
    /// # Errors
    /// [`WriteRowError::Type`] if the value does not fit the columns; [`WriteRowError::Write`] if the sink fails.
    pub fn write(&mut self, row: &T) -> Result<(), WriteRowError> {
        self.builder.push(row).map_err(WriteRowError::Type)?;
        self.row_count += 1;
        if self.row_count == BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes rows.
    ///
    /// # Errors
    /// The same as [`write`](Self::write).
    pub fn write_all<'a>(&mut self, rows: impl IntoIterator<Item = &'a T>) -> Result<(), WriteRowError>
    where
        T: 'a,
    {
        rows.into_iter().try_for_each(|row| self.write(row))
    }

    /// Writes the remaining rows and finishes the file.
    ///
    /// # Errors
    /// The same as [`ParquetWriter::finish`].
    pub fn finish(mut self) -> Result<WriteSummary, WriteRowError> {
        self.flush()?;
        self.writer.finish().map_err(WriteRowError::Write)
    }

    fn flush(&mut self) -> Result<(), WriteRowError> {
        if self.row_count == 0 {
            return Ok(());
        }
        self.row_count = 0;
        let batch = self.builder.to_record_batch().map_err(WriteRowError::Type)?;
        self.writer.write(&batch).map_err(WriteRowError::Write)
    }
}

impl<T, W: Write> fmt::Debug for RowWriter<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowWriter").field("writer", &self.writer).finish_non_exhaustive()
    }
}

/// The columns of a type.
fn infer_schema<T: DeserializeOwned>() -> Result<SchemaRef, WriteRowError> {
    let options = TracingOptions::default()
        .strings_as_large_utf8(false)
        .bytes_as_large_binary(false)
        .sequence_as_large_list(false)
        .enums_without_data_as_strings(true);
    let fields = Vec::<FieldRef>::from_type::<T>(options).map_err(WriteRowError::Type)?;
    Ok(Schema::new(fields).into())
}

/// The error of writing a row.
#[non_exhaustive]
#[derive(Debug)]
pub enum WriteRowError {
    /// The file could not be written.
    Write(lath_parquet::Error),
    /// The Rust type does not fit the columns.
    Type(serde_arrow::Error),
}

impl fmt::Display for WriteRowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => error.fmt(f),
            Self::Type(error) => write!(f, "rows do not fit their columns: {}", error.message()),
        }
    }
}

impl Error for WriteRowError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Write(error) => error.source(),
            Self::Type(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, TimeUnit};
    use lath_parquet::ParquetFile;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    enum Plan {
        Day,
        Year,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Row {
        id: u64,
        name: Option<String>,
        parts: Vec<Part>,
        plan: Plan,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Part {
        weight: f32,
        tags: Option<Vec<String>>,
    }

    fn rows(count: u64) -> Vec<Row> {
        let part = |id: u64| Part {
            weight: id as f32 / 3.0,
            tags: id.is_multiple_of(2).then(|| (0..id % 4).map(|tag| format!("tag {tag}")).collect()),
        };
        let row = |id: u64| Row {
            id,
            name: (!id.is_multiple_of(3)).then(|| format!("the row with number {id}")),
            parts: (0..id % 5).map(part).collect(),
            plan: if id.is_multiple_of(7) { Plan::Year } else { Plan::Day },
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn rows_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 1, 20_000] {
            let path = folder.path().join("rows.parquet");
            let rows = rows(count);
            let mut writer = RowWriter::create(&path, WriteOptions::default()).unwrap();
            writer.write_all(&rows).unwrap();
            assert_eq!(writer.finish().unwrap().rows, count);
            let batches = ParquetFile::open(&path).unwrap().scan().build().unwrap();
            assert_eq!(crate::rows::<Row>(batches).collect::<Result<Vec<_>, _>>().unwrap(), rows);
        }
    }

    #[test]
    fn a_schema_decides_where_the_type_does_not() {
        #[derive(Serialize)]
        struct Event {
            at: i64,
        }
        let field = Field::new("at", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), false);
        let schema = Arc::new(Schema::new(vec![field]));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.parquet");
        let writer = ParquetWriter::create(&path, &schema, WriteOptions::default()).unwrap();
        let mut writer = RowWriter::with_writer(writer).unwrap();
        writer.write(&Event { at: 1_700_000_000_000 }).unwrap();
        writer.finish().unwrap();
        assert_eq!(ParquetFile::open(&path).unwrap().schema(), &schema);
    }

    #[test]
    fn values_that_do_not_fit_are_an_error() {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int8, false)]));
        let writer = ParquetWriter::new(Vec::new(), &schema, WriteOptions::default()).unwrap();
        let mut writer = RowWriter::with_writer(writer).unwrap();
        #[derive(Serialize)]
        struct Number {
            n: i64,
        }
        let error = writer.write(&Number { n: 1_000 }).unwrap_err();
        assert!(error.to_string().starts_with("rows do not fit their columns"), "{error}");
    }
}
