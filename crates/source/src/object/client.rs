//! Sends requests to one store: a bounded number at a time, with retries, and with a check that answers are complete.

use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{
    Attributes, Error, GetOptions, GetRange, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, UploadPart,
};
use tokio::sync::Semaphore;

use super::bucket::Bucket;
use super::failure;
use super::runtime::RequestThreads;
use crate::StoreOptions;

/// A store, and the limits of requests to it.
pub(super) struct Client {
    store: Arc<dyn ObjectStore>,
    /// The prefix that makes a path a URL.
    base: Arc<str>,
    in_flight: Arc<Semaphore>,
    retries: usize,
    threads: Arc<RequestThreads>,
    /// The bucket, if the store is S3.
    bucket: Option<Bucket>,
    /// This store, if it names the parts of objects.
    parts: Option<Arc<dyn MultipartStore>>,
}

type Answer = Result<(Bytes, ObjectMeta), Error>;

impl Client {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        base: Arc<str>,
        options: &StoreOptions,
        threads: &Arc<RequestThreads>,
        bucket: Option<Bucket>,
    ) -> Self {
        let in_flight = Arc::new(Semaphore::new(options.requests_in_flight.max(1)));
        Self { store, base, in_flight, retries: options.retries, threads: Arc::clone(threads), bucket, parts: None }
    }

    /// Lets other processes complete uploads.
    pub(super) fn with_parts(self, parts: Option<Arc<dyn MultipartStore>>) -> Self {
        Self { parts, ..self }
    }

    /// The URL of the store.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// The threads that requests run on.
    pub(super) fn threads(&self) -> &Arc<RequestThreads> {
        &self.threads
    }

    /// The bucket, if the store is S3.
    pub(super) fn bucket(&self) -> Option<&Bucket> {
        self.bucket.as_ref()
    }

    pub(super) fn url(&self, path: &Path) -> String {
        format!("{}/{path}", self.base)
    }

    /// All bytes of `range`, and the metadata of the object.
    pub(super) fn get(self: &Arc<Self>, path: &Path, range: GetRange) -> io::Result<(Bytes, ObjectMeta)> {
        let (client, object) = (Arc::clone(self), path.clone());
        self.wait(async move { client.fetch(&object, range).await })?.map_err(|error| self.explain(path, error))
    }

    /// The bytes of each of `ranges`, requested at the same time.
    pub(super) fn get_all(
        self: &Arc<Self>,
        path: &Path,
        ranges: &[Range<u64>],
    ) -> io::Result<Vec<(Bytes, ObjectMeta)>> {
        if let [range] = ranges {
            return Ok(vec![self.get(path, GetRange::Bounded(range.clone()))?]);
        }
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let (client, object, ranges) = (Arc::clone(self), path.clone(), ranges.to_vec());
        let work = async move {
            let fetches = ranges.into_iter().map(|range| client.fetch(&object, GetRange::Bounded(range)));
            futures_util::future::try_join_all(fetches).await
        };
        self.wait(work)?.map_err(|error| self.explain(path, error))
    }

    /// The metadata of the object at `path`.
    pub(super) fn head(self: &Arc<Self>, path: &Path) -> io::Result<ObjectMeta> {
        self.metadata(path).map(|(meta, _)| meta)
    }

    /// The metadata of the object at `path`, and what its writer added to it.
    pub(super) fn metadata(self: &Arc<Self>, path: &Path) -> io::Result<(ObjectMeta, Attributes)> {
        let (client, object) = (Arc::clone(self), path.clone());
        let work = async move {
            let _permit = client.in_flight.acquire().await;
            let options = GetOptions { head: true, ..GetOptions::default() };
            client.store.get_opts(&object, options).await.map(|answer| (answer.meta, answer.attributes))
        };
        self.wait(work)?.map_err(|error| self.explain(path, error))
    }

    /// Writes an object. Returns its ETag, if the store says it.
    pub(super) async fn put(
        &self,
        path: &Path,
        payload: PutPayload,
        mode: PutMode,
        attributes: Attributes,
    ) -> Result<Option<String>, Error> {
        let _permit = self.in_flight.acquire().await;
        let options = PutOptions { mode, attributes, ..PutOptions::default() };
        self.store.put_opts(path, payload, options).await.map(|put| put.e_tag)
    }

    /// Whether there is an object, or it cannot be said.
    pub(super) async fn exists(&self, path: &Path) -> bool {
        let _permit = self.in_flight.acquire().await;
        !matches!(self.store.head(path).await, Err(Error::NotFound { .. }))
    }

    /// Begins an object that is sent in parts.
    pub(super) async fn begin_parts(
        &self,
        path: &Path,
        attributes: Attributes,
    ) -> Result<Box<dyn MultipartUpload>, Error> {
        let _permit = self.in_flight.acquire().await;
        self.store.put_multipart_opts(path, PutMultipartOptions { attributes, ..PutMultipartOptions::default() }).await
    }

    /// The store that names the parts of objects, if it does.
    pub(super) fn parts(&self) -> Option<Arc<dyn MultipartStore>> {
        self.parts.clone()
    }

    /// Sends a part.
    pub(super) async fn send_part(&self, part: UploadPart) -> Result<(), Error> {
        let _permit = self.in_flight.acquire().await;
        part.await
    }

    /// Runs `work` on the threads of requests, and waits for its result.
    pub(super) fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
        self.threads.wait(work)
    }

    /// Starts `work` on the threads of requests.
    pub(super) fn start<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<Receiver<T>> {
        self.threads.start(work)
    }

    /// The objects whose path is below `prefix` and, if there is one, after `after`.
    pub(super) fn list(self: &Arc<Self>, prefix: Path, after: Option<Path>) -> io::Result<Vec<ObjectMeta>> {
        let (client, below) = (Arc::clone(self), prefix.clone());
        let work = async move {
            let _permit = client.in_flight.acquire().await;
            let mut objects = match &after {
                Some(after) => client.store.list_with_offset(Some(&below), after),
                None => client.store.list(Some(&below)),
            };
            let mut found = Vec::new();
            while let Some(object) = objects.next().await {
                found.push(object?);
            }
            Ok(found)
        };
        self.wait(work)?.map_err(|error| self.explain(&prefix, error))
    }

    /// The path of an object below one of `prefixes` that `is_wanted`. The prefixes are listed at the same time, until one is found.
    pub(super) fn find(
        self: &Arc<Self>,
        prefixes: Vec<Path>,
        is_wanted: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> io::Result<Option<String>> {
        let (client, first) = (Arc::clone(self), prefixes.first().cloned().unwrap_or_default());
        let work = async move {
            let searches = prefixes.iter().map(|prefix| client.find_below(prefix, &is_wanted));
            let found = futures_util::future::try_join_all(searches).await?;
            Ok(found.into_iter().flatten().next())
        };
        self.wait(work)?.map_err(|error| self.explain(&first, error))
    }

    async fn find_below(
        &self,
        prefix: &Path,
        is_wanted: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Option<String>, Error> {
        let _permit = self.in_flight.acquire().await;
        let mut objects = self.store.list(Some(prefix));
        while let Some(object) = objects.next().await {
            let path = object?.location;
            if is_wanted(path.as_ref()) {
                return Ok(Some(path.as_ref().to_owned()));
            }
        }
        Ok(None)
    }

    /// Deletes the object at `path`.
    pub(super) fn delete(self: &Arc<Self>, path: &Path) -> io::Result<()> {
        let (client, object) = (Arc::clone(self), path.clone());
        let work = async move {
            let _permit = client.in_flight.acquire().await;
            client.store.delete(&object).await
        };
        self.wait(work)?.map_err(|error| self.explain(path, error))
    }

    /// Sends a request, and retries it if the body ends early. The `object_store` crate retries errors before the body.
    async fn fetch(&self, path: &Path, range: GetRange) -> Answer {
        let mut pause = Duration::from_millis(100);
        let mut left = self.retries;
        loop {
            let cut_short = match self.fetch_once(path, range.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(Fetch::Refused(error)) => return Err(error),
                Err(Fetch::CutShort(error)) => error,
            };
            if left == 0 {
                return Err(cut_short);
            }
            left -= 1;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    async fn fetch_once(&self, path: &Path, range: GetRange) -> Result<(Bytes, ObjectMeta), Fetch> {
        let _permit = self.in_flight.acquire().await;
        let options = GetOptions { range: Some(range), ..GetOptions::default() };
        let answer = self.store.get_opts(path, options).await.map_err(Fetch::Refused)?;
        let (meta, expected) = (answer.meta.clone(), answer.range.end - answer.range.start);
        let bytes = answer.bytes().await.map_err(Fetch::CutShort)?;
        if bytes.len() as u64 != expected {
            let what = format!("received {} of {expected} bytes", bytes.len());
            return Err(Fetch::CutShort(Error::Generic { store: "lath", source: what.into() }));
        }
        Ok((bytes, meta))
    }

    /// Whether a failed request may succeed once the object's length is known.
    pub(super) fn may_know_length(&self, error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::Unsupported
    }

    pub(super) fn explain(&self, path: &Path, error: Error) -> io::Error {
        failure::explain(&self.url(path), error)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

/// The reason why a request failed.
enum Fetch {
    /// The store did not answer, or answered every attempt with an error.
    Refused(Error),
    /// The body of the answer was incomplete.
    CutShort(Error),
}
