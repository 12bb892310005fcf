//! Runs of units, the granularity of nodes and of free space.

/// Bytes of a unit. Nodes start at a multiple of it and take a whole number of units.
pub(crate) const UNIT: u64 = 64;

/// The size of the system's huge pages, which map the data file where possible.
pub(crate) const HUGE_PAGE: u64 = 2 << 20;

/// The length of the data area of a new store.
pub(crate) const FIRST_LEN: u64 = 1 << 16;

/// The write transaction that made a node or a commit. A savepoint begins another generation. Generations grow and
/// never repeat.
pub(crate) type Generation = u64;

/// A run of units in the data area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Extent {
    /// The first unit, counted from the start of the data area. Less than 2^40.
    pub(crate) start: u64,
    /// The number of units, at least 1.
    pub(crate) units: u32,
}

impl Extent {
    pub(crate) fn end(self) -> u64 {
        self.start + u64::from(self.units)
    }
}
