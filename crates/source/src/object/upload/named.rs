//! Parts whose names are known, so that another process can put them together.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{Error, MultipartUpload, PutPayload, PutResult, Result, UploadPart};

use super::{Parts, Upload, aborted};
use crate::object::client::Client;
use crate::{Replaces, SentObject};

/// The parts of an object.
pub(super) struct NamedParts {
    store: Arc<dyn MultipartStore>,
    path: Path,
    id: String,
    /// The names of the parts; `None` while a part is being sent.
    names: Arc<Mutex<Vec<Option<String>>>>,
}

impl NamedParts {
    pub(super) async fn begin(store: Arc<dyn MultipartStore>, path: Path) -> Result<Self> {
        let id = store.create_multipart(&path).await?;
        Ok(Self::resume(store, path, id, Vec::new()))
    }

    pub(super) fn resume(store: Arc<dyn MultipartStore>, path: Path, id: String, names: Vec<String>) -> Self {
        let names = names.into_iter().map(Some).collect();
        Self { store, path, id, names: Arc::new(Mutex::new(names)) }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The names of the parts, if all were sent.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Upload {
    /// Begins an object whose parts have names, so that another process can complete it.
    pub(in crate::object) fn begin_named(client: &Arc<Client>, path: Path, part_bytes: usize) -> io::Result<Self> {
        named_store(client)?;
        Ok(Self::new(client, path, None, Replaces::Any, part_bytes, Parts::None))
    }

    /// Goes on with an object whose parts another process has sent.
    pub(in crate::object) fn resume(
        client: &Arc<Client>,
        path: Path,
        object: SentObject,
        part_bytes: usize,
    ) -> io::Result<Self> {
        let store = named_store(client)?;
        let SentObject { id, parts, len } = object;
        let part_count = parts.len();
        let parts = Parts::Named(NamedParts::resume(store, path.clone(), id, parts));
        let mut upload = Self::new(client, path, None, Replaces::Any, part_bytes, parts);
        (upload.part_count, upload.len) = (part_count, len);
        Ok(upload)
    }

    /// As [`send_all`](Self::send_all), for an object that [another process](crate::Store::upload_for_another) makes visible. It is still deleted
    /// when this is dropped, unless it is [left](Self::leave) to the other.
    ///
    /// # Errors
    /// As [`send_all`](Self::send_all).
    pub fn sent(&mut self) -> io::Result<SentObject> {
        if self.part_count == 0 {
            // An object without bytes has a part without bytes.
            self.send()?;
            self.part = Vec::new();
        }
        self.send_all()?;
        let shared = Arc::clone(&self.shared);
        let sent = self.shared.client.wait(async move {
            match &*shared.parts.lock().await {
                Parts::Named(upload) => upload.names().map(|parts| (upload.id().to_owned(), parts)),
                Parts::None | Parts::Begun(_) | Parts::Ended => None,
            }
        })?;
        let (id, parts) = sent.ok_or_else(aborted)?;
        Ok(SentObject { id, parts, len: self.len })
    }

    /// Lets the parts stay, which another process completes or deletes.
    pub fn leave(self) {
        let shared = Arc::clone(&self.shared);
        let _ = self.shared.client.wait(async move { *shared.parts.lock().await = Parts::Ended });
    }
}

/// The store as one whose uploads other processes can complete.
fn named_store(client: &Client) -> io::Result<Arc<dyn MultipartStore>> {
    client.parts().ok_or_else(|| io::Error::new(ErrorKind::Unsupported, "the store does not name the parts of objects"))
}

#[async_trait]
impl MultipartUpload for NamedParts {
    fn put_part(&mut self, payload: PutPayload) -> UploadPart {
        let index = {
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            names.push(None);
            names.len() - 1
        };
        let (store, path, id, names) =
            (Arc::clone(&self.store), self.path.clone(), self.id.clone(), Arc::clone(&self.names));
        Box::pin(async move {
            let part = store.put_part(&path, &id, index, payload).await?;
            if let Some(name) = names.lock().unwrap_or_else(PoisonError::into_inner).get_mut(index) {
                *name = Some(part.content_id);
            }
            Ok(())
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let Some(names) = self.names() else {
            return Err(Error::Generic { store: "lath", source: "a part was not sent".into() });
        };
        let parts = names.into_iter().map(|content_id| PartId { content_id }).collect();
        self.store.complete_multipart(&self.path, &self.id, parts).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.store.abort_multipart(&self.path, &self.id).await
    }
}

impl fmt::Debug for NamedParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedParts").field("path", &self.path).field("id", &self.id).finish_non_exhaustive()
    }
}
