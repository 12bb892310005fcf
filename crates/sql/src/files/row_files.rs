//! Row files (CSV, JSON lines, compressed or not), read by a reader of the program that embeds the session.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Fields, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;

/// Number of batches that are read ahead.
const AHEAD: usize = 2;

/// An error of a reader, whose text names the file.
pub type ReadError = Box<dyn Error + Send + Sync>;

/// Reads row files as tables, so that a session infers types and nulls as the program does elsewhere.
///
/// Without one, a session reads CSV with DataFusion, and no compressed files.
pub trait RowReader: fmt::Debug + Send + Sync {
    /// Whether the reader supports a file, by its extensions.
    fn reads(&self, path: &Path) -> bool;

    /// Opens a file as batches of about `batch_rows` rows. Columns that are in `types` get its types.
    ///
    /// # Errors
    /// If the file cannot be read, or its values do not fit the types.
    fn open(&self, path: &Path, types: Option<&SchemaRef>, batch_rows: usize) -> Result<FileRows, ReadError>;
}

/// The rows of a file.
pub struct FileRows {
    /// The file's columns.
    pub schema: SchemaRef,
    /// Batches with these columns.
    pub batches: Box<dyn Iterator<Item = Result<RecordBatch, ReadError>> + Send>,
}

impl fmt::Debug for FileRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileRows").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Opens files as one table with the columns of all files. Blocks on I/O.
pub(crate) fn row_table(reader: &Arc<dyn RowReader>, files: Vec<PathBuf>) -> Result<Arc<dyn TableProvider>> {
    if files.is_empty() {
        return plan_err!("no files found");
    }
    let schemas = files.iter().map(|path| Ok(reader.open(path, None, 1).map_err(failed)?.schema));
    let schemas = schemas.collect::<Result<Vec<SchemaRef>>>()?;
    let united = lath_parquet::unite_schemas(&with_common_types(&schemas))
        .map_err(|error| DataFusionError::Plan(error.to_string()))?;
    let schema = Arc::new(Schema::new(united.fields().clone()));
    let part = |path| {
        Arc::new(RowFile { reader: Arc::clone(reader), path, schema: Arc::clone(&schema) }) as Arc<dyn PartitionStream>
    };
    let parts = files.into_iter().map(part).collect();
    Ok(Arc::new(StreamingTable::try_new(Arc::clone(&schema), parts)?))
}

/// Replaces types by ones that hold the values of all files, as within one file: integers and floats become floats, and any type and text
/// become text.
fn with_common_types(schemas: &[SchemaRef]) -> Vec<SchemaRef> {
    let mut common: HashMap<&str, DataType> = HashMap::new();
    for field in schemas.iter().flat_map(|schema| schema.fields()) {
        let data_type = field.data_type();
        let known = common.entry(field.name()).or_insert_with(|| data_type.clone());
        let has = |test: fn(&DataType) -> bool| test(known) || test(data_type);
        if known == data_type || has(DataType::is_nested) {
            continue;
        }
        if has(DataType::is_string) {
            *known = DataType::Utf8;
        } else if has(DataType::is_floating) && has(DataType::is_integer) {
            *known = DataType::Float64;
        }
    }
    let with_types = |schema: &SchemaRef| {
        let fields = schema.fields().iter().map(|field| match common.get(field.name().as_str()) {
            Some(data_type) if data_type == &DataType::Utf8 || data_type.is_floating() => {
                Arc::new(field.as_ref().clone().with_data_type(data_type.clone()))
            }
            _ => Arc::clone(field),
        });
        Arc::new(Schema::new(fields.collect::<Fields>()))
    };
    schemas.iter().map(with_types).collect()
}

#[derive(Debug)]
struct RowFile {
    reader: Arc<dyn RowReader>,
    path: PathBuf,
    schema: SchemaRef,
}

impl PartitionStream for RowFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), AHEAD);
        let (batches, path, schema) = (stream.tx(), self.path.clone(), Arc::clone(&self.schema));
        let (reader, batch_rows) = (Arc::clone(&self.reader), context.session_config().batch_size());
        stream.spawn_blocking(move || {
            let rows = reader.open(&path, Some(&schema), batch_rows).map_err(failed)?;
            for batch in rows.batches {
                let batch = batch.map_err(failed).and_then(|batch| with_columns(&batch, &schema));
                let is_last = batch.is_err();
                // The receiver may have been dropped.
                if batches.blocking_send(batch).is_err() || is_last {
                    break;
                }
            }
            Ok(())
        });
        stream.build()
    }
}

/// Adds the columns of the other files, as nulls.
fn with_columns(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = schema.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(column) => Arc::clone(column),
        None => new_null_array(field.data_type(), batch.num_rows()),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect(), &options)?)
}

fn failed(error: ReadError) -> DataFusionError {
    DataFusionError::Execution(error.to_string())
}
