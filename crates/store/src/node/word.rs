//! A reference to a child and how many keys are below it, in eight bytes.

/// References are below this.
pub(crate) const REFERENCE_LIMIT: u64 = 1 << 40;

/// How many keys are below is kept up to here; a larger number stands in the child itself, an inner node.
pub(crate) const COUNT_LIMIT: u64 = (1 << 24) - 1;

/// ```text
/// 63      40 39                   0
/// │ count   │ reference in units  │   count 2^24 - 1: look into the child
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Word(u64);

impl Word {
    /// Refers to nothing: an empty tree.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn new(reference: u64, count: u64) -> Self {
        debug_assert!(reference < REFERENCE_LIMIT);
        Self(reference | count.min(COUNT_LIMIT) << 40)
    }

    #[inline]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) fn reference(self) -> u64 {
        self.0 & (REFERENCE_LIMIT - 1)
    }

    pub(crate) fn is_none(self) -> bool {
        self.reference() == 0
    }

    /// How many keys are below, unless they are so many that only the child says it.
    #[inline]
    pub(crate) fn count(self) -> Option<u64> {
        let count = self.0 >> 40;
        (count < COUNT_LIMIT).then_some(count)
    }
}
