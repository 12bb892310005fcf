//! Writes the files of some partitions.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use arrow_schema::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures_util::stream;
use lath_parquet::Error;
use lath_writer::{AtomicFiles, SentFile, SentFiles, SortOptions, UncommittedFiles};
use tokio::sync::mpsc::Receiver;

use super::sent_rows;
use crate::error::{blocking, external};
use crate::write::FileFormat;
use crate::write::partitioned::{FilePlace, PartitionedFiles};
use crate::write::sink::{Destination, Message, Work, on_writer_thread};

/// The files of a part.
#[derive(Debug, Clone)]
pub(crate) struct PartFiles {
    pub(in crate::write) work: Work,
    /// The URL of the folder.
    pub(crate) url: String,
    /// The name of every file.
    pub(crate) name: String,
}

/// Writes rows to files that are not visible, and returns a row for each. Each partition of its input has all rows of its files.
///
/// When its rows have been taken, the parts of the files are left to the process that completes them. If a stream is dropped before, they are deleted.
#[derive(Debug)]
pub(crate) struct WritePartExec {
    input: Arc<dyn ExecutionPlan>,
    files: PartFiles,
    properties: Arc<PlanProperties>,
}

impl WritePartExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, files: PartFiles) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(sent_rows::schema()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { input, files, properties: Arc::new(properties) }
    }

    pub(crate) fn files(&self) -> &PartFiles {
        &self.files
    }
}

impl PartFiles {
    /// Files that are called `name`, in folders below `url`.
    pub(crate) fn new(
        url: String,
        name: String,
        schema: SchemaRef,
        partition_by: Vec<String>,
        format: FileFormat,
        sort_options: SortOptions,
    ) -> Self {
        let destination = Destination::Folder { path: PathBuf::from(&url) };
        let uncommitted = UncommittedFiles::new();
        let work = Work { schema, destination, partition_by, format, sort_options, uncommitted };
        Self { work, url, name }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.work.schema
    }

    pub(crate) fn partition_by(&self) -> &[String] {
        &self.work.partition_by
    }

    pub(crate) fn format(&self) -> &FileFormat {
        &self.work.format
    }

    /// Writes the received rows.
    fn write(self, mut rows: Receiver<Message>) -> lath_parquet::Result<PartOutput> {
        let Self { work, url, name } = self;
        let files = AtomicFiles::create_with(&url, &name, &work.uncommitted)?.for_another()?;
        let place = FilePlace { files, below: PathBuf::new(), name, is_new: false };
        let mut files = PartitionedFiles::begin(place, &work.schema, &work.partition_by, work.format.clone())?;
        work.write_sorted(&mut rows, |batch| files.write(batch))?;
        let (files, row_counts) = files.finished()?;
        Ok(PartOutput { files: files.sent()?, row_counts })
    }
}

/// The files that were written, and the numbers of their rows by their directories.
struct PartOutput {
    files: SentFiles,
    row_counts: HashMap<PathBuf, u64>,
}

impl PartOutput {
    fn rows(&self) -> lath_parquet::Result<Vec<(SentFile, u64)>> {
        let counted = |file: &SentFile| {
            let directory = Path::new(&file.path).parent().unwrap_or(Path::new(""));
            let count = self.row_counts.get(directory).copied();
            let count = count.ok_or_else(|| Error::Invalid { what: format!("{} was not counted", file.path) })?;
            Ok((file.clone(), count))
        };
        self.files.files().iter().map(counted).collect()
    }
}

/// Deletes what a stream has written, on another thread, unless it is left to another process.
struct UnclaimedFiles {
    uncommitted: UncommittedFiles,
    output: Option<PartOutput>,
    is_claimed: bool,
}

impl Drop for UnclaimedFiles {
    fn drop(&mut self) {
        if self.is_claimed {
            return;
        }
        let (uncommitted, output) = (self.uncommitted.clone(), self.output.take());
        // Requests are waited for, which threads of queries must not do.
        thread::spawn(move || {
            uncommitted.abandon();
            drop(output);
        });
    }
}

/// The state of a stream.
enum Step {
    Write(SendableRecordBatchStream, PartFiles),
    Leave(UnclaimedFiles),
}

impl ExecutionPlan for WritePartExec {
    fn name(&self) -> &'static str {
        "WritePartExec"
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
            (Some(input), true) => Ok(Arc::new(Self::new(input, self.files.clone()))),
            _ => internal_err!("files are written from one input"),
        }
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let mut files = self.files.clone();
        // Another list than the other streams', so that each deletes its own.
        files.work.uncommitted = UncommittedFiles::new();
        let sent = stream::try_unfold(Step::Write(rows, files), |step| async move {
            match step {
                Step::Write(rows, files) => {
                    let uncommitted = files.work.uncommitted.clone();
                    let mut unclaimed = UnclaimedFiles { uncommitted, output: None, is_claimed: false };
                    let output = on_writer_thread(rows, move |rows| files.write(rows)).await?;
                    let sent = output.rows();
                    unclaimed.output = Some(output);
                    let batch = sent_rows::write(&sent.map_err(external)?)?;
                    Ok::<_, DataFusionError>(Some((batch, Step::Leave(unclaimed))))
                }
                Step::Leave(mut unclaimed) => {
                    unclaimed.is_claimed = true;
                    if let Some(output) = unclaimed.output.take() {
                        blocking(move || {
                            output.files.leave();
                            Ok(())
                        })
                        .await?;
                    }
                    Ok(None)
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), sent)))
    }
}

impl DisplayAs for WritePartExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WritePartExec: path={}, partition_by=[{}]", self.files.url, self.files.work.partition_by.join(", "))
    }
}
