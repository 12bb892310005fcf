use std::fmt::Debug;

use bytes::Bytes;
use lath_source::Version;

/// Where ends of files are kept beyond the process, so that footers need not be read again: a catalog, say.
///
/// [`DatasetOptions::known_footers`](super::DatasetOptions::known_footers) has a dataset ask it for what is not in the cache of
/// footers, and tell it what was read.
pub trait KnownFooters: Send + Sync + Debug {
    /// The last bytes of the file at `location` in the state `version`, from its footer on.
    fn get(&self, location: &str, version: &Version) -> Option<Bytes>;

    /// Other parts of the file in the state `version`, each with its offset, sorted and disjoint: page indexes, filters. They are
    /// asked for only where reading them would cost a request. None by default.
    fn parts(&self, location: &str, version: &Version) -> Vec<(u64, Bytes)> {
        let _ = (location, version);
        Vec::new()
    }

    /// Takes note of the last bytes of a file, from its footer on.
    fn put(&self, location: &str, version: &Version, end: Bytes);
}
