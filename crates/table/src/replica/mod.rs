//! Followers: copies of a table or database that stay at most a moment behind their source, and that nothing else changes.
//!
//! A copy's commits have the numbers and the trees of the source's, so a follower keeps no position: it is the copy's newest
//! commit. A round finds what differs between that commit and the source's newest one, gets the files that are new, and applies the differences.
//!
//! | situation | what a round does |
//! | --- | --- |
//! | the source's commit is a successor of the one copied last | compares the two commits, which takes as long as the changes |
//! | the follower has just begun, or a process has begun to write to the source | compares both stores |
//! | the source keeps commits between the two by name or in its history | stops at each of them, and keeps it in the copy |
//! | the source has another identity, fewer commits, or differs in a commit that both keep | makes a whole copy, which takes the place of the old one |

mod apply;
mod bucket;
mod change_sink;
mod data_files;
mod differences;
mod increment;
mod promote;
mod side_files;
mod source_folder;
mod status;
mod target_folder;
mod whole_copy;
mod work_folder;

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

pub use self::status::ReplicaStatus;

use lath_store::Snapshot;

use self::bucket::{Receiver, Shipper};
use self::data_files::{FetchCounts, LocalFiles};
use self::differences::Succession;
use self::source_folder::SourceFolder;
use self::target_folder::TargetFolder;
use self::whole_copy::WholeCommit;
use crate::error::{Error, Result};
use crate::follower_marker::Marker;
use crate::records::TableOptions;

/// The shortest time from one round to the next: each writes to the disk, however little has changed.
const ROUND_INTERVAL: Duration = Duration::from_millis(100);

/// The shortest time from one round to the next where objects of a bucket are written or looked for.
const BUCKET_INTERVAL: Duration = Duration::from_millis(300);

/// The time after which a round is tried again that failed for a reason that may pass.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// A follower of a table or database: keeps a copy of it in another folder, which is read-only for everyone else.
///
/// The copy has all tables of the source, their files, named snapshots, history, views, sequences, change feeds and consumers, as one commit of the
/// source left them. It can be opened [read-only](crate::Database::open_read_only) at any time, also while the follower works.
/// [`promote`](Self::promote) makes it an independent table or database.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use lath_table::{Error, Replica, Table, TableOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (source, copy) = (folder.path().join("orders"), folder.path().join("copy"));
/// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
/// # let rows = RecordBatch::try_from_iter([("id", ids)])?;
/// let orders = Table::create(&source, &rows.schema(), &["id"], TableOptions::new())?;
/// let mut replica = Replica::open(&source, &copy, TableOptions::new())?;
/// orders.insert(&rows)?;
/// replica.catch_up()?;
/// assert_eq!(Table::open_read_only(&copy, TableOptions::new())?.count()?, 2);
/// assert!(matches!(Table::open(&copy, TableOptions::new()), Err(Error::Follower { .. })));
///
/// drop(replica);
/// Replica::promote(&copy, TableOptions::new())?;
/// Table::open(&copy, TableOptions::new())?.delete([1])?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Replica {
    source: Source,
    target: Target,
    options: TableOptions,
}

/// The followed table or database.
#[derive(Debug)]
enum Source {
    /// A folder of this machine, which is opened again after it could not be reached.
    Folder {
        place: PathBuf,
        open: Option<Box<SourceFolder>>,
    },
    Bucket(Box<Receiver>),
}

/// The place of the copy.
#[derive(Debug)]
enum Target {
    Folder(Box<TargetFolder>),
    Bucket(Box<Shipper>),
}

/// Counts of a round.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CatchUp {
    /// The number of the commit of the source that the copy has now.
    pub commit: u64,
    /// Number of commits that were applied. Commits of the source that it does not keep are joined with the next one.
    pub commits: u64,
    /// Number of data files that were copied.
    pub files: u64,
    /// Number of these that are hard links to files of the source.
    pub links: u64,
    /// Bytes of the data files that were copied.
    pub bytes: u64,
    /// Why a whole copy was made, if one was.
    pub whole_copy: Option<String>,
}

impl Replica {
    /// Opens a follower of the table or database in the folder `source`, whose copy is or will be in the folder `target`. Either may be the URL of a
    /// place in a bucket: one follower ships to it, and others, on other machines, copy from it. Nothing is copied before
    /// [`catch_up`](Self::catch_up). One follower at a time has a copy open.
    ///
    /// # Errors
    /// [`Error::Replica`] for folders that cannot be source and copy, and if another follower has the copy open;
    /// [`Error::NoTable`] if there is no source; [`Error::Place`] for URLs that are no places.
    pub fn open(source: impl AsRef<Path>, target: impl AsRef<Path>, options: TableOptions) -> Result<Self> {
        let (source, target) = (source.as_ref(), target.as_ref());
        let (source, target) = match (url(source), url(target)) {
            (Some(_), Some(_)) => {
                return Err(Error::replica(
                    "the source or the copy has to be on this machine: follow from one bucket to this machine, and from here to the other",
                ));
            }
            (Some(from), None) => {
                let receiver = Receiver::new(from, &options)?;
                (Source::Bucket(Box::new(receiver)), Target::Folder(Box::new(TargetFolder::open(target, &options)?)))
            }
            (None, to) => {
                let place = absolute(source)?;
                let open = Some(Box::new(SourceFolder::open(&place, &options)?));
                let target = match to {
                    Some(to) => Target::Bucket(Box::new(Shipper::new(to, &place, &options)?)),
                    None => {
                        check_apart(&place, &absolute(target)?)?;
                        Target::Folder(Box::new(TargetFolder::open(target, &options)?))
                    }
                };
                (Source::Folder { place, open }, target)
            }
        };
        Ok(Self { source, target, options })
    }

    /// Brings the copy to the source's newest commit.
    ///
    /// # Errors
    /// [`Error::Replica`] if the copy follows another source; failures of reading the source and of writing the copy. The copy has a commit of the
    /// source in any case, and the next call goes on.
    pub fn catch_up(&mut self) -> Result<CatchUp> {
        if let Target::Folder(target) = &mut self.target {
            target.reopen()?;
        }
        let caught_up = self.try_catch_up();
        if let (Err(_), Target::Folder(target)) = (&caught_up, &mut self.target) {
            target.close();
        }
        caught_up
    }

    fn try_catch_up(&mut self) -> Result<CatchUp> {
        match (&mut self.source, &mut self.target) {
            (Source::Folder { place, open }, target) => {
                let caught_up = copy_from_folder(place, open, target, &self.options);
                if caught_up.is_err()
                    && let Some(source) = open
                {
                    // The copy may be further than the last commit that was copied as a whole.
                    source.forget_copied();
                }
                caught_up
            }
            (Source::Bucket(receiver), Target::Folder(target)) => {
                let result = receiver.receive(target)?;
                target.end_round(receiver.time(), &result)?;
                Ok(result)
            }
            (Source::Bucket(_), Target::Bucket(_)) => Err(Error::internal("a follower from a bucket to a bucket")),
        }
    }

    /// Brings the copy to the source's newest commit again and again, as soon as there is one, until `each` says to break. `each` is called after
    /// each round, several times a second where nothing changes, and with errors that may pass, such as a source that cannot be reached.
    ///
    /// # Errors
    /// As [`catch_up`](Self::catch_up), for errors that do not pass by themselves.
    pub fn follow(&mut self, mut each: impl FnMut(Result<&CatchUp, &Error>) -> ControlFlow<()>) -> Result<()> {
        loop {
            let begun = Instant::now();
            let (flow, is_failed) = match self.catch_up() {
                Ok(result) => (each(Ok(&result)), false),
                Err(error) if is_passing(&error) => (each(Err(&error)), true),
                Err(error) => return Err(error),
            };
            if flow.is_break() {
                return Ok(());
            }
            match &self.source {
                _ if is_failed => std::thread::sleep(RETRY_INTERVAL),
                Source::Folder { open: Some(source), .. } => {
                    source.wait(ROUND_INTERVAL)?;
                    // Commits that come at once are copied together.
                    let interval =
                        if matches!(self.target, Target::Bucket(_)) { BUCKET_INTERVAL } else { ROUND_INTERVAL };
                    std::thread::sleep(interval.saturating_sub(begun.elapsed()));
                }
                Source::Folder { .. } | Source::Bucket(_) => {
                    std::thread::sleep(BUCKET_INTERVAL.saturating_sub(begun.elapsed()));
                }
            }
        }
    }

    /// Reports how far the copy in a folder is; `None` if the folder is no follower's copy.
    ///
    /// # Errors
    /// [`Error::NoTable`] if there is no table or database.
    pub fn status(folder: impl AsRef<Path>, options: TableOptions) -> Result<Option<ReplicaStatus>> {
        let folder = folder.as_ref();
        match Marker::read(folder)? {
            Some(marker) => Ok(Some(ReplicaStatus::read(folder, &marker, &options)?)),
            None => source_folder::path_of_store(folder).map(|_| None),
        }
    }

    /// Makes the copy in a folder an independent table or database, which can be changed. The follower has to be ended before. A follower that is
    /// begun again refuses the folder.
    ///
    /// # Errors
    /// [`Error::InUse`] if a follower has it open, [`Error::Replica`] if it is no follower.
    pub fn promote(folder: impl AsRef<Path>, options: TableOptions) -> Result<u64> {
        promote::promote(folder.as_ref(), &options)
    }
}

impl CatchUp {
    fn add(&mut self, fetched: FetchCounts) {
        self.files += fetched.files;
        self.links += fetched.links;
        self.bytes += fetched.bytes;
    }
}

/// Copies the newest commit of a folder.
fn copy_from_folder(
    place: &Path,
    open: &mut Option<Box<SourceFolder>>,
    target: &mut Target,
    options: &TableOptions,
) -> Result<CatchUp> {
    if let Some(source) = open
        && let Err(error) = source.refresh()
    {
        *open = None;
        return Err(error);
    }
    let source = match open {
        Some(source) => source,
        none => none.insert(Box::new(SourceFolder::open(place, options)?)),
    };
    let folder = source.folder().to_owned();
    let name = folder.to_str().ok_or_else(|| {
        Error::replica(format!("{} is no text: choose a source with a name in Unicode", folder.display()))
    })?;
    let marker = Marker { source: name.to_owned(), identity: source.identity(), stream: None };
    let time = SystemTime::now();
    let newest = source.newest()?;
    let commit = WholeCommit {
        snapshot: &newest.snapshot,
        consumers: &newest.consumers,
        sequences: &newest.sequences,
        store_name: source.store_name(),
    };
    if matches!(target, Target::Bucket(_)) && source.is_encrypted() {
        return Err(Error::replica(
            "an encrypted table is not followed into a bucket, because the changes would not be encrypted there: follow it into a folder",
        ));
    }
    let copied = source.copied(&newest);
    let result = match target {
        Target::Bucket(shipper) => shipper.ship(&commit, copied, &folder, &marker, time)?,
        Target::Folder(target) => {
            let result = copy_to_folder(&commit, copied, &folder, target, marker)?;
            target.end_round(Some(time), &result)?;
            result
        }
    };
    source.set_copied(newest);
    Ok(result)
}

/// Copies a commit to a folder, as changes or as a whole.
fn copy_to_folder(
    commit: &WholeCommit<'_>,
    copied: Option<&Snapshot>,
    folder: &Path,
    target: &mut TargetFolder,
    marker: Marker,
) -> Result<CatchUp> {
    let files = LocalFiles(folder);
    let mut result = CatchUp { commit: commit.snapshot.sequence(), ..CatchUp::default() };
    let mut reason = reason_for_whole_copy(target, &marker)?;
    if reason.is_none() {
        target.set_marker(&marker)?;
        let (succession, fetched) = target.change_to(commit, copied, &files)?;
        result.add(fetched);
        match succession {
            Succession::Continued { steps } => result.commits = steps,
            Succession::Broken(why) => reason = Some(format!("the source has another history: {why}")),
        }
    }
    if reason.is_some() {
        result.add(target.replace(commit, &files, marker)?);
        result.commits = 1;
    }
    result.whole_copy = reason;
    Ok(result)
}

/// The URL that a path is, if it is one.
fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| lath_source::is_store(text))
}

/// Why the copy cannot go on with the source that `marker` names, if it cannot.
fn reason_for_whole_copy(target: &TargetFolder, marker: &Marker) -> Result<Option<String>> {
    match target.marker() {
        None => Ok(Some("there is no copy yet".to_owned())),
        Some(known) if known.identity == marker.identity => Ok(None),
        Some(known) if known.source == marker.source => {
            Ok(Some("another table is in the place of the source".to_owned()))
        }
        Some(known) => Err(Error::replica(format!(
            "{} follows {}, and {} is another table: choose another folder, or remove this one first",
            target.folder.display(),
            known.source,
            marker.source
        ))),
    }
}

/// Whether a later round may succeed.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Io { .. } | Error::InUse { .. } | Error::NoTable { .. } => true,
        Error::Store { source } => {
            !matches!(source, lath_store::Error::Internal(_) | lath_store::Error::Corrupt { .. })
        }
        _ => false,
    }
}

/// The path without links, as far as it exists.
fn absolute(path: &Path) -> Result<PathBuf> {
    let mut missing = Vec::new();
    let mut above = std::path::absolute(path).map_err(Error::io("open", path))?;
    loop {
        match fs::canonicalize(&above) {
            Ok(found) => return Ok(missing.iter().rev().fold(found, |path, name| path.join(name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("open", path)(error)),
        }
        let Some(name) = above.file_name().map(ToOwned::to_owned) else { return Ok(above) };
        missing.push(name);
        above.pop();
    }
}

/// A copy is no part of its source, nor the other way round.
fn check_apart(source: &Path, target: &Path) -> Result<()> {
    let what = if source == target {
        "is both the source and the copy"
    } else if target.starts_with(source) {
        "is within the source"
    } else if source.starts_with(target) {
        "has the source within it"
    } else {
        return Ok(());
    };
    Err(Error::replica(format!("{} {what}: choose another folder for the copy", target.display())))
}
