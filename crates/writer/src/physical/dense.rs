//! Removes the slots of nulls from values.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int16Type, Int64Type, UInt8Type, UInt16Type, UInt64Type};
use arrow_buffer::bit_iterator::BitSliceIterator;
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use lath_kernels::select;
use lath_parquet::{Error, Result};

/// Number of present slots.
fn count(present: &NullBuffer) -> usize {
    present.len() - present.null_count()
}

pub(super) fn bits(values: &BooleanBuffer, present: Option<&NullBuffer>) -> Result<BooleanBuffer> {
    let Some(present) = present else { return Ok(values.clone()) };
    let count = count(present);
    let mut out = MutableBuffer::from_len_zeroed(count.div_ceil(8));
    let (selection, len) = (present.inner(), present.len());
    let selected = (selection.values(), selection.offset());
    select::compress_bits(values.values(), values.offset(), selected.0, selected.1, len, &mut out, 0)?;
    Ok(BooleanBuffer::new(out.into(), 0, count))
}

pub(super) fn words32(data: &ArrayData, present: Option<&NullBuffer>) -> Result<ScalarBuffer<u32>> {
    let words = first_buffer::<u32>(data)?;
    let Some(present) = present else { return Ok(words) };
    let mut out = vec![0; count(present)];
    let selection = present.inner();
    select::compress_u32(&words, selection.values(), selection.offset(), &mut out)?;
    Ok(out.into())
}

pub(super) fn words64(data: &ArrayData, present: Option<&NullBuffer>) -> Result<ScalarBuffer<u64>> {
    let words = first_buffer::<u64>(data)?;
    let Some(present) = present else { return Ok(words) };
    let mut out = vec![0; count(present)];
    let selection = present.inner();
    select::compress_u64(&words, selection.values(), selection.offset(), &mut out)?;
    Ok(out.into())
}

/// Values of `width` bytes.
pub(super) fn bytes(data: &ArrayData, width: usize, present: Option<&NullBuffer>) -> Result<Buffer> {
    let Some(buffer) = data.buffers().first() else { return Err(no_buffer(data)) };
    let (start, len) = (data.offset() * width, data.len() * width);
    if buffer.len() < start + len {
        return Err(no_buffer(data));
    }
    let bytes = buffer.slice_with_length(start, len);
    let Some(present) = present else { return Ok(bytes) };
    let (count, selection) = (count(present), present.inner());
    macro_rules! as_words {
        ($word:ty, $compress:ident) => {{
            let (before, words, after) = bytemuck::pod_align_to::<u8, $word>(&bytes);
            if before.is_empty() && after.is_empty() {
                let mut out: Vec<$word> = vec![0; count];
                select::$compress(words, selection.values(), selection.offset(), &mut out)?;
                return Ok(Buffer::from_vec(out));
            }
        }};
    }
    match width {
        1 => as_words!(u8, compress_u8),
        2 => as_words!(u16, compress_u16),
        4 => as_words!(u32, compress_u32),
        8 => as_words!(u64, compress_u64),
        16 => {
            let (before, words, after) = bytemuck::pod_align_to::<u8, u128>(&bytes);
            if before.is_empty() && after.is_empty() {
                let mut out: Vec<u128> = vec![0; count];
                select::compress_u128(words, selection.values(), selection.offset(), &mut out)?;
                return Ok(Buffer::from(bytemuck::cast_slice::<u128, u8>(&out)));
            }
        }
        _ => {}
    }
    let mut out = MutableBuffer::with_capacity(count * width);
    for (from, to) in BitSliceIterator::new(selection.values(), selection.offset(), selection.len()) {
        out.extend_from_slice(&bytes[from * width..to * width]);
    }
    Ok(out.into())
}

/// Keys of a dictionary array as 32-bit codes.
pub(super) fn keys(keys: &dyn Array, present: Option<&NullBuffer>) -> Result<ScalarBuffer<u32>> {
    let codes = match keys.data_type() {
        DataType::Int8 => widened::<Int8Type>(keys),
        DataType::Int16 => widened::<Int16Type>(keys),
        DataType::Int32 => first_buffer::<u32>(&keys.to_data())?,
        DataType::Int64 => widened::<Int64Type>(keys),
        DataType::UInt8 => widened::<UInt8Type>(keys),
        DataType::UInt16 => widened::<UInt16Type>(keys),
        DataType::UInt32 => first_buffer::<u32>(&keys.to_data())?,
        DataType::UInt64 => widened::<UInt64Type>(keys),
        other => return Err(Error::unsupported(format!("dictionary keys of type {other}"))),
    };
    let Some(present) = present else { return Ok(codes) };
    let mut out = vec![0; count(present)];
    let selection = present.inner();
    select::compress_u32(&codes, selection.values(), selection.offset(), &mut out)?;
    Ok(out.into())
}

fn widened<K: ArrowDictionaryKeyType>(keys: &dyn Array) -> ScalarBuffer<u32> {
    // A key that does not fit stays out of range of any dictionary, or belongs to a null.
    let code = |key: &K::Native| u32::try_from(key.as_usize()).unwrap_or(u32::MAX);
    keys.as_primitive::<K>().values().iter().map(code).collect()
}

fn first_buffer<T: ArrowNativeType>(data: &ArrayData) -> Result<ScalarBuffer<T>> {
    match data.buffers().first() {
        Some(buffer) => Ok(ScalarBuffer::new(buffer.clone(), data.offset(), data.len())),
        None => Err(no_buffer(data)),
    }
}

fn no_buffer(data: &ArrayData) -> Error {
    Error::invalid(format!("an array of {} without its values", data.data_type()))
}
