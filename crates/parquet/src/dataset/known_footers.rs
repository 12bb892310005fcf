use std::fmt::Debug;

use bytes::Bytes;
use lath_source::Version;

/// Storage for ends of files outside the process, so that footers need not be read again: for example, a catalog.
///
/// With [`DatasetOptions::known_footers`](super::DatasetOptions::known_footers), a dataset requests ends that are not in the
/// footer cache, and stores ends that it has read.
pub trait KnownFooters: Send + Sync + Debug {
    /// The last bytes of the file at `location` in `version`, from its footer on.
    fn get(&self, location: &str, version: &Version) -> Option<Bytes>;

    /// Other parts of the file in `version`, each with its offset, sorted and disjoint: page indexes, filters. Called only if
    /// reading them would cost a request. None by default.
    fn parts(&self, location: &str, version: &Version) -> Vec<(u64, Bytes)> {
        let _ = (location, version);
        Vec::new()
    }

    /// Stores the last bytes of a file, from its footer on.
    fn put(&self, location: &str, version: &Version, end: Bytes);
}
