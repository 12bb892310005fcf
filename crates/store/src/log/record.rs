//! One record of the log, as bytes.

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// Bytes before the payload in stores of version 1.
pub(super) const SHORT_HEADER_BYTES: usize = 32;

/// Bytes before the payload of a record that has a [`Past`].
pub(super) const HEADER_BYTES: usize = 48;

/// Payloads are shorter than 2 to this power. The bits above it in the length field are [`MARK`] if the record has a
/// [`Past`].
const LENGTH_BITS: u32 = 40;

/// In the upper bits of the length: a [`Past`] follows.
const MARK: u64 = u64::from_le_bytes(*b"\0\0\0\0\0LOG");

/// The offset and the bytes of [`MARK`] in a header.
pub(super) const MARK_AT: usize = 29;
pub(super) const MARK_BYTES: &[u8; 3] = b"LOG";

/// The state of the log when a record was written. If an intact record follows a broken one, this tells whether the
/// broken one was damaged or never finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Past {
    /// All bytes of this use of the file before this one were durable. If there are any, all of the other file was
    /// durable as well.
    pub(super) synced_end: u64,
    /// The number of the record that was logged before this one, in either file, or of the commit before the log's
    /// first.
    pub(super) previous: u64,
}

/// The header of a record, before its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) checksum: u64,
    /// Identifies the use of the file that the record belongs to; never 0.
    pub(super) salt: u64,
    pub(super) sequence: u64,
    pub(super) payload_bytes: u64,
    /// Absent in records of version 1.
    pub(super) past: Option<Past>,
}

/// The fields of a record other than its payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// The identity of the store, which seeds the checksum, so that another store's records are never accepted.
    pub(super) store: u64,
    pub(super) salt: u64,
    pub(super) sequence: u64,
    pub(super) past: Option<Past>,
}

impl Header {
    /// Makes the header of a record with these parts.
    pub(super) fn new(head: &Head, parts: &[&[u8]]) -> Self {
        let mut header = Self::without_checksum(head, parts);
        let mut hash = header.begin_checksum(head.store);
        for part in parts {
            hash.update(part);
        }
        header.checksum = hash.digest();
        header
    }

    fn without_checksum(head: &Head, parts: &[&[u8]]) -> Self {
        let payload_bytes = parts.iter().map(|part| part.len() as u64).sum();
        Self { checksum: 0, salt: head.salt, sequence: head.sequence, payload_bytes, past: head.past }
    }

    /// Reads the header at the start of `bytes`; `None` if they are too short.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |index: usize| words.get(index).map(|word| u64::from_le_bytes(*word));
        let (checksum, salt, sequence, length) = (word(0)?, word(1)?, word(2)?, word(3)?);
        let past = match length >> LENGTH_BITS == MARK >> LENGTH_BITS {
            true => Some(Past { synced_end: word(4)?, previous: word(5)? }),
            false => None,
        };
        let payload_bytes = if past.is_some() { length & ((1 << LENGTH_BITS) - 1) } else { length };
        Some(Self { checksum, salt, sequence, payload_bytes, past })
    }

    /// The length in bytes.
    pub(super) fn len(&self) -> usize {
        header_len(self.past)
    }

    /// The bytes, of which the first [`len`](Self::len) are used.
    fn write(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mark = if self.past.is_some() { MARK } else { 0 };
        let past = self.past.unwrap_or_default();
        let length = self.payload_bytes | mark;
        let words = [self.checksum, self.salt, self.sequence, length, past.synced_end, past.previous];
        for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        self.write()[..self.len()].to_vec()
    }

    /// Starts the checksum with the fields that follow it; the caller adds the payload.
    pub(super) fn begin_checksum(&self, store: u64) -> Xxh3 {
        let mut hash = Xxh3::with_seed(store);
        hash.update(&self.write()[8..self.len()]);
        hash
    }
}

fn header_len(past: Option<Past>) -> usize {
    if past.is_some() { HEADER_BYTES } else { SHORT_HEADER_BYTES }
}

/// The length in bytes of a record with these parts, with or without a [`Past`].
pub(super) fn len(past: Option<Past>, parts: &[&[u8]]) -> usize {
    parts.iter().fold(header_len(past), |sum, part| sum.saturating_add(part.len()))
}

/// Appends a whole record to `bytes`.
pub(super) fn assemble(bytes: &mut Vec<u8>, head: &Head, parts: &[&[u8]]) {
    let start = bytes.len();
    let header = Header::without_checksum(head, parts);
    bytes.extend_from_slice(&header.write()[..header.len()]);
    for part in parts {
        bytes.extend_from_slice(part);
    }
    let checksum = xxh3_64_with_seed(&bytes[start + 8..], head.store);
    bytes[start..start + 8].copy_from_slice(&checksum.to_le_bytes());
}
