//! The dictionary of a column chunk of values of fixed width.

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use lath_kernels::gather;

use super::build;
use crate::decode::aligned::AlignedBytes;
use crate::decode::convert::FixedLayout;
use crate::decode::page_values::{DictionaryIndices, INDEX_CHUNK, values_missing};
use crate::error::{Error, Result};
use crate::page::DictionaryPage;

/// Dictionaries that would be longer than this after conversion are kept as stored, because they would not stay in the cache.
const MAX_CONVERTED_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct DictionaryValues {
    bytes: DictionaryBytes,
    len: usize,
    /// Kept as stored: values are converted after gathering.
    pub(super) is_stored: bool,
}

#[derive(Debug)]
enum DictionaryBytes {
    /// The page itself, aligned for every type.
    Page(Buffer),
    Copied(AlignedBytes),
}

impl DictionaryValues {
    pub(super) fn new(page: &DictionaryPage, layout: FixedLayout) -> Result<Self> {
        let FixedLayout { stored_width, width, convert, .. } = layout;
        let needed = page.value_count.checked_mul(stored_width).filter(|&n| n <= page.values.len());
        let needed = needed.ok_or_else(|| Error::corrupt("the dictionary page ends before its values do"))?;
        let stored = page.values.slice_with_length(0, needed);
        let usable = convert.filter(|_| width <= stored_width || page.value_count * width <= MAX_CONVERTED_BYTES);
        // An entry that does not fit is an error only if a row has it: the dictionary then stays as stored.
        let converted = usable.and_then(|convert| {
            let mut converted = AlignedBytes::default();
            convert(&stored, stored_width, converted.grow(page.value_count * width)).ok().map(|()| converted)
        });
        let is_stored = converted.is_none() && convert.is_some();
        let bytes = match converted {
            Some(converted) => DictionaryBytes::Copied(converted),
            None if stored.as_ptr().addr().is_multiple_of(align_of::<u128>()) => DictionaryBytes::Page(stored),
            None => {
                let mut copied = AlignedBytes::default();
                copied.grow(needed).copy_from_slice(&stored);
                DictionaryBytes::Copied(copied)
            }
        };
        Ok(Self { bytes, len: page.value_count, is_stored })
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match &self.bytes {
            DictionaryBytes::Page(page) => page,
            DictionaryBytes::Copied(bytes) => bytes.as_slice(),
        }
    }

    /// The entries as an array; `None` if the Arrow type cannot hold all of them.
    pub(super) fn to_array(&self, data_type: &DataType, layout: FixedLayout) -> Result<Option<ArrayRef>> {
        let mut copy = AlignedBytes::default();
        match (layout.convert.filter(|_| self.is_stored), &self.bytes) {
            (Some(convert), _) => {
                let FixedLayout { stored_width, width, .. } = layout;
                if convert(self.as_slice(), stored_width, copy.grow(self.len * width)).is_err() {
                    return Ok(None);
                }
            }
            (None, DictionaryBytes::Page(page)) => return build(data_type, self.len, page.clone(), None).map(Some),
            (None, DictionaryBytes::Copied(bytes)) => {
                copy.grow(bytes.as_slice().len()).copy_from_slice(bytes.as_slice());
            }
        }
        build(data_type, self.len, copy.finish(), None).map(Some)
    }
}

/// Decodes `count` indices and gathers their entries of `width` bytes each.
pub(super) fn decode_entries(
    indices: &mut DictionaryIndices,
    dictionary: &[u8],
    width: usize,
    out: &mut [u8],
    count: usize,
) -> Result<()> {
    let DictionaryIndices { src, runs } = indices;
    let decoded = match width {
        4 => runs.decode_entries_u32(src, bytemuck::cast_slice(dictionary), bytemuck::cast_slice_mut(out))?,
        8 => runs.decode_entries_u64(src, bytemuck::cast_slice(dictionary), bytemuck::cast_slice_mut(out))?,
        _ => {
            let mut chunk = [0u32; INDEX_CHUNK];
            let mut done = 0;
            while done < count {
                let n = (count - done).min(chunk.len());
                let chunk = &mut chunk[..n];
                indices.decode(chunk)?;
                gather_entries(dictionary, width, chunk, &mut out[done * width..(done + n) * width])?;
                done += n;
            }
            count
        }
    };
    if decoded < count { Err(values_missing()) } else { Ok(()) }
}

/// Gathers the entries of `codes`, of `width` bytes each.
pub(super) fn gather_entries(dictionary: &[u8], width: usize, codes: &[u32], out: &mut [u8]) -> Result<()> {
    match width {
        4 => gather::gather_u32(bytemuck::cast_slice(dictionary), codes, bytemuck::cast_slice_mut(out))?,
        8 => gather::gather_u64(bytemuck::cast_slice(dictionary), codes, bytemuck::cast_slice_mut(out))?,
        16 => gather::gather_u128(bytemuck::cast_slice(dictionary), codes, bytemuck::cast_slice_mut(out))?,
        _ => gather::gather_bytes(dictionary, width, codes, out)?,
    }
    Ok(())
}
