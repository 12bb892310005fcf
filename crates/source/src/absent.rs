//! Replaces stores in a build without the feature `object-store`: types without values.

use std::convert::Infallible;
use std::io::{self, Write};

use bytes::Bytes;

use super::{Replaces, SentObject, StoreOptions, Version, WebRequest};

/// An object of a store: a type without values.
#[derive(Debug, Clone)]
pub struct Store(Infallible);

/// Connections to stores: none.
#[derive(Debug, Clone, Default)]
pub struct Connections;

impl Connections {
    /// No connection.
    pub fn new() -> Self {
        Self
    }
}

/// A client of web services: a type without values.
#[derive(Debug, Clone)]
pub struct WebClient(Infallible);

impl WebClient {
    /// Always an error in this build.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`].
    pub fn new(_options: &StoreOptions, _: &Connections) -> io::Result<Self> {
        let what = "this build sends no requests; build it with the feature object-store";
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    /// Sends a request.
    ///
    /// # Errors
    /// None: there is no client.
    pub fn send(&self, request: WebRequest) -> io::Result<(u16, Bytes)> {
        let WebRequest { url: _, headers: _, method: _, signing: _ } = request;
        match self.0 {}
    }
}

/// An object in the listing of a store.
#[derive(Debug)]
pub struct ListedObject {
    /// The object's whole URL.
    pub url: String,
    /// Length in bytes.
    pub len: u64,
    /// The state of its contents.
    pub version: Version,
    /// The time of its last change in microseconds since 1970.
    pub modified_micros: i64,
}

/// An upload in parts that was neither completed nor aborted.
#[derive(Debug)]
pub struct UnfinishedUpload {
    /// The URL of the object that it would become.
    pub url: String,
    /// The store's name of the upload.
    pub id: String,
    /// The time at which it was begun, in microseconds since 1970.
    pub begun_micros: i64,
}

/// An object of a store. This build opens none, so the type only has to implement `ByteRanges`.
pub type ObjectFile = Bytes;

impl Store {
    /// Always an error in this build.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`].
    pub fn from_url(_url: &str, options: &StoreOptions, _: &Connections) -> io::Result<Self> {
        let StoreOptions { requests_in_flight: _, retries: _, timeout: _, granted: _ } = options;
        let what = "this build reads no stores; build it with the feature object-store";
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    /// Another object of the same store, by its key.
    pub fn sibling(&self, _key: &str) -> Self {
        match self.0 {}
    }

    /// The path below the bucket or host.
    pub fn key(&self) -> &str {
        match self.0 {}
    }

    /// Whether this is a web server, which cannot list what it has.
    pub fn is_web(&self) -> bool {
        match self.0 {}
    }

    /// The object, before anything of it is read.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn open_unread(&self, _known: &Version) -> io::Result<ObjectFile> {
        match self.0 {}
    }

    /// Opens the object.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn open(&self, _known: Option<&Version>) -> io::Result<(ObjectFile, Version)> {
        match self.0 {}
    }

    /// The state of the object now.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn version(&self) -> io::Result<Version> {
        match self.0 {}
    }

    /// The objects below a directory.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn list(&self, _prefix: &str) -> io::Result<Vec<ListedObject>> {
        match self.0 {}
    }

    /// The objects below a directory whose keys are after another key.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn list_after(&self, _prefix: &str, _after: Option<&str>) -> io::Result<Vec<ListedObject>> {
        match self.0 {}
    }

    /// The key of an object below one of several directories.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn find(&self, _prefixes: &[String], _is_wanted: impl Fn(&str) -> bool) -> io::Result<Option<String>> {
        match self.0 {}
    }

    /// Deletes the object.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn delete(&self, _version: &Version) -> io::Result<()> {
        match self.0 {}
    }

    /// Writes an object by one request.
    ///
    /// # Errors
    /// None: there is no store.
    pub fn put(&self, _bytes: Vec<u8>, _replaces: Replaces) -> io::Result<Version> {
        match self.0 {}
    }

    /// The uploads in parts that were neither completed nor aborted.
    ///
    /// # Errors
    /// None: there is no store.
    pub fn unfinished_uploads(&self) -> io::Result<Vec<UnfinishedUpload>> {
        match self.0 {}
    }

    /// Deletes the parts of an unfinished upload.
    ///
    /// # Errors
    /// None: there is no store.
    pub fn abort_upload(&self, _upload: &UnfinishedUpload) -> io::Result<bool> {
        match self.0 {}
    }

    /// Deletes the object, whatever version it has.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn delete_any(&self) -> io::Result<()> {
        match self.0 {}
    }

    /// Begins an object that another process makes visible.
    ///
    /// # Errors
    /// None: there is no store.
    pub fn upload_for_another(&self) -> io::Result<Upload> {
        match self.0 {}
    }

    /// The upload of an object whose parts another process has sent.
    ///
    /// # Errors
    /// None: there is no store.
    pub fn resume_upload(&self, _object: SentObject) -> io::Result<Upload> {
        match self.0 {}
    }

    /// Begins an object.
    ///
    /// # Errors
    /// None: there is no store.
    pub fn upload(&self, _replaces: Replaces) -> io::Result<Upload> {
        match self.0 {}
    }
}

/// An object under construction: a type without values.
#[derive(Debug)]
pub struct Upload(Infallible);

impl Upload {
    /// Deletes what was sent, from another thread.
    pub fn abort_handle(&self) -> UploadAbort {
        match self.0 {}
    }

    /// Bytes in memory that were not sent.
    pub fn buffered_bytes(&self) -> usize {
        match self.0 {}
    }

    /// Whether nothing was sent.
    pub fn is_unsent(&self) -> bool {
        match self.0 {}
    }

    /// Sends what is in memory.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn send_all(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    /// Sends what is in memory, for another process.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn sent(&mut self) -> io::Result<SentObject> {
        match self.0 {}
    }

    /// Lets the parts stay.
    pub fn leave(self) {
        match self.0 {}
    }

    /// Makes the object visible.
    ///
    /// # Errors
    /// None: there is no object.
    pub fn commit(self) -> io::Result<Version> {
        match self.0 {}
    }
}

impl Write for Upload {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

/// Deletes what an upload has sent: a type without values.
#[derive(Debug, Clone)]
pub struct UploadAbort(Infallible);

impl UploadAbort {
    /// Deletes what was sent.
    pub fn abort(&self) {
        match self.0 {}
    }
}
