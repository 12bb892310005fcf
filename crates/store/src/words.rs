//! Numbers in a row, for the state that one process saves and another restores.

use crate::error::{Error, Result};
use crate::extent::Extent;

/// Numbers to save.
#[derive(Debug, Default)]
pub(crate) struct WordWriter(Vec<u64>);

impl WordWriter {
    pub(crate) fn put(&mut self, word: u64) {
        self.0.push(word);
    }

    pub(crate) fn put_len(&mut self, len: usize) {
        self.put(len as u64);
    }

    pub(crate) fn put_option(&mut self, word: Option<u64>) {
        self.put(word.is_some().into());
        self.put(word.unwrap_or(0));
    }

    pub(crate) fn put_extent(&mut self, extent: Extent) {
        self.put(extent.start);
        self.put(extent.units.into());
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Reads what a [`WordWriter`] has saved.
#[derive(Debug)]
pub(crate) struct WordReader<'a>(&'a [[u8; 8]]);

impl<'a> WordReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.as_chunks().0)
    }

    pub(crate) fn next(&mut self) -> Result<u64> {
        let Some((first, rest)) = self.0.split_first() else { return Err(wrong()) };
        self.0 = rest;
        Ok(u64::from_le_bytes(*first))
    }

    /// The number of items that follow.
    pub(crate) fn next_len(&mut self) -> Result<usize> {
        let len = self.next()? as usize;
        if len > self.0.len() { Err(wrong()) } else { Ok(len) }
    }

    pub(crate) fn next_flag(&mut self) -> Result<bool> {
        Ok(self.next()? != 0)
    }

    pub(crate) fn next_option(&mut self) -> Result<Option<u64>> {
        let (is_some, word) = (self.next_flag()?, self.next()?);
        Ok(is_some.then_some(word))
    }

    pub(crate) fn next_extent(&mut self) -> Result<Extent> {
        let (start, units) = (self.next()?, self.next()?);
        Ok(Extent { start, units: u32::try_from(units).map_err(|_| wrong())? })
    }
}

fn wrong() -> Error {
    Error::internal("the state that another process left for the next writer is incomplete")
}
