//! Tuning constants for reading evidence, each with its measurement. "Not measured" means that the value was chosen by the given
//! reasoning. The constants of cached filters are in `filters/thresholds.rs`, which does not depend on pruning.

// Row groups.

/// Maximum row groups that go through all kinds of evidence together. More make larger requests, but less of their metadata stays
/// in the processor's cache. Not measured: it bounds memory, and is enough for requests to a store to overlap.
pub(super) const MAX_ROW_GROUPS_TOGETHER: usize = 4096;

/// Maximum row groups whose dictionary pages or page indexes are in memory at a time. Not measured: it bounds memory (64 dictionaries
/// of 1 MiB), and is enough for requests to a store to overlap.
pub(super) const MAX_ROW_GROUPS_READ_TOGETHER: usize = 64;

// Bloom filters.

/// Maximum row groups of a file that is probed together with others for a single key. With more, one file has enough filters for
/// cache misses to overlap. Not measured.
pub(super) const MAX_ROW_GROUPS_OF_SHARED_PROBE: usize = 64;

/// The cost of reading one block, in bytes of a filter that is read whole: reading 32 bytes of a file that the system has cached
/// takes about as long as copying 4 KiB. Once the blocks read from a filter have cost as much as the whole filter, it is read and
/// cached, so that the total cost is at most twice the optimum. Slow requests also cost
/// [`ByteRanges::request_cost_bytes`](crate::ByteRanges::request_cost_bytes) each. Caching filters of 64 KiB at the second query
/// instead of the 17th made that query of 1,000 files take 120 to 360 ms; others take 12 ms.
pub(super) const BLOCK_COST_BYTES: usize = 4096;

/// Rows for each block of 256 bits in a computed filter, which is a byte a row: the false positive rate is 2.5 % then. More rows take
/// less memory and have more false positives.
pub(super) const ROWS_PER_BLOCK: u64 = 32;

/// Maximum bytes of a filter that are read to estimate its set bits. Keys are spread evenly over blocks, so that the first 32,768
/// blocks suffice. Not measured: it bounds the bytes read.
pub(super) const MAX_SAMPLE_BYTES: u64 = 1 << 20;

// Dictionary pages.

/// Default for [`Pruning::dictionary_bytes`](super::Pruning::dictionary_bytes). Not measured: it bounds the bytes read, and is
/// the limit that most writers set for a dictionary.
pub(super) const DEFAULT_DICTIONARY_BYTES: u64 = 1 << 20;

/// A dictionary page is read only if its column chunk is more than this many times as long. Not measured: if the page rules out
/// nothing, at most a quarter of the chunk's bytes was read in addition.
pub(super) const DICTIONARY_SHARE: u64 = 4;
