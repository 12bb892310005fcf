use std::fmt;

use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::error::{Error, Result};

/// Bytes of a module before its nonce.
const LENGTH_LEN: usize = 4;
const TAG_LEN: usize = 16;

/// Which part of a chunk's pages is to be decrypted; the numbers are the specification's module types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageModule {
    /// The body of the data page that is the n-th of its chunk.
    Data(usize),
    /// The body of the dictionary page.
    Dictionary,
    /// The header of the data page that is the n-th of its chunk.
    DataHeader(usize),
    /// The header of the dictionary page.
    DictionaryHeader,
    /// The column index of the chunk.
    ColumnIndex,
    /// The offset index of the chunk.
    OffsetIndex,
}

/// Decrypts the pages of one column chunk.
pub(crate) struct PageDecryptor {
    key: LessSafeKey,
    /// What every module of the file is bound to.
    file_aad: Vec<u8>,
    row_group: u16,
    column: u16,
}

impl PageDecryptor {
    /// A decryptor for the pages of `column` in `row_group`.
    pub(super) fn new(key: &[u8], file_aad: Vec<u8>, row_group: usize, column: usize) -> Result<Self> {
        let algorithm = match key.len() {
            16 => &AES_128_GCM,
            32 => &AES_256_GCM,
            len => return Err(Error::invalid(format!("a decryption key of {len} bytes, where 16 or 32 are needed"))),
        };
        let key = UnboundKey::new(algorithm, key).map_err(|_| Error::invalid("a decryption key that AES refuses"))?;
        Ok(Self {
            key: LessSafeKey::new(key),
            file_aad,
            row_group: ordinal(row_group, "row groups")?,
            column: ordinal(column, "columns")?,
        })
    }

    /// Length of the module that starts with `bytes`, its length field included.
    pub(crate) fn module_len(bytes: [u8; LENGTH_LEN]) -> usize {
        LENGTH_LEN.saturating_add(u32::from_le_bytes(bytes) as usize)
    }

    /// The plaintext of `bytes`, which are one whole module.
    pub(crate) fn decrypt(&self, bytes: &[u8], module: PageModule) -> Result<Vec<u8>> {
        let malformed = || Error::corrupt("encrypted module of the wrong length");
        let (length, rest) = bytes.split_first_chunk::<LENGTH_LEN>().ok_or_else(malformed)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>().ok_or_else(malformed)?;
        if Self::module_len(*length) != bytes.len() || sealed.len() < TAG_LEN {
            return Err(malformed());
        }
        let mut plaintext = sealed.to_vec();
        let aad = Aad::from(self.aad(module)?);
        let len = self
            .key
            .open_in_place(Nonce::assume_unique_for_key(*nonce), aad, &mut plaintext)
            .map_err(|_| Error::corrupt("page cannot be decrypted: wrong key, or changed data"))?
            .len();
        plaintext.truncate(len);
        Ok(plaintext)
    }

    /// What the module is bound to: the file, and its place in it.
    fn aad(&self, module: PageModule) -> Result<Vec<u8>> {
        let (id, page) = match module {
            PageModule::Data(page) => (2, Some(page)),
            PageModule::Dictionary => (3, None),
            PageModule::DataHeader(page) => (4, Some(page)),
            PageModule::DictionaryHeader => (5, None),
            PageModule::ColumnIndex => (6, None),
            PageModule::OffsetIndex => (7, None),
        };
        let mut aad = self.file_aad.clone();
        aad.push(id);
        aad.extend(self.row_group.to_le_bytes());
        aad.extend(self.column.to_le_bytes());
        if let Some(page) = page {
            aad.extend(ordinal(page, "pages in a column chunk")?.to_le_bytes());
        }
        Ok(aad)
    }
}

impl fmt::Debug for PageDecryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageDecryptor")
            .field("row_group", &self.row_group)
            .field("column", &self.column)
            .finish_non_exhaustive()
    }
}

/// Ordinals are signed 16-bit integers in the specification.
fn ordinal(index: usize, what: &str) -> Result<u16> {
    match i16::try_from(index) {
        Ok(index) => Ok(index.cast_unsigned()),
        Err(_) => Err(Error::corrupt(format!("more than {} {what} in an encrypted file", i16::MAX))),
    }
}
