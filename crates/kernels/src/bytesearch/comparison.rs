//! What a byte is compared with the key for, as types: each function of a tier is compiled once for each.

/// How a byte compares with the key.
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
