//! The record of a row change: its kind, and the row.

use crate::error::{Error, Result};
use crate::row::{HotValue, value_codec};

/// Kind of a change of a row in one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Insert = 1,
    Update = 2,
    Delete = 3,
}

impl ChangeKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    pub(crate) fn from_record(value: &[u8]) -> Result<Self> {
        match value.first() {
            Some(1) => Ok(Self::Insert),
            Some(2) => Ok(Self::Update),
            Some(3) => Ok(Self::Delete),
            _ => Err(Error::corrupt("a change is of no kind")),
        }
    }
}

/// A change as it is in the store.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    pub(crate) kind: ChangeKind,
    pub(crate) stamp: u64,
    pub(crate) key: &'a [u8],
    pub(crate) schema: u32,
    /// The value columns; empty if the row was deleted.
    pub(crate) row: &'a [u8],
}

impl<'a> Change<'a> {
    pub(crate) fn parse(tree_key: &'a [u8], value: &'a [u8]) -> Result<Self> {
        let kind = ChangeKind::from_record(value)?;
        let (stamp, key) =
            tree_key.split_first_chunk::<8>().ok_or_else(|| Error::corrupt("the key of a change is too short"))?;
        let seed = [tree_key, &value[..1]].concat();
        let HotValue { stamp: checked, schema, row } = value_codec::parse(&seed, &value[1..])?;
        let stamp = u64::from_be_bytes(*stamp);
        if checked != stamp {
            return Err(Error::corrupt("a change has the stamp of another commit"));
        }
        Ok(Self { kind, stamp, key, schema, row })
    }
}
