//! Makes the files of several processes visible.

use std::collections::HashSet;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures_util::{StreamExt, stream};
use lath_parquet::Error;
use lath_writer::{AtomicFiles, SentFile, UncommittedWork, abort_unfinished};

use super::part::PartFiles;
use super::sent_rows;
use crate::error::{blocking, external};
use crate::stop::CommitPoint;
use crate::write::partitioned::{FilePlace, PartitionedFiles};
use crate::write::sink::Destination;

/// Milliseconds between two looks for parts of files that were not received.
const PAUSES: [u64; 6] = [100, 300, 700, 1500, 3000, 0];

/// Makes the files visible that its input has written, and returns the number of their rows. If anything fails before, all are deleted.
#[derive(Debug)]
pub(crate) struct CompleteFilesExec {
    input: Arc<dyn ExecutionPlan>,
    files: PartFiles,
    properties: Arc<PlanProperties>,
}

impl CompleteFilesExec {
    /// `schema` has one column, for the number of rows.
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, files: PartFiles, schema: SchemaRef) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { input, files, properties: Arc::new(properties) }
    }
}

/// The files that have been received. Dropping this deletes them on another thread.
struct ReceivedFiles {
    files: Option<AtomicFiles>,
    /// Deletes what was not received.
    rest: Option<UncommittedWork>,
}

impl ReceivedFiles {
    /// Nothing has been received of the files that are called `name`.
    fn nothing(files: &PartFiles) -> lath_parquet::Result<Self> {
        let PartFiles { work, url, name } = files;
        let (folder, wanted) = (url.clone(), name.clone());
        let rest = work.uncommitted.begin_work(move || delete_unreceived(&folder, &wanted))?;
        let files = AtomicFiles::create_with(url, name, &work.uncommitted)?.new_names();
        Ok(Self { files: Some(files), rest: Some(rest) })
    }

    fn adopt(&mut self, file: SentFile) -> lath_parquet::Result<()> {
        self.files.as_mut().map_or(Ok(()), |files| files.adopt(file))
    }

    fn commit(mut self) -> lath_parquet::Result<()> {
        if let Err(error) = self.files.take().map_or(Ok(()), AtomicFiles::commit) {
            self.delete();
            return Err(error);
        }
        if let Some(rest) = self.rest.take() {
            rest.finish();
        }
        Ok(())
    }

    /// Deletes all files.
    fn delete(&mut self) {
        drop(self.files.take());
        drop(self.rest.take());
    }
}

/// Deletes the parts that workers have sent of files that are called `name`, until the store has none: requests of a worker that was killed
/// may reach the store later than the first look. A store that does not list uploads deletes them by its own rules.
fn delete_unreceived(folder: &str, name: &str) {
    let mut was_empty = false;
    for pause in PAUSES {
        let is_empty = match abort_unfinished(folder, name) {
            Ok(count) => count == 0,
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::Unsupported => return,
            // Another process may have deleted one of them meanwhile.
            Err(_) => false,
        };
        if is_empty && was_empty {
            return;
        }
        was_empty = is_empty;
        thread::sleep(Duration::from_millis(pause));
    }
}

impl Drop for ReceivedFiles {
    fn drop(&mut self) {
        let (files, rest) = (self.files.take(), self.rest.take());
        if files.is_some() || rest.is_some() {
            // Requests are waited for, which threads of queries must not do.
            thread::spawn(move || drop((files, rest)));
        }
    }
}

impl CompleteFilesExec {
    async fn run(input: Arc<dyn ExecutionPlan>, files: PartFiles, context: Arc<TaskContext>) -> Result<u64> {
        let begun = files.clone();
        let mut received = blocking(move || {
            begun.work.check_store().map_err(external)?;
            ReceivedFiles::nothing(&begun).map_err(external)
        })
        .await?;
        let done = match receive(input, context, &mut received).await {
            Ok(_) if !CommitPoint::current().pass() => Err(external(Error::Cancelled)),
            done => done,
        };
        match done {
            Ok((file_count, row_count)) => {
                blocking(move || {
                    received.commit().map_err(external)?;
                    if file_count == 0 { write_empty(files).map_err(external) } else { Ok(()) }
                })
                .await?;
                Ok(row_count)
            }
            Err(error) => {
                blocking(move || {
                    received.delete();
                    Ok(())
                })
                .await?;
                Err(error)
            }
        }
    }
}

/// Takes all files, and returns their number and the number of their rows. When it fails, its input has been dropped.
async fn receive(
    input: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    received: &mut ReceivedFiles,
) -> Result<(usize, u64)> {
    let mut rows = input.execute(0, context)?;
    let (mut paths, mut count) = (HashSet::new(), 0);
    while let Some(batch) = rows.next().await {
        for (file, row_count) in sent_rows::read(&batch?)? {
            if !paths.insert(file.path.clone()) {
                return internal_err!("{} was written twice", file.path);
            }
            count += row_count;
            received.adopt(file).map_err(external)?;
        }
    }
    Ok((paths.len(), count))
}

/// Writes the file without rows that a new folder gets.
fn write_empty(files: PartFiles) -> lath_parquet::Result<()> {
    let PartFiles { work, url, name } = files;
    let is_new = matches!(work.destination, Destination::NewFolder { .. });
    let files = AtomicFiles::create_with(&url, &name, &work.uncommitted)?.new_names();
    let place = FilePlace { files, below: PathBuf::new(), name, is_new };
    PartitionedFiles::begin(place, &work.schema, &work.partition_by, work.format)?.finish()
}

impl ExecutionPlan for CompleteFilesExec {
    fn name(&self) -> &'static str {
        "CompleteFilesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(input, self.files.clone(), self.schema()))),
            _ => internal_err!("files are completed of one input"),
        }
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("files are completed in one partition");
        }
        let (run, schema) = (Self::run(Arc::clone(&self.input), self.files.clone(), context), self.schema());
        let counted = stream::once(async move {
            let count = UInt64Array::from(vec![run.await?]);
            Ok(RecordBatch::try_new(schema, vec![Arc::new(count)])?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), counted)))
    }
}

impl DisplayAs for CompleteFilesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompleteFilesExec: path={}", self.files.url)
    }
}
