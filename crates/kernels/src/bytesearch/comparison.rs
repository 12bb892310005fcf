//! Comparisons of a byte with the key, as types: each function of a tier is compiled once for each.

/// The kind of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Equal,
    AtMost,
    Below,
}

pub(super) trait Comparison: Copy {
    const KIND: Kind;
}

#[derive(Clone, Copy)]
pub(super) struct Equal;

#[derive(Clone, Copy)]
pub(super) struct AtMost;

#[derive(Clone, Copy)]
pub(super) struct Below;

impl Comparison for Equal {
    const KIND: Kind = Kind::Equal;
}

impl Comparison for AtMost {
    const KIND: Kind = Kind::AtMost;
}

impl Comparison for Below {
    const KIND: Kind = Kind::Below;
}
