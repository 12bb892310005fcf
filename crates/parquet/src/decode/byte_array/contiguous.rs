//! Values that pages hold one after another (DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY) to arrays with offsets: their bytes
//! are copied as a whole and their lengths summed up, and no view is made of any.

#![expect(unsafe_code, reason = "string arrays of validated parts skip Arrow's own, value-by-value validation")]

use std::sync::Arc;

use arrow_array::{ArrayRef, GenericBinaryArray, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use lath_kernels::{delta, select};

use super::super::aligned::AlignedBytes;
use super::super::page_values::Slots;
use super::ByteArrayOutput;
use crate::error::{Error, Result};

/// The values of a batch so far.
#[derive(Debug, Default)]
pub(super) struct Contiguous {
    /// An `i32` per slot, zero for a null.
    lengths: AlignedBytes,
    bytes: AlignedBytes,
    offsets: AlignedBytes,
}

impl Contiguous {
    pub(super) fn is_empty(&self) -> bool {
        self.lengths.as_slice().is_empty()
    }

    /// Room for the lengths of more slots; [`Contiguous::spread`] follows once the valid ones are at its end.
    pub(super) fn grow(&mut self, slots: Slots<'_>) -> &mut [i32] {
        let region: &mut [i32] = bytemuck::cast_slice_mut(self.lengths.grow(slots.count * 4));
        &mut region[slots.count - slots.value_count..]
    }

    /// Moves the lengths that the last [`Contiguous::grow`] made room for to their slots.
    pub(super) fn spread(&mut self, slots: Slots<'_>) -> Result<()> {
        if let Some((bits, at)) = slots.validity {
            let lengths: &mut [i32] = bytemuck::cast_slice_mut(self.lengths.as_mut_slice());
            let start = lengths.len() - slots.count;
            let region: &mut [u32] = bytemuck::cast_slice_mut(&mut lengths[start..]);
            select::expand_in_place_u32(region, slots.value_count, bits, at)?;
        }
        Ok(())
    }

    /// Appends the bytes of values whose lengths follow.
    pub(super) fn push_bytes(&mut self, bytes: &[u8], output: ByteArrayOutput) -> Result<()> {
        let total = self.bytes.as_slice().len() as u64 + bytes.len() as u64;
        if output == ByteArrayOutput::Offsets32 && total > i32::MAX as u64 {
            return Err(too_many_bytes(total));
        }
        self.bytes.grow(bytes.len()).copy_from_slice(bytes);
        Ok(())
    }

    /// Lengths and bytes, to be made views of after all.
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

/// The sum of `lengths`, which must not be negative.
pub(super) fn sum(lengths: &[i32]) -> Result<usize> {
    let (signs, sum) = lengths.iter().fold((0, 0u64), |(signs, sum), &len| (signs | len, sum + u64::from(len as u32)));
    if signs < 0 {
        return Err(Error::corrupt("a string of negative length"));
    }
    usize::try_from(sum).map_err(|_| Error::limit("string bytes of a page", usize::MAX as u64, sum))
}

fn too_many_bytes(total: u64) -> Error {
    Error::limit("string bytes of a batch (read as views, or with a smaller batch size)", i32::MAX as u64, total)
}
