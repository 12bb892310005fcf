//! Values of fixed width: integers, floating point, decimals, timestamps, FIXED_LEN_BYTE_ARRAY.

mod dictionary;
mod page;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use lath_format::schema::PhysicalType;
use lath_kernels::select;

use self::dictionary::{DictionaryValues, decode_entries, gather_entries};
use self::page::Page;
use super::aligned::AlignedBytes;
use super::batch::{compress_values, few, pick_values};
use super::chunk_values::ChunkValues;
use super::convert::{Convert, FixedLayout};
use super::page_values::{EncodedValues, INDEX_CHUNK, SearchablePage, Slots, values_missing};
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
    chunk: ChunkValues<Page, DictionaryValues>,
    /// Stored values before conversion.
    scratch: AlignedBytes,
    /// Values before selection.
    all: AlignedBytes,
}

impl FixedColumn {
    pub(crate) fn new(data_type: DataType, physical_type: PhysicalType, layout: FixedLayout) -> Self {
        Self {
            data_type,
            physical_type,
            layout,
            out: AlignedBytes::default(),
            slot_count: 0,
            chunk: ChunkValues::default(),
            scratch: AlignedBytes::default(),
            all: AlignedBytes::default(),
        }
    }

    pub(crate) fn can_fail(&self) -> bool {
        self.layout.can_fail()
    }

    pub(crate) fn reset(&mut self) {
        self.chunk.reset();
    }

    pub(crate) fn start_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        self.chunk.start_dictionary(DictionaryValues::new(page, self.layout)?);
        Ok(())
    }

    pub(crate) fn dictionary_is_released(&self) -> bool {
        self.chunk.dictionary().is_released()
    }

    pub(crate) fn restore_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        self.chunk.restore_dictionary(DictionaryValues::new(page, self.layout)?);
        Ok(())
    }

    pub(crate) fn end_page(&mut self) {
        self.chunk.end_page();
    }

    pub(crate) fn start_page(&mut self, values: EncodedValues) {
        self.chunk.start_page(values);
    }

    /// Appends slots; valid slots take the next values of the page.
    pub(crate) fn append(&mut self, slots: Slots<'_>) -> Result<()> {
        self.append_with(slots, |column, out| column.decode(out, slots.value_count))
    }

    /// As [`FixedColumn::append`], for the values among the next `value_count` whose bits are set in `selection`.
    pub(crate) fn append_selected(&mut self, value_count: usize, selection: &[u64], slots: Slots<'_>) -> Result<()> {
        self.append_with(slots, |column, out| column.decode_selected(out, value_count, selection, slots.value_count))
    }

    /// As [`FixedColumn::append`], with the dictionary's values for `codes` instead of the page's.
    pub(crate) fn append_codes(&mut self, codes: &[u32], slots: Slots<'_>) -> Result<()> {
        self.append_with(slots, |column, out| column.gather_codes(codes, out))
    }

    /// Appends slots whose valid values `decode` writes.
    fn append_with(&mut self, slots: Slots<'_>, decode: impl FnOnce(&mut Self, &mut [u8]) -> Result<()>) -> Result<()> {
        let width = self.layout.width;
        self.slot_count += slots.count;
        let mut out = std::mem::take(&mut self.out);
        let region = out.grow(slots.count * width);
        let tail = (slots.count - slots.value_count) * width;
        let result = decode(self, &mut region[tail..]).map_err(|error| slots.locate(error));
        let result = result.and_then(|()| match slots.validity {
            Some((bits, at)) => expand(region, width, slots.value_count, bits, at),
            None => Ok(()),
        });
        self.out = out;
        result
    }

    fn decode(&mut self, out: &mut [u8], count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let FixedLayout { stored_width, width, convert, .. } = self.layout;
        let (page, dictionary) = self.chunk.open(|values| Page::open(values, self.physical_type, stored_width))?;
        if let (Page::Dictionary(indices), Some(dictionary)) = (&mut *page, dictionary)
            && !dictionary.is_stored
        {
            return decode_entries(indices, dictionary.as_slice(), width, out, count);
        }
        let dictionary = dictionary.map_or(&[][..], DictionaryValues::as_slice);
        let Some(convert) = convert else { return page.decode(dictionary, stored_width, out, count) };
        if let Some(stored) = page.take_plain(count * stored_width) {
            let stored = stored?;
            return convert(stored, stored_width, out).map_err(|index| self.layout.misfit(stored, index));
        }
        let mut done = 0;
        while done < count {
            let n = (count - done).min(INDEX_CHUNK);
            self.scratch.clear();
            let stored = self.scratch.grow(n * stored_width);
            page.decode(dictionary, stored_width, stored, n)?;
            convert(stored, stored_width, &mut out[done * width..(done + n) * width])
                .map_err(|index| self.layout.misfit(stored, index).map_row(|row| done as u64 + row))?;
            done += n;
        }
        Ok(())
    }

    fn decode_selected(&mut self, out: &mut [u8], value_count: usize, selection: &[u64], count: usize) -> Result<()> {
        let FixedLayout { stored_width, width, convert, .. } = self.layout;
        let selection = bytemuck::cast_slice(selection);
        let (page, _) = self.chunk.open(|values| Page::open(values, self.physical_type, stored_width))?;
        if convert.is_none()
            && count * few(width) < value_count
            && let Some(values) = page.take_plain(value_count * stored_width)
        {
            pick_values(width, values?, selection, out);
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

    /// As [`FixedColumn::decode_selected`], but only selected values have to fit the Arrow type.
    fn select_then_convert(
        &mut self,
        convert: Convert,
        out: &mut [u8],
        value_count: usize,
        selection: &[u8],
        count: usize,
    ) -> Result<()> {
        let FixedLayout { stored_width, width, .. } = self.layout;
        let (page, dictionary) = self.chunk.open(|values| Page::open(values, self.physical_type, stored_width))?;
        self.all.clear();
        self.scratch.clear();
        let all = self.all.grow(value_count * stored_width.max(width));
        if let (Page::Dictionary(indices), Some(dictionary)) = (&mut *page, dictionary)
            && !dictionary.is_stored
        {
            let all = &mut all[..value_count * width];
            decode_entries(indices, dictionary.as_slice(), width, all, value_count)?;
            return if compress_values(width, all, selection, out)? { Ok(()) } else { Err(values_missing()) };
        }
        let chosen = self.scratch.grow(count * stored_width);
        let dictionary = dictionary.map_or(&[][..], DictionaryValues::as_slice);
        let all = &mut all[..value_count * stored_width];
        page.decode(dictionary, stored_width, all, value_count)?;
        if !compress_values(stored_width, all, selection, chosen)? {
            return Err(values_missing());
        }
        convert(chosen, stored_width, out).map_err(|index| self.layout.misfit(chosen, index))
    }

    /// Gathers the dictionary's entries for `codes`.
    fn gather_codes(&mut self, codes: &[u32], out: &mut [u8]) -> Result<()> {
        let FixedLayout { stored_width, width, convert, .. } = self.layout;
        let dictionary = self.chunk.dictionary().values().ok_or_else(values_missing)?;
        let Some(convert) = convert.filter(|_| dictionary.is_stored) else {
            return gather_entries(dictionary.as_slice(), width, codes, out);
        };
        for (chunk, out) in out.chunks_mut(INDEX_CHUNK * width).enumerate() {
            let start = chunk * INDEX_CHUNK;
            let codes = &codes[start..start + out.len() / width];
            self.scratch.clear();
            let stored = self.scratch.grow(codes.len() * stored_width);
            gather_entries(dictionary.as_slice(), stored_width, codes, stored)?;
            convert(stored, stored_width, out)
                .map_err(|index| self.layout.misfit(stored, index).map_row(|row| start as u64 + row))?;
        }
        Ok(())
    }

    /// Skips the next values of the page, decoding them only if the encoding needs it.
    pub(crate) fn skip(&mut self, value_count: usize) -> Result<()> {
        if value_count == 0 {
            return Ok(());
        }
        let width = self.layout.stored_width;
        let (page, _) = self.chunk.open(|values| Page::open(values, self.physical_type, width))?;
        page.skip(value_count, width)
    }

    /// Decodes the dictionary indices of the next values until `out` is full, without checking them against the dictionary.
    pub(crate) fn decode_codes(&mut self, out: &mut [u32]) -> Result<()> {
        let width = self.layout.stored_width;
        self.chunk.decode_codes(out, |values| Page::open(values, self.physical_type, width))
    }

    /// The page, if its decoding has not begun and the bytes of each value are contiguous.
    pub(crate) fn searchable_page(&self) -> Option<SearchablePage<'_>> {
        let values = self.chunk.pending_page()?;
        let is_plain = matches!(values.encoding, Encoding::Plain);
        is_plain.then_some(SearchablePage { bytes: &values.bytes, has_lengths: false })
    }

    /// Whether the page has dictionary indices.
    pub(crate) fn holds_codes(&self) -> bool {
        self.chunk.holds_codes()
    }

    pub(crate) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        self.chunk.release_unused_dictionary();
        build(&self.data_type, std::mem::take(&mut self.slot_count), self.out.finish(), nulls)
    }

    /// The dictionary as an array; `None` if its Arrow type cannot hold all entries.
    pub(crate) fn dictionary_values(&self) -> Result<Option<ArrayRef>> {
        match self.chunk.dictionary().values() {
            Some(dictionary) => dictionary.to_array(&self.data_type, self.layout),
            None => build(&self.data_type, 0, AlignedBytes::default().finish(), None).map(Some),
        }
    }
}

/// Moves the compact values at the end of `region` to the valid slots.
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
    Ok(make_array(data.map_err(|error| Error::from_arrow(&error))?))
}
