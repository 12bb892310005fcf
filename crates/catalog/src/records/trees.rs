//! The trees of a catalog's store, and their keys. `docs/formats/catalog.md` describes them.

/// Records of the whole catalog, by name.
pub(crate) const META: &str = "meta";
/// Locations that were added, by number.
pub(crate) const ROOTS: &str = "roots";
/// Slots of files, in the order of a listing.
pub(crate) const NAMES: &str = "names";
/// Records of files, by slot.
pub(crate) const FILES: &str = "files";
/// The ends of files, starting with the footer, by slot.
pub(crate) const ENDS: &str = "ends";
/// Page indexes of files, by slot: the offset, then the bytes.
pub(crate) const PAGE_INDEXES: &str = "page_indexes";
/// Schemas of files, by number.
pub(crate) const SCHEMAS: &str = "schemas";
/// Planning columns, by number.
pub(crate) const COLUMNS: &str = "columns";
/// Arrays over slots.
pub(crate) const BLOCKS: &str = "blocks";
/// Bloom filters of equal length.
pub(crate) const SEGMENTS: &str = "segments";

/// Number of the format, in [`META`].
pub(crate) const FORMAT_KEY: &[u8] = b"format";
/// Counters and options, in [`META`].
pub(crate) const STATE_KEY: &[u8] = b"state";
/// The united schema of all files, in [`META`]; absent if the schemas cannot be united.
pub(crate) const UNITED_KEY: &[u8] = b"united";
/// The partition columns, in [`META`].
pub(crate) const PARTITIONS_KEY: &[u8] = b"partitions";
/// The table whose files the catalog has, in [`META`]; absent for plain files.
pub(crate) const TABLE_KEY: &[u8] = b"table";

/// Number of the format of a catalog of plain files.
pub(crate) const FORMAT: u32 = 1;
/// Number of the format of a catalog of a table. Versions that do not know tables refuse it: they would return deleted rows.
pub(crate) const FORMAT_WITH_TABLE: u32 = 2;

/// Slots of a block.
pub(crate) const BLOCK_SLOTS: u32 = 8192;

/// The kind of an array over slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlockKind {
    /// One bit a slot: whether it has a file.
    Live = 1,
    /// The bounds of a column.
    Bounds = 2,
    /// One bit a slot: whether filters in the catalog cover all rows of its file in a column.
    Filtered = 3,
    /// Indices into the values of a partition column.
    Partition = 4,
    /// One bit a slot: whether rows of its file are deleted, as the log of a table says.
    #[cfg_attr(not(feature = "lake"), allow(dead_code, reason = "a build without lakes refuses tables"))]
    Deleted = 5,
}

/// The key of a block of an array over slots.
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

/// The key of a numbered record.
pub(crate) fn number_key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// The number in a key.
pub(crate) fn number_in(key: &[u8]) -> Option<u32> {
    key.try_into().ok().map(u32::from_be_bytes)
}

/// The key of a file in [`NAMES`]. Files are in the order of a listing: by root, then by directory, then by name.
pub(crate) fn name_key(root: u32, name: &str) -> Vec<u8> {
    let mut key = root.to_be_bytes().to_vec();
    // 0 is below any other byte, so the files in a directory come before files whose name continues the directory's.
    key.extend(name.bytes().map(|byte| if byte == b'/' { 0 } else { byte }));
    key
}
