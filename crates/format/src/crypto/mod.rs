//! [Modular encryption]: keys, and the separately encrypted modules of a file.
//!
//! ```text
//! module  | u32 length of what follows | nonce, 12 bytes | ciphertext | tag, 16 bytes |
//! ```
//!
//! [Modular encryption]: https://parquet.apache.org/docs/file-format/data-pages/encryption/

mod encrypt;
mod file;
mod keys;
mod module;

pub use encrypt::{ChunkEncryptor, EncryptionKeys, FileEncryptor, MODULE_OVERHEAD};
pub(crate) use file::{ColumnCrypto, FileDecryptor, Plaintext, decrypt_footer};
pub use keys::DecryptionKeys;
pub use module::{ChunkDecryptor, Module};
