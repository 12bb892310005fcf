//! BOOLEAN values.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use lath_kernels::{rle, select};

use super::page_values::values_missing;
use super::page_values::{EncodedValues, Slots};
use crate::error::{Error, Result};
use crate::page::Encoding;

/// Decodes the BOOLEAN values of one column chunk into bitmaps.
#[derive(Debug, Default)]
pub(crate) struct BooleanColumn {
    bits: Vec<u8>,
    len: usize,
    /// Compact values, before they are moved to their slots.
    compact: Vec<u8>,
    page: PageState,
}

#[derive(Debug, Default)]
enum PageState {
    #[default]
    None,
    Pending(EncodedValues),
    Plain {
        src: Buffer,
        position_bits: usize,
    },
    Rle {
        src: Buffer,
        decoder: rle::Decoder,
    },
}

impl BooleanColumn {
    pub(crate) fn reset(&mut self) {
        self.page = PageState::None;
    }

    pub(crate) fn start_page(&mut self, values: EncodedValues) {
        self.page = PageState::Pending(values);
    }

    pub(crate) fn append(&mut self, slots: Slots<'_>) -> Result<()> {
        let at = self.len;
        self.len += slots.count;
        self.bits.resize(self.len.div_ceil(8), 0);
        match slots.validity {
            None => decode(&mut self.page, &mut self.bits, at, slots.count),
            Some((validity, validity_at)) => {
                self.compact.clear();
                self.compact.resize(slots.value_count.div_ceil(8), 0);
                decode(&mut self.page, &mut self.compact, 0, slots.value_count)?;
                let (bits, compact) = (&mut self.bits, &self.compact);
                select::expand_bits(compact, 0, slots.value_count, validity, validity_at, slots.count, bits, at)?;
                Ok(())
            }
        }
    }

    pub(crate) fn skip(&mut self, value_count: usize) -> Result<()> {
        self.compact.clear();
        self.compact.resize(value_count.div_ceil(8), 0);
        decode(&mut self.page, &mut self.compact, 0, value_count)
    }

    pub(crate) fn finish(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        let bits = Buffer::from_vec(std::mem::take(&mut self.bits));
        let len = std::mem::take(&mut self.len);
        Arc::new(BooleanArray::new(BooleanBuffer::new(bits, 0, len), nulls))
    }
}

fn decode(page: &mut PageState, out: &mut [u8], at: usize, count: usize) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    if let PageState::Pending(values) = page {
        *page = open(values)?;
    }
    match page {
        PageState::None | PageState::Pending(_) => return Err(values_missing()),
        PageState::Plain { src, position_bits } => {
            if src.len() * 8 - *position_bits < count {
                return Err(values_missing());
            }
            select::copy_bits(src, *position_bits, out, at, count)?;
            *position_bits += count;
        }
        PageState::Rle { src, decoder } => {
            if decoder.decode_bits(src, out, at, count)? < count {
                return Err(values_missing());
            }
        }
    }
    Ok(())
}

fn open(values: &EncodedValues) -> Result<PageState> {
    let src = values.bytes.clone();
    match values.encoding {
        Encoding::Plain => Ok(PageState::Plain { src, position_bits: 0 }),
        Encoding::Rle => {
            // Values, unlike levels in v2 pages, are preceded by their length in four bytes.
            let len = src.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes) as usize);
            let len = len.filter(|&len| len <= src.len() - 4).ok_or_else(values_missing)?;
            Ok(PageState::Rle { src: src.slice_with_length(4, len), decoder: rle::Decoder::new(1)? })
        }
        encoding => Err(Error::unsupported(format!("encoding {encoding} of BOOLEAN values"))),
    }
}
