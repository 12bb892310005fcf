//! Plans step by step, while the caller does the reading.
//!
//! The planning code assumes that all bytes can be read. Here it runs over the bytes that were given, and fails at the first
//! missing ones; when they have been given, it runs again. A file takes a few rounds: its footer, then Bloom filters,
//! dictionaries and page indexes, each for all row groups at once. The parsed footer and the headers of filters are kept between
//! rounds.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use bytes::Bytes;
use lath_source::ByteRanges;

use super::planner::Planner;
use super::task::{How, ScanTask};
use super::thresholds::MAX_FILES_PLANNED_AT_ONCE;
use crate::dataset::{Dataset, FileSource};
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::scan::monitor::{Counters, Planning, ScanReport};
use crate::scan::run::{Job, Work};

/// Plans a scan without I/O: it returns the ranges that it needs, which the caller reads and passes in.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// use lath_parquet::{Dataset, DatasetOptions, Need, PlanStep};
///
/// let orders = Dataset::open(["orders/"], DatasetOptions::new())?;
/// let mut planner = orders.scan().filter("id = 4711")?.into_planner()?;
/// loop {
///     match planner.step()? {
///         PlanStep::Needs(needs) => {
///             for need in needs {
///                 match need {
///                     Need::Source { file } => planner.give_source(file, orders.files()[file].source()?)?,
///                     Need::Ranges { file, ranges } => {
///                         for range in ranges {
///                             // From anywhere: here, from the file itself.
///                             let bytes = orders.files()[file].source()?.bytes().read(range.clone()).expect("it can be read");
///                             planner.give_bytes(file, range.start, bytes)?;
///                         }
///                     }
///                 }
///             }
///         }
///         PlanStep::Ready(tasks) => println!("{} tasks more", tasks.len()),
///         PlanStep::Done => break,
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ScanPlanner {
    planner: Arc<Planner>,
    how: How,
    schema: SchemaRef,
    counters: Arc<Counters>,
    next_file: usize,
    /// Files that are being planned.
    files: BTreeMap<usize, Progress>,
}

/// The result of a step.
#[derive(Debug)]
pub enum PlanStep {
    /// Ranges and sources that planning needs. Tasks of other files may come before all of them have been given.
    Needs(Vec<Need>),
    /// Tasks. The tasks of one file come together, files come in any order.
    Ready(Vec<ScanTask>),
    /// There are no more tasks.
    Done,
}

/// A requested source or range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// A source of the bytes of a file, by its index in [`Dataset::files`]. It is kept for the tasks; planning uses only its
    /// length.
    Source {
        /// The file.
        file: usize,
    },
    /// Bytes of a file.
    Ranges {
        /// The file.
        file: usize,
        /// Offsets within it.
        ranges: Vec<Range<u64>>,
    },
}

/// Planning state of a file.
#[derive(Debug)]
enum Progress {
    NeedsSource,
    /// Waiting for bytes.
    Reading {
        source: FileSource,
        given: Arc<GivenBytes>,
        /// Set once the footer is complete.
        open: Option<ParquetFile>,
    },
}

impl ScanPlanner {
    pub(super) fn new(job: Job) -> Result<Self> {
        let Work::Files(planner) = job.work else {
            return Err(Error::invalid("tasks have been planned already"));
        };
        Ok(Self {
            planner,
            how: How { batch_size: job.settings.batch_size, verify_crc: job.settings.verify_crc },
            schema: Arc::clone(&job.target.schema),
            counters: job.counters,
            next_file: 0,
            files: BTreeMap::new(),
        })
    }

    /// The schema of the batches of all tasks.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The planned files.
    pub fn dataset(&self) -> &Dataset {
        &self.planner.dataset
    }

    /// The current report.
    pub fn report(&self) -> ScanReport {
        self.counters.report()
    }

    /// Plans as far as the given bytes allow.
    ///
    /// # Errors
    /// As [`Scan::plan`](super::Scan::plan), except errors of reading.
    pub fn step(&mut self) -> Result<PlanStep> {
        self.planner.cancel.check()?;
        let (mut needs, mut ready) = (Vec::new(), Vec::new());
        let mut planning = Planning::default();
        while self.next_file < self.planner.file_count() && self.files.len() < MAX_FILES_PLANNED_AT_ONCE {
            if self.planner.may_have_rows(self.next_file, &mut planning)? {
                self.files.insert(self.next_file, Progress::NeedsSource);
            }
            self.next_file += 1;
        }
        self.counters.add_planning(&planning);
        let mut done = Vec::new();
        for (&file, progress) in &mut self.files {
            match progress {
                Progress::NeedsSource => needs.push(Need::Source { file }),
                Progress::Reading { source, given, open } => {
                    let missing = given.missing();
                    if !missing.is_empty() {
                        needs.push(Need::Ranges { file, ranges: missing });
                        continue;
                    }
                    match plan(&self.planner, file, source, given, open, self.how, &self.counters) {
                        Ok(tasks) => {
                            ready.extend(tasks);
                            done.push(file);
                        }
                        Err(error) => match given.missing() {
                            missing if missing.is_empty() => return Err(error),
                            ranges => needs.push(Need::Ranges { file, ranges }),
                        },
                    }
                }
            }
        }
        let has_finished_files = !done.is_empty();
        done.iter().for_each(|file| drop(self.files.remove(file)));
        Ok(match (ready.is_empty(), needs.is_empty()) {
            (false, _) => PlanStep::Ready(ready),
            (true, false) => PlanStep::Needs(needs),
            // These files are ruled out; there may be others.
            (true, true) if has_finished_files || self.next_file < self.planner.file_count() => return self.step(),
            (true, true) => PlanStep::Done,
        })
    }

    /// Gives the source that [`Need::Source`] requests: [`DatasetFile::source`](crate::DatasetFile::source) opens it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a file whose source was not requested.
    pub fn give_source(&mut self, file: usize, source: FileSource) -> Result<()> {
        match self.files.get_mut(&file) {
            Some(progress @ Progress::NeedsSource) => {
                let given = Arc::new(GivenBytes::new(&*source.bytes));
                *progress = Progress::Reading { source, given, open: None };
                Ok(())
            }
            _ => Err(Error::invalid(format!("the source of file {file} was not requested"))),
        }
    }

    /// Gives bytes of a file from the offset `start` on: a requested range, or more.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a file without requested ranges, and for bytes past its end.
    pub fn give_bytes(&mut self, file: usize, start: u64, bytes: Bytes) -> Result<()> {
        match self.files.get_mut(&file) {
            Some(Progress::Reading { given, .. }) => given.give(start, bytes),
            _ => Err(Error::invalid(format!("no bytes of file {file} were requested"))),
        }
    }
}

/// The tasks of a file. Fails if bytes are missing.
fn plan(
    planner: &Arc<Planner>,
    index: usize,
    source: &FileSource,
    given: &Arc<GivenBytes>,
    open: &mut Option<ParquetFile>,
    how: How,
    counters: &Counters,
) -> Result<Vec<ScanTask>> {
    let entry = &planner.dataset.files()[index];
    let file = match open {
        Some(file) => file,
        none => {
            let bytes = Arc::clone(given) as Arc<dyn ByteRanges>;
            none.insert(entry.open_source(bytes, source.version.clone())?)
        }
    };
    ScanTask::for_file(planner, index, file, &source.bytes, how, counters)
}

/// The given bytes of a file. Reading other bytes is an error, and adds them to the missing ranges.
#[derive(Debug)]
struct GivenBytes {
    len: u64,
    request_cost_bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By their start.
    pieces: BTreeMap<u64, Bytes>,
    missing: Vec<Range<u64>>,
}

impl State {
    fn find(&self, range: &Range<u64>) -> Option<Bytes> {
        let (start, piece) = self.pieces.range(..=range.start).next_back()?;
        // Both fit: a piece is in memory.
        let (from, to) = ((range.start - start) as usize, usize::try_from(range.end - start).ok()?);
        (to <= piece.len()).then(|| piece.slice(from..to))
    }
}

impl GivenBytes {
    fn new(source: &dyn ByteRanges) -> Self {
        Self { len: source.len(), request_cost_bytes: source.request_cost_bytes(), state: Mutex::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ranges that are missing.
    fn missing(&self) -> Vec<Range<u64>> {
        self.lock().missing.clone()
    }

    fn give(&self, start: u64, bytes: Bytes) -> Result<()> {
        if start.checked_add(bytes.len() as u64).is_none_or(|end| end > self.len) {
            let (len, bytes) = (self.len, bytes.len());
            return Err(Error::invalid(format!("{bytes} bytes from {start} on exceed the file's {len} bytes")));
        }
        let mut state = self.lock();
        // The longest of several pieces with the same start contains the others.
        if state.pieces.get(&start).is_none_or(|piece| piece.len() < bytes.len()) {
            state.pieces.insert(start, bytes);
        }
        let missing = std::mem::take(&mut state.missing);
        let missing = missing.into_iter().filter(|range| state.find(range).is_none()).collect();
        state.missing = missing;
        Ok(())
    }
}

impl ByteRanges for GivenBytes {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let read = self.read_many(std::slice::from_ref(&range))?;
        read.into_iter().next().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        if ranges.iter().any(|range| range.start > range.end || range.end > self.len) {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let mut state = self.lock();
        let found: Vec<Option<Bytes>> =
            ranges.iter().map(|range| if range.is_empty() { Some(Bytes::new()) } else { state.find(range) }).collect();
        let missing = ranges.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(range, _)| range.clone());
        let missing: Vec<Range<u64>> = missing.collect();
        if missing.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        state.missing.extend(missing);
        Err(io::Error::from(io::ErrorKind::WouldBlock))
    }

    fn request_cost_bytes(&self) -> u64 {
        self.request_cost_bytes
    }
}
