//! The key of an encrypted store.

use std::fmt;

use crate::error::{Error, Result};

/// The key of an encrypted store: 32 bytes.
///
/// ```
/// use lath_store::EncryptionKey;
///
/// let key = EncryptionKey::from_hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")?;
/// assert_eq!(key.bytes()[31], 0x1f);
/// assert!(EncryptionKey::from_hex("0123").is_err());
/// # Ok::<(), lath_store::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey {
    bytes: [u8; EncryptionKey::LEN],
}

impl EncryptionKey {
    /// The number of bytes of a key.
    pub const LEN: usize = 32;

    /// Makes a key of its bytes, which should be random.
    pub fn new(bytes: [u8; Self::LEN]) -> Self {
        Self { bytes }
    }

    /// Parses 64 hexadecimal digits. Spaces and line ends around them are ignored.
    ///
    /// # Errors
    /// [`Error::Key`] for any other text.
    pub fn from_hex(text: &str) -> Result<Self> {
        let digits = text.trim().as_bytes();
        let mut bytes = [0; Self::LEN];
        let is_hex = digits.len() == 2 * Self::LEN && digits.iter().all(u8::is_ascii_hexdigit);
        if !is_hex {
            let what =
                format!("a key has {} hexadecimal digits (as `openssl rand -hex 32` prints them)", 2 * Self::LEN);
            return Err(Error::Key(what));
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| (digit as char).to_digit(16).unwrap_or_default() as u8;
            *byte = digit(pair[0]) << 4 | digit(pair[1]);
        }
        Ok(Self { bytes })
    }

    /// The bytes of the key.
    pub fn bytes(&self) -> &[u8; Self::LEN] {
        &self.bytes
    }
}

/// Does not show the key.
impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptionKey").finish_non_exhaustive()
    }
}
