//! What a caller can choose about pruning.

use std::sync::Arc;

use crate::filters::FilterMemory;

/// Which evidence is used to pass over row groups and pages. The rows found are the same whatever is chosen.
///
/// ```
/// use lath_parquet::Pruning;
///
/// let mut pruning = Pruning::default();
/// pruning.bloom = false;
/// assert!(pruning.statistics && pruning.dictionary && pruning.page_index);
/// ```
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Pruning {
    /// Whether statistics of column chunks, which are in the footer, are used.
    pub statistics: bool,
    /// Whether Bloom filters are used.
    pub bloom: bool,
    /// Whether dictionary pages of chunks that are dictionary-encoded throughout are used.
    pub dictionary: bool,
    /// Whether column and offset indexes are used, also to find the pages of rows that are left.
    pub page_index: bool,
    /// Most bytes of a dictionary page, as it is stored, that is read to rule out its column chunk. It also has to be less
    /// than a quarter of the chunk.
    pub dictionary_bytes: u64,
    /// How many times as long as its dictionary page a chunk has to be.
    pub(super) dictionary_share: u64,
    /// Where Bloom filters are kept, all of them whole when they are first needed; `None` leaves it to the cache of footers, which
    /// keeps those that are asked again ([`FooterCache`](crate::FooterCache)).
    pub filter_memory: Option<Arc<FilterMemory>>,
    /// Whether filters are made, in the same memory, of row groups that were read for keys in vain twice: of files without Bloom
    /// filters, and second ones where those of a file let keys pass that are not there. They take a byte a row each, and the time of
    /// reading the column once more. Nothing is made where `bloom` is off.
    pub makes_filters: bool,
}

impl Pruning {
    /// Default for [`Pruning::dictionary_bytes`]: 1 MiB, as much as most writers let a dictionary have.
    pub const DEFAULT_DICTIONARY_BYTES: u64 = 1 << 20;

    const DEFAULT_DICTIONARY_SHARE: u64 = 4;

    /// No evidence at all: every row is tested.
    pub fn none() -> Self {
        Self { statistics: false, bloom: false, dictionary: false, page_index: false, ..Self::default() }
    }
}

impl Default for Pruning {
    /// All kinds of evidence; Bloom filters are kept with footers at most.
    fn default() -> Self {
        Self {
            statistics: true,
            bloom: true,
            dictionary: true,
            page_index: true,
            dictionary_bytes: Self::DEFAULT_DICTIONARY_BYTES,
            dictionary_share: Self::DEFAULT_DICTIONARY_SHARE,
            filter_memory: None,
            makes_filters: true,
        }
    }
}
