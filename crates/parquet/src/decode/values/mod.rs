//! The values of one column chunk of any type: pages in, Arrow arrays out.

mod dictionary;

use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use lath_format::schema::PhysicalType;

use self::dictionary::DictionaryColumn;
use super::boolean::BooleanColumn;
use super::byte_array::{ByteArrayColumn, ByteArrayOutput};
use super::convert::FixedLayout;
use super::fixed::FixedColumn;
use super::page_values::{EncodedValues, SearchablePage, Slots, values_missing};
use crate::error::{Error, Result};
use crate::page::{DictionaryPage, Encoding};
use crate::schema::Leaf;

/// Decodes the values of one column chunk into arrays of one Arrow type.
#[derive(Debug)]
pub(crate) enum ValueColumn {
    Fixed(FixedColumn),
    Boolean(BooleanColumn),
    ByteArray(ByteArrayColumn),
    Dictionary(Box<DictionaryColumn>),
    /// The UNKNOWN logical type: every slot is null, whatever is stored.
    Null {
        slot_count: usize,
    },
}

impl ValueColumn {
    /// A column for values of `leaf` read as `data_type`.
    pub(crate) fn new(leaf: &Leaf, data_type: &DataType) -> Result<Self> {
        let physical_type = leaf.physical_type;
        if let DataType::Null = data_type {
            return Ok(Self::Null { slot_count: 0 });
        }
        if let DataType::Dictionary(key_type, value_type) = data_type {
            let values = Self::new(leaf, value_type)?;
            return Ok(Self::Dictionary(Box::new(DictionaryColumn::new(key_type, values))));
        }
        if physical_type == PhysicalType::BYTE_ARRAY
            && let Some(output) = ByteArrayOutput::new(data_type)
        {
            return Ok(Self::ByteArray(ByteArrayColumn::new(data_type.clone(), output)));
        }
        if physical_type == PhysicalType::BOOLEAN && *data_type == DataType::Boolean {
            return Ok(Self::Boolean(BooleanColumn::default()));
        }
        match FixedLayout::new(physical_type, leaf.type_length, data_type) {
            Some(layout) => Ok(Self::Fixed(FixedColumn::new(data_type.clone(), physical_type, layout))),
            None => Err(Error::unsupported(format!("reading {physical_type} values as {data_type}"))),
        }
    }

    /// Drops dictionary and page, for the next column chunk.
    pub(crate) fn reset(&mut self) {
        match self {
            Self::Fixed(column) => column.reset(),
            Self::ByteArray(column) => column.reset(),
            Self::Boolean(column) => column.reset(),
            Self::Dictionary(column) => column.reset(),
            Self::Null { .. } => {}
        }
    }

    pub(crate) fn start_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        if !matches!(page.encoding, Encoding::Plain | Encoding::PlainDictionary) {
            return Err(Error::unsupported(format!("encoding {} of a dictionary page", page.encoding)));
        }
        match self {
            Self::Fixed(column) => column.start_dictionary(page),
            Self::ByteArray(column) => column.start_dictionary(page),
            Self::Dictionary(column) => column.start_dictionary(page),
            Self::Boolean(_) => Err(Error::unsupported("dictionary encoding of BOOLEAN values")),
            Self::Null { .. } => Ok(()),
        }
    }

    /// Whether the dictionary's memory was released because of pages without indices. Writers that gave up their dictionary
    /// rarely return to it; if one does, it is read again and then kept.
    pub(crate) fn dictionary_is_released(&self) -> bool {
        match self {
            Self::Fixed(column) => column.dictionary_is_released(),
            Self::ByteArray(column) => column.dictionary_is_released(),
            Self::Dictionary(column) => column.dictionary_is_released(),
            Self::Boolean(_) | Self::Null { .. } => false,
        }
    }

    /// Takes the dictionary again after it was released.
    pub(crate) fn restore_dictionary(&mut self, page: &DictionaryPage) -> Result<()> {
        match self {
            Self::Fixed(column) => column.restore_dictionary(page),
            Self::ByteArray(column) => column.restore_dictionary(page),
            Self::Dictionary(column) => column.restore_dictionary(page),
            Self::Boolean(_) | Self::Null { .. } => Ok(()),
        }
    }

    /// Drops the page, all of whose values have been taken.
    pub(crate) fn end_page(&mut self) {
        match self {
            Self::Fixed(column) => column.end_page(),
            Self::ByteArray(column) => column.end_page(),
            Self::Boolean(column) => column.reset(),
            Self::Dictionary(column) => column.end_page(),
            Self::Null { .. } => {}
        }
    }

    pub(crate) fn start_page(&mut self, values: EncodedValues) -> Result<()> {
        match self {
            Self::Fixed(column) => column.start_page(values),
            Self::ByteArray(column) => column.start_page(values),
            Self::Boolean(column) => column.start_page(values),
            Self::Dictionary(column) => column.start_page(values)?,
            Self::Null { .. } => {}
        }
        Ok(())
    }

    pub(crate) fn append(&mut self, slots: Slots<'_>) -> Result<()> {
        match self {
            Self::Fixed(column) => column.append(slots),
            Self::ByteArray(column) => column.append(slots),
            Self::Boolean(column) => column.append(slots),
            Self::Dictionary(column) => column.append(slots),
            Self::Null { slot_count } => {
                *slot_count += slots.count;
                Ok(())
            }
        }
    }

    /// Whether the type cannot hold every possible stored value.
    pub(crate) fn can_fail(&self) -> bool {
        matches!(self, Self::Fixed(column) if column.can_fail())
    }

    /// Whether [`ValueColumn::append_selected`] is supported.
    pub(crate) fn can_select(&self) -> bool {
        match self {
            Self::Fixed(_) | Self::Dictionary(_) => true,
            Self::ByteArray(column) => column.can_select(),
            Self::Boolean(_) | Self::Null { .. } => false,
        }
    }

    /// As [`ValueColumn::append`], for the values among the next `value_count` whose bits are set in `selection`; they are as
    /// many as the slots take.
    pub(crate) fn append_selected(&mut self, value_count: usize, selection: &[u64], slots: Slots<'_>) -> Result<()> {
        if slots.value_count == 0 {
            self.skip(value_count)?;
            return self.append(slots);
        }
        match self {
            Self::Fixed(column) => column.append_selected(value_count, selection, slots),
            Self::ByteArray(column) => column.append_selected(value_count, selection, slots),
            Self::Dictionary(column) => column.append_selected(value_count, selection, slots),
            Self::Boolean(_) | Self::Null { .. } => Err(values_missing()),
        }
    }

    /// Skips the next values of the page.
    pub(crate) fn skip(&mut self, value_count: usize) -> Result<()> {
        match self {
            Self::Fixed(column) => column.skip(value_count),
            Self::ByteArray(column) => column.skip(value_count),
            Self::Boolean(column) => column.skip(value_count),
            Self::Dictionary(column) => column.skip(value_count),
            Self::Null { .. } => Ok(()),
        }
    }

    /// The page, if its decoding has not begun and the bytes of each value are contiguous.
    pub(crate) fn searchable_page(&self) -> Option<SearchablePage<'_>> {
        match self {
            Self::Fixed(column) => column.searchable_page(),
            Self::ByteArray(column) => column.searchable_page(),
            Self::Boolean(_) | Self::Dictionary(_) | Self::Null { .. } => None,
        }
    }

    /// Whether pages can have indices of a dictionary that the column keeps.
    pub(crate) fn can_hold_codes(&self) -> bool {
        matches!(self, Self::Fixed(_) | Self::ByteArray(_))
    }

    /// Whether the page has indices of a dictionary that the column keeps.
    pub(crate) fn holds_codes(&self) -> bool {
        match self {
            Self::Fixed(column) => column.holds_codes(),
            Self::ByteArray(column) => column.holds_codes(),
            Self::Boolean(_) | Self::Dictionary(_) | Self::Null { .. } => false,
        }
    }

    /// Decodes the dictionary indices of the next values until `out` is full, without checking them against the dictionary.
    pub(crate) fn decode_codes(&mut self, out: &mut [u32]) -> Result<()> {
        match self {
            _ if out.is_empty() => Ok(()),
            Self::Fixed(column) => column.decode_codes(out),
            Self::ByteArray(column) => column.decode_codes(out),
            Self::Boolean(_) | Self::Dictionary(_) | Self::Null { .. } => Err(values_missing()),
        }
    }

    /// As [`ValueColumn::append`], with the dictionary's values for `codes` instead of the page's.
    pub(crate) fn append_codes(&mut self, codes: &[u32], slots: Slots<'_>) -> Result<()> {
        match self {
            Self::Fixed(column) => column.append_codes(codes, slots),
            Self::ByteArray(column) => column.append_codes(codes, slots),
            Self::Boolean(_) | Self::Dictionary(_) | Self::Null { .. } => Err(values_missing()),
        }
    }

    /// Returns the slots appended since the last call.
    pub(crate) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        match self {
            Self::Fixed(column) => column.finish(nulls),
            Self::ByteArray(column) => column.finish(nulls),
            Self::Boolean(column) => Ok(column.finish(nulls)),
            Self::Dictionary(column) => column.finish(nulls),
            Self::Null { slot_count } => Ok(Arc::new(NullArray::new(std::mem::take(slot_count)))),
        }
    }

    /// The chunk's dictionary as an array of the column's type; `None` if the type has none, or cannot hold an entry.
    pub(crate) fn dictionary_values(&mut self) -> Result<Option<ArrayRef>> {
        match self {
            Self::Fixed(column) => column.dictionary_values(),
            Self::ByteArray(column) => column.dictionary_values().map(Some),
            Self::Boolean(_) | Self::Dictionary(_) | Self::Null { .. } => Ok(None),
        }
    }
}

/// The values of a dictionary page, read as `data_type`, which must not be a dictionary; `None` if the type has none, or cannot
/// hold one of them.
pub(crate) fn dictionary_values(leaf: &Leaf, data_type: &DataType, page: &DictionaryPage) -> Result<Option<ArrayRef>> {
    let mut column = ValueColumn::new(leaf, data_type)?;
    column.start_dictionary(page)?;
    column.dictionary_values()
}
