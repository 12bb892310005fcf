//! The trees of a catalog's store, and their keys. `docs/formats/catalog.md` describes them.

/// What holds for the whole catalog, by name.
pub(crate) const META: &str = "meta";
/// Locations that were added, by number.
pub(crate) const ROOTS: &str = "roots";
/// Slots of files, in the order in which a listing has the files.
pub(crate) const NAMES: &str = "names";
/// What is known of files, by slot.
pub(crate) const FILES: &str = "files";
/// The ends of files, from their footers on, by slot.
pub(crate) const ENDS: &str = "ends";
/// Page indexes of files, by slot: the offset, then the bytes.
pub(crate) const PAGE_INDEXES: &str = "page_indexes";
/// Schemas that files have, by number.
pub(crate) const SCHEMAS: &str = "schemas";
/// Columns that files are planned by, by number.
pub(crate) const COLUMNS: &str = "columns";
/// Arrays over slots.
pub(crate) const BLOCKS: &str = "blocks";
/// Bloom filters of equal length.
pub(crate) const SEGMENTS: &str = "segments";

/// Number of the format, in [`META`].
pub(crate) const FORMAT_KEY: &[u8] = b"format";
/// Counters and options, in [`META`].
pub(crate) const STATE_KEY: &[u8] = b"state";
/// The schema of all files together, in [`META`]; missing where schemas cannot be united.
pub(crate) const UNITED_KEY: &[u8] = b"united";
/// The partition columns, in [`META`].
pub(crate) const PARTITIONS_KEY: &[u8] = b"partitions";

/// Number of the format that this version writes.
pub(crate) const FORMAT: u32 = 1;

/// Slots of a block.
pub(crate) const BLOCK_SLOTS: u32 = 8192;

/// What an array over slots has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlockKind {
    /// A bit for each slot that has a file.
    Live = 1,
    /// The bounds of a column.
    Bounds = 2,
    /// A bit for each file all of whose rows are in kept filters of a column.
    Filtered = 3,
    /// The rows of a partition column's values.
    Partition = 4,
}

/// Which array over slots: its kind and its column, and which part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockKey {
    pub(crate) kind: BlockKind,
    pub(crate) column: u32,
    pub(crate) block: u32,
}

impl BlockKey {
    pub(crate) fn to_bytes(self) -> [u8; 9] {
        let mut bytes = [self.kind as u8; 9];
        bytes[1..5].copy_from_slice(&self.column.to_be_bytes());
        bytes[5..].copy_from_slice(&self.block.to_be_bytes());
        bytes
    }
}

/// The key of a numbered thing.
pub(crate) fn number_key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// The number of a key.
pub(crate) fn number_of(key: &[u8]) -> Option<u32> {
    key.try_into().ok().map(u32::from_be_bytes)
}

/// The key of a file in [`NAMES`]: files in the order of roots, then directory by directory in the order of names, as listings
/// have them.
pub(crate) fn name_key(root: u32, name: &str) -> Vec<u8> {
    let mut key = root.to_be_bytes().to_vec();
    // Below any other byte, so that what is in a directory comes before names that its own is a prefix of.
    key.extend(name.bytes().map(|byte| if byte == b'/' { 0 } else { byte }));
    key
}
