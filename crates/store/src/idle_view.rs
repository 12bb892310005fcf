//! A view of a store that was opened read-only while no process wrote to it. It is private, so writers may open the
//! store meanwhile.
//!
//! | state | data file | writers |
//! | --- | --- | --- |
//! | the log is replayed, in memory | locked shared | excluded |
//! | the table of readers holds the header's checkpoint | not locked | allowed; they keep the nodes that the checkpoint reaches |
//! | [`IdleView::exclude_writers`] has locked the whole view for a check | locked shared, unless there is a writer | excluded |
//!
//! If the table of readers cannot be written to, the first state lasts until the store is closed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::arena::Arena;
use crate::error::Result;
use crate::readers::{Pin, Readers, SHARED_LEN};
use crate::records::newest_header;
use crate::storage::Storage;

/// The view, and the pin of its checkpoint.
#[derive(Debug)]
pub(crate) struct IdleView {
    view: Arc<dyn Storage>,
    /// The number of its checkpoint.
    checkpoint: u64,
    /// Locked while writers are excluded.
    exclusion: Mutex<()>,
    _held: Pin,
}

/// A guard: no writer has changed anything since the view was opened, and none comes while this lives.
#[derive(Debug)]
pub(crate) struct WritersExcluded<'v> {
    view: &'v IdleView,
    _one_at_a_time: MutexGuard<'v, ()>,
}

impl IdleView {
    /// Pins the checkpoint of a private `view` of the store in `storage`, whose data file had `file_bytes`, and lets
    /// writers in. `None` if that is not possible: then the view excludes writers.
    pub(crate) fn new(
        storage: &dyn Storage,
        view: Arc<dyn Storage>,
        arena: &Arena,
        file_bytes: u64,
    ) -> Result<Option<Self>> {
        if !view.keeps_writers_out() {
            return Ok(None);
        }
        let Some(shared) = storage.shared_for_readers(SHARED_LEN)? else { return Ok(None) };
        let header = newest_header(arena)?;
        // The table may belong to another version of the format, or there may be too many readers.
        let held = Readers::new(shared).and_then(|readers| {
            readers.attach(storage, view.data()?.file_number(), [0; 2])?;
            readers.hold(&header.root, file_bytes)
        });
        let Ok(held) = held else { return Ok(None) };
        view.let_writers_in()?;
        Ok(Some(Self { view, checkpoint: header.number, exclusion: Mutex::default(), _held: held }))
    }

    /// Excludes writers. `None` if there is a writer, or was one since the view was opened.
    pub(crate) fn exclude_writers(&self, arena: &Arena) -> Result<Option<WritersExcluded<'_>>> {
        let one_at_a_time = self.exclusion.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.view.keep_writers_out()? {
            return Ok(None);
        }
        let excluded = WritersExcluded { view: self, _one_at_a_time: one_at_a_time };
        Ok(Some(excluded).filter(|_| newest_header(arena).is_ok_and(|header| header.number == self.checkpoint)))
    }
}

impl Drop for WritersExcluded<'_> {
    fn drop(&mut self) {
        // If this fails, writers stay excluded until the store is closed.
        let _ = self.view.view.let_writers_in();
    }
}
