//! One record of the log, as bytes.

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// Bytes before the payload.
pub(super) const HEADER_BYTES: usize = 32;

/// What stands before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) checksum: u64,
    /// Which use of the file the record belongs to; never 0.
    pub(super) salt: u64,
    pub(super) sequence: u64,
    pub(super) payload_bytes: u64,
}

impl Header {
    /// Makes the header of a record of these parts. `store` is the identity of the store, which seeds the checksum, so that
    /// records of another store's log are not taken for records of this one.
    pub(super) fn new(store: u64, salt: u64, sequence: u64, parts: &[&[u8]]) -> Self {
        let payload_bytes = parts.iter().map(|part| part.len() as u64).sum();
        let mut header = Self { checksum: 0, salt, sequence, payload_bytes };
        let mut hash = header.begin_checksum(store);
        for part in parts {
            hash.update(part);
        }
        header.checksum = hash.digest();
        header
    }

    pub(super) fn read(bytes: &[u8; HEADER_BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        Self { checksum: word(0), salt: word(1), sequence: word(2), payload_bytes: word(3) }
    }

    pub(super) fn write(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let words = [self.checksum, self.salt, self.sequence, self.payload_bytes];
        for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }

    /// The checksum of the fields after it; what the caller adds is the payload.
    pub(super) fn begin_checksum(&self, store: u64) -> Xxh3 {
        let mut hash = Xxh3::with_seed(store);
        hash.update(&self.write()[8..]);
        hash
    }
}

/// Bytes of a record of these parts.
pub(super) fn len(parts: &[&[u8]]) -> usize {
    parts.iter().fold(HEADER_BYTES, |sum, part| sum.saturating_add(part.len()))
}

/// Puts a whole record behind `bytes`.
pub(super) fn assemble(bytes: &mut Vec<u8>, store: u64, salt: u64, sequence: u64, parts: &[&[u8]]) {
    let payload_bytes = parts.iter().map(|part| part.len() as u64).sum();
    let start = bytes.len();
    bytes.extend_from_slice(&Header { checksum: 0, salt, sequence, payload_bytes }.write());
    for part in parts {
        bytes.extend_from_slice(part);
    }
    let checksum = xxh3_64_with_seed(&bytes[start + 8..], store);
    bytes[start..start + 8].copy_from_slice(&checksum.to_le_bytes());
}
