//! Keys of the Parquet files of an encrypted table.
//!
//! Each file has a key of its own, which is in its footer, encrypted with the key of the table. Other programs that know modular
//! encryption read the files with key tools: the footer's key metadata have the fields of key material that parquet-java, Arrow C++ and
//! pyarrow write.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lath_parquet::{DecryptionKeys, OpenOptions};
use lath_store::EncryptionKey;
use lath_writer::{EncryptionKeys, WriteOptions};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The name of the table's key in the files, which is authenticated with the keys that it encrypts.
const MASTER_KEY: &str = "lath";

/// Bytes of the key of a file.
const FILE_KEY_LEN: usize = 32;

/// The options for writing one file, with a new key for it.
pub(crate) fn encrypted(options: WriteOptions, key: &EncryptionKey) -> Result<WriteOptions> {
    let mut file_key = [0; FILE_KEY_LEN];
    let mut nonce = [0; NONCE_LEN];
    let random = SystemRandom::new();
    let filled = random.fill(&mut file_key).and_then(|()| random.fill(&mut nonce));
    filled.map_err(|_| Error::internal("the system has no random numbers for the key of a file"))?;
    let mut wrapped = file_key.to_vec();
    let sealed = cipher(key).and_then(|cipher| {
        let (nonce, aad) = (Nonce::assume_unique_for_key(nonce), Aad::from(MASTER_KEY));
        cipher.seal_in_place_append_tag(nonce, aad, &mut wrapped)
    });
    sealed.map_err(|_| Error::internal("the key of a file cannot be encrypted"))?;
    let material = json!({
        "keyMaterialType": "PKMT1",
        "internalStorage": true,
        "isFooterKey": true,
        "kmsInstanceID": "DEFAULT",
        "kmsInstanceURL": "DEFAULT",
        "masterKeyID": MASTER_KEY,
        "doubleWrapping": false,
        "wrappedDEK": STANDARD.encode([&nonce[..], &wrapped].concat()),
    });
    Ok(options.encryption(EncryptionKeys::new(file_key).footer_key_metadata(material.to_string())))
}

/// The options for opening the files of a table with this key. Files without encryption are opened, too.
pub(crate) fn open_options(key: &EncryptionKey) -> OpenOptions {
    let key = key.clone();
    OpenOptions::new().decryption(DecryptionKeys::from_retriever(move |material| {
        unwrapped(&key, material).ok_or_else(|| "the file has a key that the table's key does not decrypt".into())
    }))
}

/// The key of a file.
fn unwrapped(key: &EncryptionKey, material: &[u8]) -> Option<Vec<u8>> {
    let material: Value = serde_json::from_slice(material).ok()?;
    let master = material.get("masterKeyID")?.as_str()?;
    let mut wrapped = STANDARD.decode(material.get("wrappedDEK")?.as_str()?).ok()?;
    let nonce = Nonce::assume_unique_for_key(*wrapped.first_chunk::<NONCE_LEN>()?);
    let opened = cipher(key).ok()?.open_in_place(nonce, Aad::from(master), wrapped.get_mut(NONCE_LEN..)?);
    opened.ok().map(|key| key.to_vec())
}

fn cipher(key: &EncryptionKey) -> std::result::Result<LessSafeKey, ring::error::Unspecified> {
    UnboundKey::new(&AES_256_GCM, key.bytes()).map(LessSafeKey::new)
}
