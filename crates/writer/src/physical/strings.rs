use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use lath_kernels::{ByteStrings, select};
use lath_parquet::{Error, Result};

/// Byte strings in Arrow's layouts, without nulls.
#[derive(Debug, Clone)]
pub(crate) enum Strings {
    Offsets32 {
        offsets: ScalarBuffer<i32>,
        data: Buffer,
    },
    Offsets64 {
        offsets: ScalarBuffer<i64>,
        data: Buffer,
    },
    /// Views of up to twelve bytes contain the string, longer ones point into a buffer.
    Views {
        views: ScalarBuffer<u128>,
        buffers: Arc<[Buffer]>,
    },
}

impl Strings {
    pub(super) fn new(array: &ArrayRef, present: Option<&NullBuffer>) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Utf8 => from_offsets(array.as_string::<i32>(), present)?,
            DataType::LargeUtf8 => from_offsets(array.as_string::<i64>(), present)?,
            DataType::Binary => from_offsets(array.as_binary::<i32>(), present)?,
            DataType::LargeBinary => from_offsets(array.as_binary::<i64>(), present)?,
            DataType::Utf8View => from_views(array.as_string_view(), present)?,
            DataType::BinaryView => from_views(array.as_binary_view(), present)?,
            other => return Err(Error::unsupported(format!("writing {other} as BYTE_ARRAY"))),
        })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Offsets32 { offsets, .. } => offsets.len().saturating_sub(1),
            Self::Offsets64 { offsets, .. } => offsets.len().saturating_sub(1),
            Self::Views { views, .. } => views.len(),
        }
    }

    pub(super) fn slice(&self, start: usize, len: usize) -> Self {
        match self {
            Self::Offsets32 { offsets, data } => {
                Self::Offsets32 { offsets: offsets.slice(start, len + 1), data: data.clone() }
            }
            Self::Offsets64 { offsets, data } => {
                Self::Offsets64 { offsets: offsets.slice(start, len + 1), data: data.clone() }
            }
            Self::Views { views, buffers } => {
                Self::Views { views: views.slice(start, len), buffers: Arc::clone(buffers) }
            }
        }
    }

    /// Bytes of all strings.
    pub(crate) fn data_len(&self) -> usize {
        match self {
            Self::Offsets32 { offsets, .. } => match (offsets.first(), offsets.last()) {
                (Some(first), Some(last)) => (last - first) as usize,
                _ => 0,
            },
            Self::Offsets64 { offsets, .. } => match (offsets.first(), offsets.last()) {
                (Some(first), Some(last)) => (last - first) as usize,
                _ => 0,
            },
            Self::Views { views, .. } => views.iter().map(|view| *view as u32 as usize).sum(),
        }
    }

    /// Bytes of the strings of `codes`.
    pub(super) fn coded_data_len(&self, codes: &[u32]) -> usize {
        codes.iter().map(|&code| self.string_len(code as usize)).sum()
    }

    /// Length of a string; zero for an index out of range.
    fn string_len(&self, index: usize) -> usize {
        match self {
            Self::Offsets32 { offsets, .. } => offsets.get(index + 1).map_or(0, |end| (end - offsets[index]) as usize),
            Self::Offsets64 { offsets, .. } => offsets.get(index + 1).map_or(0, |end| (end - offsets[index]) as usize),
            Self::Views { views, .. } => views.get(index).map_or(0, |view| *view as u32 as usize),
        }
    }

    /// Number of strings from `start` on, at most `max_count`, that take at most `bytes`, each with four bytes for its length.
    pub(super) fn fitting(&self, start: usize, max_count: usize, bytes: usize) -> usize {
        // Offsets grow, so that a binary search finds the place.
        fn by_halving(max_count: usize, fits: impl Fn(usize) -> bool) -> usize {
            let (mut low, mut high) = (0, max_count);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                if fits(middle) { low = middle } else { high = middle - 1 }
            }
            low
        }
        match self {
            Self::Offsets32 { offsets, .. } => {
                by_halving(max_count, |count| 4 * count + (offsets[start + count] - offsets[start]) as usize <= bytes)
            }
            Self::Offsets64 { offsets, .. } => {
                by_halving(max_count, |count| 4 * count + (offsets[start + count] - offsets[start]) as usize <= bytes)
            }
            Self::Views { views, .. } => {
                fitting(views[start..start + max_count].iter().map(|view| *view as u32 as usize), bytes)
            }
        }
    }

    /// Number of the strings of `codes`, from the first on, that take at most `bytes`.
    pub(super) fn fitting_codes(&self, codes: &[u32], bytes: usize) -> usize {
        fitting(codes.iter().map(|&code| self.string_len(code as usize)), bytes)
    }

    /// The string at `index`.
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        match self {
            Self::Offsets32 { offsets, data } => &data[offsets[index] as usize..offsets[index + 1] as usize],
            Self::Offsets64 { offsets, data } => &data[offsets[index] as usize..offsets[index + 1] as usize],
            Self::Views { views, buffers } => {
                let view = &views[index];
                let len = *view as u32 as usize;
                if len <= 12 {
                    return &bytemuck::bytes_of(view)[4..4 + len];
                }
                let (buffer, start) = ((*view >> 64) as u32 as usize, (*view >> 96) as usize);
                &buffers[buffer][start..start + len]
            }
        }
    }

    /// Copies of `strings`.
    pub(crate) fn from_slices<'a>(strings: impl Iterator<Item = &'a [u8]>) -> Self {
        let (mut offsets, mut data) = (vec![0], Vec::new());
        for string in strings {
            data.extend_from_slice(string);
            offsets.push(data.len() as i64);
        }
        Self::Offsets64 { offsets: offsets.into(), data: Buffer::from_vec(data) }
    }

    /// Calls `f` with the strings in the form that kernels read.
    pub(crate) fn with<R>(&self, f: impl FnOnce(ByteStrings<'_>) -> R) -> R {
        match self {
            Self::Offsets32 { offsets, data } => f(ByteStrings::Offsets32 { data, offsets }),
            Self::Offsets64 { offsets, data } => f(ByteStrings::Offsets64 { data, offsets }),
            Self::Views { views, buffers } => {
                let buffers: Vec<&[u8]> = buffers.iter().map(|buffer| &**buffer).collect();
                f(ByteStrings::Views { views, buffers: &buffers })
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }
}

fn fitting(lens: impl Iterator<Item = usize>, bytes: usize) -> usize {
    let mut total = 0usize;
    lens.take_while(|len| {
        total = total.saturating_add(4 + len);
        total <= bytes
    })
    .count()
}

/// Offsets of 32 or 64 bits.
trait Offset: OffsetSizeTrait {
    fn compress(offsets: &[Self], selection: &BooleanBuffer, out: &mut [Self]) -> Result<()>;
    fn strings(offsets: ScalarBuffer<Self>, data: Buffer) -> Strings;
}

impl Offset for i32 {
    fn compress(offsets: &[Self], selection: &BooleanBuffer, out: &mut [Self]) -> Result<()> {
        let (src, out) = (bytemuck::cast_slice(offsets), bytemuck::cast_slice_mut(out));
        select::compress_u32(src, selection.values(), selection.offset(), out)?;
        Ok(())
    }

    fn strings(offsets: ScalarBuffer<Self>, data: Buffer) -> Strings {
        Strings::Offsets32 { offsets, data }
    }
}

impl Offset for i64 {
    fn compress(offsets: &[Self], selection: &BooleanBuffer, out: &mut [Self]) -> Result<()> {
        let (src, out) = (bytemuck::cast_slice(offsets), bytemuck::cast_slice_mut(out));
        select::compress_u64(src, selection.values(), selection.offset(), out)?;
        Ok(())
    }

    fn strings(offsets: ScalarBuffer<Self>, data: Buffer) -> Strings {
        Strings::Offsets64 { offsets, data }
    }
}

fn from_offsets<T: ByteArrayType<Offset: Offset>>(
    array: &GenericByteArray<T>,
    present: Option<&NullBuffer>,
) -> Result<Strings> {
    let offsets = array.offsets();
    let Some(present) = present else {
        return Ok(T::Offset::strings(offsets.inner().clone(), array.values().clone()));
    };
    let count = present.len() - present.null_count();
    // Nulls are nearly always empty: then the offsets without theirs are the offsets of the remaining strings.
    let selection = present.inner();
    let absent_len: usize = absent_runs(present).map(|(from, to)| (offsets[to] - offsets[from]).as_usize()).sum();
    if absent_len == 0 {
        let mut kept = vec![T::Offset::default(); count + 1];
        T::Offset::compress(&offsets[..present.len()], selection, &mut kept[..count])?;
        kept[count] = offsets[present.len()];
        return Ok(T::Offset::strings(kept.into(), array.values().clone()));
    }
    let mut data = Vec::new();
    let mut kept = Vec::with_capacity(count + 1);
    kept.push(T::Offset::default());
    for index in selection.set_indices() {
        let value: &[u8] = array.value(index).as_ref();
        data.extend_from_slice(value);
        kept.push(T::Offset::usize_as(data.len()));
    }
    Ok(T::Offset::strings(kept.into(), Buffer::from_vec(data)))
}

/// Runs of absent slots, as first slot and the slot after the last.
fn absent_runs(present: &NullBuffer) -> impl Iterator<Item = (usize, usize)> {
    let mut from = 0;
    let end = std::iter::once((present.len(), present.len()));
    present.inner().set_slices().chain(end).filter_map(move |(start, stop)| {
        let run = (from, start);
        from = stop;
        (run.0 < run.1).then_some(run)
    })
}

fn from_views<T: ByteViewType + ?Sized>(
    array: &GenericByteViewArray<T>,
    present: Option<&NullBuffer>,
) -> Result<Strings> {
    let buffers: Arc<[Buffer]> = array.data_buffers().into();
    let Some(present) = present else {
        return Ok(Strings::Views { views: array.views().clone(), buffers });
    };
    let mut views = vec![0; present.len() - present.null_count()];
    let selection = present.inner();
    select::compress_u128(array.views(), selection.values(), selection.offset(), &mut views)?;
    Ok(Strings::Views { views: views.into(), buffers })
}
