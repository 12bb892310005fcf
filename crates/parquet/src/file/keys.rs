//! Keys for files with modular encryption.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parquet::encryption::decrypt::{FileDecryptionProperties, KeyRetriever};
use parquet::errors::ParquetError;

use crate::error::{Error, Result};

/// Finds the key that a file's key metadata stands for.
type Retrieve = dyn Fn(&[u8]) -> std::result::Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> + Send + Sync;

/// What is needed to read a file with
/// [modular encryption](https://parquet.apache.org/docs/file-format/data-pages/encryption/): keys of 16, 24 or 32 bytes.
///
/// ```
/// # use lath_parquet::{DecryptionKeys, OpenOptions};
/// let keys = DecryptionKeys::new(*b"0123456789012345")
///     .column_key("customer.name", *b"1234567890123450")
///     .aad_prefix("orders");
/// let options = OpenOptions::new().decryption(keys);
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

    /// The same in the form that the `parquet` crate takes.
    pub(super) fn properties(&self) -> Result<Arc<FileDecryptionProperties>> {
        let built = match &self.footer {
            Keys::Explicit(key) => {
                let mut builder = FileDecryptionProperties::builder(key.clone());
                for (path, key) in &self.columns {
                    builder = builder.with_column_key(path, key.clone());
                }
                if let Some(prefix) = &self.aad_prefix {
                    builder = builder.with_aad_prefix(prefix.clone());
                }
                if !self.verify_footer_signature {
                    builder = builder.disable_footer_signature_verification();
                }
                builder.build()
            }
            Keys::Retrieved(retrieve) => {
                let retriever = Arc::new(Retriever(Arc::clone(retrieve)));
                let mut builder = FileDecryptionProperties::with_key_retriever(retriever);
                if let Some(prefix) = &self.aad_prefix {
                    builder = builder.with_aad_prefix(prefix.clone());
                }
                if !self.verify_footer_signature {
                    builder = builder.disable_footer_signature_verification();
                }
                builder.build()
            }
        };
        built.map_err(|error| Error::invalid(error.to_string()))
    }
}

/// Keys are not shown.
impl fmt::Debug for DecryptionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptionKeys").field("columns", &self.columns.keys()).finish_non_exhaustive()
    }
}

struct Retriever(Arc<Retrieve>);

impl KeyRetriever for Retriever {
    fn retrieve_key(&self, key_metadata: &[u8]) -> parquet::errors::Result<Vec<u8>> {
        (self.0)(key_metadata).map_err(ParquetError::External)
    }
}
