//! Rows that a source of a merge has read.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_row::Rows;

use crate::row::ByteList;

/// A batch of a source, some rows of which were handed out.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) keys: EncodedKeys,
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) at: usize,
    pub(crate) len: usize,
}

/// The bytes that rows are ordered by.
#[derive(Debug)]
pub(crate) enum EncodedKeys {
    Rows(Rows),
    List(ByteList),
    Shared(Arc<ByteList>),
}

impl EncodedKeys {
    pub(crate) fn get(&self, at: usize) -> &[u8] {
        match self {
            Self::Rows(rows) => rows.row(at).data(),
            Self::List(list) => list.get(at),
            Self::Shared(list) => list.get(at),
        }
    }
}

impl Current {
    pub(crate) fn key(&self) -> &[u8] {
        self.keys.get(self.at)
    }
}
