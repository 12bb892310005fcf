use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::keys::DecryptionKeys;
use super::module::{ChunkDecryptor, aes_key, is_signed_by, open};
use crate::error::{Error, Result};
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// A decrypted or plaintext footer.
pub(crate) struct Plaintext {
    /// The `FileMetaData`, possibly followed by a signature.
    pub(crate) footer: Bytes,
    /// The decryptor of the rest of the file; `None` if nothing is encrypted, or no keys were given.
    pub(crate) decryptor: Option<Arc<FileDecryptor>>,
}

/// Decrypts a footer if `is_encrypted`, checks its signature if it has one, and makes the decryptor of the file.
pub(crate) fn decrypt_footer(footer: Bytes, is_encrypted: bool, keys: Option<&DecryptionKeys>) -> Result<Plaintext> {
    let Some(keys) = keys else {
        return if is_encrypted {
            Err(Error::encrypted("the footer"))
        } else {
            Ok(Plaintext { footer, decryptor: None })
        };
    };
    let (encryption, end) =
        Encryption::read(&footer, is_encrypted).map_err(|error| Error::malformed("footer", error))?;
    let Some(algorithm) = encryption.algorithm else {
        return match is_encrypted {
            true => Err(Error::corrupt("encrypted footer without encryption algorithm")),
            false => Ok(Plaintext { footer, decryptor: None }),
        };
    };
    if algorithm.is_ctr {
        return Err(Error::unsupported("encryption algorithm AES_GCM_CTR_V1"));
    }
    if algorithm.is_prefix_missing && keys.prefix().is_none() {
        let what = "the file was encrypted with an AAD prefix, which it does not hold and which has to be given";
        return Err(Error::invalid_key(what));
    }
    let mut file_aad = keys.prefix().or(algorithm.aad_prefix).unwrap_or_default().to_vec();
    file_aad.extend_from_slice(algorithm.aad_file_unique);
    let key_metadata = encryption.key_metadata.map(<[u8]>::to_vec);
    // The footer is module 0, without row group and column.
    let footer_aad = [file_aad.as_slice(), &[0]].concat();
    let mut plain = None;
    if is_encrypted {
        let key = aes_key(&keys.footer_key(key_metadata.as_deref())?)?;
        let opened = open(&key, footer.get(end..).unwrap_or_default(), &footer_aad)?;
        let Some(opened) = opened else {
            return Err(Error::corrupt("the footer cannot be decrypted: wrong key, or changed data"));
        };
        plain = Some(Bytes::from(opened));
    } else if keys.verifies_signatures() {
        let key = aes_key(&keys.footer_key(key_metadata.as_deref())?)?;
        if !is_signed_by(&key, &footer, &footer_aad) {
            return Err(Error::corrupt("the footer's signature does not fit: wrong key, or changed data"));
        }
    }
    let decryptor = FileDecryptor { keys: keys.clone(), footer_key_metadata: key_metadata, file_aad };
    Ok(Plaintext { footer: plain.unwrap_or(footer), decryptor: Some(Arc::new(decryptor)) })
}

/// The encryption of a column chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnCrypto<'a> {
    FooterKey,
    ColumnKey { key_metadata: Option<&'a [u8]> },
}

/// Decrypts the column chunks of one file.
pub(crate) struct FileDecryptor {
    keys: DecryptionKeys,
    footer_key_metadata: Option<Vec<u8>>,
    /// The additional authenticated data of every module of the file.
    file_aad: Vec<u8>,
}

impl FileDecryptor {
    /// The decryptor of the chunk in `row_group` of the column at `path`, which has the number `column`.
    pub(crate) fn chunk(
        &self,
        crypto: ColumnCrypto<'_>,
        path: &str,
        row_group: usize,
        column: usize,
    ) -> Result<ChunkDecryptor> {
        let key = match crypto {
            ColumnCrypto::FooterKey => self.keys.footer_key(self.footer_key_metadata.as_deref()).ok(),
            ColumnCrypto::ColumnKey { key_metadata } => self.keys.key_of_column(path, key_metadata),
        };
        let key = key.ok_or_else(|| Error::encrypted(format!("column {path}")))?;
        ChunkDecryptor::new(&key, self.file_aad.clone(), row_group, column)
    }
}

impl fmt::Debug for FileDecryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileDecryptor").finish_non_exhaustive()
    }
}

/// The encryption algorithm and key metadata in a footer.
#[derive(Debug, Default)]
struct Encryption<'a> {
    algorithm: Option<Algorithm<'a>>,
    /// The key metadata, by which a retriever finds the footer's key.
    key_metadata: Option<&'a [u8]>,
}

#[derive(Debug, Default)]
struct Algorithm<'a> {
    /// AES_GCM_CTR_V1, which encrypts the bodies of pages without authentication.
    is_ctr: bool,
    aad_prefix: Option<&'a [u8]>,
    aad_file_unique: &'a [u8],
    /// The prefix is not in the file; the reader has to give it.
    is_prefix_missing: bool,
}

impl<'a> Encryption<'a> {
    /// Reads the start of an encrypted footer (`FileCryptoMetaData`), or the encryption fields of a plaintext one (`FileMetaData`). Also returns
    /// the end of the structure.
    fn read(footer: &'a [u8], is_encrypted: bool) -> Result<(Self, usize), ThriftError> {
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
        Ok((encryption, reader.position()))
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
                    (3, WireType::True) => this.is_prefix_missing = true,
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
