//! Files of JSON lines as tables.
//!
//! DataFusion 55 reads them with Arrow's reader, which truncates numbers that do not fit their column and ignores fields that the inspected
//! lines lack. Here both are errors.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;
use lath_json::{Error, Rows, infer_schema};

/// Number of lines of a file from which types are inferred.
const INFERRED_ROWS: usize = 20_000;
/// Number of batches that are read ahead.
const AHEAD: usize = 2;

/// Reads files as one table.
pub(crate) fn json_table(files: Vec<PathBuf>) -> Result<Arc<dyn TableProvider>> {
    let schemas = files.iter().map(|path| {
        let inferred = infer_schema(open(path)?, INFERRED_ROWS);
        inferred.map_err(|error| failed(path, &error))
    });
    let schemas = schemas.collect::<Result<Vec<SchemaRef>>>()?;
    let united = lath_parquet::unite_schemas(&schemas).map_err(|error| DataFusionError::Plan(error.to_string()))?;
    let schema = Arc::new(Schema::new(united.fields().clone()));
    let part = |path| Arc::new(JsonFile { path, schema: Arc::clone(&schema) }) as Arc<dyn PartitionStream>;
    let parts = files.into_iter().map(part).collect();
    Ok(Arc::new(StreamingTable::try_new(Arc::clone(&schema), parts)?))
}

#[derive(Debug)]
struct JsonFile {
    path: PathBuf,
    schema: SchemaRef,
}

impl PartitionStream for JsonFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), AHEAD);
        let (batches, path, schema) = (stream.tx(), self.path.clone(), Arc::clone(&self.schema));
        let batch_rows = context.session_config().batch_size();
        stream.spawn_blocking(move || {
            let rows = Rows::new(open(&path)?, schema, batch_rows, |_| true).map_err(|error| failed(&path, &error))?;
            for batch in rows {
                let batch = batch.map_err(|error| failed(&path, &error));
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

/// Opens a file and skips its byte order mark.
fn open(path: &Path) -> Result<BufReader<File>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let failed = |error| failed(path, &Error::Io(error));
    let mut text = File::open(path).map(BufReader::new).map_err(failed)?;
    if text.fill_buf().map_err(failed)?.starts_with(MARK) {
        text.consume(MARK.len());
    }
    Ok(text)
}

fn failed(path: &Path, error: &Error) -> DataFusionError {
    let hint = match error {
        Error::Line { .. } => format!("; types were inferred from the first {INFERRED_ROWS} lines of each file"),
        _ => String::new(),
    };
    DataFusionError::Execution(format!("{}: {error}{hint}", path.display()))
}
