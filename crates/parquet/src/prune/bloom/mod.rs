//! What Bloom filters know: that a value is not in a column chunk.
//!
//! A filter proves absence and nothing else, so that it helps equality, IN lists, patterns without wildcards and elements of
//! lists, where such a test alone decides. Of an IN list, the keys that a filter rules out are not looked for in the rows.
//!
//! It is passed over (nothing is ruled out) where a value could be stored in several ways ([`keys`]), where the filter is
//! encrypted, does not lie within the file, or has a header that is malformed, of another kind, or at odds with the
//! footer. A key costs the 32 bytes of its block; the whole filter is read where that costs no more, or to be kept
//! ([`FilterMemory`]). Where values were read for keys in vain more than once, a filter of them is made ([`made`]).

mod keys;
mod made;
mod probe;
mod sample;

pub(crate) use keys::{KeyKind, Keys, second_hash};
pub(crate) use made::Making;
pub(crate) use probe::{Answers, Lookup, probe, probe_kept};
pub(crate) use sample::sample;
