//! Ships a source to a bucket: an image of it, and an increment for each round with changes.
//!
//! | step | what readers of the bucket see |
//! | --- | --- |
//! | new data files are sent | the commit before |
//! | the increment is written, if there is none after the same commit | the new commit |
//! | the store and the list of an image are written | the increments, as before |
//! | the pointer is replaced | the image; increments before the last image are removed |

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lath_store::{Snapshot, Store};

use super::super::CatchUp;
use super::super::apply::ApplyChanges;
use super::super::data_files::files_of_commit;
use super::super::differences::{Base, Succession, pass_changes};
use super::super::increment::{self, EncodeChanges, FileChecksum, Header, Increment, pass_file};
use super::super::whole_copy::WholeCommit;
use super::super::work_folder::WorkFolder;
use super::place::{FILES, Image, Place, Pointer, file_name, increment_name, number_in, store_name, stream_folder};
use crate::database::relative_folder;
use crate::error::{Error, Result};
use crate::follower_marker::Marker;
use crate::records::history::microseconds;
use crate::records::{Durability, TableOptions, store_file};

/// A new image is made after this many increments, so that a new reader has no more of them to fetch.
const INCREMENTS_MAX: u64 = 10_000;

/// Or once they have this many bytes, and more than the image's store.
const INCREMENT_BYTES_MIN: u64 = 16 << 20;

/// Ships to a place in a bucket.
#[derive(Debug)]
pub(crate) struct Shipper {
    place: Place,
    options: TableOptions,
    /// A random number that says who ships.
    id: u64,
    open: Option<OpenStream>,
    /// Dropped last, so that no other process begins before the store is closed.
    work: WorkFolder,
}

/// The last commit in the bucket, and its objects.
#[derive(Debug)]
struct OpenStream {
    pointer: Pointer,
    image: Image,
    /// The store of the last commit in the bucket.
    store: Store,
    /// Data files in the bucket.
    known: BTreeMap<String, FileChecksum>,
    /// The names of the ones that came with increments since the image.
    recent: BTreeSet<String>,
    increments: u64,
    increment_bytes: u64,
}

impl Shipper {
    pub(crate) fn new(url: &str, source: &Path, options: &TableOptions) -> Result<Self> {
        let place = Place::new(url, options)?;
        let id = RandomState::new().build_hasher().finish();
        let work = work_folder(source, &place.url, options)?;
        let options = options.clone().durability(Durability::Off).background(false);
        Ok(Self { place, options, id, open: None, work })
    }

    /// Ships a commit of a source, of which `copied` is an earlier one that the bucket has.
    pub(crate) fn ship(
        &mut self,
        commit: &WholeCommit<'_>,
        copied: Option<&Snapshot>,
        source: &Path,
        marker: &Marker,
        time: SystemTime,
    ) -> Result<CatchUp> {
        let is_new = self.open.is_none();
        let shipped = self.try_ship(commit, copied.filter(|_| !is_new), source, marker, microseconds(time));
        if shipped.is_err() {
            // The contents of the bucket are read again.
            self.open = None;
        }
        shipped
    }

    fn try_ship(
        &mut self,
        commit: &WholeCommit<'_>,
        copied: Option<&Snapshot>,
        source: &Path,
        marker: &Marker,
        time: u64,
    ) -> Result<CatchUp> {
        let mut result = CatchUp { commit: commit.snapshot.sequence(), ..CatchUp::default() };
        if let Some(why) = self.attach(marker)? {
            result.whole_copy = Some(why);
            self.ship_whole(commit, source, marker, time, &mut result)?;
            return Ok(result);
        }
        let changes = self.work.path("changes");
        let open = self.open.as_mut().ok_or_else(|| Error::internal("no stream is open"))?;
        let here = open.store.snapshot()?;
        let base = copied.map_or(Base::Copy(&here), Base::Earlier);
        let mut encoded = EncodeChanges::create(&changes)?;
        let succession = pass_changes(base, &here, commit.snapshot, &mut encoded)?;
        let new_files = encoded.finish()?;
        let from = here.sequence();
        drop(here);
        match succession {
            Succession::Broken(why) => {
                result.whole_copy = Some(format!("the source has another history: {why}"));
                self.open = None;
                self.ship_whole(commit, source, marker, time, &mut result)?;
                return Ok(result);
            }
            Succession::Continued { steps: 0 } => return Ok(result),
            Succession::Continued { steps } => result.commits = steps,
        }
        let mut files = BTreeMap::new();
        for (file, bytes) in &new_files {
            let name = file_name(file);
            let sent = match open.known.get(&name) {
                Some(known) => *known,
                None => send_file(&self.place, source, file, Some(*bytes), &mut result)?,
            };
            open.known.insert(name.clone(), sent);
            files.insert(name, sent);
        }
        let header = Header {
            identity: marker.identity,
            stream: open.pointer.stream,
            from,
            to: commit.snapshot.sequence(),
            time,
            consumers: commit.consumers.clone(),
            sequences: commit.sequences.clone(),
            files: files.into_iter().collect(),
        };
        let name = increment_name(header.stream, from);
        let Some(bytes) = self.place.write_new(&name, |object| increment::write(&header, &changes, object))? else {
            return Err(self.conflict());
        };
        result.bytes += bytes;
        let mut applied = ApplyChanges::store_alone(&open.store);
        pass_file(&changes, &mut applied)?;
        drop(applied);
        open.store.checkpoint()?;
        open.recent.extend(header.files.into_iter().map(|(name, _)| name));
        open.increments += 1;
        open.increment_bytes += bytes;
        let is_long = open.increment_bytes > INCREMENT_BYTES_MIN.max(open.image.store.bytes);
        if is_long || open.increments >= INCREMENTS_MAX {
            self.replace_image(commit, time)?;
        }
        Ok(result)
    }

    /// Gets what the bucket has. Returns why it needs a whole copy, if it does.
    fn attach(&mut self, marker: &Marker) -> Result<Option<String>> {
        if let Some(open) = &self.open {
            let is_same = open.pointer.identity == marker.identity;
            return Ok((!is_same).then(|| "another table is in the place of the source".to_owned()));
        }
        let Some(pointer) = self.place.pointer()? else { return Ok(Some("there is no copy yet".to_owned())) };
        if pointer.identity != marker.identity {
            if pointer.source == marker.source {
                return Ok(Some("another table is in the place of the source".to_owned()));
            }
            return Err(Error::replica(format!(
                "{} has a copy of {}, and {} is another table: choose another place, or remove what is there first",
                self.place.url, pointer.source, marker.source
            )));
        }
        let pointer = Pointer { shipper: self.id, source: marker.source.clone(), ..pointer };
        self.place.write_pointer(&pointer)?;
        self.work.clear()?;
        let image = self.place.read_image(pointer.stream, pointer.image)?;
        let path = self.work.path("shipped.lath");
        self.place.fetch_checked(&store_name(pointer.stream, image.commit), image.store, &path)?;
        let store = store_file::open_store(&path, &self.options, false, false)?;
        let known = image.files.clone();
        let (recent, increments, increment_bytes) = (BTreeSet::new(), 0, 0);
        let mut open = OpenStream { pointer, image, store, known, recent, increments, increment_bytes };
        let fetched = self.work.path("increment");
        loop {
            let position = open.store.snapshot()?.sequence();
            let name = increment_name(open.pointer.stream, position);
            let Some(found) = self.place.fetch(&name, &fetched)? else { break };
            let increment = Increment::open(&fetched, &name)?;
            open.increments += 1;
            open.increment_bytes += found.bytes;
            open.recent.extend(increment.header.files.iter().map(|(name, _)| name.clone()));
            open.known.extend(increment.header.files.iter().cloned());
            increment.pass(position, &mut ApplyChanges::store_alone(&open.store))?;
        }
        open.store.checkpoint()?;
        self.open = Some(open);
        Ok(None)
    }

    /// Why the increment is there already.
    fn conflict(&self) -> Error {
        let pointer = self.place.pointer();
        let is_other = pointer.is_ok_and(|pointer| pointer.is_some_and(|pointer| pointer.shipper != self.id));
        let url = &self.place.url;
        if is_other {
            return Error::replica(format!("another follower ships to {url}: end one of the two"));
        }
        // It was sent before, and the answer was lost. The next round reads it.
        let exists = io::Error::from(io::ErrorKind::AlreadyExists);
        Error::io("write", &PathBuf::from(format!("{url}/{}", stream_folder(0))))(exists)
    }

    /// Begins a new stream.
    fn ship_whole(
        &mut self,
        commit: &WholeCommit<'_>,
        source: &Path,
        marker: &Marker,
        time: u64,
        result: &mut CatchUp,
    ) -> Result<()> {
        let before = self.open.take().map(|open| open.known).unwrap_or_default();
        self.work.clear()?;
        let mut known = before;
        for (file, bytes) in files_of_commit(commit.snapshot)? {
            let name = file_name(&file);
            if known.contains_key(&name) {
                continue;
            }
            match send_file(&self.place, source, &file, bytes, result) {
                // It was dropped, and nothing needs it any more.
                Err(Error::Io { source, .. }) if bytes.is_none() && source.kind() == io::ErrorKind::NotFound => {}
                sent => drop(known.insert(name, sent?)),
            }
        }
        let stream = RandomState::new().build_hasher().finish();
        let (identity, source) = (marker.identity, marker.source.clone());
        let number = commit.snapshot.sequence();
        let pointer = Pointer { stream, identity, source, shipper: self.id, image: number };
        let image = self.send_image(commit, stream, &known, time)?;
        self.place.write_pointer(&pointer)?;
        let store = self.open_shipped()?;
        let (recent, increments, increment_bytes) = (BTreeSet::new(), 0, 0);
        self.open = Some(OpenStream { pointer, image, store, known, recent, increments, increment_bytes });
        result.commits = 1;
        self.clean_up(None)
    }

    /// Sends an image of a commit, and leaves its store in the work folder.
    fn send_image(
        &self,
        commit: &WholeCommit<'_>,
        stream: u64,
        known: &BTreeMap<String, FileChecksum>,
        time: u64,
    ) -> Result<Image> {
        let path = self.work.path("image.lath");
        commit.snapshot.replicate(&path)?;
        let number = commit.snapshot.sequence();
        let store = self.place.send(&path, &store_name(stream, number))?;
        let needed = files_of_commit(commit.snapshot)?;
        let file = |file| {
            let name = file_name(file);
            known.get(&name).map(|checked| (name, *checked))
        };
        let image = Image {
            commit: number,
            time,
            store_name: commit.store_name.to_owned(),
            store,
            consumers: commit.consumers.clone(),
            sequences: commit.sequences.clone(),
            files: needed.keys().filter_map(file).collect(),
        };
        self.place.write_image(stream, &image)?;
        Ok(image)
    }

    /// Opens the store that was sent.
    fn open_shipped(&self) -> Result<Store> {
        let path = self.work.path("shipped.lath");
        let image = self.work.path("image.lath");
        fs::rename(&image, &path).map_err(Error::io("rename", &image))?;
        store_file::open_store(&path, &self.options, false, false)
    }

    /// Sends a new image of the last commit, and removes what only older ones need.
    fn replace_image(&mut self, commit: &WholeCommit<'_>, time: u64) -> Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        let image = self.send_image(commit, open.pointer.stream, &open.known, time)?;
        let sent = self.work.path("image.lath");
        fs::remove_file(&sent).map_err(Error::io("remove", &sent))?;
        let pointer = Pointer { image: image.commit, ..open.pointer.clone() };
        self.place.write_pointer(&pointer)?;
        let Some(open) = &mut self.open else { return Ok(()) };
        let before = std::mem::replace(&mut open.image, image);
        open.pointer = pointer;
        (open.increments, open.increment_bytes) = (0, 0);
        self.clean_up(Some(&before))
    }

    /// Removes objects that neither the image nor the one before it and its increments need.
    fn clean_up(&mut self, before: Option<&Image>) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let recent = std::mem::take(&mut open.recent);
        let oldest = before.map_or(open.image.commit, |before| before.commit);
        let own = stream_folder(open.pointer.stream);
        let is_needed = |name: &str| {
            let Some((folder, below)) = name.split_once('/') else { return true };
            if folder == FILES {
                let is_before = before.is_some_and(|before| before.files.contains_key(below));
                return open.image.files.contains_key(below) || is_before || recent.contains(below);
            }
            let is_other = folder.starts_with("stream-") && folder != own;
            !is_other && (folder != own || number_in(below).is_none_or(|number| number >= oldest))
        };
        for name in self.place.names()?.iter().filter(|name| !is_needed(name)) {
            self.place.remove(name)?;
        }
        let (image, known) = (&open.image, &mut open.known);
        known.retain(|name, _| {
            let is_before = before.is_some_and(|before| before.files.contains_key(name));
            image.files.contains_key(name) || is_before || recent.contains(name)
        });
        Ok(())
    }
}

fn send_file(
    place: &Place,
    source: &Path,
    file: &super::super::data_files::FileKey,
    bytes: Option<u64>,
    result: &mut CatchUp,
) -> Result<FileChecksum> {
    let path = source.join(relative_folder(file.0)).join(&file.1);
    let sent = place.send(&path, &format!("{FILES}/{}", file_name(file)))?;
    if let Some(bytes) = bytes.filter(|&bytes| bytes != sent.bytes) {
        let what = format!("{} has {} bytes, and its entry says {bytes}", path.display(), sent.bytes);
        return Err(Error::corrupt(what));
    }
    result.files += 1;
    result.bytes += sent.bytes;
    Ok(sent)
}

/// The folder for the store of what was shipped: next to the source, or where the system has temporary files if that is not writable.
fn work_folder(source: &Path, url: &str, options: &TableOptions) -> Result<WorkFolder> {
    let name = source.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let hash = xxhash_rust::xxh3::xxh3_64(format!("{}\n{url}", source.display()).as_bytes());
    let name = format!(".{name}.lath-follow-{hash:016x}");
    match WorkFolder::at(&source.with_file_name(&name), Path::new(url), options) {
        Err(Error::Io { .. }) => WorkFolder::at(&std::env::temp_dir().join(name), Path::new(url), options),
        made => made,
    }
}
