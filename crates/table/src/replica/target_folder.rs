//! The copy on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use lath_store::Store;

use super::apply::ApplyChanges;
use super::data_files::{FetchCounts, FileSource, UnneededFiles};
use super::differences::{Base, Succession, pass_changes};
use super::side_files::{write_consumers, write_sequences};
use super::source_folder::path_of_store;
use super::status;
use super::whole_copy::{WholeCommit, is_empty};
use super::work_folder::{WorkFolder, empty};
use super::{CatchUp, absolute};
use crate::error::{Error, Result};
use crate::follower_marker::Marker;
use crate::records::{Durability, TableOptions, store_file};

/// An idle follower reports at this interval that it is up to date.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);

/// The copy, open for writing by its follower alone.
#[derive(Debug)]
pub(crate) struct TargetFolder {
    pub(crate) folder: PathBuf,
    options: TableOptions,
    /// `None` before the first copy.
    open: Option<(Store, Marker)>,
    unneeded: UnneededFiles,
    reported: Option<Instant>,
    /// Dropped last, so that no other follower begins before the store is closed.
    work: WorkFolder,
}

impl TargetFolder {
    pub(crate) fn open(folder: &Path, options: &TableOptions) -> Result<Self> {
        let folder = absolute(folder)?;
        // The durability of the store is the one of its checkpoints.
        let options = options.clone().durability(Durability::Off).background(false);
        let work = WorkFolder::beside(&folder, &options)?;
        let unneeded = UnneededFiles::due();
        let mut target = Self { folder, options, open: None, unneeded, reported: None, work };
        target.reopen()?;
        Ok(target)
    }

    /// Closes the copy after an error, because its store may write nothing more.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// Opens the copy, if there is one and it is not open.
    pub(crate) fn reopen(&mut self) -> Result<()> {
        if self.open.is_some() || is_empty(&self.folder)? {
            return Ok(());
        }
        let Some(marker) = Marker::read(&self.folder)? else {
            let what = "is no follower: a table that was promoted, or another folder. Choose a folder that is empty or does not exist";
            return Err(Error::replica(format!("{} {what}", self.folder.display())));
        };
        let store = self.open_store().map_err(|error| match error {
            Error::Store { source: lath_store::Error::Key(why) } => Error::replica(format!(
                "the copy {}: {why}. If the source has another key now, remove the copy, and the next one is made with that key",
                self.folder.display()
            )),
            error => error,
        })?;
        self.open = Some((store, marker));
        Ok(())
    }

    fn open_store(&self) -> Result<Store> {
        store_file::open_store(&path_of_store(&self.folder)?, &self.options, false, false)
    }

    pub(crate) fn store(&self) -> Option<&Store> {
        self.open.as_ref().map(|(store, _)| store)
    }

    pub(crate) fn marker(&self) -> Option<&Marker> {
        self.open.as_ref().map(|(_, marker)| marker)
    }

    /// The folder for files on the way.
    pub(crate) fn work(&self) -> &WorkFolder {
        &self.work
    }

    /// Remembers that the source has another place.
    pub(crate) fn set_marker(&mut self, new: &Marker) -> Result<()> {
        if let Some((_, marker)) = &mut self.open
            && marker != new
        {
            new.write(&self.folder)?;
            marker.clone_from(new);
        }
        Ok(())
    }

    /// Changes the copy to the commit of a source, of which `copied` is an earlier one that the copy has.
    pub(crate) fn change_to(
        &mut self,
        commit: &WholeCommit<'_>,
        copied: Option<&lath_store::Snapshot>,
        files: &dyn FileSource,
    ) -> Result<(Succession, FetchCounts)> {
        let Some((store, _)) = &self.open else {
            return Err(Error::internal("there is no copy to change"));
        };
        // Before the commit, so that no number is given twice.
        write_sequences(&self.folder, commit.sequences)?;
        let here = store.snapshot()?;
        let base = copied.map_or(Base::Copy(&here), Base::Earlier);
        let mut applied = ApplyChanges::with_files(store, &self.folder, files);
        let succession = pass_changes(base, &here, commit.snapshot, &mut applied)?;
        let (fetched, has_dropped) = (applied.fetched(), applied.has_dropped_files);
        drop((applied, here));
        if let Succession::Continued { steps } = &succession {
            if *steps > 0 {
                store.checkpoint()?;
            }
            // After the commit, so that no consumer has seen more than the copy has.
            write_consumers(&self.folder, commit.consumers)?;
        }
        self.unneeded.is_due |= has_dropped;
        Ok((succession, fetched))
    }

    /// Applies changes that were made elsewhere. `apply` gets their sink.
    pub(crate) fn apply(
        &mut self,
        files: &dyn FileSource,
        apply: impl FnOnce(&mut ApplyChanges<'_>) -> Result<()>,
    ) -> Result<FetchCounts> {
        let Some((store, _)) = &self.open else {
            return Err(Error::internal("there is no copy to change"));
        };
        let mut applied = ApplyChanges::with_files(store, &self.folder, files);
        apply(&mut applied)?;
        let (fetched, has_dropped) = (applied.fetched(), applied.has_dropped_files);
        drop(applied);
        store.checkpoint()?;
        self.unneeded.is_due |= has_dropped;
        Ok(fetched)
    }

    /// Makes a whole copy, which takes the place of the one before in one step.
    pub(crate) fn replace(
        &mut self,
        commit: &WholeCommit<'_>,
        files: &dyn FileSource,
        marker: Marker,
    ) -> Result<FetchCounts> {
        self.work.clear()?;
        let fetched = commit.copy(files, &self.work.new_copy(), &marker)?;
        if let Some(parent) = self.folder.parent() {
            fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        }
        self.work.put_in_place(&self.folder)?;
        if let Some((old, _)) = self.open.take() {
            empty(&old)?;
        }
        self.work.clear()?;
        self.open = Some((self.open_store()?, marker));
        self.unneeded.is_due = true;
        Ok(fetched)
    }

    /// Removes files that are no longer needed, and reports that the copy has all commits that there were at `time`.
    pub(crate) fn end_round(&mut self, time: Option<SystemTime>, result: &CatchUp) -> Result<()> {
        let Some((store, _)) = &self.open else { return Ok(()) };
        self.unneeded.remove(&self.folder, store)?;
        let is_due = self.reported.is_none_or(|reported| reported.elapsed() >= REPORT_INTERVAL);
        if let Some(time) = time
            && (is_due || result.commits > 0 || result.whole_copy.is_some())
        {
            status::write(&self.folder, time)?;
            self.reported = Some(Instant::now());
        }
        Ok(())
    }
}
