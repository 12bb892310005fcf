use std::fmt;

use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::error::{Error, Result};

/// Bytes of the length before the nonce of a module.
pub(super) const LENGTH_LEN: usize = 4;
pub(super) const TAG_LEN: usize = 16;

/// A separately encrypted part of a column chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Module {
    /// The `ColumnMetaData` in the footer.
    ColumnMetaData,
    /// The body of the n-th data page of the chunk.
    Data(usize),
    /// The body of the dictionary page.
    Dictionary,
    /// The header of the n-th data page of the chunk.
    DataHeader(usize),
    /// The header of the dictionary page.
    DictionaryHeader,
    /// The column index of the chunk.
    ColumnIndex,
    /// The offset index of the chunk.
    OffsetIndex,
    /// The header of the Bloom filter.
    BloomFilterHeader,
    /// The bits of the Bloom filter.
    BloomFilterBitset,
}

/// Decrypts the modules of one column chunk.
pub struct ChunkDecryptor {
    key: LessSafeKey,
    place: Place,
}

impl ChunkDecryptor {
    /// A decryptor for `column` in `row_group`.
    pub(super) fn new(key: &[u8], file_aad: Vec<u8>, row_group: usize, column: usize) -> Result<Self> {
        Ok(Self { key: aes_key(key)?, place: Place::new(file_aad, row_group, column)? })
    }

    /// Length of the module that starts with `bytes`, including its length field.
    pub fn module_len(bytes: [u8; LENGTH_LEN]) -> usize {
        LENGTH_LEN.saturating_add(u32::from_le_bytes(bytes) as usize)
    }

    /// Decrypts `bytes`, which must be one whole module.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if they are not, if the key is wrong, or if the bytes have been changed.
    pub fn decrypt(&self, bytes: &[u8], module: Module) -> Result<Vec<u8>> {
        let malformed = || Error::corrupt("encrypted module of the wrong length");
        let length = bytes.first_chunk::<LENGTH_LEN>().ok_or_else(malformed)?;
        if Self::module_len(*length) != bytes.len() {
            return Err(malformed());
        }
        open(&self.key, bytes, &self.place.aad(module)?)?
            .ok_or_else(|| Error::corrupt("page cannot be decrypted: wrong key, or changed data"))
    }
}

impl fmt::Debug for ChunkDecryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkDecryptor").field("place", &self.place).finish_non_exhaustive()
    }
}

/// The place of a column chunk, which is authenticated with its modules.
pub(super) struct Place {
    /// The additional authenticated data of every module of the file.
    file_aad: Vec<u8>,
    row_group: u16,
    column: u16,
}

impl Place {
    pub(super) fn new(file_aad: Vec<u8>, row_group: usize, column: usize) -> Result<Self> {
        let (row_group, column) = (ordinal(row_group, "row groups")?, ordinal(column, "columns")?);
        Ok(Self { file_aad, row_group, column })
    }

    /// The additional authenticated data of a module: of the file, and of its place in the file.
    pub(super) fn aad(&self, module: Module) -> Result<Vec<u8>> {
        let (id, page) = match module {
            Module::ColumnMetaData => (1, None),
            Module::Data(page) => (2, Some(page)),
            Module::Dictionary => (3, None),
            Module::DataHeader(page) => (4, Some(page)),
            Module::DictionaryHeader => (5, None),
            Module::ColumnIndex => (6, None),
            Module::OffsetIndex => (7, None),
            Module::BloomFilterHeader => (8, None),
            Module::BloomFilterBitset => (9, None),
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

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
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

/// The AES cipher of a key.
pub(super) fn aes_key(key: &[u8]) -> Result<LessSafeKey> {
    let algorithm = match key.len() {
        16 => &AES_128_GCM,
        32 => &AES_256_GCM,
        len => return Err(Error::invalid_key(format!("a key of {len} bytes, where 16 or 32 are needed"))),
    };
    let key = UnboundKey::new(algorithm, key).map_err(|_| Error::invalid_key("a key that AES refuses"))?;
    Ok(LessSafeKey::new(key))
}

/// Decrypts the module at the start of `bytes` with the additional authenticated data `aad`; `None` if the key is wrong, or the bytes or `aad`
/// have been changed.
pub(super) fn open(key: &LessSafeKey, bytes: &[u8], aad: &[u8]) -> Result<Option<Vec<u8>>> {
    let malformed = || Error::corrupt("encrypted module of the wrong length");
    let (length, rest) = bytes.split_first_chunk::<LENGTH_LEN>().ok_or_else(malformed)?;
    let module = rest.get(..u32::from_le_bytes(*length) as usize).ok_or_else(malformed)?;
    let (nonce, sealed) = module.split_first_chunk::<NONCE_LEN>().ok_or_else(malformed)?;
    if sealed.len() < TAG_LEN {
        return Err(malformed());
    }
    let mut plaintext = sealed.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let Ok(opened) = key.open_in_place(nonce, Aad::from(aad), &mut plaintext) else { return Ok(None) };
    let len = opened.len();
    plaintext.truncate(len);
    Ok(Some(plaintext))
}

/// Checks the signature after a plaintext footer.
///
/// ```text
/// | FileMetaData | nonce, 12 bytes | tag, 16 bytes |
/// ```
pub(super) fn is_signed_by(key: &LessSafeKey, footer: &[u8], aad: &[u8]) -> bool {
    let Some((rest, tag)) = footer.split_last_chunk::<TAG_LEN>() else { return false };
    let Some((metadata, nonce)) = rest.split_last_chunk::<NONCE_LEN>() else { return false };
    let mut sealed = metadata.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    key.seal_in_place_separate_tag(nonce, Aad::from(aad), &mut sealed).is_ok_and(|expected| expected.as_ref() == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"0123456789012345";

    #[test]
    fn modules_of_any_length_are_refused_without_panic() {
        let decryptor = ChunkDecryptor::new(KEY, b"aad".to_vec(), 0, 0).expect("a sound key");
        for len in 0..64_usize {
            for stated in [0, len.saturating_sub(4), len, u32::MAX as usize] {
                let mut module = vec![0; len];
                let stated = (stated as u32).to_le_bytes();
                let prefix = len.min(4);
                module[..prefix].copy_from_slice(&stated[..prefix]);
                assert!(decryptor.decrypt(&module, Module::Data(0)).is_err());
            }
        }
        assert!(decryptor.decrypt(&[0; 64], Module::Data(40_000)).is_err());
        assert!(matches!(ChunkDecryptor::new(&[0; 15], Vec::new(), 0, 0), Err(Error::InvalidKey { .. })));
        assert!(matches!(ChunkDecryptor::new(KEY, Vec::new(), 40_000, 0), Err(Error::Corrupt { .. })));
    }
}
