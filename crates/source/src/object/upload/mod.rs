//! Writes objects: small ones in one request, large ones in parts.
//!
//! | step | what others see |
//! | --- | --- |
//! | parts are sent | nothing: a store shows no object before its parts are put together |
//! | `commit` | the whole object |
//! | dropped, or aborted from another thread | nothing: the parts are deleted |
//! | the process is killed | nothing, but the store keeps the parts until they are deleted by a rule of the bucket |
//!
//! Every object has a unique text in its metadata. If a store's answer is lost or is an error, the object says whether it was written.
//!
//! A process can also leave the last step to another one: it passes the store's names of the upload and its parts on ([`Upload::sent`]).

mod named;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use object_store::path::Path;
use object_store::{Attribute, Attributes, Error, MultipartUpload, ObjectMeta, PutMode, PutPayload, UpdateVersion};
use tokio::sync::Mutex;

use self::named::NamedParts;
use super::client::Client;
use super::{failure, quoted, version};
use crate::{Replaces, Version};

/// The size of the first parts. Stores take parts of at least 5 MiB, except for the last.
pub(super) const PART_BYTES: usize = 8 << 20;
/// Parts double after this many: 10,000 parts, the most that stores take, are 300 GiB.
const PARTS_OF_A_SIZE: usize = 2_500;
const MAX_PARTS: usize = 10_000;
/// Parts that are sent at the same time. Together with the part that is being filled they take 40 MiB.
const PARTS_IN_FLIGHT: usize = 4;

/// The number of times that an object is written again which the store says is there, and is not, or whose answer was lost.
const CONFLICTS: usize = 3;
/// The time before an object is written again.
const PAUSE: Duration = Duration::from_millis(100);

/// The key of the unique text in an object's metadata. Azure takes letters, digits and underscores, and proxies drop headers with underscores.
const TOKEN: &str = "lathupload";

/// An object under construction. Dropping it before [`commit`](Self::commit) deletes what was sent.
///
/// An object of over 8 MiB is sent in parts, and no store can compare and replace in one step then: the rule of [`Replaces`] is checked
/// just before the parts are put together.
pub struct Upload {
    shared: Arc<Object>,
    replaces: Replaces,
    /// The version to replace as the store names it, by its ETag or, in Google's, by a number.
    replaced: Option<UpdateVersion>,
    part: Vec<u8>,
    part_bytes: usize,
    part_count: usize,
    len: u64,
    sent: VecDeque<Receiver<Result<(), Error>>>,
}

/// Deletes what an upload has sent, from another thread than the one that writes.
#[derive(Debug, Clone)]
pub struct UploadAbort {
    shared: Arc<Object>,
}

struct Object {
    client: Arc<Client>,
    path: Path,
    /// The unique text in its metadata; `None` if the parts have names, because stores take no metadata with those.
    token: Option<String>,
    parts: Mutex<Parts>,
}

enum Parts {
    /// Nothing was sent.
    None,
    Begun(Box<dyn MultipartUpload>),
    /// Another process can complete them, too.
    Named(NamedParts),
    /// Committed, aborted, or left to another process.
    Ended,
}

impl Parts {
    fn upload(&mut self) -> Option<&mut dyn MultipartUpload> {
        match self {
            Self::Begun(upload) => Some(&mut **upload),
            Self::Named(upload) => Some(upload),
            Self::None | Self::Ended => None,
        }
    }
}

impl Upload {
    /// Begins an object. A request is sent only if `replaces` has to be checked.
    pub(super) fn begin(client: &Arc<Client>, path: Path, replaces: Replaces, part_bytes: usize) -> io::Result<Self> {
        // Two hashes with random keys.
        let token = [(); 2].map(|()| format!("{:016x}", RandomState::new().hash_one(path.as_ref()))).concat();
        let mut upload = Self::new(client, path, Some(token), replaces, part_bytes, Parts::None);
        upload.check_replaced()?;
        Ok(upload)
    }

    fn new(
        client: &Arc<Client>,
        path: Path,
        token: Option<String>,
        replaces: Replaces,
        part_bytes: usize,
        parts: Parts,
    ) -> Self {
        let shared = Object { client: Arc::clone(client), path, token, parts: Mutex::new(parts) };
        Self {
            shared: Arc::new(shared),
            replaces,
            replaced: None,
            part: Vec::new(),
            part_bytes,
            part_count: 0,
            len: 0,
            sent: VecDeque::new(),
        }
    }

    /// Deletes what was sent, from another thread. A commit that has begun is waited for, and stays.
    pub fn abort_handle(&self) -> UploadAbort {
        UploadAbort { shared: Arc::clone(&self.shared) }
    }

    /// Bytes in memory that were not sent.
    pub fn buffered_bytes(&self) -> usize {
        self.part.len()
    }

    /// Whether nothing was sent: the object is in memory, and the commit writes it by one request.
    pub fn is_unsent(&self) -> bool {
        self.part_count == 0
    }

    /// Sends what is in memory, and waits until all parts are sent: only the commit is left. An object of up to 8 MiB then takes three requests
    /// instead of one.
    ///
    /// # Errors
    /// [`ErrorKind::Interrupted`] if it was aborted; errors of requests.
    pub fn send_all(&mut self) -> io::Result<()> {
        if !self.part.is_empty() {
            self.send()?;
            self.part = Vec::new();
        }
        while let Some(part) = self.sent.pop_front() {
            self.finish_part(&part)?;
        }
        Ok(())
    }

    /// Sends the rest and makes the object visible. Returns its version.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if there is an object and [`Replaces::None`] was wanted, [`ErrorKind::Interrupted`] if it was aborted;
    /// errors of requests. There is no object then, or the previous one, unless the error says otherwise.
    pub fn commit(mut self) -> io::Result<Version> {
        if self.part_count == 0 { self.put() } else { self.complete() }
    }

    /// Sends all bytes of an object by one request, and makes it visible.
    pub(super) fn commit_bytes(mut self, bytes: Vec<u8>) -> io::Result<Version> {
        self.len = bytes.len() as u64;
        self.part = bytes;
        self.put()
    }

    /// Sends an object that fits into one part.
    fn put(&mut self) -> io::Result<Version> {
        let mode = match &self.replaces {
            Replaces::Any => PutMode::Overwrite,
            Replaces::None => PutMode::Create,
            Replaces::Version(_) => PutMode::Update(self.replaced.take().ok_or_else(failure::changed)?),
        };
        let (shared, payload) = (Arc::clone(&self.shared), PutPayload::from(mem::take(&mut self.part)));
        let put = self.shared.client.wait(async move {
            let mut parts = shared.parts.lock().await;
            if matches!(*parts, Parts::Ended) {
                return Ok(None);
            }
            let mut left = CONFLICTS;
            let put = loop {
                match shared.client.put(&shared.path, payload.clone(), mode.clone(), shared.attributes()).await {
                    // S3 answers so, too, if the object was deleted at the same time.
                    Err(Error::AlreadyExists { .. }) if left > 0 && !shared.client.exists(&shared.path).await => {
                        left -= 1;
                    }
                    // The client sends everything else again itself. If this was written, the next answer is that the version has changed,
                    // and then the object says who wrote it.
                    Err(Error::Generic { .. }) if left > 0 && matches!(mode, PutMode::Update(_)) => {
                        left -= 1;
                        tokio::time::sleep(PAUSE).await;
                    }
                    put => break put?,
                }
            };
            *parts = Parts::Ended;
            Ok(Some(put))
        })?;
        match put {
            Ok(None) => Err(aborted()),
            Ok(Some(Some(tag))) => Ok(Version::Store { len: self.len, tag: quoted(&tag) }),
            Ok(Some(None)) => self.version(),
            Err(error) => self.written_after_all(error),
        }
    }

    /// Sends the last part, and lets the store put the parts together.
    fn complete(&mut self) -> io::Result<Version> {
        self.send_all()?;
        self.check_replaced()?;
        let shared = Arc::clone(&self.shared);
        let completed = self.shared.client.wait(async move {
            let mut parts = shared.parts.lock().await;
            let Some(upload) = parts.upload() else { return Ok(None) };
            let completed = upload.complete().await?;
            *parts = Parts::Ended;
            Ok(Some(completed))
        })?;
        match completed {
            Ok(None) => Err(aborted()),
            Ok(Some(_)) => self.version(),
            Err(error) => self.written_after_all(error),
        }
    }

    /// The version of the object if it was written in spite of an error: the answer may have been lost, and the request repeated.
    fn written_after_all(&self, error: Error) -> io::Result<Version> {
        match self.shared.client.metadata(&self.shared.path) {
            Ok((meta, attributes)) if self.is_own(&meta, &attributes) => Ok(version(&meta)),
            _ => Err(self.shared.client.explain(&self.shared.path, error)),
        }
    }

    /// Whether an object is the one that this has written. Names of objects without token are new.
    fn is_own(&self, meta: &ObjectMeta, attributes: &Attributes) -> bool {
        match &self.shared.token {
            Some(own) => attributes.get(&token()).is_some_and(|value| **value == **own),
            None => meta.size == self.len,
        }
    }

    /// The current version of the object.
    fn version(&self) -> io::Result<Version> {
        self.shared.client.head(&self.shared.path).map(|meta| version(&meta))
    }

    /// Returns an error if the current object may not be replaced.
    fn check_replaced(&mut self) -> io::Result<()> {
        let found = match self.replaces {
            Replaces::Any => return Ok(()),
            _ => self.shared.client.head(&self.shared.path),
        };
        let found = found.map(|meta| {
            let version = version(&meta);
            self.replaced = Some(UpdateVersion { e_tag: meta.e_tag, version: meta.version });
            version
        });
        match (&self.replaces, found) {
            (Replaces::None, Ok(_)) => Err(failure::already_exists()),
            (Replaces::Version(wanted), Ok(found)) if found != *wanted => {
                self.replaced = None;
                Err(failure::changed())
            }
            (Replaces::None, Err(error)) if error.kind() == ErrorKind::NotFound => Ok(()),
            (_, Err(error)) => Err(error),
            (_, Ok(_)) => Ok(()),
        }
    }

    /// Begins to send the part that is full, after waiting for one that is sent if there are many.
    fn send(&mut self) -> io::Result<()> {
        if self.part_count == MAX_PARTS {
            return Err(io::Error::new(
                ErrorKind::FileTooLarge,
                "objects have at most 10,000 parts, which are 300 GiB",
            ));
        }
        if self.sent.len() >= PARTS_IN_FLIGHT
            && let Some(part) = self.sent.pop_front()
        {
            self.finish_part(&part)?;
        }
        let next = Vec::with_capacity(self.size_of_part(self.part_count + 1));
        let (shared, payload) = (Arc::clone(&self.shared), PutPayload::from(mem::replace(&mut self.part, next)));
        let part = self.shared.client.wait(async move {
            let mut parts = shared.parts.lock().await;
            if matches!(*parts, Parts::None) {
                *parts = shared.begin_parts().await?;
            }
            Ok(parts.upload().map(|upload| upload.put_part(payload)))
        })?;
        let part = part.map_err(|error| self.shared.client.explain(&self.shared.path, error))?.ok_or_else(aborted)?;
        let client = Arc::clone(&self.shared.client);
        self.sent.push_back(self.shared.client.start(async move { client.send_part(part).await })?);
        self.part_count += 1;
        Ok(())
    }

    fn finish_part(&self, part: &Receiver<Result<(), Error>>) -> io::Result<()> {
        let sent = part.recv().map_err(|_| io::Error::other("the thread that sent a part has ended"))?;
        sent.map_err(|error| self.shared.client.explain(&self.shared.path, error))
    }

    fn size_of_part(&self, number: usize) -> usize {
        self.part_bytes << (number / PARTS_OF_A_SIZE)
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = self.size_of_part(self.part_count);
        // An object of one part stays in memory until it is committed.
        if self.part.len() == size && !bytes.is_empty() {
            self.send()?;
        }
        let taken = bytes.len().min(self.size_of_part(self.part_count) - self.part.len());
        self.part.extend_from_slice(&bytes[..taken]);
        self.len += taken as u64;
        Ok(taken)
    }

    /// Parts are sent once they are full.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl UploadAbort {
    /// Deletes what was sent; a later [`Upload::commit`] is an error. Does nothing after a commit.
    pub fn abort(&self) {
        let shared = Arc::clone(&self.shared);
        // What cannot be deleted stays until a rule of the bucket deletes it: a destructor cannot return an error.
        let _ = self.shared.client.wait(async move {
            let mut parts = shared.parts.lock().await;
            if let Some(upload) = mem::replace(&mut *parts, Parts::Ended).upload() {
                let _ = upload.abort().await;
            }
        });
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Does nothing after a commit.
        self.abort_handle().abort();
    }
}

impl Object {
    fn attributes(&self) -> Attributes {
        self.token.iter().map(|own| (token(), own.clone())).collect()
    }

    async fn begin_parts(&self) -> Result<Parts, Error> {
        match (&self.token, self.client.parts()) {
            (None, Some(store)) => NamedParts::begin(store, self.path.clone()).await.map(Parts::Named),
            _ => self.client.begin_parts(&self.path, self.attributes()).await.map(Parts::Begun),
        }
    }
}

fn token() -> Attribute {
    Attribute::Metadata(TOKEN.into())
}

fn aborted() -> io::Error {
    io::Error::new(ErrorKind::Interrupted, "the upload was aborted")
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("shared", &self.shared).field("len", &self.len).finish_non_exhaustive()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("url", &self.client.url(&self.path)).finish_non_exhaustive()
    }
}
