use std::any::Any;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;

use super::{SchemaShape, pick, record_batch, schema, writer_properties};

/// Bounds on a random file.
#[derive(Debug, Clone, Copy)]
pub struct FileShape {
    /// Bounds on its schema.
    pub schema: SchemaShape,
    /// The maximum number of rows.
    pub row_count: usize,
}

impl Default for FileShape {
    fn default() -> Self {
        Self { schema: SchemaShape { fields: 5, depth: 5 }, row_count: 3_000 }
    }
}

/// A Parquet file and its contents.
#[derive(Clone)]
pub struct RandomFile {
    /// The schema that it was written with.
    pub schema: SchemaRef,
    /// The batches written, in order; none is empty.
    pub batches: Vec<RecordBatch>,
    /// The file.
    pub bytes: Bytes,
    /// Whether the file's metadata holds the Arrow schema.
    pub has_arrow_schema: bool,
    /// Whether Arrow types that Parquet lacks were written as the nearest type that Parquet has.
    pub coerced: bool,
}

impl RandomFile {
    /// Writes a random file within `shape`.
    ///
    /// # Panics
    /// If the `parquet` crate cannot write it.
    pub fn new(random: &mut fastrand::Rng, shape: FileShape) -> Self {
        until_written(|| Self::write(random, shape))
    }

    fn write(random: &mut fastrand::Rng, shape: FileShape) -> Self {
        let schema = schema(random, shape.schema);
        let row_count = match random.u8(..8) {
            0 => random.usize(..3),
            1..4 => random.usize(..=shape.row_count.min(100)),
            _ => random.usize(..=shape.row_count),
        };
        let batch_len = pick(random, &[row_count.max(1), row_count / 3 + 1, row_count / 10 + 1]);
        let mut batches = Vec::new();
        let mut room = row_count;
        while room > 0 {
            let len = batch_len.min(room);
            batches.push(record_batch(random, &schema, len));
            room -= len;
        }
        let properties = writer_properties(random, &schema, row_count);
        let coerced = properties.coerce_types();
        // Without it, the parquet crate reads months of no interval.
        let has_arrow_schema = random.u8(..8) > 0 || has_intervals(&schema);
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(!has_arrow_schema);
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new_with_options(&mut bytes, schema.clone(), options)
            .expect("the schema is made of what can be written");
        for batch in &batches {
            writer.write(batch).expect("writing to memory");
        }
        writer.close().expect("writing to memory");
        Self { schema, batches, bytes: bytes.into(), has_arrow_schema, coerced }
    }

    /// Number of rows written.
    pub fn row_count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

fn has_intervals(schema: &Schema) -> bool {
    schema.flattened_fields().iter().any(|field| matches!(field.data_type(), DataType::Interval(_)))
}

/// Calls `write`, which uses the `parquet` crate's writer with random options, until it succeeds: the crate's encoder
/// for booleans as RLE panics on a page of only nulls, and another file serves as well.
///
/// # Panics
/// If `write` panics for another reason, or always.
pub fn until_written<T>(mut write: impl FnMut() -> T) -> T {
    for _ in 0..100 {
        match catch_unwind(AssertUnwindSafe(&mut write)) {
            Ok(written) => return written,
            Err(panic) if panic_text(&panic).contains("RLE value encoder is not initialized") => {}
            Err(panic) => resume_unwind(panic),
        }
    }
    unreachable!("a hundred files that the parquet crate cannot write")
}

fn panic_text(panic: &Box<dyn Any + Send>) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}

/// One line about the file and one for each field, for the message of a failing test.
impl fmt::Debug for RandomFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schema, batches, bytes, has_arrow_schema, coerced } = self;
        let mut fields = String::new();
        for field in schema.fields() {
            let null = if field.is_nullable() { "nullable" } else { "required" };
            write!(fields, "\n  {} {null} {}", field.name(), field.data_type())?;
        }
        write!(
            f,
            "{} rows in {} batches, {} bytes, Arrow schema {has_arrow_schema}, coerced {coerced}{fields}",
            self.row_count(),
            batches.len(),
            bytes.len(),
        )
    }
}
