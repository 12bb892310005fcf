//! A reference to a child and the number of keys below it, in eight bytes.

/// References are less than this.
pub(crate) const REFERENCE_LIMIT: u64 = 1 << 40;

/// Counts of keys up to this are in the word; the child itself, an inner node, has a larger one.
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

    /// The number of keys below, unless it is too large for the word, so that only the child has it.
    #[inline]
    pub(crate) fn count(self) -> Option<u64> {
        let count = self.0 >> 40;
        (count < COUNT_LIMIT).then_some(count)
    }
}
