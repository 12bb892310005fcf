//! Reads a container.

use std::io::{self, Read};
use std::sync::Arc;

use super::codec::{Codec, Decompressor};
use super::cursor::Cursor;
use super::schema::{AvroType, Record};
use super::{MAGIC, SYNC_BYTES};
use crate::error::{Error, Result};

/// Bytes that are read at a time, at least: most headers and most blocks of other writers have fewer.
const WINDOW_BYTES: usize = 1 << 18;

/// Maximum bytes of the two numbers before a block.
const BLOCK_HEAD_BYTES: usize = 20;

/// A container whose header was read.
pub(crate) struct Container<R> {
    window: Window<R>,
    header: Header,
}

/// The header of a container.
struct Header {
    record: Arc<Record>,
    codec: Codec,
    sync: [u8; SYNC_BYTES],
}

impl Header {
    fn read(cursor: &mut Cursor<'_>, what: &'static str) -> Result<Self> {
        if cursor.take(MAGIC.len())? != MAGIC {
            return Err(cursor.error("it is not a file of Avro"));
        }
        let mut metadata = Vec::new();
        cursor.blocks(|cursor| {
            metadata.push((cursor.block_bytes()?, cursor.block_bytes()?));
            Ok(())
        })?;
        let sync = cursor.array()?;
        let find = |name: &str| metadata.iter().find(|(key, _)| *key == name.as_bytes()).map(|(_, value)| *value);
        let schema = find("avro.schema").ok_or_else(|| cursor.error("it has no schema"))?;
        let codec = Codec::parse(find("avro.codec").unwrap_or_default())?;
        let AvroType::Record(record) = AvroType::parse(schema, what)? else {
            return Err(cursor.error("its schema is not a record"));
        };
        if AvroType::Record(Arc::clone(&record)).can_be_empty() {
            return Err(cursor.error("its records have no bytes"));
        }
        Ok(Self { record, codec, sync })
    }
}

/// A part of a file.
struct Window<R> {
    reader: R,
    bytes: Vec<u8>,
    /// Bytes at the start that were used.
    used: usize,
    is_at_end: bool,
    what: &'static str,
}

impl<R: Read> Window<R> {
    /// The bytes that were not used, at least `count` unless the file ends before.
    fn fill(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.bytes.len() - self.used < count && !self.is_at_end {
            self.bytes.drain(..self.used);
            self.used = 0;
            let wanted = count.max(WINDOW_BYTES) - self.bytes.len();
            let read = self.reader.by_ref().take(wanted as u64).read_to_end(&mut self.bytes)?;
            self.is_at_end = read < wanted;
        }
        Ok(&self.bytes[self.used..])
    }

    /// The bytes that are in the window and were not used.
    fn cursor(&self) -> Cursor<'_> {
        Cursor::new(&self.bytes[self.used..], self.what)
    }
}

impl<R: Read> Container<R> {
    pub(crate) fn open(reader: R, what: &'static str) -> Result<Self> {
        let mut window = Window { reader, bytes: Vec::new(), used: 0, is_at_end: false, what };
        let mut count = WINDOW_BYTES;
        loop {
            window.fill(count)?;
            let mut cursor = window.cursor();
            match Header::read(&mut cursor, what) {
                Ok(header) => {
                    let rest = cursor.rest().len();
                    window.used = window.bytes.len() - rest;
                    return Ok(Self { window, header });
                }
                // It may be longer than the window.
                Err(_) if !window.is_at_end => count = count.saturating_mul(2),
                Err(error) => return Err(error),
            }
        }
    }

    /// Calls `read` for each record.
    pub(crate) fn records<E: From<Error>>(
        self,
        mut read: impl FnMut(&mut Cursor<'_>, &Record) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { mut window, header } = self;
        let what = window.what;
        let mut decompressor = Decompressor::new(header.codec);
        while !window.fill(BLOCK_HEAD_BYTES).map_err(Error::from)?.is_empty() {
            let mut cursor = window.cursor();
            let (count, length) = (cursor.varint()?, cursor.length()?);
            let rest = cursor.rest().len();
            window.used = window.bytes.len() - rest;
            window.fill(length.saturating_add(SYNC_BYTES)).map_err(Error::from)?;
            let mut cursor = window.cursor();
            let block = cursor.take(length)?;
            if cursor.take(SYNC_BYTES)? != header.sync {
                return Err(cursor.error("a block does not end with the file's marker").into());
            }
            let data = decompressor.decompress(block, what)?;
            if usize::try_from(count).map_or(true, |count| count > data.len()) {
                let error = cursor.error(format!("a block has {count} records in {} bytes", data.len()));
                return Err(error.into());
            }
            let mut records = Cursor::new(data, what);
            for _ in 0..count {
                read(&mut records, &header.record)?;
            }
            if !records.is_at_end() {
                let rest = records.rest().len();
                return Err(records.error(format!("{rest} bytes follow the last record of a block")).into());
            }
            window.used += length + SYNC_BYTES;
        }
        Ok(())
    }
}
