//! Keys for files with modular encryption.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Finds the key for key metadata of a file.
type Retrieve = dyn Fn(&[u8]) -> std::result::Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> + Send + Sync;

/// The keys and the prefix to read a file with
/// [modular encryption](https://parquet.apache.org/docs/file-format/data-pages/encryption/): keys of 16, 24 or 32 bytes.
///
/// ```
/// # use lath_format::DecryptionKeys;
/// let keys = DecryptionKeys::new(*b"0123456789012345")
///     .column_key("customer.name", *b"1234567890123450")
///     .aad_prefix("orders");
/// # drop(keys);
/// ```
#[derive(Clone)]
pub struct DecryptionKeys {
    footer: Keys,
    columns: BTreeMap<String, Vec<u8>>,
    aad_prefix: Option<Vec<u8>>,
    verify_footer_signature: bool,
}

#[derive(Clone)]
enum Keys {
    Explicit(Vec<u8>),
    Retrieved(Arc<Retrieve>),
}

impl DecryptionKeys {
    /// Explicit keys. This key is for the footer, and for columns without a [`column_key`](Self::column_key).
    pub fn new(footer_key: impl Into<Vec<u8>>) -> Self {
        Self::from_keys(Keys::Explicit(footer_key.into()))
    }

    /// Keys on demand: `retrieve` is called with the key metadata of a footer or column.
    pub fn from_retriever(
        retrieve: impl Fn(&[u8]) -> std::result::Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self::from_keys(Keys::Retrieved(Arc::new(retrieve)))
    }

    fn from_keys(footer: Keys) -> Self {
        Self { footer, columns: BTreeMap::new(), aad_prefix: None, verify_footer_signature: true }
    }

    /// Adds the key of a column, by its dotted path in the Parquet schema. If there is a retriever, this key is not used.
    #[must_use]
    pub fn column_key(mut self, path: impl Into<String>, key: impl Into<Vec<u8>>) -> Self {
        self.columns.insert(path.into(), key.into());
        self
    }

    /// Sets the AAD prefix with which the file was written, if it is not in the file.
    #[must_use]
    pub fn aad_prefix(mut self, prefix: impl Into<Vec<u8>>) -> Self {
        self.aad_prefix = Some(prefix.into());
        self
    }

    /// Whether the signature of a plaintext footer is checked (on by default).
    #[must_use]
    pub fn verify_footer_signature(mut self, verify: bool) -> Self {
        self.verify_footer_signature = verify;
        self
    }

    /// The key of the footer, whose key metadata are `metadata`.
    pub(super) fn footer_key(&self, metadata: Option<&[u8]>) -> Result<Vec<u8>> {
        match &self.footer {
            Keys::Explicit(key) => Ok(key.clone()),
            Keys::Retrieved(retrieve) => {
                retrieve(metadata.unwrap_or_default()).map_err(|_| Error::encrypted("the footer"))
            }
        }
    }

    /// The key of the column at `path`, whose key metadata are `metadata`; `None` if there is none.
    pub(super) fn key_of_column(&self, path: &str, metadata: Option<&[u8]>) -> Option<Vec<u8>> {
        match &self.footer {
            Keys::Explicit(_) => self.columns.get(path).cloned(),
            Keys::Retrieved(retrieve) => retrieve(metadata.unwrap_or_default()).ok(),
        }
    }

    pub(super) fn prefix(&self) -> Option<&[u8]> {
        self.aad_prefix.as_deref()
    }

    pub(super) fn verifies_signatures(&self) -> bool {
        self.verify_footer_signature
    }
}

/// Does not show keys.
impl fmt::Debug for DecryptionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptionKeys").field("columns", &self.columns.keys()).finish_non_exhaustive()
    }
}
