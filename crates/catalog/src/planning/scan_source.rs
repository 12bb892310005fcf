//! Provides the metadata in a catalog to scans of its files.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use lath_parquet::{FileVersion, KnownFooters};
use lath_store::Snapshot;

use crate::error::Result;
use crate::file::{Entry, KeptFilter};
use crate::records::{ENDS, FILES, PAGE_INDEXES, SEGMENTS, number_key};
use crate::slots::Segment;
use crate::stale_files::StaleFiles;

/// The footers, page indexes and filters of some files of a catalog in one commit.
pub(crate) struct KnownFiles {
    snapshot: Arc<Snapshot>,
    /// Slots by location, once the files are selected.
    slots: OnceLock<HashMap<String, u32>>,
    stale: Arc<StaleFiles>,
}

impl KnownFiles {
    pub(crate) fn new(snapshot: Arc<Snapshot>, stale: Arc<StaleFiles>) -> Self {
        Self { snapshot, slots: OnceLock::new(), stale }
    }

    /// Sets the slots of the selected files by location. Only the first call has an effect.
    pub(crate) fn set(&self, slots: HashMap<String, u32>) {
        self.slots.get_or_init(|| slots);
    }

    fn slot(&self, location: &str) -> Option<u32> {
        self.slots.get()?.get(location).copied()
    }

    /// The slot and record of a file, if the catalog has this version of it.
    fn current(&self, location: &str, version: &FileVersion) -> Result<Option<(u32, Entry)>> {
        let (Some(slot), Some(files)) = (self.slot(location), self.snapshot.tree(FILES)?) else {
            return Ok(None);
        };
        let Some(record) = files.get(&number_key(slot))? else { return Ok(None) };
        let entry = Entry::from_record(record)?;
        if entry.version != *version {
            self.stale.add(slot);
            return Ok(None);
        }
        Ok(Some((slot, entry)))
    }

    fn end(&self, location: &str, version: &FileVersion) -> Result<Option<Bytes>> {
        let Some((slot, _)) = self.current(location, version)? else { return Ok(None) };
        let Some(ends) = self.snapshot.tree(ENDS)? else { return Ok(None) };
        Ok(ends.get(&number_key(slot))?.map(Bytes::copy_from_slice))
    }

    fn other_parts(&self, location: &str, version: &FileVersion) -> Result<Vec<(u64, Bytes)>> {
        let mut parts = Vec::new();
        let Some((slot, entry)) = self.current(location, version)? else { return Ok(parts) };
        let page_index = match self.snapshot.tree(PAGE_INDEXES)? {
            Some(tree) => tree.get(&number_key(slot))?,
            None => None,
        };
        if let Some((offset, bytes)) = page_index.and_then(<[u8]>::split_first_chunk::<8>) {
            parts.push((u64::from_le_bytes(*offset), Bytes::copy_from_slice(bytes)));
        }
        let Some(segments) = self.snapshot.tree(SEGMENTS)? else { return Ok(parts) };
        for KeptFilter { class, place, stored } in entry.read.into_iter().flat_map(|read| read.filters) {
            let Some(stored) = stored else { continue };
            if let Some(segment) = Segment::get(segments, class, place.segment)? {
                let bitset = segment.bitset(place.position)?;
                parts.push((stored.offset, [&stored.header[..], &bitset].concat().into()));
            }
        }
        Ok(parts)
    }
}

/// If the catalog cannot be read, scans read the files.
impl KnownFooters for KnownFiles {
    fn get(&self, location: &str, version: &FileVersion) -> Option<Bytes> {
        self.end(location, version).ok().flatten()
    }

    fn parts(&self, location: &str, version: &FileVersion) -> Vec<(u64, Bytes)> {
        self.other_parts(location, version).unwrap_or_default()
    }

    fn put(&self, location: &str, _: &FileVersion, _: Bytes) {
        // A scan has read the footer, because the catalog has another version of the file.
        if let Some(slot) = self.slot(location) {
            self.stale.add(slot);
        }
    }
}

impl fmt::Debug for KnownFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownFiles").field("files", &self.slots.get().map_or(0, HashMap::len)).finish_non_exhaustive()
    }
}
