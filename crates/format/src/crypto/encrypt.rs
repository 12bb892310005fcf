//! Encrypts the modules of a file that is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use ring::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};
use ring::rand::{SecureRandom, SystemRandom};

use super::keys::DecryptionKeys;
use super::module::{LENGTH_LEN, Module, Place, TAG_LEN, aes_key};
use crate::error::{Error, Result};
use crate::thrift::ThriftWriter;

/// Bytes by which a module is longer than its plaintext.
pub const MODULE_OVERHEAD: usize = LENGTH_LEN + NONCE_LEN + TAG_LEN;

/// Bytes that tell one file from others with the same keys.
const UNIQUE_LEN: usize = 8;

/// The keys and the prefix to write a file with
/// [modular encryption](https://parquet.apache.org/docs/file-format/data-pages/encryption/) (`AES_GCM_V1`): keys of 16 or 32 bytes.
///
/// Each column is encrypted with a key that is given for it, or with the footer's.
///
/// ```
/// # use lath_format::EncryptionKeys;
/// let keys = EncryptionKeys::new(*b"0123456789012345")
///     .footer_key_metadata("key of orders")
///     .column_key("customer.name", *b"1234567890123450")
///     .plaintext_column("country");
/// # drop(keys);
/// ```
#[derive(Clone)]
pub struct EncryptionKeys {
    footer: Key,
    columns: BTreeMap<String, Key>,
    plaintext_columns: BTreeSet<String>,
    has_plaintext_footer: bool,
    aad_prefix: Option<Vec<u8>>,
    stores_aad_prefix: bool,
}

#[derive(Clone)]
struct Key {
    bytes: Vec<u8>,
    /// The bytes from which a reader finds the key.
    metadata: Option<Vec<u8>>,
}

impl EncryptionKeys {
    /// Keys whose first one is for the footer, and for columns without a [`column_key`](Self::column_key).
    pub fn new(footer_key: impl Into<Vec<u8>>) -> Self {
        Self {
            footer: Key { bytes: footer_key.into(), metadata: None },
            columns: BTreeMap::new(),
            plaintext_columns: BTreeSet::new(),
            has_plaintext_footer: false,
            aad_prefix: None,
            stores_aad_prefix: true,
        }
    }

    /// Sets bytes in the file from which readers with a retriever find the footer's key.
    #[must_use]
    pub fn footer_key_metadata(mut self, metadata: impl Into<Vec<u8>>) -> Self {
        self.footer.metadata = Some(metadata.into());
        self
    }

    /// Sets the key of a column, by its dotted path in the Parquet schema.
    #[must_use]
    pub fn column_key(mut self, path: impl Into<String>, key: impl Into<Vec<u8>>) -> Self {
        self.columns.insert(path.into(), Key { bytes: key.into(), metadata: None });
        self
    }

    /// Like [`column_key`](Self::column_key), with bytes in the file from which readers with a retriever find the key.
    #[must_use]
    pub fn column_key_with_metadata(
        mut self,
        path: impl Into<String>,
        key: impl Into<Vec<u8>>,
        metadata: impl Into<Vec<u8>>,
    ) -> Self {
        self.columns.insert(path.into(), Key { bytes: key.into(), metadata: Some(metadata.into()) });
        self
    }

    /// Leaves a column without encryption.
    #[must_use]
    pub fn plaintext_column(mut self, path: impl Into<String>) -> Self {
        self.plaintext_columns.insert(path.into());
        self
    }

    /// Whether the footer is signed instead of encrypted, so that readers without keys can read columns without encryption.
    /// Statistics of encrypted columns are not in it. Off by default.
    #[must_use]
    pub fn plaintext_footer(mut self, enabled: bool) -> Self {
        self.has_plaintext_footer = enabled;
        self
    }

    /// Sets a prefix that is authenticated with every module, so that a file cannot be put in the place of another. With `stored`, it
    /// is in the file; otherwise readers have to give it.
    #[must_use]
    pub fn aad_prefix(mut self, prefix: impl Into<Vec<u8>>, stored: bool) -> Self {
        (self.aad_prefix, self.stores_aad_prefix) = (Some(prefix.into()), stored);
        self
    }

    /// The paths of columns for which something was said.
    pub fn column_paths(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().chain(&self.plaintext_columns).map(String::as_str)
    }

    /// Whether the column at `path` is encrypted.
    pub fn encrypts(&self, path: &str) -> bool {
        !self.plaintext_columns.contains(path)
    }

    /// The keys with which the files are read again.
    pub fn decryption_keys(&self) -> DecryptionKeys {
        let keys = self.columns.iter().fold(DecryptionKeys::new(self.footer.bytes.clone()), |keys, (path, key)| {
            keys.column_key(path.clone(), key.bytes.clone())
        });
        match &self.aad_prefix {
            Some(prefix) => keys.aad_prefix(prefix.clone()),
            None => keys,
        }
    }
}

/// Does not show keys.
impl fmt::Debug for EncryptionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptionKeys").field("columns", &self.columns.keys()).finish_non_exhaustive()
    }
}

/// Encrypts the modules of one file.
pub struct FileEncryptor {
    keys: EncryptionKeys,
    unique: [u8; UNIQUE_LEN],
    /// The additional authenticated data of every module of the file.
    file_aad: Vec<u8>,
    footer_key: Arc<LessSafeKey>,
    column_keys: BTreeMap<String, Arc<LessSafeKey>>,
}

impl FileEncryptor {
    /// The encryptor of a new file. No two files have the same.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if a key has another length than 16 or 32 bytes, or a column has a key and is left without encryption.
    pub fn new(keys: EncryptionKeys) -> Result<Self> {
        if let Some(path) = keys.plaintext_columns.iter().find(|path| keys.columns.contains_key(*path)) {
            return Err(Error::invalid_key(format!("column {path} has a key, and is to be left without encryption")));
        }
        let footer_key = Arc::new(aes_key(&keys.footer.bytes)?);
        let column_keys = keys.columns.iter().map(|(path, key)| Ok((path.clone(), Arc::new(aes_key(&key.bytes)?))));
        let column_keys = column_keys.collect::<Result<_>>()?;
        let unique: [u8; UNIQUE_LEN] = random()?;
        let file_aad = [keys.aad_prefix.as_deref().unwrap_or_default(), &unique].concat();
        Ok(Self { keys, unique, file_aad, footer_key, column_keys })
    }

    /// Whether the footer is signed instead of encrypted.
    pub fn has_plaintext_footer(&self) -> bool {
        self.keys.has_plaintext_footer
    }

    /// The keys with which the file is read again.
    pub fn decryption_keys(&self) -> DecryptionKeys {
        self.keys.decryption_keys()
    }

    /// The encryptor of the chunk in `row_group` of the column at `path`, which has the number `column`; `None` if the column is left
    /// without encryption.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there are more row groups or columns than encrypted files can have.
    pub fn chunk(&self, path: &str, row_group: usize, column: usize) -> Result<Option<ChunkEncryptor>> {
        if !self.keys.encrypts(path) {
            return Ok(None);
        }
        let key = self.column_keys.get(path).unwrap_or(&self.footer_key);
        let place = Place::new(self.file_aad.clone(), row_group, column).map_err(too_many)?;
        Ok(Some(ChunkEncryptor { key: Arc::clone(key), place }))
    }

    /// Appends the `FileCryptoMetaData` and the encrypted footer.
    pub(crate) fn seal_footer(&self, footer: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut writer = ThriftWriter::new(out);
        self.write_algorithm(1, &mut writer);
        if let Some(metadata) = &self.keys.footer.metadata {
            writer.binary(2, metadata);
        }
        writer.end();
        seal(&self.footer_key, footer, &self.footer_aad(), out)
    }

    /// Appends the last fields of a plaintext footer, which name the algorithm and the key of its signature.
    pub(crate) fn write_signing_fields(&self, writer: &mut ThriftWriter<'_>) {
        self.write_algorithm(8, writer);
        if let Some(metadata) = &self.keys.footer.metadata {
            writer.binary(9, metadata);
        }
    }

    /// The signature of a plaintext footer.
    pub(crate) fn sign_footer(&self, footer: &[u8]) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let aad = self.footer_aad();
        let mut sealed = footer.to_vec();
        let used = Nonce::assume_unique_for_key(nonce);
        let tag = self.footer_key.seal_in_place_separate_tag(used, Aad::from(&aad), &mut sealed);
        Ok([&nonce, tag.map_err(|_| too_long())?.as_ref()].concat())
    }

    /// The key metadata of a column with a key for it alone.
    pub(crate) fn column_key_metadata(&self, path: &str) -> Option<Option<&[u8]>> {
        self.keys.columns.get(path).map(|key| key.metadata.as_deref())
    }

    /// The union of the algorithms.
    fn write_algorithm(&self, id: i16, writer: &mut ThriftWriter<'_>) {
        writer.structure(id, |writer| {
            writer.structure(1, |writer| {
                let prefix = self.keys.aad_prefix.as_ref();
                if let Some(prefix) = prefix.filter(|_| self.keys.stores_aad_prefix) {
                    writer.binary(1, prefix);
                }
                writer.binary(2, self.unique);
                writer.bool(3, prefix.is_some() && !self.keys.stores_aad_prefix);
            });
        });
    }

    /// The footer is module 0, without row group and column.
    fn footer_aad(&self) -> Vec<u8> {
        [self.file_aad.as_slice(), &[0]].concat()
    }
}

impl fmt::Debug for FileEncryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileEncryptor").field("keys", &self.keys).finish_non_exhaustive()
    }
}

/// Encrypts the modules of one column chunk.
pub struct ChunkEncryptor {
    key: Arc<LessSafeKey>,
    place: Place,
}

impl ChunkEncryptor {
    /// Appends a module, which is longer than `plaintext` by [`MODULE_OVERHEAD`] bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the chunk has more pages than an encrypted one can have, or the module is too long.
    pub fn encrypt(&self, plaintext: &[u8], module: Module, out: &mut Vec<u8>) -> Result<()> {
        seal(&self.key, plaintext, &self.place.aad(module).map_err(too_many)?, out)
    }
}

impl fmt::Debug for ChunkEncryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkEncryptor").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Appends `plaintext` as a module.
fn seal(key: &LessSafeKey, plaintext: &[u8], aad: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let nonce: [u8; NONCE_LEN] = random()?;
    let len = u32::try_from(plaintext.len() + NONCE_LEN + TAG_LEN).map_err(|_| too_long())?;
    out.extend(len.to_le_bytes());
    out.extend(nonce);
    let start = out.len();
    out.extend_from_slice(plaintext);
    let tag = key.seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::from(aad), &mut out[start..]);
    out.extend_from_slice(tag.map_err(|_| too_long())?.as_ref());
    Ok(())
}

fn random<const LEN: usize>() -> Result<[u8; LEN]> {
    let mut bytes = [0; LEN];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| Error::unsupported("encryption without random numbers of the system"))
}

fn too_long() -> Error {
    Error::unsupported("encrypting a part of a file that is longer than 4 GiB")
}

/// The error of a file that is written, where the same numbers are wrong in one that is read.
fn too_many(error: Error) -> Error {
    Error::unsupported(format!("{error}; make row groups smaller, or pages larger"))
}
