//! Copies from a bucket what another follower has shipped to it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lath_store::Store;

use super::super::differences::Succession;
use super::super::increment::Increment;
use super::super::side_files::{write_consumers, write_sequences};
use super::super::target_folder::TargetFolder;
use super::super::whole_copy::WholeCommit;
use super::super::{CatchUp, reason_for_whole_copy};
use super::place::{BucketFiles, Image, Place, Pointer, increment_name, number_in, store_name, stream_folder};
use crate::error::{Error, Result};
use crate::follower_marker::Marker;
use crate::records::{TableOptions, store_file};

/// Copies from a place in a bucket.
#[derive(Debug)]
pub(crate) struct Receiver {
    place: Place,
    options: TableOptions,
    /// Whether the copy's commit is known to be the end of an increment. A process that was killed may have applied a part of one.
    is_aligned: bool,
    /// When the source had the commit that was copied last.
    time: Option<SystemTime>,
}

impl Receiver {
    pub(crate) fn new(url: &str, options: &TableOptions) -> Result<Self> {
        Ok(Self { place: Place::new(url, options)?, options: options.clone(), is_aligned: false, time: None })
    }

    /// Brings the copy to the last commit in the bucket.
    pub(crate) fn receive(&mut self, target: &mut TargetFolder) -> Result<CatchUp> {
        let received = self.try_receive(target);
        self.is_aligned &= received.is_ok();
        received
    }

    /// When the source had the commit that was copied last.
    pub(crate) fn time(&self) -> Option<SystemTime> {
        self.time
    }

    fn try_receive(&mut self, target: &mut TargetFolder) -> Result<CatchUp> {
        let mut result = CatchUp::default();
        loop {
            let (marker, position) = match (target.marker().cloned(), target.store()) {
                (Some(marker), Some(store)) if marker.source == self.place.url => {
                    (marker, store.snapshot()?.sequence())
                }
                _ => {
                    self.begin(target, &mut result)?;
                    continue;
                }
            };
            result.commit = position;
            let Some(stream) = marker.stream else {
                return Err(Error::corrupt("the follower of a bucket does not know its stream"));
            };
            if self.apply_increment(target, &marker, (position, position), &mut result)? {
                continue;
            }
            let pointer = self.pointer()?;
            if pointer.stream != stream {
                let reason = reason_for_whole_copy(target, &self.marker(&pointer))?;
                let why = reason.unwrap_or_else(|| "the source has another history".to_owned());
                self.copy_whole(target, &pointer, why, &mut result)?;
            } else if !self.is_aligned && self.finish_increment(target, &marker, position, &mut result)? {
                // One more may follow.
            } else if pointer.image > position {
                // The increments after the copy's commit are gone.
                self.change_to_image(target, &pointer, &mut result)?;
            } else {
                self.is_aligned = true;
                return Ok(result);
            }
            self.is_aligned = true;
        }
    }

    fn pointer(&self) -> Result<Pointer> {
        self.place.pointer()?.ok_or_else(|| {
            let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "nothing was shipped there yet");
            Error::io("follow", std::path::Path::new(&self.place.url))(missing)
        })
    }

    fn marker(&self, pointer: &Pointer) -> Marker {
        Marker { source: self.place.url.clone(), identity: pointer.identity, stream: Some(pointer.stream) }
    }

    /// Makes the first copy, or goes on with one that had another source with the same identity.
    fn begin(&mut self, target: &mut TargetFolder, result: &mut CatchUp) -> Result<()> {
        let pointer = self.pointer()?;
        match reason_for_whole_copy(target, &self.marker(&pointer))? {
            Some(why) => self.copy_whole(target, &pointer, why, result),
            None => {
                self.is_aligned = false;
                let commit = target.store().map(Store::snapshot).transpose()?.map(|copy| copy.sequence());
                // It may be further than the bucket.
                let image = self.place.read_image(pointer.stream, pointer.image)?;
                if commit.is_some_and(|commit| commit < image.commit) {
                    self.change_to_image(target, &pointer, result)?;
                }
                target.set_marker(&self.marker(&pointer))
            }
        }
    }

    fn copy_whole(
        &mut self,
        target: &mut TargetFolder,
        pointer: &Pointer,
        why: String,
        result: &mut CatchUp,
    ) -> Result<()> {
        let marker = self.marker(pointer);
        let image = self.with_image(target, pointer, |target, commit, files| {
            let fetched = target.replace(commit, files, marker)?;
            result.add(fetched);
            Ok(())
        })?;
        result.commits += 1;
        result.whole_copy = Some(why);
        self.time = Some(source_time(image.time));
        Ok(())
    }

    fn change_to_image(&mut self, target: &mut TargetFolder, pointer: &Pointer, result: &mut CatchUp) -> Result<()> {
        let mut broken = None;
        let image = self.with_image(target, pointer, |target, commit, files| {
            let (succession, fetched) = target.change_to(commit, None, files)?;
            result.add(fetched);
            match succession {
                Succession::Continued { steps } => result.commits += steps,
                Succession::Broken(why) => broken = Some(why),
            }
            Ok(())
        })?;
        self.time = Some(source_time(image.time));
        match broken {
            Some(why) => self.copy_whole(target, pointer, format!("the source has another history: {why}"), result),
            None => Ok(()),
        }
    }

    /// Gets the image's store, and lets `work` copy it.
    fn with_image(
        &self,
        target: &mut TargetFolder,
        pointer: &Pointer,
        work: impl FnOnce(&mut TargetFolder, &WholeCommit<'_>, &BucketFiles<'_>) -> Result<()>,
    ) -> Result<Image> {
        let image = self.place.read_image(pointer.stream, pointer.image)?;
        let path = target.work().path("store").join(&image.store_name);
        target.work().clear()?;
        std::fs::create_dir(target.work().path("store")).map_err(Error::io("create", &path))?;
        self.place.fetch_checked(&store_name(pointer.stream, image.commit), image.store, &path)?;
        let store = store_file::open_store(&path, &self.options, false, false)?;
        let snapshot = store.snapshot()?;
        if snapshot.sequence() != image.commit {
            return Err(Error::corrupt(format!("{}: the image has another commit than its list says", self.place.url)));
        }
        let commit = WholeCommit {
            snapshot: &snapshot,
            consumers: &image.consumers,
            sequences: &image.sequences,
            store_name: &image.store_name,
        };
        work(target, &commit, &BucketFiles { place: &self.place, known: &image.files })?;
        drop((snapshot, store));
        target.work().clear()?;
        Ok(image)
    }

    /// Applies the increment after the commit `from`, beginning with the changes after `position`. `false` if there is none.
    fn apply_increment(
        &mut self,
        target: &mut TargetFolder,
        marker: &Marker,
        (from, position): (u64, u64),
        result: &mut CatchUp,
    ) -> Result<bool> {
        let Some(stream) = marker.stream else { return Ok(false) };
        let name = increment_name(stream, from);
        let path = target.work().path("increment");
        if self.place.fetch(&name, &path)?.is_none() {
            return Ok(false);
        }
        let increment = Increment::open(&path, &format!("{}/{name}", self.place.url))?;
        let header = increment.header.clone();
        if (header.stream, header.identity, header.from) != (stream, marker.identity, from) || header.to <= from {
            let what = format!("{}/{name} is an increment of another stream", self.place.url);
            return Err(Error::corrupt(what));
        }
        if header.to <= position {
            return Ok(false);
        }
        let known = header.files.iter().cloned().collect();
        write_sequences(&target.folder, &header.sequences)?;
        let files = BucketFiles { place: &self.place, known: &known };
        let fetched = target.apply(&files, |sink| increment.pass(position, sink))?;
        write_consumers(&target.folder, &header.consumers)?;
        result.add(fetched);
        result.commits += 1;
        result.commit = header.to;
        self.time = Some(source_time(header.time));
        Ok(true)
    }

    /// Looks for the increment of which the copy has a part, and applies the rest.
    fn finish_increment(
        &mut self,
        target: &mut TargetFolder,
        marker: &Marker,
        position: u64,
        result: &mut CatchUp,
    ) -> Result<bool> {
        let Some(stream) = marker.stream else { return Ok(false) };
        let increments = format!("{}/increment-", stream_folder(stream));
        let names = self.place.names_below(&stream_folder(stream))?;
        let from = names.iter().filter(|name| name.starts_with(&increments)).filter_map(|name| number_in(name));
        match from.filter(|&from| from < position).max() {
            Some(from) => self.apply_increment(target, marker, (from, position), result),
            None => Ok(false),
        }
    }
}

fn source_time(micros: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(micros)
}
