//! Evidence of Bloom filters: a value is not in a column chunk.
//!
//! A filter proves absence and nothing else. So it helps equality, IN lists, patterns without wildcards and elements of lists,
//! where such a test alone decides. Keys of an IN list that a filter rules out are not tested on the rows.
//!
//! A filter is not used (nothing is ruled out) if a value could be stored in several ways ([`keys`]), or if the filter is
//! encrypted, does not lie within the file, or has a header that is malformed, of an unknown kind, or inconsistent with the
//! footer. A key costs the 32 bytes of its block. The whole filter is read if that costs no more, or to be cached
//! ([`FilterMemory`](crate::FilterMemory)). A filter of a row group's values is computed after repeated scans for keys without a
//! match ([`computed`]).

mod computed;
mod keys;
mod pending;
mod probe;
mod results;
mod sample;

pub(crate) use computed::ComputedFilter;
pub(crate) use keys::{KeyKind, Keys, array_hashes, second_hash};
pub(crate) use probe::{Lookup, probe, probe_cached};
pub(crate) use results::ProbeResults;
pub use sample::bloom_filter_sample;
