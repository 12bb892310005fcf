//! Objects that are written by one process and completed by another.
//!
//! | step | what others see |
//! | --- | --- |
//! | one process writes files and finishes them | nothing |
//! | it passes the names of the parts on | nothing |
//! | another process adopts the files, and commits | the objects |
//! | either drops them before | nothing: the parts are deleted |

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, mem};

use lath_parquet::{DatasetOptions, Error, Result};
pub use lath_source::SentObject;

use super::objects::HeldUpload;
use super::parallel::in_parallel;
use super::{AtomicFiles, Place, failed_upload, located};

/// A finished file whose parts are in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFile {
    /// The path below the folder.
    pub path: String,
    /// The parts.
    pub object: SentObject,
}

/// Finished files that another process completes. Dropping this deletes their parts, unless they are [left](Self::leave) to the other.
#[derive(Debug)]
#[must_use = "the parts are deleted when this is dropped"]
pub struct SentFiles {
    files: Vec<SentFile>,
    held: Vec<HeldUpload>,
}

impl SentFiles {
    /// The files, in any order.
    pub fn files(&self) -> &[SentFile] {
        &self.files
    }

    /// Lets the parts stay.
    pub fn leave(mut self) {
        // Only in memory: no request is sent.
        mem::take(&mut self.held).into_iter().for_each(|held| held.upload.leave());
    }
}

impl AtomicFiles {
    /// Says that another process makes these objects visible: see [`sent`](Self::sent).
    ///
    /// # Errors
    /// [`Error::Invalid`] for local files.
    pub fn for_another(self) -> Result<Self> {
        match self.place {
            Place::Store(objects) => Ok(Self { place: Place::Store(objects.for_another()) }),
            Place::Local(_) => Err(local()),
        }
    }

    /// The finished files, for a process that [adopts](Self::adopt) them.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they are not [for another process](Self::for_another), [`Error::Io`] if a part cannot be sent,
    /// [`Error::Cancelled`] if they were abandoned.
    pub fn sent(self) -> Result<SentFiles> {
        let Place::Store(objects) = self.place else { return Err(local()) };
        let (url, held) = objects.into_held();
        let (count, has_failed) = (held.len(), AtomicBool::new(false));
        // Small files are sent only here.
        let sent = in_parallel(held, |mut held| {
            if has_failed.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            let object = held.upload.sent().map_err(|error| {
                has_failed.store(true, Ordering::Relaxed);
                failed_upload(error, &held.name)
            })?;
            let path = held.name.strip_prefix(&*url).map(|path| path.trim_start_matches('/').to_owned());
            let path = path.ok_or_else(|| Error::internal("a file is outside of its folder"))?;
            Ok((SentFile { path, object }, held))
        });
        let (sent, errors): (Vec<_>, Vec<_>) = sent.into_iter().partition(Result::is_ok);
        let (files, held): (Vec<_>, Vec<_>) = sent.into_iter().flatten().unzip();
        // Cancelled objects come after the error that cancelled them.
        let mut errors: Vec<Error> = errors.into_iter().filter_map(Result::err).collect();
        errors.sort_by_key(|error| matches!(error, Error::Cancelled));
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None if files.len() == count => Ok(SentFiles { files, held }),
            None => Err(Error::internal("a thread that sends objects ended early")),
        }
    }

    /// Adds a file whose parts another process has sent. Its name has to be new.
    ///
    /// # Errors
    /// [`Error::Invalid`] for local files, and if the path leaves the folder.
    pub fn adopt(&mut self, file: SentFile) -> Result<()> {
        match &mut self.place {
            Place::Store(objects) => objects.adopt(Path::new(&file.path), file.object),
            Place::Local(_) => Err(local()),
        }
    }
}

/// Deletes the parts of objects that are called `name`, in any folder below the URL `folder`, and were not made visible: what other processes have
/// sent and could not pass on. Returns their number. Stores that do not list uploads keep them.
///
/// # Errors
/// [`Error::Invalid`] for a malformed URL, [`Error::Io`] if the store cannot list uploads, or does not delete one.
pub fn abort_unfinished(folder: &str, name: &str) -> Result<usize> {
    let store = DatasetOptions::new().object_store(folder)?;
    let file: Arc<str> = folder.into();
    let failed = |op| {
        let file = &file;
        move |error| located(Error::io(op, error), file)
    };
    let found = store.unfinished_uploads().map_err(failed("list unfinished uploads"))?;
    let end = format!("/{name}");
    let own: Vec<_> = found.into_iter().filter(|upload| upload.url.ends_with(&end)).collect();
    let count = own.len();
    let aborted = in_parallel(own, |upload| store.abort_upload(&upload).map(drop));
    aborted.into_iter().collect::<io::Result<()>>().map_err(failed("abort an unfinished upload"))?;
    Ok(count)
}

fn local() -> Error {
    Error::invalid("only files in object stores can be written by one process and completed by another")
}
