//! Decryption of pages, with the keys that a caller gave to the `parquet` crate.
//!
//! The crate decrypts footers, and knows which key belongs to which column; its page reader that decrypts is not public,
//! so the modules of pages (headers and bodies) are opened here.
//!
//! ```text
//! module  | u32 length of what follows | nonce, 12 bytes | ciphertext | tag, 16 bytes |
//! ```
//!
//! <https://parquet.apache.org/docs/file-format/data-pages/encryption/>

mod file;
mod page;

#[cfg(test)]
mod tests;

pub(crate) use file::FileDecryptor;
pub(crate) use page::{PageDecryptor, PageModule};
