//! Keys for files with modular encryption.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Finds the key that a file's key metadata stands for.
type Retrieve = dyn Fn(&[u8]) -> std::result::Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> + Send + Sync;

/// What is needed to read a file with
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
    /// Keys given beforehand: here that of the footer, which is also that of all columns without one of their own.
    pub fn new(footer_key: impl Into<Vec<u8>>) -> Self {
        Self::from_keys(Keys::Explicit(footer_key.into()))
    }

    /// Keys asked for when a file needs them: `retrieve` gets the key metadata that the file has for its footer or a column.
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

    /// Adds the key of a column, named by its dotted path in the Parquet schema. A retriever is asked in any case, and such keys
    /// are not used then.
    #[must_use]
    pub fn column_key(mut self, path: impl Into<String>, key: impl Into<Vec<u8>>) -> Self {
        self.columns.insert(path.into(), key.into());
        self
    }

    /// Sets the prefix that the file was bound to when it was written, where the file itself does not hold it.
    #[must_use]
    pub fn aad_prefix(mut self, prefix: impl Into<Vec<u8>>) -> Self {
        self.aad_prefix = Some(prefix.into());
        self
    }

    /// Whether a footer that is signed but not encrypted has to fit its signature; the default is that it has to.
    #[must_use]
    pub fn verify_footer_signature(mut self, verify: bool) -> Self {
        self.verify_footer_signature = verify;
        self
    }

    /// The key of the footer, for which the file has `metadata`.
    pub(super) fn footer_key(&self, metadata: Option<&[u8]>) -> Result<Vec<u8>> {
        match &self.footer {
            Keys::Explicit(key) => Ok(key.clone()),
            Keys::Retrieved(retrieve) => {
                retrieve(metadata.unwrap_or_default()).map_err(|_| Error::encrypted("the footer"))
            }
        }
    }

    /// The key of the column at `path`, for which the file has `metadata`; `None` if there is none.
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

/// Keys are not shown.
impl fmt::Debug for DecryptionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptionKeys").field("columns", &self.columns.keys()).finish_non_exhaustive()
    }
}
