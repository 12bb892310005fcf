//! Runs of units: what nodes lie in and what free space is counted in.

/// Bytes of a unit. Nodes start at a multiple of it and take a whole number of units.
pub(crate) const UNIT: u64 = 64;

/// Bytes of the system's huge pages, which the data file is mapped by where it can be.
pub(crate) const HUGE_PAGE: u64 = 2 << 20;

/// Which write transaction, or part of one after a savepoint, made a node or a commit. Grows and never repeats.
pub(crate) type Generation = u64;

/// A run of units in the data area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Extent {
    /// The first unit, counted from the start of the data area. Less than 2^40.
    pub(crate) start: u64,
    /// How many there are, at least 1.
    pub(crate) units: u32,
}

impl Extent {
    pub(crate) fn end(self) -> u64 {
        self.start + u64::from(self.units)
    }
}
