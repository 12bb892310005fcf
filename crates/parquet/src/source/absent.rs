//! What stands in for stores in a build without the feature `object-store`: nothing is of a store.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;

use super::{StoreOptions, Version};

/// An object of a store, of which there are none.
#[derive(Debug, Clone)]
pub(crate) struct Store(Infallible);

/// An object that a store has.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) url: String,
    pub(crate) len: u64,
    pub(crate) version: Version,
}

/// An object of a store, of which there are none; memory stands in for it.
pub(crate) type ObjectFile = Bytes;

impl Store {
    pub(crate) fn of(_url: &str, options: &StoreOptions) -> io::Result<Self> {
        let StoreOptions { requests_in_flight: _, retries: _, timeout: _ } = options;
        let what = "this build reads no stores; build it with the feature object-store";
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    pub(crate) fn sibling(&self, _key: &str) -> Self {
        match self.0 {}
    }

    pub(crate) fn key(&self) -> &str {
        match self.0 {}
    }

    pub(crate) fn is_web(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn open(&self, _known: Option<&Version>) -> io::Result<(ObjectFile, Version)> {
        match self.0 {}
    }

    pub(crate) fn version(&self) -> io::Result<Version> {
        match self.0 {}
    }

    pub(crate) fn list(&self, _prefix: &str) -> io::Result<Vec<Listed>> {
        match self.0 {}
    }
}
