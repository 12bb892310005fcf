//! Reads a container.

use std::sync::Arc;

use super::codec::{Codec, Decompressor};
use super::cursor::Cursor;
use super::schema::{AvroType, Record};
use super::{MAGIC, SYNC_BYTES};
use crate::error::Result;

/// A container whose header was read.
#[derive(Debug)]
pub(crate) struct Container<'b> {
    cursor: Cursor<'b>,
    record: Arc<Record>,
    codec: Codec,
    sync: &'b [u8],
    what: &'static str,
}

impl<'b> Container<'b> {
    pub(crate) fn open(bytes: &'b [u8], what: &'static str) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, what);
        if cursor.take(MAGIC.len())? != MAGIC {
            return Err(cursor.error("it is not a file of Avro"));
        }
        let mut metadata = Vec::new();
        cursor.blocks(|cursor| {
            metadata.push((cursor.block_bytes()?, cursor.block_bytes()?));
            Ok(())
        })?;
        let sync = cursor.take(SYNC_BYTES)?;
        let find = |name: &str| metadata.iter().find(|(key, _)| *key == name.as_bytes()).map(|(_, value)| *value);
        let schema = find("avro.schema").ok_or_else(|| cursor.error("it has no schema"))?;
        let codec = Codec::parse(find("avro.codec").unwrap_or_default())?;
        let AvroType::Record(record) = AvroType::parse(schema, what)? else {
            return Err(cursor.error("its schema is not a record"));
        };
        if AvroType::Record(Arc::clone(&record)).can_be_empty() {
            return Err(cursor.error("its records have no bytes"));
        }
        Ok(Self { cursor, record, codec, sync, what })
    }

    /// Calls `read` for each record.
    pub(crate) fn records(mut self, mut read: impl FnMut(&mut Cursor<'_>, &Record) -> Result<()>) -> Result<()> {
        let mut decompressor = Decompressor::new(self.codec);
        while !self.cursor.is_at_end() {
            let count = self.cursor.varint()?;
            let block = self.cursor.block_bytes()?;
            if self.cursor.take(SYNC_BYTES)? != self.sync {
                return Err(self.cursor.error("a block does not end with the file's marker"));
            }
            let data = decompressor.decompress(block, self.what)?;
            if usize::try_from(count).map_or(true, |count| count > data.len()) {
                return Err(self.cursor.error(format!("a block has {count} records in {} bytes", data.len())));
            }
            let mut records = Cursor::new(data, self.what);
            for _ in 0..count {
                read(&mut records, &self.record)?;
            }
            if !records.is_at_end() {
                return Err(records.error(format!("{} bytes follow the last record of a block", records.rest().len())));
            }
        }
        Ok(())
    }
}
