use std::fmt;
use std::sync::Arc;

use parquet::encryption::decrypt::FileDecryptionProperties;
use parquet::file::column_crypto_metadata::ColumnCryptoMetaData;
use parquet::file::metadata::ColumnChunkMetaData;

use super::PageDecryptor;
use crate::error::{Error, Result};
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// Decrypts the pages of one file.
pub(crate) struct FileDecryptor {
    properties: Arc<FileDecryptionProperties>,
    footer_key_metadata: Option<Vec<u8>>,
    /// What every module of the file is bound to.
    file_aad: Vec<u8>,
}

impl FileDecryptor {
    /// Reads from a footer how the file's pages are encrypted; `None` if none is.
    pub(crate) fn new(
        footer: &[u8],
        is_encrypted: bool,
        properties: Arc<FileDecryptionProperties>,
    ) -> Result<Option<Self>> {
        let encryption = Encryption::read(footer, is_encrypted).map_err(|error| match error {
            ThriftError::Malformed(what) => Error::corrupt(format!("footer: {what}")),
            ThriftError::Incomplete(_) => Error::corrupt("footer ends within a structure"),
        })?;
        let Some(algorithm) = encryption.algorithm else {
            return match is_encrypted {
                true => Err(Error::corrupt("encrypted footer without encryption algorithm")),
                false => Ok(None),
            };
        };
        if algorithm.is_ctr {
            return Err(Error::unsupported("encryption algorithm AES_GCM_CTR_V1"));
        }
        let mut file_aad = match (properties.aad_prefix(), algorithm.aad_prefix) {
            (Some(prefix), _) => prefix.clone(),
            (None, Some(prefix)) => prefix.to_vec(),
            (None, None) => Vec::new(),
        };
        file_aad.extend_from_slice(algorithm.aad_file_unique);
        Ok(Some(Self { properties, footer_key_metadata: encryption.key_metadata.map(<[u8]>::to_vec), file_aad }))
    }

    /// What decrypts the pages of `chunk`; `None` if they are not encrypted.
    pub(crate) fn column(
        &self,
        chunk: &ColumnChunkMetaData,
        row_group: usize,
        column: usize,
    ) -> Result<Option<PageDecryptor>> {
        let key = match chunk.crypto_metadata() {
            None => return Ok(None),
            Some(ColumnCryptoMetaData::ENCRYPTION_WITH_FOOTER_KEY) => {
                self.properties.footer_key(self.footer_key_metadata.as_deref())
            }
            Some(ColumnCryptoMetaData::ENCRYPTION_WITH_COLUMN_KEY(column)) => {
                self.properties.column_key(&column.path_in_schema.join("."), column.key_metadata.as_deref())
            }
        };
        let key = key.map_err(|_| Error::encrypted(format!("column {}", chunk.column_path().string())))?;
        PageDecryptor::new(&key, self.file_aad.clone(), row_group, column).map(Some)
    }
}

impl fmt::Debug for FileDecryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileDecryptor").finish_non_exhaustive()
    }
}

/// What a footer says about encryption.
#[derive(Debug, Default)]
struct Encryption<'a> {
    algorithm: Option<Algorithm<'a>>,
    /// By which a key retriever finds the footer's key.
    key_metadata: Option<&'a [u8]>,
}

#[derive(Debug, Default)]
struct Algorithm<'a> {
    /// AES_GCM_CTR_V1, where bodies of pages are encrypted without authentication.
    is_ctr: bool,
    aad_prefix: Option<&'a [u8]>,
    aad_file_unique: &'a [u8],
}

impl<'a> Encryption<'a> {
    /// Reads the start of an encrypted footer (`FileCryptoMetaData`), or the fields of a plaintext one (`FileMetaData`)
    /// that say how columns are encrypted.
    fn read(footer: &'a [u8], is_encrypted: bool) -> Result<Self, ThriftError> {
        let (algorithm_id, key_metadata_id) = if is_encrypted { (1, 2) } else { (8, 9) };
        let mut reader = ThriftReader::new(footer);
        let mut encryption = Self::default();
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (id, WireType::Struct) if id == algorithm_id => encryption.algorithm = Algorithm::read(reader)?,
                (id, WireType::Binary) if id == key_metadata_id => encryption.key_metadata = Some(reader.binary()?),
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(encryption)
    }
}

impl<'a> Algorithm<'a> {
    /// Reads the union of the two algorithms.
    fn read(reader: &mut ThriftReader<'a>) -> Result<Option<Self>, ThriftError> {
        let mut algorithm = None;
        reader.each_field(|reader, field| {
            let is_ctr = match (field.id, field.wire_type) {
                (1, WireType::Struct) => false,
                (2, WireType::Struct) => true,
                _ => return reader.skip(field),
            };
            let mut this = Self { is_ctr, ..Self::default() };
            reader.each_field(|reader, field| {
                match (field.id, field.wire_type) {
                    (1, WireType::Binary) => this.aad_prefix = Some(reader.binary()?),
                    (2, WireType::Binary) => this.aad_file_unique = reader.binary()?,
                    _ => reader.skip(field)?,
                }
                Ok(())
            })?;
            algorithm = Some(this);
            Ok(())
        })?;
        Ok(algorithm)
    }
}
