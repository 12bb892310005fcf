//! Reads page headers, one after another.

use lath_format::thrift::ThriftError;
use lath_format::{ChunkDecryptor, Module};

use super::PageReader;
use crate::error::{Error, Result};
use crate::page::header::{PageHeader, PageKind};

/// Bytes that are read first for a page header; most headers have fewer than 100.
const HEADER_GUESS_BYTES: usize = 64;

impl PageReader {
    /// Reads headers up to the next page with values; none is pending afterwards if no values are left.
    pub(super) fn peek_header(&mut self) -> Result<()> {
        while self.pending.is_none() && self.values_left > 0 {
            self.read_header()?;
            let skip = self
                .pending
                .as_ref()
                .is_some_and(|header| header.kind == PageKind::Other || header.data_value_count() == Some(0));
            self.check_place()?;
            if skip {
                self.take_header();
            }
        }
        Ok(())
    }

    /// Takes the header that was read last and moves to the end of its page.
    pub(super) fn take_header(&mut self) -> Option<PageHeader> {
        let header = self.pending.take()?;
        self.position += header.compressed_len as u64;
        if let Some(value_count) = header.data_value_count() {
            self.values_left = self.values_left.saturating_sub(value_count as u64);
            self.data_page_count += 1;
        }
        Some(header)
    }

    /// Reads the header at `self.position` and moves to its end.
    fn read_header(&mut self) -> Result<()> {
        self.header_offset = self.position;
        self.page_count += 1;
        if self.position >= self.chunk.start.saturating_add(self.chunk.len).min(self.end) {
            let (left, all) = (self.values_left, self.chunk.value_count);
            return Err(Error::corrupt(format!("column chunk ends {left} values before its {all} values are read")));
        }
        let (header, header_len) = match self.chunk.decryptor.clone() {
            Some(decryptor) => self.decrypt_header(&decryptor)?,
            None => self.parse_header()?,
        };
        self.position += header_len as u64;
        let left = self.end.saturating_sub(self.position);
        if header.compressed_len as u64 > left {
            let len = header.compressed_len;
            return Err(Error::corrupt(format!("page of {len} bytes where the column chunk has {left} left")));
        }
        self.pending = Some(header);
        Ok(())
    }

    fn parse_header(&mut self) -> Result<(PageHeader, usize)> {
        let limit = self.options.limits.page_header_bytes;
        let mut min_len = HEADER_GUESS_BYTES;
        loop {
            let bytes = self.window.peek(self.position, min_len, self.end)?;
            // Only as much as the limit allows is parsed, however much is in memory.
            let bytes = &bytes[..bytes.len().min(usize::try_from(limit).unwrap_or(usize::MAX))];
            match PageHeader::read(bytes) {
                Ok(header) => return Ok(header),
                Err(ThriftError::Malformed(what)) => return Err(Error::corrupt(what)),
                Err(ThriftError::Incomplete(needed)) => {
                    let left = self.end - self.position;
                    if needed as u64 > left {
                        return Err(Error::corrupt(format!(
                            "page header runs past the column chunk, {left} bytes left"
                        )));
                    }
                    if needed as u64 > limit {
                        return Err(Error::limit(
                            "page header size in bytes (page_header_bytes)",
                            limit,
                            needed as u64,
                        ));
                    }
                    // Doubled, so that a header with many fields is not parsed again for each of them.
                    min_len = needed.max(2 * bytes.len());
                }
            }
        }
    }

    fn decrypt_header(&mut self, decryptor: &ChunkDecryptor) -> Result<(PageHeader, usize)> {
        let left = self.end - self.position;
        let too_long = || Error::corrupt(format!("page header runs past the column chunk, {left} bytes left"));
        let start = self.window.peek(self.position, HEADER_GUESS_BYTES, self.end)?;
        let len = ChunkDecryptor::module_len(*start.first_chunk().ok_or_else(too_long)?);
        if len as u64 > left {
            return Err(too_long());
        }
        let limit = self.options.limits.page_header_bytes;
        if len as u64 > limit {
            return Err(Error::limit("page header size in bytes (page_header_bytes)", limit, len as u64));
        }
        let module = &self.window.peek(self.position, len, self.end)?[..len];
        // Only the header itself identifies a dictionary page, and only the first page can be one.
        let data = Module::DataHeader(self.data_page_count);
        let plaintext = match decryptor.decrypt(module, data) {
            Err(_) if self.page_count == 1 => decryptor.decrypt(module, Module::DictionaryHeader)?,
            other => other?,
        };
        match PageHeader::read(&plaintext) {
            Ok((header, _)) => Ok((header, len)),
            Err(ThriftError::Malformed(what)) => Err(Error::corrupt(what)),
            Err(ThriftError::Incomplete(_)) => Err(Error::corrupt("page header ends within a structure")),
        }
    }
}
