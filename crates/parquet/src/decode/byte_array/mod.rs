//! BYTE_ARRAY values: strings, binary, decimals.
//!
//! Whatever the encoding, values become Arrow views into the decompressed page (or, for DELTA_BYTE_ARRAY, into bytes
//! joined from prefixes and suffixes). Where a caller wants offsets, the viewed bytes are copied once, at the end; only
//! pages that hold the values one after another take a shorter way to those ([`Contiguous`]).

mod contiguous;

use arrow_array::ArrayRef;
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::DataType;
use lath_kernels::{byte_array, delta, gather, rle, select};

use self::contiguous::Contiguous;
use super::aligned::AlignedBytes;
use super::batch::{compress_values, set_bits};
use super::chunk_dictionary::ChunkDictionary;
use super::page_values::{
    EncodedValues, INDEX_CHUNK, SearchablePage, Slots, dictionary_codes, dictionary_indices, values_missing,
};
use super::prefix_stream::{PrefixStream, decode_lengths};
use super::strings::{self, check_utf8_values, check_utf8_whole};
use crate::error::{Error, Result};
use crate::page::{DictionaryPage, Encoding};

/// What becomes of the views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteArrayOutput {
    Views,
    Offsets32,
    Offsets64,
    /// Big-endian two's complement to a decimal of so many bytes.
    Decimal {
        width: usize,
    },
}

impl ByteArrayOutput {
    /// How BYTE_ARRAY values become `data_type`; `None` for a type that they cannot become.
    pub(crate) fn new(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Utf8View | DataType::BinaryView => Some(Self::Views),
            DataType::Utf8 | DataType::Binary => Some(Self::Offsets32),
            DataType::LargeUtf8 | DataType::LargeBinary => Some(Self::Offsets64),
            DataType::Decimal32(..) => Some(Self::Decimal { width: 4 }),
            DataType::Decimal64(..) => Some(Self::Decimal { width: 8 }),
            DataType::Decimal128(..) => Some(Self::Decimal { width: 16 }),
            DataType::Decimal256(..) => Some(Self::Decimal { width: 32 }),
            _ => None,
        }
    }
}

/// Fewer than one in so many values are viewed one by one; of more, views of all are made first.
const FEW_VIEWS: usize = 4;

/// Decodes the BYTE_ARRAY values of one column chunk.
#[derive(Debug)]
pub(crate) struct ByteArrayColumn {
    data_type: DataType,
    output: ByteArrayOutput,
    /// Values must be UTF-8.
    utf8: bool,
    /// A view per slot.
    views: AlignedBytes,
    /// Bytes copied from where the views point, for values with offsets.
    copied: AlignedBytes,
    /// A batch with offsets, as long as all its pages hold their values one after another; there are no views then.
    contiguous: Contiguous,
    /// Lengths of joined values on their way there.
    joined_lengths: Vec<i32>,
    /// Views of which some are selected, and where values end of which some get views.
    all: AlignedBytes,
    ends: Vec<i32>,
    /// The buffers that the views point into. The dictionary, where there is one, is the first.
    buffers: Vec<Buffer>,
    dictionary: ChunkDictionary<DictionaryValues>,
    page: PageState,
}

#[derive(Debug)]
struct DictionaryValues {
    views: Vec<u128>,
    bytes: Buffer,
}

impl ChunkDictionary<DictionaryValues> {
    fn views(&self) -> &[u128] {
        self.values().map_or(&[], |values| &values.views)
    }
}

#[derive(Debug)]
enum PageState {
    Pending(Option<EncodedValues>),
    Plain { src: Buffer, position: usize, buffer_index: Option<u32> },
    DeltaLength { lengths: Vec<i32>, next: usize, bytes: Buffer, position: usize, buffer_index: Option<u32> },
    DeltaByteArray(PrefixStream),
    Dictionary { src: Buffer, indices: rle::Decoder },
}

impl ByteArrayColumn {
    pub(crate) fn new(data_type: DataType, output: ByteArrayOutput) -> Self {
        let utf8 = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        Self {
            data_type,
            output,
            utf8,
            views: AlignedBytes::default(),
            copied: AlignedBytes::default(),
            contiguous: Contiguous::default(),
            joined_lengths: Vec::new(),
            all: AlignedBytes::default(),
            ends: Vec::new(),
            buffers: Vec::new(),
            dictionary: ChunkDictionary::None,
            page: PageState::Pending(None),
        }
    }

    pub(crate) fn reset(&mut self) {
        self.dictionary = ChunkDictionary::None;
        self.page = PageState::Pending(None);
        self.reset_buffers();
    }

    pub(crate) fn start_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        self.dictionary = ChunkDictionary::Here(self.open_dictionary(page)?);
        self.reset_buffers();
        Ok(())
    }

    pub(crate) fn dictionary_is_released(&self) -> bool {
        self.dictionary.is_released()
    }

    /// Only after [`ByteArrayColumn::dictionary_is_released`]: the batch may have views already, but none of the dictionary.
    pub(crate) fn restore_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        let values = self.open_dictionary(page)?;
        match self.buffers.first_mut() {
            Some(place) => *place = values.bytes.clone(),
            None => self.buffers.push(values.bytes.clone()),
        }
        self.dictionary = ChunkDictionary::Restored(values);
        Ok(())
    }

    fn open_dictionary(&self, page: &DictionaryPage) -> Result<DictionaryValues> {
        // Each value takes four bytes of length at least; checked before the views are allocated.
        if page.value_count > page.values.len() / 4 {
            return Err(Error::corrupt("the dictionary page ends before its values do"));
        }
        let mut views = vec![0u128; page.value_count];
        let scan = byte_array::plain_views(&page.values, 0, 0, &mut views)?;
        if self.utf8 {
            check_utf8_plain(&page.values[..scan.position], scan.max_len, &views)?;
        }
        Ok(DictionaryValues { views, bytes: page.values.clone() })
    }

    pub(crate) fn end_page(&mut self) {
        self.page = PageState::Pending(None);
    }

    pub(crate) fn start_page(&mut self, values: EncodedValues) {
        self.page = PageState::Pending(Some(values));
    }

    pub(crate) fn append(&mut self, slots: Slots<'_>) -> Result<()> {
        if self.append_contiguous(slots)? {
            return Ok(());
        }
        let mut views = std::mem::take(&mut self.views);
        let region: &mut [u128] = bytemuck::cast_slice_mut(views.grow(slots.count * 16));
        let result = self.decode(&mut region[slots.count - slots.value_count..]);
        let result = result.and_then(|()| match slots.validity {
            Some((bits, at)) => Ok(select::expand_in_place_u128(region, slots.value_count, bits, at)?),
            None => Ok(()),
        });
        self.views = views;
        result
    }

    /// Whether [`ByteArrayColumn::append_selected`] is supported.
    pub(crate) fn can_select(&self) -> bool {
        self.output == ByteArrayOutput::Views
    }

    /// As [`ByteArrayColumn::append`] to views, of the next `value_count` values only those whose bits are set in `selection`.
    pub(crate) fn append_selected(&mut self, value_count: usize, selection: &[u64], slots: Slots<'_>) -> Result<()> {
        let mut views = std::mem::take(&mut self.views);
        let region: &mut [u128] = bytemuck::cast_slice_mut(views.grow(slots.count * 16));
        let result = self.decode_selected(value_count, selection, &mut region[slots.count - slots.value_count..]);
        let result = result.and_then(|()| match slots.validity {
            Some((bits, at)) => Ok(select::expand_in_place_u128(region, slots.value_count, bits, at)?),
            None => Ok(()),
        });
        self.views = views;
        result
    }

    fn decode_selected(&mut self, value_count: usize, selection: &[u64], out: &mut [u128]) -> Result<()> {
        self.open_page()?;
        let selection = bytemuck::cast_slice(selection);
        if let PageState::DeltaLength { lengths, next, bytes, position, buffer_index } = &mut self.page
            && out.len() * FEW_VIEWS < value_count
        {
            let lengths = lengths.get(*next..).and_then(|rest| rest.get(..value_count)).ok_or_else(values_missing)?;
            let start = i32::try_from(*position).map_err(|_| values_missing())?;
            self.ends.resize(value_count, 0);
            let end = delta::lengths_to_offsets_i32(lengths, start, &mut self.ends)? as usize;
            if end > bytes.len() {
                return Err(values_missing());
            }
            if self.utf8 {
                check_utf8_whole(bytes, *position..end, lengths)?;
            }
            let buffer_index = register(&mut self.buffers, buffer_index, bytes)?;
            for (index, out) in set_bits(selection).zip(out) {
                let len = lengths[index];
                *out = strings::view(bytes, (self.ends[index] - len) as usize, len as u32, buffer_index);
            }
            *position = end;
            *next += value_count;
            return Ok(());
        }
        let mut all = std::mem::take(&mut self.all);
        all.clear();
        let views = all.grow(value_count * 16);
        let result = self.decode(bytemuck::cast_slice_mut(views));
        let result = result.and_then(|()| compress_values(16, views, selection, bytemuck::cast_slice_mut(out)));
        self.all = all;
        if result? { Ok(()) } else { Err(values_missing()) }
    }

    /// Appends slots without views, if the page and the batch so far allow that; otherwise sees to it that the batch so far
    /// is in views.
    fn append_contiguous(&mut self, slots: Slots<'_>) -> Result<bool> {
        if !matches!(self.output, ByteArrayOutput::Offsets32 | ByteArrayOutput::Offsets64) {
            return Ok(false);
        }
        // Slots without values need no page.
        if slots.value_count > 0 {
            self.open_page()?;
        }
        let is_contiguous = matches!(self.page, PageState::DeltaLength { .. } | PageState::DeltaByteArray(_));
        if !is_contiguous || !self.views.as_slice().is_empty() {
            self.view_contiguous()?;
            return Ok(false);
        }
        // Not put back if it fails: what is in it is then of no use.
        let mut contiguous = std::mem::take(&mut self.contiguous);
        self.decode_contiguous(&mut contiguous, slots)?;
        self.contiguous = contiguous;
        Ok(true)
    }

    fn decode_contiguous(&mut self, contiguous: &mut Contiguous, slots: Slots<'_>) -> Result<()> {
        match &mut self.page {
            PageState::DeltaLength { lengths, next, bytes, position, .. } => {
                let lengths =
                    lengths.get(*next..).and_then(|rest| rest.get(..slots.value_count)).ok_or_else(values_missing)?;
                let range = *position..position.saturating_add(contiguous::sum(lengths)?);
                let values = bytes.get(range.clone()).ok_or_else(values_missing)?;
                if self.utf8 {
                    check_utf8_whole(bytes, range.clone(), lengths)?;
                }
                contiguous.push_bytes(values, self.output)?;
                contiguous.grow(slots).copy_from_slice(lengths);
                *position = range.end;
                *next += slots.value_count;
            }
            PageState::DeltaByteArray(stream) => {
                self.joined_lengths.clear();
                while self.joined_lengths.len() < slots.value_count {
                    let (bytes, lengths) = stream.next(slots.value_count - self.joined_lengths.len())?;
                    if self.utf8 {
                        check_utf8_whole(&bytes, 0..bytes.len(), lengths)?;
                    }
                    contiguous.push_bytes(&bytes, self.output)?;
                    self.joined_lengths.extend_from_slice(lengths);
                }
                contiguous.grow(slots).copy_from_slice(&self.joined_lengths);
            }
            _ => return Err(values_missing()),
        }
        contiguous.spread(slots)
    }

    /// Makes views of what was appended without.
    fn view_contiguous(&mut self) -> Result<()> {
        if self.contiguous.is_empty() {
            return Ok(());
        }
        let (lengths, bytes) = self.contiguous.take();
        let lengths: &[i32] = bytemuck::cast_slice(&lengths);
        let buffer_index = register(&mut self.buffers, &mut None, &bytes)?;
        let views: &mut [u128] = bytemuck::cast_slice_mut(self.views.grow(lengths.len() * 16));
        byte_array::length_views(&bytes, 0, lengths, buffer_index, views)?;
        Ok(())
    }

    /// Skips the next values of the page. Only that they are there is checked.
    pub(crate) fn skip(&mut self, mut value_count: usize) -> Result<()> {
        if value_count == 0 {
            return Ok(());
        }
        self.open_page()?;
        match &mut self.page {
            PageState::Pending(_) => return Err(values_missing()),
            PageState::Dictionary { src, indices } => {
                if indices.skip(src, value_count)? < value_count {
                    return Err(values_missing());
                }
            }
            PageState::Plain { src, position, .. } => {
                for _ in 0..value_count {
                    let rest = src.get(*position..).unwrap_or_default();
                    let len = rest.first_chunk::<4>().ok_or_else(values_missing)?;
                    let len = (u32::from_le_bytes(*len) as usize).saturating_add(4);
                    if len > rest.len() {
                        return Err(values_missing());
                    }
                    *position += len;
                }
            }
            PageState::DeltaLength { lengths, next, bytes, position, .. } => {
                let lengths =
                    lengths.get(*next..).and_then(|rest| rest.get(..value_count)).ok_or_else(values_missing)?;
                let end = position.saturating_add(contiguous::sum(lengths)?);
                if end > bytes.len() {
                    return Err(values_missing());
                }
                *position = end;
                *next += value_count;
            }
            PageState::DeltaByteArray(stream) => {
                while value_count > 0 {
                    value_count -= stream.next(value_count)?.1.len();
                }
            }
        }
        Ok(())
    }

    /// The dictionary indices of the next values, which `out` has room for exactly; they are not checked against it.
    pub(crate) fn decode_codes(&mut self, out: &mut [u32]) -> Result<()> {
        self.open_page()?;
        let PageState::Dictionary { src, indices } = &mut self.page else { return Err(values_missing()) };
        dictionary_codes(src, indices, out)
    }

    /// As [`ByteArrayColumn::append`], with the dictionary's values for `codes` instead of the page's.
    pub(crate) fn append_codes(&mut self, codes: &[u32], slots: Slots<'_>) -> Result<()> {
        self.view_contiguous()?;
        let region: &mut [u128] = bytemuck::cast_slice_mut(self.views.grow(slots.count * 16));
        gather::gather_u128(self.dictionary.views(), codes, &mut region[slots.count - slots.value_count..])?;
        match slots.validity {
            Some((bits, at)) => Ok(select::expand_in_place_u128(region, slots.value_count, bits, at)?),
            None => Ok(()),
        }
    }

    /// The page, if its decoding has not begun and the bytes of each value are contiguous.
    pub(crate) fn searchable_page(&self) -> Option<SearchablePage<'_>> {
        let PageState::Pending(Some(values)) = &self.page else { return None };
        let has_lengths = match values.encoding {
            Encoding::Plain => true,
            Encoding::DeltaLengthByteArray => false,
            _ => return None,
        };
        Some(SearchablePage { bytes: &values.bytes, has_lengths })
    }

    /// Whether the page holds dictionary indices.
    pub(crate) fn holds_codes(&self) -> bool {
        match &self.page {
            PageState::Pending(Some(values)) => values.encoding.is_dictionary(),
            page => matches!(page, PageState::Dictionary { .. }),
        }
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
        if !self.contiguous.is_empty() {
            // Skipping may have entered some.
            self.reset_buffers();
            return match self.output {
                ByteArrayOutput::Offsets64 => self.contiguous.finish::<i64>(&self.data_type, nulls),
                _ => self.contiguous.finish::<i32>(&self.data_type, nulls),
            };
        }
        let mut views = self.views.finish();
        let buffers = std::mem::take(&mut self.buffers);
        self.reset_buffers();
        let Self { data_type, output, copied, .. } = self;
        match output {
            ByteArrayOutput::Views => Ok(strings::view_array(data_type, views, buffers, nulls)),
            ByteArrayOutput::Offsets32 => strings::offset_array::<i32>(data_type, &views, &buffers, nulls, copied),
            ByteArrayOutput::Offsets64 => strings::offset_array::<i64>(data_type, &views, &buffers, nulls, copied),
            ByteArrayOutput::Decimal { width } => {
                let width = *width;
                strings::decimal_array(data_type, width, std::mem::take(&mut views), &buffers, nulls)
            }
        }
    }

    /// The dictionary as an array.
    pub(crate) fn dictionary_values(&mut self) -> Result<ArrayRef> {
        let views = self.dictionary.views();
        let held = (std::mem::take(&mut self.views), std::mem::take(&mut self.contiguous));
        self.views.grow(views.len() * 16).copy_from_slice(bytemuck::cast_slice(views));
        let buffers = self.buffers.clone();
        let array = self.finish(None);
        (self.views, self.contiguous) = held;
        self.buffers = buffers;
        array
    }

    /// Forgets the buffers of the batch that was handed out; pages in progress register theirs again.
    fn reset_buffers(&mut self) {
        self.buffers.clear();
        self.buffers.extend(match &self.dictionary {
            ChunkDictionary::None => None,
            ChunkDictionary::Here(values) | ChunkDictionary::Restored(values) => Some(values.bytes.clone()),
            // An empty buffer keeps its place.
            ChunkDictionary::Released => Some(Buffer::from_vec(Vec::<u8>::new())),
        });
        if let PageState::Plain { buffer_index, .. } | PageState::DeltaLength { buffer_index, .. } = &mut self.page {
            *buffer_index = None;
        }
    }

    fn open_page(&mut self) -> Result<()> {
        if let PageState::Pending(pending) = &mut self.page {
            self.page = open(pending.take().ok_or_else(values_missing)?, self.dictionary.values().is_some())?;
        }
        Ok(())
    }

    fn decode(&mut self, out: &mut [u128]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        self.open_page()?;
        match &mut self.page {
            PageState::Pending(_) => return Err(values_missing()),
            PageState::Dictionary { src, indices } => {
                let dictionary = self.dictionary.views();
                let mut chunk = [0u32; INDEX_CHUNK];
                for out in out.chunks_mut(INDEX_CHUNK) {
                    let chunk = &mut chunk[..out.len()];
                    if indices.decode_u32(src, chunk)? < out.len() {
                        return Err(values_missing());
                    }
                    gather::gather_u128(dictionary, chunk, out)?;
                }
            }
            PageState::Plain { src, position, buffer_index } => {
                let buffer_index = register(&mut self.buffers, buffer_index, src)?;
                let start = *position;
                let scan = byte_array::plain_views(src, start, buffer_index, out)?;
                *position = scan.position;
                if self.utf8 {
                    check_utf8_plain_at(src, start..scan.position, scan.max_len, out)?;
                }
            }
            PageState::DeltaLength { lengths, next, bytes, position, buffer_index } => {
                let lengths = lengths.get(*next..).and_then(|rest| rest.get(..out.len())).ok_or_else(values_missing)?;
                let buffer_index = register(&mut self.buffers, buffer_index, bytes)?;
                let start = *position;
                *position = byte_array::length_views(bytes, start, lengths, buffer_index, out)?;
                *next += out.len();
                if self.utf8 {
                    check_utf8_whole(bytes, start..*position, lengths)?;
                }
            }
            PageState::DeltaByteArray(stream) => {
                let mut done = 0;
                while done < out.len() {
                    let (bytes, lengths) = stream.next(out.len() - done)?;
                    if self.utf8 {
                        check_utf8_whole(&bytes, 0..bytes.len(), lengths)?;
                    }
                    let buffer_index = register(&mut self.buffers, &mut None, &bytes)?;
                    byte_array::length_views(&bytes, 0, lengths, buffer_index, &mut out[done..done + lengths.len()])?;
                    done += lengths.len();
                }
            }
        }
        Ok(())
    }
}

fn open(values: EncodedValues, has_dictionary: bool) -> Result<PageState> {
    let EncodedValues { encoding, bytes: src } = values;
    Ok(match encoding {
        Encoding::Plain => PageState::Plain { src, position: 0, buffer_index: None },
        Encoding::PlainDictionary | Encoding::RleDictionary => {
            if !has_dictionary {
                return Err(Error::corrupt("a dictionary-encoded page in a column chunk without a dictionary page"));
            }
            let (indices, src) = dictionary_indices(src)?;
            PageState::Dictionary { src, indices }
        }
        Encoding::DeltaLengthByteArray => {
            let (lengths, end) = decode_lengths(&src)?;
            PageState::DeltaLength { lengths, next: 0, position: 0, bytes: src.slice(end), buffer_index: None }
        }
        Encoding::DeltaByteArray => PageState::DeltaByteArray(PrefixStream::new(src)?),
        encoding => return Err(Error::unsupported(format!("encoding {encoding} of BYTE_ARRAY values"))),
    })
}

/// The index of the page's buffer among those of the batch, entering it on first use.
fn register(buffers: &mut Vec<Buffer>, index: &mut Option<u32>, buffer: &Buffer) -> Result<u32> {
    if let Some(index) = *index {
        return Ok(index);
    }
    let new =
        i32::try_from(buffers.len()).map_err(|_| Error::limit("buffers of a batch", i32::MAX as u64, u64::MAX))?;
    buffers.push(buffer.clone());
    *index = Some(new as u32);
    Ok(new as u32)
}

fn check_utf8_plain(page: &[u8], max_len: u32, views: &[u128]) -> Result<()> {
    check_utf8_plain_at(page, 0..page.len(), max_len, views)
}

/// PLAIN values with the lengths between them. Where every length is under 128 its four bytes are ASCII, so that the
/// stretch is UTF-8 exactly if every value is, and one pass over all of it will do.
fn check_utf8_plain_at(page: &[u8], range: std::ops::Range<usize>, max_len: u32, views: &[u128]) -> Result<()> {
    if max_len < 128 {
        return match simdutf8::basic::from_utf8(&page[range]) {
            Ok(_) => Ok(()),
            Err(_) => Err(strings::not_utf8()),
        };
    }
    let mut position = range.start;
    check_utf8_values(views.iter().map(|&view| {
        let len = view as u32 as usize;
        let value = &page[position + 4..position + 4 + len];
        position += 4 + len;
        value
    }))
}
