//! Finds the structures in a `ColumnChunk`, and decrypts them.

use std::borrow::Cow;

use super::facts::ReadFacts;
use crate::crypto::{ColumnCrypto, Module};
use crate::error::{Error, Result};
use crate::layout::{field, flag};
use crate::stored::StoredFooter;
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// The places of the structures in a `ColumnChunk`.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    metadata: Option<&'a [u8]>,
    encrypted_metadata: Option<&'a [u8]>,
    pub(super) crypto: Option<ColumnCrypto<'a>>,
    pub(super) file_path: Option<&'a [u8]>,
}

impl<'a> Parts<'a> {
    /// Reads the chunk at the start of `bytes`; `read_metadata` reads or skips the `ColumnMetaData`.
    pub(super) fn find(
        bytes: &'a [u8],
        facts: &mut ReadFacts,
        mut read_metadata: impl FnMut(&mut ThriftReader<'a>, &mut ReadFacts) -> Result<(), ThriftError>,
    ) -> Result<Self> {
        let mut parts = Self::default();
        let read = ThriftReader::new(bytes).each_field(|reader, field| {
            let start = reader.position();
            match (field.id, field.wire_type) {
                (1, WireType::Binary) => {
                    parts.file_path = Some(reader.binary()?);
                    facts.flags |= flag::HAS_FILE_PATH;
                }
                (3, WireType::Struct) => {
                    read_metadata(reader, facts)?;
                    parts.metadata = bytes.get(start..reader.position());
                }
                (4, WireType::I64) => facts.numbers[field::OFFSET_INDEX_OFFSET] = reader.i64()?,
                (5, WireType::I32) => facts.numbers[field::OFFSET_INDEX_BYTES] = reader.i32()?.into(),
                (6, WireType::I64) => facts.numbers[field::COLUMN_INDEX_OFFSET] = reader.i64()?,
                (7, WireType::I32) => facts.numbers[field::COLUMN_INDEX_BYTES] = reader.i32()?.into(),
                (8, WireType::Struct) => {
                    facts.flags |= flag::ENCRYPTED;
                    parts.crypto = read_crypto(reader)?;
                }
                (9, WireType::Binary) => parts.encrypted_metadata = Some(reader.binary()?),
                _ => reader.skip(field)?,
            }
            Ok(())
        });
        read.map_err(|error| Error::malformed("column chunk", error))?;
        Ok(parts)
    }

    /// As [`find`](Self::find), but skips the `ColumnMetaData`.
    pub(super) fn locate(bytes: &'a [u8]) -> Result<Self> {
        Self::find(bytes, &mut ReadFacts::default(), |reader, _| reader.skip_element(WireType::Struct))
    }

    /// Whether the metadata are encrypted in a known way.
    pub(super) fn is_encrypted(&self) -> bool {
        self.encrypted_metadata.is_some() && self.crypto.is_some()
    }

    /// The bytes of the `ColumnMetaData`, decrypted if possible.
    pub(super) fn metadata(&self, footer: &StoredFooter, row_group: usize, column: usize) -> Result<Cow<'a, [u8]>> {
        if let (Some(encrypted), Some(crypto)) = (self.encrypted_metadata, self.crypto) {
            let path = footer.column_path(column);
            let decryptor = match footer.decryptor() {
                Some(decryptor) => decryptor.chunk(crypto, &path, row_group, column),
                None => Err(Error::encrypted(format!("column {path}"))),
            };
            match (decryptor, self.metadata) {
                (Ok(decryptor), _) => return decryptor.decrypt(encrypted, Module::ColumnMetaData).map(Cow::Owned),
                // A plaintext footer has all but the statistics for readers without the key.
                (Err(Error::Encrypted { .. }), Some(metadata)) => return Ok(Cow::Borrowed(metadata)),
                (Err(error), _) => return Err(error),
            }
        }
        self.metadata.map(Cow::Borrowed).ok_or_else(|| Error::corrupt("a column chunk without metadata"))
    }
}

/// The union `ColumnCryptoMetaData`.
fn read_crypto<'a>(reader: &mut ThriftReader<'a>) -> Result<Option<ColumnCrypto<'a>>, ThriftError> {
    let mut crypto = None;
    reader.each_field(|reader, field| match (field.id, field.wire_type) {
        (1, WireType::Struct) => {
            crypto = Some(ColumnCrypto::FooterKey);
            reader.skip(field)
        }
        (2, WireType::Struct) => {
            let mut key_metadata = None;
            reader.each_field(|reader, field| match (field.id, field.wire_type) {
                (2, WireType::Binary) => {
                    key_metadata = Some(reader.binary()?);
                    Ok(())
                }
                _ => reader.skip(field),
            })?;
            crypto = Some(ColumnCrypto::ColumnKey { key_metadata });
            Ok(())
        }
        _ => reader.skip(field),
    })?;
    Ok(crypto)
}
