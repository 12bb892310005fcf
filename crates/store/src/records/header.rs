//! The two header slots at the start of the data file, written in turn by checkpoints.
//!
//! ```text
//! 0 "LATHKV\r\n" │ 8 format version u32 │ 12 flags u32 (1: closed cleanly) │ 16 identity of the store u64
//! 24 number of the checkpoint u64 │ 32 generation u64 │ 40 sequence number u64 │ 48 catalog word u64
//! 56 snapshots word u64 │ 64 end of the data in units u64 │ 72 free map: value node u64, or 0
//! 80 checksum u64, XXH3 of the bytes before it
//! ```
//! Slot 0 begins at byte 0, slot 1 at byte 4,096. The valid slot with the higher number is the current one. A slot fits
//! into a disk's sector, and a checkpoint always writes the slot that is not current.

use crate::arena::{Arena, HEADER_LEN};
use crate::error::{Error, Result};
use crate::node::{REFERENCE_LIMIT, Word};
use crate::root::Root;
use crate::storage::{ENCRYPTED_MAGIC, MAGIC};

/// The version of the format that is written to a store without nested trees. Since version 2, records of the log say
/// what was durable when they were written.
pub(crate) const VERSION: u32 = 2;

/// The version of a store with trees that were nested, moved or copied. Programs that know version 2 only refuse it.
pub(crate) const NESTED_VERSION: u32 = 3;

const CLEAN: u32 = 1;

/// The maximum for numbers of checkpoints and commits, and for generations.
const LIMIT: u64 = 1 << 56;

/// The header of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The version of the format; [`VERSION`] or [`NESTED_VERSION`] in a header that is to be written.
    pub(crate) version: u32,
    /// A random number, chosen when the store is created.
    pub(crate) identity: u64,
    pub(crate) number: u64,
    pub(crate) root: Root,
    /// The end of the root's nodes, in units.
    pub(crate) end: u64,
    /// The free map, if a clean close has written one.
    pub(crate) free_map: Option<u64>,
    pub(crate) is_clean: bool,
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&(if self.is_clean { CLEAN } else { 0 }).to_le_bytes());
        let fields = [
            self.identity,
            self.number,
            self.root.generation,
            self.root.sequence,
            self.root.catalog.bits(),
            self.root.snapshots.bits(),
            self.end,
            self.free_map.unwrap_or(0),
        ];
        for (to, field) in bytes[16..80].chunks_exact_mut(8).zip(fields) {
            to.copy_from_slice(&field.to_le_bytes());
        }
        let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..80]);
        bytes[80..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Parses the header in a slot; `None` if the slot has none.
    pub(crate) fn parse(bytes: &[u8; HEADER_LEN]) -> Result<Option<Self>> {
        let field = |at: usize| {
            let mut value = [0; 8];
            value.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(value)
        };
        if bytes[..8] != MAGIC || field(80) != xxhash_rust::xxh3::xxh3_64(&bytes[..80]) {
            return Ok(None);
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if !(1..=NESTED_VERSION).contains(&version) {
            let why = format!(
                "the store has format version {version}, and this program knows versions 1 to {NESTED_VERSION}"
            );
            return Err(Error::Invalid(why));
        }
        let root = Root {
            generation: field(32),
            sequence: field(40),
            catalog: Word::from_bits(field(48)),
            snapshots: Word::from_bits(field(56)),
        };
        // Numbers that grow by one do not reach these limits, and could not grow any further.
        let limits = [(24, LIMIT), (32, LIMIT), (40, LIMIT), (64, REFERENCE_LIMIT)];
        if limits.iter().any(|&(at, limit)| field(at) > limit) {
            return Err(Error::corrupt("a number in a header is out of range"));
        }
        let free_map = Some(field(72)).filter(|reference| *reference != 0);
        let is_clean = bytes[12] == CLEAN as u8;
        Ok(Some(Self { version, identity: field(16), number: field(24), root, end: field(64), free_map, is_clean }))
    }
}

/// The newest valid header.
pub(crate) fn newest_header(arena: &Arena) -> Result<Header> {
    if arena.header(0)?.starts_with(&ENCRYPTED_MAGIC) {
        return Err(Error::Key("the store is encrypted, and its key was not given".to_owned()));
    }
    let slots = [Header::parse(&arena.header(0)?)?, Header::parse(&arena.header(1)?)?];
    let newest = slots.into_iter().flatten().max_by_key(|header| header.number);
    newest.ok_or_else(|| Error::corrupt_at(0, "neither of the two headers is one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_near_numeric_limits_are_refused() {
        let root = Root::EMPTY;
        let (version, identity) = (VERSION, u64::MAX);
        let header = Header { version, identity, number: LIMIT, root, end: 1 << 40, free_map: None, is_clean: false };
        assert_eq!(Header::parse(&header.to_bytes()).unwrap(), Some(header));
        let too_large = [
            Header { number: u64::MAX, ..header },
            Header { root: Root { generation: u64::MAX, ..root }, ..header },
            Header { root: Root { sequence: LIMIT + 1, ..root }, ..header },
            Header { end: u64::MAX / 64, ..header },
        ];
        for header in too_large {
            assert!(matches!(Header::parse(&header.to_bytes()), Err(Error::Corrupt { .. })), "{header:?}");
        }
    }
}
