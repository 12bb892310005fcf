use std::fmt::Debug;
use std::sync::Arc;

use lath_source::{ByteRanges, Version};

/// A cache of the bytes of objects outside of the process's memory ([`DatasetOptions::object_cache`](super::DatasetOptions::object_cache)).
///
/// Objects whose version is known before they are opened are read through it.
pub trait ObjectCache: Send + Sync + Debug {
    /// The object at the URL `location` in `version`, read through the cache. `object` sends a request for each range that it reads.
    fn cached(&self, location: &str, version: &Version, object: Arc<dyn ByteRanges>) -> Arc<dyn ByteRanges>;
}
