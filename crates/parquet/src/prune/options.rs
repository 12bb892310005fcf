//! Options of pruning.

use std::sync::Arc;

use super::thresholds;
use crate::filters::FilterMemory;

/// Kinds of evidence for ruling out row groups and pages. The rows found are the same with any choice.
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
    /// Whether column and offset indexes are used, also to find the pages of the remaining rows.
    pub page_index: bool,
    /// Maximum bytes of a dictionary page, as stored, that is read to rule out its column chunk. The page also has to be less
    /// than a quarter of the chunk.
    pub dictionary_bytes: u64,
    /// A chunk has to be more than this many times as long as its dictionary page.
    pub(super) dictionary_share: u64,
    /// Memory for caching Bloom filters, each when it is first probed; with `None` the footer cache caches filters that are
    /// probed often ([`FooterCache`](crate::FooterCache)).
    pub filter_memory: Option<Arc<FilterMemory>>,
    /// Whether filters are computed, in the same memory, for row groups that were scanned for keys twice without a match: for
    /// files without Bloom filters, and second filters for files whose filters have false positives. Each takes one byte per row
    /// and reads the column once more. Off if `bloom` is off, or if the runtime turns it off
    /// ([`RuntimeBuilder::computed_filters`](crate::RuntimeBuilder::computed_filters)).
    pub computed_filters: bool,
}

impl Pruning {
    /// Default for [`Pruning::dictionary_bytes`]: 1 MiB, the limit of most writers for a dictionary.
    pub const DEFAULT_DICTIONARY_BYTES: u64 = thresholds::DEFAULT_DICTIONARY_BYTES;

    /// No evidence: every row is tested.
    pub fn none() -> Self {
        Self { statistics: false, bloom: false, dictionary: false, page_index: false, ..Self::default() }
    }
}

impl Default for Pruning {
    /// All kinds of evidence, and computed filters; Bloom filters are cached with footers.
    fn default() -> Self {
        Self {
            statistics: true,
            bloom: true,
            dictionary: true,
            page_index: true,
            dictionary_bytes: Self::DEFAULT_DICTIONARY_BYTES,
            dictionary_share: thresholds::DICTIONARY_SHARE,
            filter_memory: None,
            computed_filters: true,
        }
    }
}
