//! The first bytes of an encrypted data file: the keys of its sectors, encrypted with the key of the store.
//!
//! ```text
//! 0         8            12     16          24        36                        116    120        128
//! │ magic   │ version u32 │ zero │ number u64 │ nonce   │ keys of sectors, tag     │ zero │ XXH3 u64 │
//! ```
//!
//! It is written twice, at bytes 0 and 2,048. So the store's key is used for nothing else, and every store has other keys for its sectors.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

use super::cipher::{KEYS_LEN, SectorCipher};
use super::key::EncryptionKey;
use crate::error::{Error, Result};
use crate::storage::{ENCRYPTED_MAGIC, MAGIC};

/// Bytes before the first sector of the data.
pub(crate) const ENVELOPE_AREA: u64 = 4096;

const LEN: usize = 128;
const VERSION: u32 = 1;
const PLACES: [usize; 2] = [0, 2048];
const SEALED_AT: usize = 36;
const TAG_LEN: usize = 16;
const CHECKSUM_AT: usize = 120;

/// Makes the keys of a new store, and the bytes of its envelope area.
pub(super) fn make(key: &EncryptionKey) -> Result<(SectorCipher, Vec<u8>)> {
    let keys: [u8; KEYS_LEN] = random()?;
    let nonce: [u8; NONCE_LEN] = random()?;
    let mut bytes = [0; LEN];
    bytes[..8].copy_from_slice(&ENCRYPTED_MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[24..SEALED_AT].copy_from_slice(&nonce);
    let (associated, mut sealed) = (bytes[..24].to_vec(), keys);
    let aad = Aad::from(associated.as_slice());
    let tag = cipher(key)?.seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed);
    let tag = tag.map_err(|_| Error::internal("the keys of a new store cannot be encrypted"))?;
    bytes[SEALED_AT..SEALED_AT + KEYS_LEN].copy_from_slice(&sealed);
    bytes[SEALED_AT + KEYS_LEN..SEALED_AT + KEYS_LEN + TAG_LEN].copy_from_slice(tag.as_ref());
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..CHECKSUM_AT]);
    bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
    Ok((SectorCipher::new(&keys), area_with(&bytes)))
}

/// The area with an envelope and its copy.
fn area_with(envelope: &[u8; LEN]) -> Vec<u8> {
    let mut area = vec![0; ENVELOPE_AREA as usize];
    for place in PLACES {
        area[place..place + LEN].copy_from_slice(envelope);
    }
    area
}

/// Whether these are the first bytes of an encrypted store, one of whose envelopes may be damaged.
pub(in crate::storage::file) fn is_one(area: &[u8]) -> bool {
    let has_magic = |place: usize| area.get(place..).is_some_and(|bytes| bytes.starts_with(&ENCRYPTED_MAGIC));
    !area.starts_with(&MAGIC) && PLACES.into_iter().any(has_magic)
}

/// Finds the keys of a store in the bytes of its envelope area, and returns the area as it is if nothing is damaged.
///
/// # Errors
/// [`Error::Key`] if it is not encrypted, or with another key; [`Error::Corrupt`].
pub(super) fn open(area: &[u8], key: &EncryptionKey) -> Result<(SectorCipher, Vec<u8>)> {
    if area.starts_with(&MAGIC) {
        let what = "the store is not encrypted: open it without a key, or make an encrypted copy of it by a backup";
        return Err(Error::Key(what.to_owned()));
    }
    let envelopes = PLACES.into_iter().filter_map(|place| area.get(place..)?.first_chunk::<LEN>());
    let is_whole = |bytes: &&[u8; LEN]| {
        let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..CHECKSUM_AT]);
        bytes.starts_with(&ENCRYPTED_MAGIC) && bytes[CHECKSUM_AT..] == checksum.to_le_bytes()
    };
    let mut whole = envelopes.filter(is_whole);
    let Some(bytes) = whole.next() else {
        return Err(Error::corrupt_at(0, "neither copy of its encrypted keys is whole, so it cannot be decrypted"));
    };
    let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    if version != VERSION {
        let what = format!("the store has version {version} of encryption, and this program knows version {VERSION}");
        return Err(Error::Invalid(what));
    }
    let mut nonce = [0; NONCE_LEN];
    nonce.copy_from_slice(&bytes[24..SEALED_AT]);
    let mut sealed = [0; KEYS_LEN + TAG_LEN];
    sealed.copy_from_slice(&bytes[SEALED_AT..SEALED_AT + KEYS_LEN + TAG_LEN]);
    let aad = Aad::from(&bytes[..24]);
    let opened = cipher(key)?.open_in_place(Nonce::assume_unique_for_key(nonce), aad, &mut sealed);
    match opened.ok().and_then(|keys| keys.first_chunk::<KEYS_LEN>()) {
        Some(keys) => Ok((SectorCipher::new(keys), area_with(bytes))),
        None => Err(Error::Key("the store is encrypted with another key".to_owned())),
    }
}

fn cipher(key: &EncryptionKey) -> Result<LessSafeKey> {
    let key = UnboundKey::new(&AES_256_GCM, key.bytes());
    key.map(LessSafeKey::new).map_err(|_| Error::internal("a key of 32 bytes was refused"))
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| Error::Key("the system has no random numbers for a new store's keys".to_owned()))
}
