//! Values of fixed width: integers, floating point, decimals, timestamps, FIXED_LEN_BYTE_ARRAY.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use lath_format::schema::PhysicalType;
use lath_kernels::{alp, byte_stream_split, delta, gather, rle, select};

use super::aligned::AlignedBytes;
use super::batch::{compress_values, few, pick_values};
use super::chunk_dictionary::ChunkDictionary;
use super::convert::{Convert, FixedLayout};
use super::page_values::{
    EncodedValues, INDEX_CHUNK, SearchablePage, Slots, dictionary_codes, dictionary_indices, values_missing,
};
use super::prefix_stream::PrefixStream;
use crate::error::{Error, Result};
use crate::page::{DictionaryPage, Encoding};

/// Decodes the values of one column chunk whose Arrow type has a fixed width of at least a byte.
#[derive(Debug)]
pub(crate) struct FixedColumn {
    data_type: DataType,
    physical_type: PhysicalType,
    layout: FixedLayout,
    out: AlignedBytes,
    slot_count: usize,
    dictionary: ChunkDictionary<DictionaryValues>,
    page: PageState,
    /// Stored values on their way to a conversion.
    scratch: AlignedBytes,
    /// Values of which some are selected.
    all: AlignedBytes,
}

#[derive(Debug)]
struct DictionaryValues {
    bytes: DictionaryBytes,
    len: usize,
    /// Still as stored: values are converted once they are gathered.
    is_stored: bool,
}

#[derive(Debug)]
enum DictionaryBytes {
    /// The page itself, aligned for every type.
    Page(Buffer),
    Copied(AlignedBytes),
}

/// Dictionaries that are longer than this once converted are kept as they are stored: they would not stay in the cache.
const MOST_CONVERTED_BYTES: usize = 1 << 20;

#[derive(Debug)]
enum PageState {
    /// Before the first page, or a page whose decoding has not begun.
    Pending(Option<EncodedValues>),
    Plain {
        src: Buffer,
        position: usize,
    },
    ByteStreamSplit {
        src: Buffer,
        value_count: usize,
        next: usize,
    },
    Alp {
        src: Buffer,
        value_count: usize,
        next: usize,
    },
    DeltaI32 {
        src: Buffer,
        decoder: delta::DecoderI32,
    },
    DeltaI64 {
        src: Buffer,
        decoder: delta::DecoderI64,
    },
    DeltaByteArray(PrefixStream),
    Dictionary {
        src: Buffer,
        indices: rle::Decoder,
    },
}

impl FixedColumn {
    pub(crate) fn new(data_type: DataType, physical_type: PhysicalType, layout: FixedLayout) -> Self {
        Self {
            data_type,
            physical_type,
            layout,
            out: AlignedBytes::default(),
            slot_count: 0,
            dictionary: ChunkDictionary::None,
            page: PageState::Pending(None),
            scratch: AlignedBytes::default(),
            all: AlignedBytes::default(),
        }
    }

    pub(crate) fn can_fail(&self) -> bool {
        self.layout.can_fail()
    }

    pub(crate) fn reset(&mut self) {
        self.dictionary = ChunkDictionary::None;
        self.page = PageState::Pending(None);
    }

    pub(crate) fn start_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        self.dictionary = ChunkDictionary::Here(self.open_dictionary(page)?);
        Ok(())
    }

    pub(crate) fn dictionary_is_released(&self) -> bool {
        self.dictionary.is_released()
    }

    pub(crate) fn restore_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        self.dictionary = ChunkDictionary::Restored(self.open_dictionary(page)?);
        Ok(())
    }

    fn open_dictionary(&self, page: &DictionaryPage) -> Result<DictionaryValues> {
        let FixedLayout { stored_width, width, convert, .. } = self.layout;
        let needed = page.value_count.checked_mul(stored_width).filter(|&n| n <= page.values.len());
        let needed = needed.ok_or_else(|| Error::corrupt("the dictionary page ends before its values do"))?;
        let stored = page.values.slice_with_length(0, needed);
        let convert = convert.filter(|_| width <= stored_width || page.value_count * width <= MOST_CONVERTED_BYTES);
        // An entry that does not fit is no error before a row has it: the dictionary then stays as it is stored.
        let converted = convert.and_then(|convert| {
            let mut converted = AlignedBytes::default();
            convert(&stored, stored_width, converted.grow(page.value_count * width)).ok().map(|()| converted)
        });
        let is_stored = converted.is_none() && self.layout.convert.is_some();
        let bytes = match converted {
            Some(converted) => DictionaryBytes::Copied(converted),
            None if stored.as_ptr().addr().is_multiple_of(align_of::<u128>()) => DictionaryBytes::Page(stored),
            None => {
                let mut copied = AlignedBytes::default();
                copied.grow(needed).copy_from_slice(&stored);
                DictionaryBytes::Copied(copied)
            }
        };
        Ok(DictionaryValues { bytes, len: page.value_count, is_stored })
    }

    pub(crate) fn end_page(&mut self) {
        self.page = PageState::Pending(None);
    }

    pub(crate) fn start_page(&mut self, values: EncodedValues) {
        self.page = PageState::Pending(Some(values));
    }

    /// Appends slots, of which those that are valid take the next values of the page.
    pub(crate) fn append(&mut self, slots: Slots<'_>) -> Result<()> {
        let width = self.layout.width;
        self.slot_count += slots.count;
        let mut out = std::mem::take(&mut self.out);
        let region = out.grow(slots.count * width);
        let tail = (slots.count - slots.value_count) * width;
        let result = self.decode(&mut region[tail..], slots.value_count).map_err(|error| slots.locate(error));
        let result = result.and_then(|()| match slots.validity {
            Some((bits, at)) => expand(region, width, slots.value_count, bits, at),
            None => Ok(()),
        });
        self.out = out;
        result
    }

    /// As [`FixedColumn::append`], of the next `value_count` values only those whose bits are set in `selection`.
    pub(crate) fn append_selected(&mut self, value_count: usize, selection: &[u64], slots: Slots<'_>) -> Result<()> {
        let width = self.layout.width;
        self.slot_count += slots.count;
        let mut out = std::mem::take(&mut self.out);
        let region = out.grow(slots.count * width);
        let tail = (slots.count - slots.value_count) * width;
        let result = self.decode_selected(&mut region[tail..], value_count, selection, slots.value_count);
        let result = result.map_err(|error| slots.locate(error));
        let result = result.and_then(|()| match slots.validity {
            Some((bits, at)) => expand(region, width, slots.value_count, bits, at),
            None => Ok(()),
        });
        self.out = out;
        result
    }

    fn decode_selected(&mut self, out: &mut [u8], value_count: usize, selection: &[u64], count: usize) -> Result<()> {
        let FixedLayout { stored_width, width, convert, .. } = self.layout;
        let selection = bytemuck::cast_slice(selection);
        self.open_page()?;
        if let PageState::Plain { src, position } = &mut self.page
            && convert.is_none()
            && count * few(width) < value_count
        {
            pick_values(width, take(src, position, value_count * stored_width)?, selection, out);
            return Ok(());
        }
        if let Some(convert) = convert
            && self.layout.can_fail()
        {
            return self.select_then_convert(convert, out, value_count, selection, count);
        }
        let mut all = std::mem::take(&mut self.all);
        all.clear();
        let values = all.grow(value_count * width);
        let result = self.decode(values, value_count).and_then(|()| compress_values(width, values, selection, out));
        self.all = all;
        if result? { Ok(()) } else { Err(values_missing()) }
    }

    /// As [`FixedColumn::decode_selected`], so that only values which are selected have to fit the Arrow type.
    fn select_then_convert(
        &mut self,
        convert: Convert,
        out: &mut [u8],
        value_count: usize,
        selection: &[u8],
        count: usize,
    ) -> Result<()> {
        let width = self.layout.stored_width;
        self.all.clear();
        self.scratch.clear();
        let all = self.all.grow(value_count * width.max(self.layout.width));
        let chosen = self.scratch.grow(count * width);
        let dictionary = self.dictionary.values();
        if let PageState::Dictionary { src, indices } = &mut self.page
            && let Some(dictionary) = dictionary
            && !dictionary.is_stored
        {
            let width = self.layout.width;
            let all = &mut all[..value_count * width];
            decode_dictionary(src, indices, dictionary.as_slice(), width, all, value_count)?;
            return if compress_values(width, all, selection, out)? { Ok(()) } else { Err(values_missing()) };
        }
        let dictionary = dictionary.map_or(&[][..], DictionaryValues::as_slice);
        let all = &mut all[..value_count * width];
        decode_stored(&mut self.page, dictionary, width, all, value_count)?;
        if !compress_values(width, all, selection, chosen)? {
            return Err(values_missing());
        }
        convert(chosen, width, out).map_err(|index| self.layout.misfit(chosen, index))
    }

    /// Skips the next values of the page, decoding them only if the encoding needs it.
    pub(crate) fn skip(&mut self, mut value_count: usize) -> Result<()> {
        if value_count == 0 {
            return Ok(());
        }
        self.open_page()?;
        let skipped = match &mut self.page {
            PageState::Plain { src, position } => {
                let len = value_count.saturating_mul(self.layout.stored_width);
                take(src, position, len).map(|_| value_count)?
            }
            PageState::ByteStreamSplit { value_count: all, next, .. }
            | PageState::Alp { value_count: all, next, .. } => {
                let left = *all - *next;
                *next += value_count.min(left);
                value_count.min(left)
            }
            PageState::DeltaI32 { src, decoder } => decoder.skip(src, value_count)?,
            PageState::DeltaI64 { src, decoder } => decoder.skip(src, value_count)?,
            PageState::Dictionary { src, indices } => indices.skip(src, value_count)?,
            PageState::DeltaByteArray(stream) => {
                let wanted = value_count;
                while value_count > 0 {
                    value_count -= stream.next(value_count)?.1.len();
                }
                value_count = wanted;
                wanted
            }
            PageState::Pending(_) => 0,
        };
        if skipped < value_count { Err(values_missing()) } else { Ok(()) }
    }

    /// The dictionary indices of the next values, which `out` has room for exactly; they are not checked against it.
    pub(crate) fn decode_codes(&mut self, out: &mut [u32]) -> Result<()> {
        self.open_page()?;
        let PageState::Dictionary { src, indices } = &mut self.page else { return Err(values_missing()) };
        dictionary_codes(src, indices, out)
    }

    /// As [`FixedColumn::append`], with the dictionary's values for `codes` instead of the page's.
    pub(crate) fn append_codes(&mut self, codes: &[u32], slots: Slots<'_>) -> Result<()> {
        let FixedLayout { stored_width, width, convert, .. } = self.layout;
        let dictionary = self.dictionary.values().ok_or_else(values_missing)?;
        self.slot_count += slots.count;
        let region = self.out.grow(slots.count * width);
        let tail = &mut region[(slots.count - slots.value_count) * width..];
        match convert.filter(|_| dictionary.is_stored) {
            None => gather_values(dictionary.as_slice(), width, codes, tail)?,
            Some(convert) => {
                for (chunk, out) in tail.chunks_mut(INDEX_CHUNK * width).enumerate() {
                    let start = chunk * INDEX_CHUNK;
                    let codes = &codes[start..start + out.len() / width];
                    self.scratch.clear();
                    let stored = self.scratch.grow(codes.len() * stored_width);
                    gather_values(dictionary.as_slice(), stored_width, codes, stored)?;
                    convert(stored, stored_width, out).map_err(|index| {
                        slots.locate(self.layout.misfit(stored, index).map_row(|row| start as u64 + row))
                    })?;
                }
            }
        }
        match slots.validity {
            Some((bits, at)) => expand(region, width, slots.value_count, bits, at),
            None => Ok(()),
        }
    }

    /// The page, if its decoding has not begun and the bytes of each value are contiguous.
    pub(crate) fn searchable_page(&self) -> Option<SearchablePage<'_>> {
        let PageState::Pending(Some(values)) = &self.page else { return None };
        let is_plain = matches!(values.encoding, Encoding::Plain);
        is_plain.then_some(SearchablePage { bytes: &values.bytes, has_lengths: false })
    }

    /// Whether the page holds dictionary indices.
    pub(crate) fn holds_codes(&self) -> bool {
        match &self.page {
            PageState::Pending(Some(values)) => values.encoding.is_dictionary(),
            page => matches!(page, PageState::Dictionary { .. }),
        }
    }

    fn open_page(&mut self) -> Result<()> {
        if let PageState::Pending(pending) = &mut self.page {
            let values = pending.take().ok_or_else(|| Error::internal("values are asked for before any data page"))?;
            self.page = self.open(values)?;
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let uses_dictionary = match &self.page {
            PageState::Pending(values) => values.as_ref().is_none_or(|values| values.encoding.is_dictionary()),
            PageState::Dictionary { .. } => true,
            _ => false,
        };
        if !uses_dictionary {
            self.dictionary.release();
        }
        build(&self.data_type, std::mem::take(&mut self.slot_count), self.out.finish(), nulls)
    }

    /// The dictionary as an array; `None` if its Arrow type cannot hold all entries.
    pub(crate) fn dictionary_values(&self) -> Result<Option<ArrayRef>> {
        let mut copy = AlignedBytes::default();
        let Some(dictionary) = self.dictionary.values() else {
            return build(&self.data_type, 0, copy.finish(), None).map(Some);
        };
        match (self.layout.convert.filter(|_| dictionary.is_stored), &dictionary.bytes) {
            (Some(convert), _) => {
                let FixedLayout { stored_width, width, .. } = self.layout;
                if convert(dictionary.as_slice(), stored_width, copy.grow(dictionary.len * width)).is_err() {
                    return Ok(None);
                }
            }
            (None, DictionaryBytes::Page(page)) => {
                return build(&self.data_type, dictionary.len, page.clone(), None).map(Some);
            }
            (None, DictionaryBytes::Copied(_)) => {
                copy.grow(dictionary.as_slice().len()).copy_from_slice(dictionary.as_slice());
            }
        }
        build(&self.data_type, dictionary.len, copy.finish(), None).map(Some)
    }

    fn decode(&mut self, out: &mut [u8], count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.open_page()?;
        if let PageState::Dictionary { src, indices } = &mut self.page
            && let Some(dictionary) = self.dictionary.values()
            && !dictionary.is_stored
        {
            return decode_dictionary(src, indices, dictionary.as_slice(), self.layout.width, out, count);
        }
        let dictionary = self.dictionary.values().map_or(&[][..], DictionaryValues::as_slice);
        match self.layout.convert {
            None => decode_stored(&mut self.page, dictionary, self.layout.stored_width, out, count),
            Some(convert) => {
                let FixedLayout { stored_width, width, .. } = self.layout;
                if let PageState::Plain { src, position } = &mut self.page {
                    let stored = take(src, position, count * stored_width)?;
                    return convert(stored, stored_width, out).map_err(|index| self.layout.misfit(stored, index));
                }
                let mut done = 0;
                while done < count {
                    let n = (count - done).min(INDEX_CHUNK);
                    self.scratch.clear();
                    let stored = self.scratch.grow(n * stored_width);
                    decode_stored(&mut self.page, dictionary, stored_width, stored, n)?;
                    convert(stored, stored_width, &mut out[done * width..(done + n) * width])
                        .map_err(|index| self.layout.misfit(stored, index).map_row(|row| done as u64 + row))?;
                    done += n;
                }
                Ok(())
            }
        }
    }

    fn open(&self, values: EncodedValues) -> Result<PageState> {
        let EncodedValues { encoding, bytes: src } = values;
        let width = self.layout.stored_width;
        Ok(match (encoding, self.physical_type) {
            (Encoding::Plain, _) => PageState::Plain { src, position: 0 },
            (Encoding::PlainDictionary | Encoding::RleDictionary, _) => {
                if self.dictionary.values().is_none() {
                    return Err(Error::corrupt(
                        "a dictionary-encoded page in a column chunk without a dictionary page",
                    ));
                }
                let (indices, src) = dictionary_indices(src)?;
                PageState::Dictionary { src, indices }
            }
            (Encoding::ByteStreamSplit, _) => {
                if width == 0 || src.len() % width != 0 {
                    return Err(Error::corrupt("a BYTE_STREAM_SPLIT page that is not a whole number of values"));
                }
                let value_count = src.len() / width;
                PageState::ByteStreamSplit { src, value_count, next: 0 }
            }
            (Encoding::Alp, PhysicalType::FLOAT | PhysicalType::DOUBLE) => {
                PageState::Alp { value_count: alp::value_count(&src)?, src, next: 0 }
            }
            (Encoding::DeltaBinaryPacked, PhysicalType::INT32) => {
                PageState::DeltaI32 { decoder: delta::DecoderI32::new(&src)?, src }
            }
            (Encoding::DeltaBinaryPacked, PhysicalType::INT64) => {
                PageState::DeltaI64 { decoder: delta::DecoderI64::new(&src)?, src }
            }
            (Encoding::DeltaByteArray, PhysicalType::FIXED_LEN_BYTE_ARRAY) => {
                PageState::DeltaByteArray(PrefixStream::new(src)?)
            }
            (encoding, physical_type) => {
                return Err(Error::unsupported(format!("encoding {encoding} of {physical_type} values")));
            }
        })
    }
}

impl DictionaryValues {
    fn as_slice(&self) -> &[u8] {
        match &self.bytes {
            DictionaryBytes::Page(page) => page,
            DictionaryBytes::Copied(bytes) => bytes.as_slice(),
        }
    }
}

/// Decodes `count` stored values of `width` bytes; `out` has room for exactly those.
fn decode_stored(page: &mut PageState, dictionary: &[u8], width: usize, out: &mut [u8], count: usize) -> Result<()> {
    match page {
        PageState::Plain { src, position } => out.copy_from_slice(take(src, position, count * width)?),
        PageState::ByteStreamSplit { src, value_count, next } => {
            if count > *value_count - *next {
                return Err(values_missing());
            }
            byte_stream_split::decode(src, *value_count, width, *next, out)?;
            *next += count;
        }
        PageState::Alp { src, value_count, next } => {
            if count > *value_count - *next {
                return Err(values_missing());
            }
            match width {
                4 => alp::decode::<f32>(src, *next, bytemuck::cast_slice_mut(out))?,
                _ => alp::decode::<f64>(src, *next, bytemuck::cast_slice_mut(out))?,
            }
            *next += count;
        }
        PageState::DeltaI32 { src, decoder } => {
            if decoder.decode(src, bytemuck::cast_slice_mut(out))? < count {
                return Err(values_missing());
            }
        }
        PageState::DeltaI64 { src, decoder } => {
            if decoder.decode(src, bytemuck::cast_slice_mut(out))? < count {
                return Err(values_missing());
            }
        }
        PageState::DeltaByteArray(stream) => {
            let mut done = 0;
            while done < count {
                let (bytes, lengths) = stream.next(count - done)?;
                if lengths.iter().any(|&len| len as usize != width) {
                    return Err(Error::corrupt(format!("a value whose length is not the column's {width} bytes")));
                }
                out[done * width..][..bytes.len()].copy_from_slice(&bytes);
                done += lengths.len();
            }
        }
        PageState::Dictionary { src, indices } => decode_dictionary(src, indices, dictionary, width, out, count)?,
        PageState::Pending(_) => return Err(values_missing()),
    }
    Ok(())
}

fn decode_dictionary(
    src: &[u8],
    indices: &mut rle::Decoder,
    dictionary: &[u8],
    width: usize,
    out: &mut [u8],
    count: usize,
) -> Result<()> {
    let decoded = match width {
        4 => indices.decode_entries_u32(src, bytemuck::cast_slice(dictionary), bytemuck::cast_slice_mut(out))?,
        8 => indices.decode_entries_u64(src, bytemuck::cast_slice(dictionary), bytemuck::cast_slice_mut(out))?,
        _ => {
            // Indices of a part, then their entries.
            let mut chunk = [0u32; INDEX_CHUNK];
            let mut done = 0;
            while done < count {
                let n = (count - done).min(chunk.len());
                let chunk = &mut chunk[..n];
                dictionary_codes(src, indices, chunk)?;
                gather_values(dictionary, width, chunk, &mut out[done * width..(done + n) * width])?;
                done += n;
            }
            count
        }
    };
    if decoded < count { Err(values_missing()) } else { Ok(()) }
}

fn gather_values(dictionary: &[u8], width: usize, codes: &[u32], out: &mut [u8]) -> Result<()> {
    match width {
        4 => gather::gather_u32(bytemuck::cast_slice(dictionary), codes, bytemuck::cast_slice_mut(out))?,
        8 => gather::gather_u64(bytemuck::cast_slice(dictionary), codes, bytemuck::cast_slice_mut(out))?,
        16 => gather::gather_u128(bytemuck::cast_slice(dictionary), codes, bytemuck::cast_slice_mut(out))?,
        _ => gather::gather_bytes(dictionary, width, codes, out)?,
    }
    Ok(())
}

/// The next `len` bytes of a page.
fn take<'a>(src: &'a [u8], position: &mut usize, len: usize) -> Result<&'a [u8]> {
    let bytes = src.get(*position..).and_then(|rest| rest.get(..len)).ok_or_else(values_missing)?;
    *position += len;
    Ok(bytes)
}

/// Spreads the compact values at the end of `region` over the slots that are valid.
fn expand(region: &mut [u8], width: usize, value_count: usize, validity: &[u8], at: usize) -> Result<()> {
    match width {
        1 => select::expand_in_place_u8(region, value_count, validity, at)?,
        2 => select::expand_in_place_u16(bytemuck::cast_slice_mut(region), value_count, validity, at)?,
        4 => select::expand_in_place_u32(bytemuck::cast_slice_mut(region), value_count, validity, at)?,
        8 => select::expand_in_place_u64(bytemuck::cast_slice_mut(region), value_count, validity, at)?,
        _ => select::expand_bytes_in_place(width, region, value_count, validity, at)?,
    }
    Ok(())
}

fn build(data_type: &DataType, len: usize, bytes: Buffer, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let data = ArrayData::builder(data_type.clone()).len(len).add_buffer(bytes).nulls(nulls).build();
    Ok(make_array(data.map_err(|error| Error::of_arrow(&error))?))
}
