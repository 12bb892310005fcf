//! Objects that become visible together.
//!
//! | step | what others see |
//! | --- | --- |
//! | files are written and finished | nothing |
//! | `commit` | the objects, within the time of a request or a few: stores show several objects one by one |
//! | an object cannot be completed, or the commit is interrupted by a signal | nothing: new objects are deleted again |
//! | the process is killed before `commit` | nothing, but the store keeps the parts until they are deleted by a rule of the bucket |
//! | the process is killed within `commit` | some of the objects |

use std::io;
use std::mem;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lath_parquet::{DatasetOptions, Error, Result};
use lath_source::{Replaces, SentObject, Store, Upload};

use super::parallel::in_parallel;
use super::uncommitted::{BegunOutput, Entry, UncommittedFiles};
use super::written_objects::WrittenObjects;
use super::{AtomicFile, Sink, failed_upload, located};

/// Finished objects of at most 8 MiB stay in memory up to this many bytes, and are sent by the commit, in one request each. Later ones are sent
/// when they are finished.
const HELD_BYTES: usize = 64 << 20;

/// Objects below a URL that become visible together.
#[derive(Debug)]
pub(super) struct AtomicObjects {
    store: Store,
    /// The URL of the folder, without a slash at its end.
    url: String,
    uncommitted: UncommittedFiles,
    held: HeldUploads,
    written: WrittenObjects,
    /// Deletes the written objects unless all are written.
    entry: Entry,
    are_new: bool,
    /// Whether another process completes them.
    are_for_another: bool,
}

/// Finished uploads that wait for the commit.
#[derive(Debug, Clone, Default)]
pub(super) struct HeldUploads(Arc<Mutex<UploadQueue>>);

#[derive(Debug, Default)]
struct UploadQueue {
    uploads: Vec<HeldUpload>,
    /// Bytes in memory that were not sent.
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct HeldUpload {
    entry: Entry,
    pub(super) upload: Upload,
    store: Store,
    pub(super) name: Arc<str>,
}

impl AtomicObjects {
    pub(super) fn create(url: &str, uncommitted: &UncommittedFiles) -> Result<Self> {
        let store = DatasetOptions::new().object_store(url)?;
        let written = WrittenObjects::default();
        let (entry, ()) = uncommitted.begin(|| Ok((BegunOutput::Written(written.clone()), ())))?;
        let (url, uncommitted) = (url.trim_end_matches('/').to_owned(), uncommitted.clone());
        let held = HeldUploads::default();
        Ok(Self { store, url, uncommitted, held, written, entry, are_new: false, are_for_another: false })
    }

    pub(super) fn new_names(self) -> Self {
        Self { are_new: true, ..self }
    }

    pub(super) fn for_another(self) -> Self {
        Self { are_for_another: true, ..self }
    }

    /// Begins an object. Finishing it only sends it.
    pub(super) fn file(&self, path: &Path) -> Result<AtomicFile> {
        let (entry, upload, store, name) = self.begin(path, |store| match self.are_for_another {
            true => store.upload_for_another(),
            false => store.upload(Replaces::Any),
        })?;
        Ok(AtomicFile { sink: Sink::Held { entry, upload, store, held: self.held.clone() }, name })
    }

    /// Adds an object whose parts another process has sent.
    pub(super) fn adopt(&self, path: &Path, object: SentObject) -> Result<()> {
        let (entry, upload, store, name) = self.begin(path, |store| store.resume_upload(object))?;
        self.held.lock().uploads.push(HeldUpload { entry, upload, store, name });
        Ok(())
    }

    /// The URL of the folder, and the finished objects.
    pub(super) fn into_held(self) -> (String, Vec<HeldUpload>) {
        let uploads = mem::take(&mut self.held.lock().uploads);
        (self.url, uploads)
    }

    fn begin(
        &self,
        path: &Path,
        upload: impl FnOnce(&Store) -> io::Result<Upload>,
    ) -> Result<(Entry, Upload, Store, Arc<str>)> {
        let parts: Option<Vec<&str>> = path
            .components()
            .map(|part| match part {
                Component::Normal(part) => part.to_str(),
                _ => None,
            })
            .collect();
        let Some(parts) = parts.filter(|parts| !parts.is_empty()) else {
            return Err(Error::invalid(format!("{} is not the name of an object below {}", path.display(), self.url)));
        };
        let below = parts.join("/");
        let name: Arc<str> = format!("{}/{below}", self.url).into();
        let folder = self.store.key().trim_end_matches('/');
        let store = self.store.sibling(&if folder.is_empty() { below } else { format!("{folder}/{below}") });
        let (entry, upload) = self.uncommitted.begin(|| {
            let upload = upload(&store).map_err(|error| located(Error::io("create", error), &name))?;
            Ok((BegunOutput::Object(upload.abort_handle()), upload))
        })?;
        Ok((entry, upload, store, name))
    }

    /// Makes all finished objects visible.
    pub(super) fn commit(self) -> Result<()> {
        let Self { held, written, entry, are_new, .. } = self;
        let uploads = mem::take(&mut held.lock().uploads);
        let (count, has_failed) = (uploads.len(), AtomicBool::new(false));
        let mut results = in_parallel(uploads, |HeldUpload { entry, upload, store, name }| {
            // Dropping the others deletes what they sent.
            if has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let committed = entry.commit_object(|| upload.commit().map_err(|error| failed_upload(error, &name)));
            let version = committed.inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
            if are_new {
                written.add(store, version);
            }
            Ok(())
        });
        if results.len() != count {
            results.push(Err(Error::internal("a thread that completes objects ended early")));
        }
        let Some(error) = results.into_iter().find_map(Result::err) else {
            // They stay.
            return entry.commit_object(|| {
                written.keep();
                Ok(())
            });
        };
        // The list may have been abandoned meanwhile.
        written.delete();
        match error {
            Error::Io { at, source, .. } => {
                let op = if are_new {
                    "complete all objects (those that were complete are deleted again)"
                } else {
                    "complete all objects (others may have been replaced)"
                };
                Err(Error::Io { op, source, at })
            }
            other => Err(other),
        }
    }
}

impl HeldUploads {
    /// Keeps a finished upload until all are committed.
    pub(super) fn hold(&self, entry: Entry, mut upload: Upload, store: Store, name: Arc<str>) -> Result<()> {
        let bytes = upload.buffered_bytes();
        let is_small = upload.is_unsent() && self.lock().bytes + bytes <= HELD_BYTES;
        if is_small {
            self.lock().bytes += bytes;
        } else {
            upload.send_all().map_err(|error| failed_upload(error, &name))?;
        }
        self.lock().uploads.push(HeldUpload { entry, upload, store, name });
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, UploadQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
