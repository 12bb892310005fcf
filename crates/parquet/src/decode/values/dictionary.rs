//! Columns that stay dictionary-encoded in Arrow.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, make_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::take::take;
use lath_kernels::{gather, select};

use super::super::aligned::AlignedBytes;
use super::super::page_values::{DictionaryIndices, EncodedValues, INDEX_CHUNK, Slots, values_missing};
use super::ValueColumn;
use crate::error::{Error, Result};
use crate::page::DictionaryPage;

/// Decodes a column chunk into keys and a dictionary.
///
/// If a writer gave up its dictionary in mid-chunk, the values of later pages are appended to the batch's dictionary, one entry
/// for each value. If the Arrow type cannot hold an entry of the chunk's dictionary, the values of all pages are appended in this
/// way, because an entry without rows is not an error.
#[derive(Debug)]
pub(crate) struct DictionaryColumn {
    key_type: DataType,
    values: ValueColumn,
    /// The chunk's dictionary page, decoded; `None` if there is none, or if `values` has it.
    dictionary: Option<ArrayRef>,
    keys: AlignedBytes,
    /// Reusable memory for the keys of a page before selection.
    all: Vec<u32>,
    page: PageState,
    /// Values of this batch from pages without dictionary indices.
    plain_count: usize,
}

#[derive(Debug)]
enum PageState {
    Pending(Option<EncodedValues>),
    Indices(DictionaryIndices),
    Plain,
}

impl DictionaryColumn {
    pub(crate) fn new(key_type: &DataType, values: ValueColumn) -> Self {
        Self {
            key_type: key_type.clone(),
            values,
            dictionary: None,
            keys: AlignedBytes::default(),
            all: Vec::new(),
            page: PageState::Pending(None),
            plain_count: 0,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.values.reset();
        self.dictionary = None;
        self.page = PageState::Pending(None);
    }

    pub(crate) fn start_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        self.values.start_dictionary(page)?;
        self.dictionary = self.values.dictionary_values()?;
        if self.dictionary.is_some() {
            // The keys refer to the array; decoding values needs the dictionary no more.
            self.values.reset();
        }
        Ok(())
    }

    pub(crate) fn dictionary_is_released(&self) -> bool {
        self.values.dictionary_is_released()
    }

    pub(crate) fn restore_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        self.values.restore_dictionary(page)
    }

    pub(crate) fn end_page(&mut self) {
        self.page = PageState::Pending(None);
        self.values.end_page();
    }

    pub(crate) fn start_page(&mut self, values: EncodedValues) -> Result<()> {
        self.page = if values.encoding.is_dictionary() && self.dictionary.is_some() {
            PageState::Pending(Some(values))
        } else {
            self.values.start_page(values)?;
            PageState::Plain
        };
        Ok(())
    }

    pub(crate) fn append(&mut self, slots: Slots<'_>) -> Result<()> {
        self.append_with(slots, Self::decode)
    }

    /// As [`DictionaryColumn::append`], for the values among the next `value_count` whose bits are set in `selection`.
    pub(crate) fn append_selected(&mut self, value_count: usize, selection: &[u64], slots: Slots<'_>) -> Result<()> {
        let mut all = std::mem::take(&mut self.all);
        all.resize(value_count.max(all.len()), 0);
        let result = self.append_with(slots, |column, out| {
            column.decode(&mut all[..value_count])?;
            select::compress_u32(&all[..value_count], bytemuck::cast_slice(selection), 0, out)?;
            Ok(())
        });
        self.all = all;
        result
    }

    /// Appends slots; `decode` writes the keys of valid slots.
    fn append_with(
        &mut self,
        slots: Slots<'_>,
        decode: impl FnOnce(&mut Self, &mut [u32]) -> Result<()>,
    ) -> Result<()> {
        let mut keys = std::mem::take(&mut self.keys);
        let region: &mut [u32] = bytemuck::cast_slice_mut(keys.grow(slots.count * 4));
        let result = decode(self, &mut region[slots.count - slots.value_count..]).map_err(|error| slots.locate(error));
        let result = result.and_then(|()| match slots.validity {
            Some((bits, at)) => Ok(select::expand_in_place_u32(region, slots.value_count, bits, at)?),
            None => Ok(()),
        });
        self.keys = keys;
        result
    }

    pub(crate) fn skip(&mut self, value_count: usize) -> Result<()> {
        if let PageState::Plain = self.page {
            return self.values.skip(value_count);
        }
        let mut keys = [0; INDEX_CHUNK];
        let mut left = value_count;
        while left > 0 {
            let n = left.min(keys.len());
            self.decode(&mut keys[..n])?;
            left -= n;
        }
        Ok(())
    }

    fn decode(&mut self, out: &mut [u32]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        if let PageState::Pending(pending) = &mut self.page {
            let values = pending.take().ok_or_else(values_missing)?;
            self.page = PageState::Indices(DictionaryIndices::new(&values.bytes)?);
        }
        let dictionary_len = self.dictionary.as_ref().map_or(0, Array::len);
        match &mut self.page {
            PageState::Pending(_) => return Err(values_missing()),
            PageState::Indices(indices) => {
                indices.decode(out)?;
                match gather::max_index(out) {
                    Some(index) if index as usize >= dictionary_len => {
                        return Err(Error::corrupt(format!(
                            "dictionary index {index} is out of range for a dictionary of {dictionary_len} entries"
                        )));
                    }
                    _ => {}
                }
            }
            PageState::Plain => {
                self.values.append(Slots::all_valid(out.len()))?;
                for (key, value) in out.iter_mut().zip(dictionary_len + self.plain_count..) {
                    *key = value as u32;
                }
                self.plain_count += out.len();
            }
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let keys = self.keys.finish();
        let keys = Int32Array::new(ScalarBuffer::from(keys), nulls);
        let values = match (&self.dictionary, self.plain_count) {
            (Some(dictionary), 0) => Arc::clone(dictionary),
            (dictionary, _) => {
                let plain = self.values.finish(None)?;
                match dictionary {
                    Some(dictionary) => concat(&[dictionary, &plain]).map_err(|error| Error::from_arrow(&error))?,
                    None => plain,
                }
            }
        };
        self.plain_count = 0;
        if values.len() > i32::MAX as usize {
            return Err(Error::limit("dictionary entries of a batch", i32::MAX as u64, values.len() as u64));
        }
        self.build(keys, values)
    }

    fn build(&self, keys: Int32Array, values: ArrayRef) -> Result<ArrayRef> {
        if self.key_type == DataType::Int32 {
            let array = DictionaryArray::try_new(keys, values).map_err(|error| Error::from_arrow(&error))?;
            return Ok(Arc::new(array));
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let data_type = DataType::Dictionary(Box::new(self.key_type.clone()), Box::new(values.data_type().clone()));
        let Ok(narrow_keys) = cast_with_options(&keys, &self.key_type, &options) else {
            // One entry a value may be more than the keys can hold; one for each distinct value may fit.
            let packed = take(&values, &keys, None).and_then(|plain| cast_with_options(&plain, &data_type, &options));
            return packed.map_err(|_| {
                Error::unsupported(format!("dictionary keys of type {} for {} entries", self.key_type, values.len()))
            });
        };
        let data = ArrayData::builder(data_type)
            .len(narrow_keys.len())
            .nulls(narrow_keys.nulls().cloned())
            .add_buffer(narrow_keys.to_data().buffers()[0].clone())
            .add_child_data(values.to_data())
            .build()
            .map_err(|error| Error::from_arrow(&error))?;
        Ok(make_array(data))
    }
}
