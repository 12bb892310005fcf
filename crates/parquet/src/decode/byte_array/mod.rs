//! BYTE_ARRAY values: strings, binary, decimals.
//!
//! In every encoding, values become Arrow views into the decompressed page (or, for DELTA_BYTE_ARRAY, into bytes joined from
//! prefixes and suffixes). If the array has offsets, the viewed bytes are copied once, at the end. Pages that store their values
//! one after another are copied to arrays with offsets as a whole, without views ([`Contiguous`]).

mod buffers;
mod contiguous;
mod output;
mod page;

use arrow_array::ArrayRef;
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::DataType;
use lath_kernels::{byte_array, gather, select};

use self::buffers::ViewedBuffers;
use self::contiguous::Contiguous;
pub(crate) use self::output::ByteArrayOutput;
use self::page::{Page, check_utf8_plain};
use super::aligned::AlignedBytes;
use super::batch::compress_values;
use super::chunk_dictionary::ChunkDictionary;
use super::chunk_values::ChunkValues;
use super::page_values::{EncodedValues, SearchablePage, Slots, values_missing};
use super::strings;
use crate::error::{Error, Result};
use crate::page::{DictionaryPage, Encoding};

/// If fewer than one in this many values is selected, views are built one by one; otherwise views of all values come first.
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
    /// Bytes of values with offsets, copied from the viewed buffers.
    copied: AlignedBytes,
    /// A batch with offsets, as long as all its pages store their values one after another; there are no views then.
    contiguous: Contiguous,
    /// Views before selection.
    all: AlignedBytes,
    /// Ends of values before selection.
    ends: Vec<i32>,
    buffers: ViewedBuffers,
    chunk: ChunkValues<Page, DictionaryValues>,
}

#[derive(Debug)]
struct DictionaryValues {
    views: Vec<u128>,
    bytes: Buffer,
}

impl DictionaryValues {
    fn new(page: &DictionaryPage, utf8: bool) -> Result<Self> {
        // Each value takes at least four bytes of length; checked before the views are allocated.
        if page.value_count > page.values.len() / 4 {
            return Err(Error::corrupt("the dictionary page ends before its values do"));
        }
        let mut views = vec![0u128; page.value_count];
        let scan = byte_array::plain_views(&page.values, 0, 0, &mut views)?;
        if utf8 {
            check_utf8_plain(&page.values, 0..scan.position, scan.max_len, &views)?;
        }
        Ok(Self { views, bytes: page.values.clone() })
    }
}

impl ChunkDictionary<DictionaryValues> {
    fn views(&self) -> &[u128] {
        self.values().map_or(&[], |values| &values.views)
    }
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
            all: AlignedBytes::default(),
            ends: Vec::new(),
            buffers: ViewedBuffers::default(),
            chunk: ChunkValues::default(),
        }
    }

    pub(crate) fn reset(&mut self) {
        self.chunk.reset();
        self.start_buffers();
    }

    pub(crate) fn start_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        self.chunk.start_dictionary(DictionaryValues::new(page, self.utf8)?);
        self.start_buffers();
        Ok(())
    }

    pub(crate) fn dictionary_is_released(&self) -> bool {
        self.chunk.dictionary().is_released()
    }

    /// Only after [`ByteArrayColumn::dictionary_is_released`]: the batch may have views already, but none into the dictionary.
    pub(crate) fn restore_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        let values = DictionaryValues::new(page, self.utf8)?;
        self.buffers.restore_dictionary(values.bytes.clone());
        self.chunk.restore_dictionary(values);
        Ok(())
    }

    pub(crate) fn end_page(&mut self) {
        self.chunk.end_page();
    }

    pub(crate) fn start_page(&mut self, values: EncodedValues) {
        self.chunk.start_page(values);
    }

    pub(crate) fn append(&mut self, slots: Slots<'_>) -> Result<()> {
        if self.append_contiguous(slots)? {
            return Ok(());
        }
        self.append_views(slots, Self::decode)
    }

    /// Whether [`ByteArrayColumn::append_selected`] is supported.
    pub(crate) fn can_select(&self) -> bool {
        self.output == ByteArrayOutput::Views
    }

    /// As [`ByteArrayColumn::append`] to views, for the values among the next `value_count` whose bits are set in `selection`.
    pub(crate) fn append_selected(&mut self, value_count: usize, selection: &[u64], slots: Slots<'_>) -> Result<()> {
        self.append_views(slots, |column, out| column.decode_selected(value_count, selection, out))
    }

    /// As [`ByteArrayColumn::append`], with the dictionary's values for `codes` instead of the page's.
    pub(crate) fn append_codes(&mut self, codes: &[u32], slots: Slots<'_>) -> Result<()> {
        self.view_contiguous()?;
        self.append_views(slots, |column, out| Ok(gather::gather_u128(column.chunk.dictionary().views(), codes, out)?))
    }

    /// Appends slots; `decode` builds the views of valid slots.
    fn append_views(
        &mut self,
        slots: Slots<'_>,
        decode: impl FnOnce(&mut Self, &mut [u128]) -> Result<()>,
    ) -> Result<()> {
        let mut views = std::mem::take(&mut self.views);
        let region: &mut [u128] = bytemuck::cast_slice_mut(views.grow(slots.count * 16));
        let result = decode(self, &mut region[slots.count - slots.value_count..]);
        let result = result.and_then(|()| match slots.validity {
            Some((bits, at)) => Ok(select::expand_in_place_u128(region, slots.value_count, bits, at)?),
            None => Ok(()),
        });
        self.views = views;
        result
    }

    fn decode(&mut self, out: &mut [u128]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let (page, dictionary) = self.chunk.open(Page::open)?;
        let dictionary = dictionary.map_or(&[][..], |values| &values.views);
        page.decode(dictionary, &mut self.buffers, self.utf8, out)
    }

    fn decode_selected(&mut self, value_count: usize, selection: &[u64], out: &mut [u128]) -> Result<()> {
        let selection = bytemuck::cast_slice(selection);
        if let (Page::DeltaLength(page), _) = self.chunk.open(Page::open)?
            && out.len() * FEW_VIEWS < value_count
        {
            return page.decode_few(value_count, selection, &mut self.buffers, self.utf8, &mut self.ends, out);
        }
        let mut all = std::mem::take(&mut self.all);
        all.clear();
        let views = all.grow(value_count * 16);
        let result = self.decode(bytemuck::cast_slice_mut(views));
        let result = result.and_then(|()| compress_values(16, views, selection, bytemuck::cast_slice_mut(out)));
        self.all = all;
        if result? { Ok(()) } else { Err(values_missing()) }
    }

    /// Appends slots without views, if the page and the batch so far allow that; otherwise builds views of the batch so far.
    fn append_contiguous(&mut self, slots: Slots<'_>) -> Result<bool> {
        if !matches!(self.output, ByteArrayOutput::Offsets32 | ByteArrayOutput::Offsets64) {
            return Ok(false);
        }
        // Slots without values need no page.
        let page = match slots.value_count {
            0 => self.chunk.page_if_open(),
            _ => Some(self.chunk.open(Page::open)?.0),
        };
        let page = page.filter(|page| matches!(page, Page::DeltaLength(_) | Page::DeltaByteArray(_)));
        let Some(page) = page.filter(|_| self.views.as_slice().is_empty()) else {
            self.view_contiguous()?;
            return Ok(false);
        };
        // Not restored if it fails: its content is then useless.
        let mut contiguous = std::mem::take(&mut self.contiguous);
        contiguous.append(page, slots, self.utf8, self.output)?;
        self.contiguous = contiguous;
        Ok(true)
    }

    /// Builds views of the slots that were appended without.
    fn view_contiguous(&mut self) -> Result<()> {
        if self.contiguous.is_empty() {
            return Ok(());
        }
        let (lengths, bytes) = self.contiguous.take();
        let lengths: &[i32] = bytemuck::cast_slice(&lengths);
        let buffer_index = self.buffers.register(&mut None, &bytes)?;
        let views: &mut [u128] = bytemuck::cast_slice_mut(self.views.grow(lengths.len() * 16));
        byte_array::length_views(&bytes, 0, lengths, buffer_index, views)?;
        Ok(())
    }

    /// Skips the next values of the page, checking only that they exist.
    pub(crate) fn skip(&mut self, value_count: usize) -> Result<()> {
        if value_count == 0 {
            return Ok(());
        }
        self.chunk.open(Page::open)?.0.skip(value_count)
    }

    /// Decodes the dictionary indices of the next values until `out` is full, without checking them against the dictionary.
    pub(crate) fn decode_codes(&mut self, out: &mut [u32]) -> Result<()> {
        self.chunk.decode_codes(out, Page::open)
    }

    /// The page, if its decoding has not begun and the bytes of each value are contiguous.
    pub(crate) fn searchable_page(&self) -> Option<SearchablePage<'_>> {
        let values = self.chunk.pending_page()?;
        let has_lengths = match values.encoding {
            Encoding::Plain => true,
            Encoding::DeltaLengthByteArray => false,
            _ => return None,
        };
        Some(SearchablePage { bytes: &values.bytes, has_lengths })
    }

    /// Whether the page has dictionary indices.
    pub(crate) fn holds_codes(&self) -> bool {
        self.chunk.holds_codes()
    }

    pub(crate) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        self.chunk.release_unused_dictionary();
        if !self.contiguous.is_empty() {
            // Skipping may have registered some.
            self.start_buffers();
            return match self.output {
                ByteArrayOutput::Offsets64 => self.contiguous.finish::<i64>(&self.data_type, nulls),
                _ => self.contiguous.finish::<i32>(&self.data_type, nulls),
            };
        }
        let views = self.views.finish();
        let buffers = self.buffers.take();
        self.start_buffers();
        let Self { data_type, output, copied, .. } = self;
        match *output {
            ByteArrayOutput::Views => Ok(strings::view_array(data_type, views, buffers, nulls)),
            ByteArrayOutput::Offsets32 => strings::offset_array::<i32>(data_type, &views, &buffers, nulls, copied),
            ByteArrayOutput::Offsets64 => strings::offset_array::<i64>(data_type, &views, &buffers, nulls, copied),
            ByteArrayOutput::Decimal { width } => strings::decimal_array(data_type, width, views, &buffers, nulls),
        }
    }

    /// The dictionary as an array.
    pub(crate) fn dictionary_values(&mut self) -> Result<ArrayRef> {
        let views = self.chunk.dictionary().views();
        let held = (std::mem::take(&mut self.views), std::mem::take(&mut self.contiguous));
        self.views.grow(views.len() * 16).copy_from_slice(bytemuck::cast_slice(views));
        let buffers = self.buffers.to_vec();
        let array = self.finish(None);
        (self.views, self.contiguous) = held;
        self.buffers.set(buffers);
        array
    }

    /// Drops the buffers of the returned batch; the current page registers its buffer again.
    fn start_buffers(&mut self) {
        self.buffers.start(match self.chunk.dictionary() {
            ChunkDictionary::None => None,
            ChunkDictionary::Here(values) | ChunkDictionary::Restored(values) => Some(values.bytes.clone()),
            // An empty buffer keeps its place.
            ChunkDictionary::Released => Some(Buffer::from_vec(Vec::<u8>::new())),
        });
        if let Some(page) = self.chunk.page_if_open() {
            page.forget_buffer();
        }
    }
}
