//! Buffers of the views of a batch.

use arrow_buffer::Buffer;

use crate::error::{Error, Result};

/// The dictionary's buffer, if there is one, is the first.
#[derive(Debug, Default)]
pub(super) struct ViewedBuffers {
    buffers: Vec<Buffer>,
}

impl ViewedBuffers {
    /// The index of a page's buffer, which is added on first use.
    pub(super) fn register(&mut self, index: &mut Option<u32>, buffer: &Buffer) -> Result<u32> {
        if let Some(index) = *index {
            return Ok(index);
        }
        let new = i32::try_from(self.buffers.len());
        let new = new.map_err(|_| Error::limit("buffers of a batch", i32::MAX as u64, u64::MAX))?;
        self.buffers.push(buffer.clone());
        *index = Some(new as u32);
        Ok(new as u32)
    }

    /// Starts a batch, with the buffer of the dictionary if the chunk has one.
    pub(super) fn start(&mut self, dictionary: Option<Buffer>) {
        self.buffers.clear();
        self.buffers.extend(dictionary);
    }

    /// Replaces the empty buffer of a released dictionary.
    pub(super) fn restore_dictionary(&mut self, bytes: Buffer) {
        match self.buffers.first_mut() {
            Some(place) => *place = bytes,
            None => self.buffers.push(bytes),
        }
    }

    /// The batch's buffers.
    pub(super) fn take(&mut self) -> Vec<Buffer> {
        std::mem::take(&mut self.buffers)
    }

    pub(super) fn to_vec(&self) -> Vec<Buffer> {
        self.buffers.clone()
    }

    pub(super) fn set(&mut self, buffers: Vec<Buffer>) {
        self.buffers = buffers;
    }
}
