//! Copies values that pages store one after another (DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY) to arrays with offsets: their
//! bytes are copied as a whole and their lengths are summed up, without views.

#![expect(unsafe_code, reason = "string arrays of validated parts skip Arrow's own, value-by-value validation")]

use std::sync::Arc;

use arrow_array::{ArrayRef, GenericBinaryArray, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use lath_kernels::{delta, select};

use super::output::ByteArrayOutput;
use super::page::Page;
use crate::decode::aligned::AlignedBytes;
use crate::decode::page_values::{Slots, values_missing};
use crate::decode::strings::check_utf8_whole;
use crate::error::{Error, Result};

/// The values of a batch so far.
#[derive(Debug, Default)]
pub(super) struct Contiguous {
    /// An `i32` per slot, zero for a null.
    lengths: AlignedBytes,
    bytes: AlignedBytes,
    offsets: AlignedBytes,
    /// Lengths of joined values, before they are moved to their slots.
    joined_lengths: Vec<i32>,
}

impl Contiguous {
    pub(super) fn is_empty(&self) -> bool {
        self.lengths.as_slice().is_empty()
    }

    /// Appends slots; valid slots take the next values of a page that stores its values one after another.
    pub(super) fn append(
        &mut self,
        page: &mut Page,
        slots: Slots<'_>,
        utf8: bool,
        output: ByteArrayOutput,
    ) -> Result<()> {
        match page {
            Page::DeltaLength(page) => {
                let (lengths, bytes) = page.take(slots.value_count)?;
                if utf8 {
                    check_utf8_whole(bytes, 0..bytes.len(), lengths)?;
                }
                self.push_bytes(bytes, output)?;
                self.push_lengths(lengths, slots)
            }
            Page::DeltaByteArray(stream) => {
                let mut joined = std::mem::take(&mut self.joined_lengths);
                joined.clear();
                while joined.len() < slots.value_count {
                    let (bytes, lengths) = stream.next(slots.value_count - joined.len())?;
                    if utf8 {
                        check_utf8_whole(&bytes, 0..bytes.len(), lengths)?;
                    }
                    self.push_bytes(&bytes, output)?;
                    joined.extend_from_slice(lengths);
                }
                self.push_lengths(&joined, slots)?;
                self.joined_lengths = joined;
                Ok(())
            }
            Page::Plain { .. } | Page::Dictionary(_) => Err(values_missing()),
        }
    }

    /// Appends slots; valid slots have `lengths`.
    fn push_lengths(&mut self, lengths: &[i32], slots: Slots<'_>) -> Result<()> {
        let region: &mut [i32] = bytemuck::cast_slice_mut(self.lengths.grow(slots.count * 4));
        region[slots.count - slots.value_count..].copy_from_slice(lengths);
        if let Some((bits, at)) = slots.validity {
            select::expand_in_place_u32(bytemuck::cast_slice_mut(region), slots.value_count, bits, at)?;
        }
        Ok(())
    }

    /// Appends the bytes of values whose lengths follow.
    fn push_bytes(&mut self, bytes: &[u8], output: ByteArrayOutput) -> Result<()> {
        let total = self.bytes.as_slice().len() as u64 + bytes.len() as u64;
        if output == ByteArrayOutput::Offsets32 && total > i32::MAX as u64 {
            return Err(too_many_bytes(total));
        }
        self.bytes.grow(bytes.len()).copy_from_slice(bytes);
        Ok(())
    }

    /// Takes lengths and bytes, to build views of them after all.
    pub(super) fn take(&mut self) -> (Buffer, Buffer) {
        (self.lengths.finish(), self.bytes.finish())
    }

    pub(super) fn finish<O: OffsetSizeTrait>(
        &mut self,
        data_type: &DataType,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let lengths: &[i32] = bytemuck::cast_slice(self.lengths.as_slice());
        let count = lengths.len();
        self.offsets.clear();
        let offsets = self.offsets.grow((count + 1) * size_of::<O>());
        offsets[..size_of::<O>()].fill(0);
        let ends = &mut offsets[size_of::<O>()..];
        let end = if O::IS_LARGE {
            delta::lengths_to_offsets_i64(lengths, 0, bytemuck::cast_slice_mut(ends))? as usize
        } else {
            delta::lengths_to_offsets_i32(lengths, 0, bytemuck::cast_slice_mut(ends))? as usize
        };
        debug_assert_eq!(end, self.bytes.as_slice().len());
        self.lengths.clear();
        let offsets = ScalarBuffer::<O>::new(self.offsets.finish(), 0, count + 1);
        // SAFETY: the first offset is 0 and the kernel wrote each of the others as the one before plus a length.
        let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
        let bytes = self.bytes.finish();
        Ok(if matches!(data_type, DataType::Utf8 | DataType::LargeUtf8) {
            // SAFETY: the last offset is the number of bytes, since the bytes of every length were appended; every value
            // was checked to be UTF-8 when it was appended.
            Arc::new(unsafe { GenericStringArray::<O>::new_unchecked(offsets, bytes, nulls) })
        } else {
            // SAFETY: the last offset is the number of bytes, since the bytes of every length were appended.
            Arc::new(unsafe { GenericBinaryArray::<O>::new_unchecked(offsets, bytes, nulls) })
        })
    }
}

fn too_many_bytes(total: u64) -> Error {
    Error::limit("string bytes of a batch (read as views, or with a smaller batch size)", i32::MAX as u64, total)
}
