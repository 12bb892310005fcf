//! The root of a plan that writes rows to files.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties};
use futures_util::StreamExt;
use lath_parquet::{Error, FolderFormat, SortingColumn};
use lath_writer::{AtomicFile, AtomicFiles, SortOptions, Sorter, UncommittedFiles};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::file::{FileFormat, FileWriter};
use super::options::WriteSettings;
use super::partitioned::{FilePlace, PartitionedFiles, new_name};
use crate::error::external;
use crate::local_path::{has_objects, local_path};
use crate::stop::CommitPoint;

/// Number of batches in the channel to the writer's thread.
const BATCHES_IN_FLIGHT: usize = 4;

/// The destination of rows.
#[derive(Debug, Clone)]
pub(crate) enum Destination {
    /// A file. An existing one is replaced only if `may_replace`.
    File { path: PathBuf, may_replace: bool },
    /// A folder that is created or empty.
    NewFolder { path: PathBuf },
    /// A folder that files are added to.
    Folder { path: PathBuf },
}

/// A plan that writes the rows of `input`, which have `schema`, and returns their number. The order of rows is kept.
pub(crate) fn file_sink(
    input: Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
    destination: Destination,
    partition_by: Vec<String>,
    format: FileFormat,
    settings: &WriteSettings,
) -> Result<Arc<dyn ExecutionPlan>> {
    let work = Work {
        // Metadata of the source files need not be true of the written rows.
        schema: Arc::new(schema.as_ref().clone().with_metadata(HashMap::new())),
        destination,
        partition_by,
        format,
        sort_options: settings.sort_options(),
        uncommitted: settings.uncommitted.clone(),
    };
    work.check()?;
    let order = input.output_ordering().cloned().map(Into::into);
    Ok(Arc::new(DataSinkExec::new(input, Arc::new(FileSink { work }), order)))
}

#[derive(Debug)]
pub(super) struct FileSink {
    pub(super) work: Work,
}

/// The files to write, and their format.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) schema: SchemaRef,
    pub(super) destination: Destination,
    pub(super) partition_by: Vec<String>,
    pub(super) format: FileFormat,
    pub(super) sort_options: SortOptions,
    pub(super) uncommitted: UncommittedFiles,
}

/// A message to the writer's thread.
pub(super) enum Message {
    Rows(RecordBatch),
    /// The end of the rows. Without it, the written files are removed.
    End,
}

#[async_trait]
impl DataSink for FileSink {
    fn schema(&self) -> &SchemaRef {
        &self.work.schema
    }

    async fn write_all(&self, data: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let (work, point) = (self.work.clone(), CommitPoint::current());
        on_writer_thread(data, move |rows| work.write(rows, &point)).await
    }
}

/// Passes rows to a writer on another thread, and returns its result.
pub(super) async fn on_writer_thread<T: Send + 'static>(
    mut data: SendableRecordBatchStream,
    write: impl FnOnce(Receiver<Message>) -> lath_parquet::Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = channel(BATCHES_IN_FLIGHT);
    let writing = tokio::task::spawn_blocking(move || write(receiver));
    let sent = send_all(&mut data, &sender).await;
    drop(sender);
    // When the writer has ended, an unfinished file has been removed.
    let written = writing.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
    sent?;
    written.map_err(external)
}

/// Sends all rows to the writer. A writer that has stopped itself returns why.
async fn send_all(data: &mut SendableRecordBatchStream, writer: &Sender<Message>) -> Result<()> {
    while let Some(batch) = data.next().await {
        if writer.send(Message::Rows(batch?)).await.is_err() {
            return Ok(());
        }
    }
    let _ = writer.send(Message::End).await;
    Ok(())
}

impl DisplayAs for FileSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Destination::File { path, .. } | Destination::NewFolder { path } | Destination::Folder { path }) =
            &self.work.destination;
        write!(f, "lath, path={}", path.display())?;
        if !self.work.partition_by.is_empty() {
            write!(f, ", partition_by=[{}]", self.work.partition_by.join(", "))?;
        }
        Ok(())
    }
}

impl Work {
    /// Checks before rows are computed that the destination can be written.
    fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(external(Error::Invalid { what }));
        match &self.destination {
            Destination::File { path, may_replace } => match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => {
                    refuse(format!("{} is a directory; name a file, or add PARTITIONED BY", path.display()))
                }
                Ok(metadata) if metadata.is_file() && !may_replace => {
                    refuse(format!("{} exists; add the option overwrite true to replace it", path.display()))
                }
                _ => Ok(()),
            },
            Destination::NewFolder { path } => match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
                Ok(false) => refuse(format!(
                    "{} has files; choose another folder, or add to it with CREATE EXTERNAL TABLE and INSERT",
                    path.display()
                )),
                Err(_) if path.is_file() => refuse(format!("{} is a file; name a folder", path.display())),
                _ => Ok(()),
            },
            Destination::Folder { .. } => Ok(()),
        }
    }

    /// Checks a destination in an object store, which takes requests.
    pub(super) fn check_store(&self) -> lath_parquet::Result<()> {
        let (Destination::File { path, .. } | Destination::NewFolder { path } | Destination::Folder { path }) =
            &self.destination;
        let Some(url) = path.to_str().filter(|url| local_path(url).is_none()) else { return Ok(()) };
        FolderFormat::check_written(path)?;
        if let Destination::NewFolder { .. } = self.destination
            && has_objects(url)?
        {
            return Err(Error::Invalid {
                what: format!(
                    "{url} has objects; choose another folder, or add to it with CREATE EXTERNAL TABLE and INSERT"
                ),
            });
        }
        Ok(())
    }

    /// Writes the received rows and returns their number.
    fn write(self, mut rows: Receiver<Message>, point: &CommitPoint) -> lath_parquet::Result<u64> {
        let mut files = self.begin()?;
        let count = self.write_sorted(&mut rows, |batch| files.write(batch))?;
        if !point.pass() {
            return Err(Error::Cancelled);
        }
        files.finish()?;
        Ok(count)
    }

    /// Passes the received rows to `write` in the order of the files, and returns their number.
    pub(super) fn write_sorted(
        &self,
        rows: &mut Receiver<Message>,
        mut write: impl FnMut(&RecordBatch) -> lath_parquet::Result<()>,
    ) -> lath_parquet::Result<u64> {
        let keys = self.sort_keys();
        if keys.is_empty() {
            return receive(rows, |batch| write(&batch));
        }
        let mut sorter = Sorter::new(&self.schema, &keys, self.sort_options.clone())?;
        let count = receive(rows, |batch| sorter.push(batch))?;
        for batch in sorter.finish()? {
            write(&batch?)?;
        }
        Ok(count)
    }

    /// The sort keys of rows before they are written: first the partition columns, so that a partition's rows come together.
    fn sort_keys(&self) -> Vec<SortingColumn> {
        let partitions = self.partition_by.iter().map(SortingColumn::ascending);
        partitions.chain(self.format.sorting().iter().cloned()).collect()
    }

    fn begin(&self) -> lath_parquet::Result<Files> {
        self.check_store()?;
        let is_new = matches!(self.destination, Destination::NewFolder { .. });
        let name = new_name(&self.format);
        let (folder, below) = match &self.destination {
            Destination::File { path, may_replace } => {
                let create = if *may_replace { AtomicFile::create_with } else { AtomicFile::create_new_with };
                let file = create(path, &self.uncommitted)?;
                return Ok(Files::One(FileWriter::begin(file, &self.schema, &self.format)?));
            }
            // Object stores have no folders.
            Destination::NewFolder { path } if path.to_str().is_some_and(|url| local_path(url).is_none()) => {
                (path.clone(), PathBuf::new())
            }
            // The folder gets its final name when it is complete.
            Destination::NewFolder { path } => {
                let folder = path.file_name().map(PathBuf::from).ok_or_else(|| Error::Invalid {
                    what: format!("{} is not the name of a folder", path.display()),
                })?;
                (path.parent().unwrap_or(Path::new("")).to_owned(), folder)
            }
            Destination::Folder { path } => (path.clone(), PathBuf::new()),
        };
        let files = AtomicFiles::create_with(folder, &name, &self.uncommitted)?.new_names();
        let place = FilePlace { files, below, name, is_new };
        Ok(Files::Several(Box::new(PartitionedFiles::begin(
            place,
            &self.schema,
            &self.partition_by,
            self.format.clone(),
        )?)))
    }

    /// The URL of the folder, if the files are written to one in an object store.
    #[cfg(feature = "remote")]
    pub(super) fn folder_url(&self) -> Option<&str> {
        match &self.destination {
            Destination::File { .. } => None,
            Destination::NewFolder { path } | Destination::Folder { path } => {
                path.to_str().filter(|url| local_path(url).is_none())
            }
        }
    }
}

/// Passes all received rows to `take` and returns their number.
fn receive(
    rows: &mut Receiver<Message>,
    mut take: impl FnMut(RecordBatch) -> lath_parquet::Result<()>,
) -> lath_parquet::Result<u64> {
    let mut count = 0;
    loop {
        match rows.blocking_recv() {
            Some(Message::Rows(batch)) => {
                count += batch.num_rows() as u64;
                take(batch)?;
            }
            Some(Message::End) => return Ok(count),
            None => return Err(Error::Cancelled),
        }
    }
}

/// Files that get their final names when they are finished.
enum Files {
    One(FileWriter),
    Several(Box<PartitionedFiles>),
}

impl Files {
    fn write(&mut self, batch: &RecordBatch) -> lath_parquet::Result<()> {
        match self {
            Self::One(writer) => writer.write(batch),
            Self::Several(files) => files.write(batch),
        }
    }

    fn finish(self) -> lath_parquet::Result<()> {
        match self {
            Self::One(writer) => writer.commit(),
            Self::Several(files) => files.finish(),
        }
    }
}
