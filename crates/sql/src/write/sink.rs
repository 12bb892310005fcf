//! The end of a plan that writes: rows on their way into files.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::BufWriter;
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
use lath_parquet::{AtomicFile, Error, ParquetWriter, SortOptions, Sorter, SortingColumn, Uncommitted, WriteOptions};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::file::commit;
use super::options::WriteSettings;
use super::partitioned::PartitionedFiles;
use crate::error::external;

/// Batches on their way to the thread that writes.
const BATCHES_IN_FLIGHT: usize = 4;

/// Where rows go.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A file; one that is there is replaced only if it may be.
    File { path: PathBuf, may_replace: bool },
    /// A folder that is made, or has nothing in it.
    NewFolder { path: PathBuf },
    /// A folder that files are added to.
    Folder { path: PathBuf },
}

/// A plan that writes the rows of `input`, which have `schema`, and answers with how many they were. Rows in an order stay in it.
pub(crate) fn file_sink(
    input: Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
    place: Place,
    partition_by: Vec<String>,
    options: WriteOptions,
    settings: &WriteSettings,
) -> Result<Arc<dyn ExecutionPlan>> {
    let work = Work {
        // What files say of their rows and columns need not be true of these.
        schema: Arc::new(schema.as_ref().clone().with_metadata(HashMap::new())),
        place,
        partition_by,
        options,
        sort_options: settings.sort_options(),
        uncommitted: settings.uncommitted.clone(),
    };
    work.check()?;
    let order = input.output_ordering().cloned().map(Into::into);
    Ok(Arc::new(DataSinkExec::new(input, Arc::new(FileSink { work }), order)))
}

#[derive(Debug)]
struct FileSink {
    work: Work,
}

/// The files to write, and their options.
#[derive(Debug, Clone)]
struct Work {
    schema: SchemaRef,
    place: Place,
    partition_by: Vec<String>,
    options: WriteOptions,
    sort_options: SortOptions,
    uncommitted: Uncommitted,
}

/// What the thread that writes is sent.
enum Sent {
    Rows(RecordBatch),
    /// There are no more. Without this, nothing is kept of what was written.
    End,
}

#[async_trait]
impl DataSink for FileSink {
    fn schema(&self) -> &SchemaRef {
        &self.work.schema
    }

    async fn write_all(&self, mut data: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let (sender, receiver) = channel(BATCHES_IN_FLIGHT);
        let work = self.work.clone();
        let writing = tokio::task::spawn_blocking(move || work.write(receiver));
        let sent = send_all(&mut data, &sender).await;
        drop(sender);
        // Nothing is left of a file once the writer has ended.
        let written = writing.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
        sent?;
        written.map_err(external)
    }
}

/// Sends all rows to the writer; one that has stopped says itself why.
async fn send_all(data: &mut SendableRecordBatchStream, writer: &Sender<Sent>) -> Result<()> {
    while let Some(batch) = data.next().await {
        if writer.send(Sent::Rows(batch?)).await.is_err() {
            return Ok(());
        }
    }
    let _ = writer.send(Sent::End).await;
    Ok(())
}

impl DisplayAs for FileSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Place::File { path, .. } | Place::NewFolder { path } | Place::Folder { path }) = &self.work.place;
        write!(f, "lath, path={}", path.display())?;
        if !self.work.partition_by.is_empty() {
            write!(f, ", partition_by=[{}]", self.work.partition_by.join(", "))?;
        }
        Ok(())
    }
}

impl Work {
    /// Finds out before rows are computed whether there is something in the way.
    fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(external(Error::Invalid { what }));
        match &self.place {
            Place::File { path, may_replace } => match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => {
                    refuse(format!("{} is a directory; name a file, or add PARTITIONED BY", path.display()))
                }
                Ok(metadata) if metadata.is_file() && !may_replace => {
                    refuse(format!("{} exists; add the option overwrite true to replace it", path.display()))
                }
                _ => Ok(()),
            },
            Place::NewFolder { path } => match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
                Ok(false) => refuse(format!(
                    "{} has files; choose another folder, or add to it with CREATE EXTERNAL TABLE and INSERT",
                    path.display()
                )),
                Err(_) if path.is_file() => refuse(format!("{} is a file, and has to be a folder", path.display())),
                _ => Ok(()),
            },
            Place::Folder { .. } => Ok(()),
        }
    }

    /// Writes what comes, and gives the number of rows.
    fn write(self, mut rows: Receiver<Sent>) -> lath_parquet::Result<u64> {
        let keys = self.sort_keys();
        let mut files = self.begin()?;
        let count = if keys.is_empty() {
            receive(&mut rows, |batch| files.write(&batch))?
        } else {
            let mut sorter = Sorter::new(&self.schema, &keys, self.sort_options)?;
            let count = receive(&mut rows, |batch| sorter.push(batch))?;
            for batch in sorter.finish()? {
                files.write(&batch?)?;
            }
            count
        };
        files.finish()?;
        Ok(count)
    }

    /// By what rows are sorted before they are written: those of one partition come together.
    fn sort_keys(&self) -> Vec<SortingColumn> {
        let partitions = self.partition_by.iter().map(SortingColumn::ascending);
        partitions.chain(self.options.sorting().iter().cloned()).collect()
    }

    fn begin(&self) -> lath_parquet::Result<Files> {
        let (folder, below) = match &self.place {
            Place::File { path, .. } => {
                let file = AtomicFile::create_with(path, &self.uncommitted)?;
                let writer = ParquetWriter::new(BufWriter::new(file), &self.schema, self.options.clone())?;
                return Ok(Files::One(Box::new(writer)));
            }
            // The folder appears as a whole.
            Place::NewFolder { path } => {
                let name = path.file_name().map(PathBuf::from).ok_or_else(|| Error::Invalid {
                    what: format!("{} is not the name of a folder", path.display()),
                })?;
                (path.parent().unwrap_or(Path::new("")).to_owned(), name)
            }
            Place::Folder { path } => (path.clone(), PathBuf::new()),
        };
        let files = PartitionedFiles::begin(
            &folder,
            below,
            &self.schema,
            &self.partition_by,
            self.options.clone(),
            &self.uncommitted,
        )?;
        Ok(Files::Several(Box::new(files)))
    }
}

/// Passes all rows that are sent to `take`, and returns their number.
fn receive(
    rows: &mut Receiver<Sent>,
    mut take: impl FnMut(RecordBatch) -> lath_parquet::Result<()>,
) -> lath_parquet::Result<u64> {
    let mut count = 0;
    loop {
        match rows.blocking_recv() {
            Some(Sent::Rows(batch)) => {
                count += batch.num_rows() as u64;
                take(batch)?;
            }
            Some(Sent::End) => return Ok(count),
            None => return Err(Error::Cancelled),
        }
    }
}

/// Files that appear when they are finished.
enum Files {
    One(Box<ParquetWriter<BufWriter<AtomicFile>>>),
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
            Self::One(writer) => commit(*writer),
            Self::Several(files) => files.finish(),
        }
    }
}
