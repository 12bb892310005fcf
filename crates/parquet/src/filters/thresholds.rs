//! Tuning constants for computing and placing filters. "Not measured" means that the value was chosen by the given reasoning.

/// Scans of a row group without a match, after which a filter of its values is computed. Computing takes about as long as two
/// such scans, so that the total cost is at most twice the optimum. The value follows from that bound and was not tuned. Gain
/// (1,000 files with filters, two threads, after 800 lookups): a miss takes 2.1 ms instead of 6.2, a hit 2.6 instead of 7.1;
/// files without filters: 8 ms instead of 400.
pub(super) const EMPTY_SCANS_BEFORE_COMPUTING: u8 = 2;

/// Minimum bytes of a bitset that is copied to its own huge pages. Not measured: a huge page has 2 MiB, so that at most a third
/// of the memory is unused.
pub(super) const MIN_HUGE_PAGE_BYTES: usize = 4 << 20;

/// Maximum counted cost of reading blocks of a filter, in blocks: the maximum of 20 bits. A filter has at most 2³¹ bytes and is
/// cached once the blocks cost as much, which is 2¹⁹ blocks of 4 KiB each.
pub(super) const MAX_READ_COST: u64 = (1 << 20) - 1;

/// Maximum bytes of a filter's header. Not measured: headers of all known writers have about 17.
pub(crate) const MAX_HEADER_LEN: u64 = 64;
