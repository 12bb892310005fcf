//! Converts the stored bytes of a page to levels and values.

use arrow_buffer::Buffer;
use lath_format::{Encoding, Module};

use super::PageReader;
use crate::error::{Error, Result};
use crate::page::header::{DataHeaderV1, DataHeaderV2, DictionaryHeader, PageHeader, PageKind};
use crate::page::{BitOrder, DataPage, DictionaryPage, Levels};

impl PageReader {
    /// Decrypts a page's body, or checks it against its CRC.
    pub(super) fn open_body(&self, header: &PageHeader, body: Buffer) -> Result<Buffer> {
        Ok(match &self.chunk.decryptor {
            // The cipher's tag proves more than a CRC, and writers differ in the bytes that their CRC covers.
            Some(decryptor) => Buffer::from_vec(decryptor.decrypt(&body, self.body_module(header))?),
            None => {
                self.verify_crc(header, &body)?;
                body
            }
        })
    }

    /// The encryption module of the body of the page whose header has just been taken.
    fn body_module(&self, header: &PageHeader) -> Module {
        match header.kind {
            PageKind::Dictionary(_) => Module::Dictionary,
            _ => Module::Data(self.data_page_count - 1),
        }
    }

    fn verify_crc(&self, header: &PageHeader, body: &[u8]) -> Result<()> {
        let Some(stated) = header.crc.filter(|_| self.options.verify_crc) else { return Ok(()) };
        let computed = crc32fast::hash(body);
        if stated == computed {
            return Ok(());
        }
        Err(Error::corrupt(format!("page has CRC {computed:08x} where its header says {stated:08x}")))
    }

    /// The dictionary page with this header. Its values have separate memory, because they stay in use for the whole chunk.
    pub(super) fn dictionary(&mut self, header: &PageHeader, body_offset: u64) -> Result<DictionaryPage> {
        let PageKind::Dictionary(DictionaryHeader { value_count, encoding }) = header.kind else {
            return Err(Error::corrupt("page of an unknown kind"));
        };
        let values = if self.decompressor.copies_nothing() {
            let body = self.window.page_apart(body_offset, header.compressed_len, self.end)?;
            self.open_body(header, body)?
        } else {
            let body = self.window.page(body_offset, header.compressed_len, self.end)?;
            let body = self.open_body(header, body)?;
            // The pages after a dictionary are much shorter than the pages at the end of the previous chunk.
            self.buffers.clear();
            let mut values = Vec::new();
            self.decompressor.decompress(&body, &mut values, header.uncompressed_len)?;
            Buffer::from_vec(values).slice_with_length(0, header.uncompressed_len)
        };
        Ok(DictionaryPage { values, value_count, encoding })
    }

    pub(super) fn data_v1(&mut self, kind: &DataHeaderV1, header: &PageHeader, body: &Buffer) -> Result<DataPage> {
        let mut rest = self.decompress(body, header.uncompressed_len)?;
        let (max_rep, max_def) = (self.chunk.max_rep_level, self.chunk.max_def_level);
        let order = self.chunk.bit_order;
        let rep_levels =
            split_levels(&mut rest, kind.rep_level_encoding, order, max_rep, kind.value_count, "repetition")?;
        let def_levels =
            split_levels(&mut rest, kind.def_level_encoding, order, max_def, kind.value_count, "definition")?;
        Ok(DataPage { value_count: kind.value_count, rep_levels, def_levels, values: rest, encoding: kind.encoding })
    }

    pub(super) fn data_v2(&mut self, kind: &DataHeaderV2, header: &PageHeader, body: &Buffer) -> Result<DataPage> {
        let levels_len = kind.rep_levels_len + kind.def_levels_len;
        if levels_len > body.len() || levels_len > header.uncompressed_len {
            return Err(Error::corrupt(format!("levels of {levels_len} bytes in a page of {} bytes", body.len())));
        }
        let stored = body.slice(levels_len);
        let values_len = header.uncompressed_len - levels_len;
        let is_compressed = kind.is_compressed || self.chunk.ignores_compression_flag;
        let values = if is_compressed { self.decompress(&stored, values_len)? } else { stored };
        let levels = |max_level: u8, offset: usize, len: usize| match max_level {
            0 => Levels::None,
            _ => Levels::Rle(body.slice_with_length(offset, len)),
        };
        Ok(DataPage {
            value_count: kind.value_count,
            rep_levels: levels(self.chunk.max_rep_level, 0, kind.rep_levels_len),
            def_levels: levels(self.chunk.max_def_level, kind.rep_levels_len, kind.def_levels_len),
            values,
            encoding: kind.encoding,
        })
    }

    fn decompress(&mut self, stored: &Buffer, len: usize) -> Result<Buffer> {
        if self.decompressor.copies_nothing() {
            return Ok(stored.clone());
        }
        let mut buffer = self.buffers.take();
        self.decompressor.decompress(stored, &mut buffer, len)?;
        Ok(self.buffers.lend(buffer, len))
    }
}

/// Takes the levels of a data page of the first version off the front of `rest`.
fn split_levels(
    rest: &mut Buffer,
    encoding: Encoding,
    order: BitOrder,
    max_level: u8,
    value_count: usize,
    kind: &'static str,
) -> Result<Levels> {
    if max_level == 0 {
        return Ok(Levels::None);
    }
    let (prefix, len) = match encoding {
        Encoding::Rle => match rest.first_chunk::<4>() {
            Some(&len) => (4, u32::from_le_bytes(len) as usize),
            None => return Err(Error::corrupt(format!("page of {} bytes has no {kind} levels", rest.len()))),
        },
        Encoding::BitPacked => {
            let width = u8::BITS - max_level.leading_zeros();
            (0, (value_count as u64 * u64::from(width)).div_ceil(8) as usize)
        }
        other => return Err(Error::unsupported(format!("{other} for {kind} levels"))),
    };
    let left = rest.len() - prefix;
    if len > left {
        return Err(Error::corrupt(format!("{kind} levels of {len} bytes where the page has {left} left")));
    }
    let levels = rest.slice_with_length(prefix, len);
    *rest = rest.slice(prefix + len);
    Ok(if prefix == 0 { Levels::BitPacked(levels, order) } else { Levels::Rle(levels) })
}
