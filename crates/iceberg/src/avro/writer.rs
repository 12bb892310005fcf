//! Writes a container.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::Value;

use super::{MAGIC, SYNC_BYTES};
use crate::error::{Error, Result};
use crate::schema::{Literal, decimal_to_bytes};

/// A block ends when it has this many bytes.
const BLOCK_BYTES: usize = 1 << 16;

/// Values in Avro's binary encoding.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn long(&mut self, value: i64) {
        let mut rest = (value << 1 ^ value >> 63).cast_unsigned();
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
    }

    pub(crate) fn int(&mut self, value: i32) {
        self.long(value.into());
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.bytes.push(value.into());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.long(bytes.len() as i64);
        self.bytes.extend_from_slice(bytes);
    }

    /// A value of a union of null and another type.
    pub(crate) fn if_any<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.long(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// An array.
    pub(crate) fn items<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        if !items.is_empty() {
            self.long(items.len() as i64);
            for item in items {
                write(self, item);
            }
        }
        self.long(0);
    }

    /// A decimal of a fixed number of bytes.
    pub(crate) fn fixed_decimal(&mut self, value: i128, length: usize) {
        let bytes = value.to_be_bytes();
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(length)..]);
    }

    /// A single value, in the encoding of its type.
    pub(crate) fn literal(&mut self, value: &Literal) {
        match value {
            Literal::Boolean(value) => self.boolean(*value),
            Literal::Int(value) => self.int(*value),
            Literal::Long(value) => self.long(*value),
            Literal::Float(value) => self.bytes.extend(value.to_le_bytes()),
            Literal::Double(value) => self.bytes.extend(value.to_le_bytes()),
            Literal::String(value) => self.bytes(value.as_bytes()),
            Literal::Binary(value) => self.bytes(value),
            Literal::Decimal(value) => self.bytes(&decimal_to_bytes(*value)),
            Literal::Uuid(value) => self.bytes.extend(value),
            Literal::Fixed(value) => self.bytes.extend(value),
        }
    }
}

/// A container that is written.
#[derive(Debug)]
pub(crate) struct ContainerWriter {
    file: Vec<u8>,
    sync: [u8; SYNC_BYTES],
    block: Encoder,
    records: i64,
}

impl ContainerWriter {
    /// Begins a container of records of this schema, with more keys in its header.
    pub(crate) fn new(schema: &Value, metadata: &[(&str, String)]) -> Self {
        let schema = schema.to_string();
        let mut header = Encoder::default();
        header.bytes.extend_from_slice(MAGIC);
        let mut all = vec![("avro.schema", schema), ("avro.codec", "deflate".to_owned())];
        all.extend_from_slice(metadata);
        header.items(&all, |header, (key, value)| {
            header.bytes(key.as_bytes());
            header.bytes(value.as_bytes());
        });
        // Any bytes will do that data does not have by chance; the same file has the same ones.
        let mut sync = [0; SYNC_BYTES];
        for (at, part) in sync.chunks_exact_mut(4).enumerate() {
            let mut hash = crc32fast::Hasher::new_with_initial(at as u32);
            hash.update(&header.bytes);
            part.copy_from_slice(&hash.finalize().to_le_bytes());
        }
        header.bytes.extend_from_slice(&sync);
        Self { file: header.bytes, sync, block: Encoder::default(), records: 0 }
    }

    pub(crate) fn record(&mut self, write: impl FnOnce(&mut Encoder)) -> Result<()> {
        write(&mut self.block);
        self.records += 1;
        if self.block.bytes.len() >= BLOCK_BYTES { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        let data = std::mem::take(&mut self.block.bytes);
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::fast());
        let compressed = deflate.write_all(&data).and_then(|()| deflate.finish());
        let compressed = compressed.map_err(|error| Error::unsupported(format!("compressing a block: {error}")))?;
        let mut block = Encoder::default();
        block.long(self.records);
        block.bytes(&compressed);
        self.file.extend_from_slice(&block.bytes);
        self.file.extend_from_slice(&self.sync);
        self.records = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        self.end_block()?;
        Ok(self.file)
    }
}
