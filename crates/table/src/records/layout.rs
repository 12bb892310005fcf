//! The trees of the store, and the records in them. `docs/formats/table.md` describes the bytes.

use lath_store::{RecordReader, RecordWriter, Snapshot};

use crate::error::{Error, Result};

/// The format that this version writes. Later formats are refused.
pub(crate) const FORMAT: u32 = 6;

/// The format of a table whose files are in a bucket, which is otherwise the same.
const BUCKET_FORMAT: u32 = 7;

/// Added to the number of the format if the table has constraints, which versions that do not know them would not check.
const CONSTRAINED: u32 = 2;

/// Added to the number of the format if the table has foreign keys or is referred to by some.
const REFERENCES: u32 = 4;

/// Added to the number of the format if rows expire, which versions that do not know it would return.
const EXPIRING: u32 = 8;

/// The newest format that this version reads: files in a bucket, constraints, foreign keys, and rows that expire.
const NEWEST_FORMAT: u32 = BUCKET_FORMAT + CONSTRAINED + REFERENCES + EXPIRING;

/// The oldest format that this version reads. In it, all files are in key order.
pub(crate) const OLDEST_FORMAT: u32 = 3;

/// Number of rows of a file that one piece of its mask covers.
pub(crate) const MASK_ROWS: u64 = 1 << 16;

/// A tree of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeName {
    /// The [`State`], the schemas, the categories of columns, and the indexes.
    Meta,
    /// File number → [`FileEntry`].
    Files,
    /// File number → keys of its blocks.
    BlockIndex,
    /// File number → the checksums of its blocks.
    Checksums,
    /// File number and piece → deleted rows.
    Masks,
    /// Key → hot row.
    Hot,
    /// Key → stamp: a key that was deleted, and that a file may still have.
    Tombstones,
    /// File number → [`DroppedFile`].
    Dropped,
    /// Stamp and key → the change of the row with that key in that commit.
    Changes,
}

impl TreeName {
    const ALL: [Self; 9] = [
        Self::Meta,
        Self::Files,
        Self::BlockIndex,
        Self::Checksums,
        Self::Masks,
        Self::Hot,
        Self::Tombstones,
        Self::Dropped,
        Self::Changes,
    ];

    /// Its name within the table.
    fn suffix(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Files => "files",
            Self::BlockIndex => "fences",
            Self::Checksums => "checksums",
            Self::Masks => "masks",
            Self::Hot => "hot",
            Self::Tombstones => "tombstones",
            Self::Dropped => "dropped",
            Self::Changes => "changes",
        }
    }
}

/// Names of the trees of one table in the store.
#[derive(Debug)]
pub(crate) struct TreeNames {
    /// The number of the table, if it is one of a database.
    number: Option<u64>,
    prefix: String,
    names: [String; TreeName::ALL.len()],
}

impl TreeNames {
    /// The trees of the only table of a folder.
    pub(crate) fn single_table() -> Self {
        Self::with_prefix(None, "table/".to_owned())
    }

    /// The trees of a table of a database.
    pub(crate) fn database_table(number: u64) -> Self {
        Self::with_prefix(Some(number), format!("table/{number}/"))
    }

    fn with_prefix(number: Option<u64>, prefix: String) -> Self {
        let names = TreeName::ALL.map(|name| format!("{prefix}{}", name.suffix()));
        Self { number, prefix, names }
    }

    /// The trees of a table of a database, by its number, or of the only table of a folder.
    pub(crate) fn for_table(number: Option<u64>) -> Self {
        number.map_or_else(Self::single_table, Self::database_table)
    }

    /// The number of the table, if it is one of a database.
    pub(crate) fn number(&self) -> Option<u64> {
        self.number
    }

    /// Prefix of the names of all trees of the table.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The tree with the entries of an index.
    pub(crate) fn index(&self, number: u64) -> String {
        format!("{}index/{number}", self.prefix)
    }

    pub(crate) fn get(&self, name: TreeName) -> &str {
        &self.names[name as usize]
    }
}

/// The key of the [`State`] in [`TreeName::Meta`].
pub(crate) const STATE_KEY: &[u8] = b"state";

/// The key of the number of the last transaction that has changed sequences, in [`DATABASE`].
pub(crate) const SEQUENCE_CHANGE_KEY: &[u8] = b"sequences";

/// The tree with the tables of a database: name → [`TableEntry`].
pub(crate) const TABLES: &str = "database/tables";

/// The tree with the tables of a database that were dropped: number → [`DroppedTable`].
pub(crate) const TABLES_DROPPED: &str = "database/dropped";

/// The tree with the views of a database: name → the text of the statement that created the view.
pub(crate) const VIEWS: &str = "database/views";

/// The file in the folder of a database with its sequences.
pub(crate) const SEQUENCES_FILE: &str = "sequences.json";

/// The tree with the [`DatabaseState`], under [`STATE_KEY`].
pub(crate) const DATABASE: &str = "database/meta";

/// The number of the table of a database that has a tree with this name.
pub(crate) fn table_number(tree: &str) -> Option<u64> {
    tree.strip_prefix("table/")?.strip_suffix("/meta")?.parse().ok()
}

/// The trees of each table of a commit.
pub(crate) fn all_trees(snapshot: &Snapshot) -> Result<Vec<TreeNames>> {
    let names = snapshot.tree_names()?;
    let mut tables = vec![TreeNames::single_table()];
    tables.extend(names.iter().filter_map(|name| table_number(name)).map(TreeNames::database_table));
    Ok(tables)
}

/// Prefix of the keys of schemas in [`TreeName::Meta`].
pub(crate) const SCHEMA_PREFIX: &[u8] = b"schema/";

/// The key of a schema in [`TreeName::Meta`].
pub(crate) fn schema_key(version: u32) -> Vec<u8> {
    [SCHEMA_PREFIX, &version.to_be_bytes()].concat()
}

/// Prefix of the keys of indexes in [`TreeName::Meta`], before their names.
pub(crate) const INDEX_PREFIX: &[u8] = b"index/";

/// The key of a file in [`TreeName::Files`], [`TreeName::BlockIndex`], [`TreeName::Checksums`] and [`TreeName::Dropped`].
pub(crate) fn file_key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// The number of the file that a key is about.
pub(crate) fn file_number(key: &[u8]) -> Result<u64> {
    let number = key.first_chunk::<8>().ok_or_else(|| Error::corrupt("the number of a file is too short"))?;
    Ok(u64::from_be_bytes(*number))
}

/// The key of a piece of a file's mask in [`TreeName::Masks`].
pub(crate) fn mask_key(number: u64, row: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&number.to_be_bytes());
    // Files have fewer than 2^48 rows.
    key[8..].copy_from_slice(&((row / MASK_ROWS) as u32).to_be_bytes());
    key
}

/// The state of a table, which changes with every commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// The writer that made the commit: a unique number of the opening of the table.
    pub(crate) incarnation: u64,
    /// The table's version: the number of the store's commit, or a higher one in a backup.
    pub(crate) stamp: u64,
    /// The stamp of the last commit that changed hot rows or tombstones.
    pub(crate) hot_stamp: u64,
    /// The stamp of the last commit that changed the list of files or a mask.
    pub(crate) files_stamp: u64,
    /// The number of the next file.
    pub(crate) next_file: u64,
    /// The version of the newest schema.
    pub(crate) schema: u32,
    /// Approximate number of bytes put into the hot tree since the last flush.
    pub(crate) hot_bytes: u64,
    /// `None` if changes are not kept.
    pub(crate) feed: Option<Feed>,
    /// The numbers of the columns by which new files are sorted before the key; none if they are sorted by the key alone.
    pub(crate) cluster: Vec<u32>,
    /// Whether the files are in a bucket: `FILE_PLACES` says where.
    pub(crate) is_in_bucket: bool,
    /// Whether the newest schema has constraints.
    pub(crate) is_constrained: bool,
    /// Whether the table has foreign keys or is referred to by some.
    pub(crate) has_references: bool,
    /// Whether rows expire by the newest schema.
    pub(crate) is_expiring: bool,
}

/// Retention of the change feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feed {
    /// Changes are kept of the commit with this stamp and of later ones.
    pub(crate) from: u64,
    /// Maximum number of commits of the store for which changes are kept.
    pub(crate) max_commits: u64,
    /// Maximum number of changes that are kept; the newest commit's changes are all kept, even if they are more.
    pub(crate) max_rows: u64,
}

impl State {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut record = RecordWriter::default();
        let format = if self.is_in_bucket { BUCKET_FORMAT } else { FORMAT };
        let format = if self.is_constrained { format + CONSTRAINED } else { format };
        let format = if self.has_references { format + REFERENCES } else { format };
        let format = if self.is_expiring { format + EXPIRING } else { format };
        record.u32(format).u64(self.incarnation).u64(self.stamp).u64(self.hot_stamp).u64(self.files_stamp);
        record.u64(self.next_file).u32(self.schema).u64(self.hot_bytes);
        // No commit has the number 0.
        let (from, max_commits, max_rows) =
            self.feed.as_ref().map_or((0, 0, 0), |feed| (feed.from, feed.max_commits, feed.max_rows));
        record.u64(from).u64(max_commits).u64(max_rows);
        put_ids(&mut record, &self.cluster);
        record.finish()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("the state", bytes)?;
        let format = record.u32()?;
        check_format(format)?;
        // Its features beyond format 6; an older one has none.
        let more = format.saturating_sub(FORMAT);
        Ok(Self {
            is_in_bucket: more & (BUCKET_FORMAT - FORMAT) != 0,
            is_constrained: more & CONSTRAINED != 0,
            has_references: more & REFERENCES != 0,
            is_expiring: more & EXPIRING != 0,
            incarnation: record.u64()?,
            stamp: record.u64()?,
            hot_stamp: record.u64()?,
            files_stamp: record.u64()?,
            next_file: record.u64()?,
            schema: record.u32()?,
            hot_bytes: record.u64()?,
            feed: {
                let (from, max_commits, max_rows) = (record.u64()?, record.u64()?, record.u64()?);
                (from > 0).then_some(Feed { from, max_commits, max_rows })
            },
            cluster: read_ids(&mut record)?,
        })
    }
}

fn check_format(found: u32) -> Result<()> {
    match (OLDEST_FORMAT..=NEWEST_FORMAT).contains(&found) {
        true => Ok(()),
        false => Err(Error::Format { found, oldest: OLDEST_FORMAT, known: NEWEST_FORMAT }),
    }
}

/// Writes the count of columns, then the number of each.
fn put_ids(record: &mut RecordWriter, ids: &[u32]) {
    record.u32(ids.len() as u32);
    for &id in ids {
        record.u32(id);
    }
}

/// The numbers of columns at the end of a record; none in one of format 3, which ends before them.
fn read_ids(record: &mut RecordReader<'_>) -> Result<Vec<u32>> {
    if record.is_at_end() {
        return Ok(Vec::new());
    }
    Ok((0..record.u32()?).map(|_| record.u32()).collect::<Result<_, _>>()?)
}

/// A Parquet file of the table, which has no key twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileEntry {
    pub(crate) number: u64,
    /// Its name in the table's folder.
    pub(crate) name: String,
    /// The version of the schema that its rows have.
    pub(crate) schema: u32,
    /// Number of merges that its rows have been through.
    pub(crate) level: u32,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// Number of rows in the mask.
    pub(crate) masked: u64,
    /// The stamp of the last commit that changed the mask.
    pub(crate) mask_stamp: u64,
    /// No hot row and no tombstone with this stamp or an older one has the key of a row, unless the mask has the row.
    pub(crate) born: u64,
    /// The smallest and the largest key.
    pub(crate) min: Vec<u8>,
    pub(crate) max: Vec<u8>,
    /// The numbers of the columns by which its rows are sorted before the key; none if they are in the order of their keys.
    pub(crate) order: Vec<u32>,
    /// Whether the checksums of its blocks are kept; false for files that were written in format 4 or before.
    pub(crate) is_checksummed: bool,
    /// The ETag of an object; empty for a local file.
    pub(crate) tag: String,
}

/// In place of the columns by which the rows of a file are sorted: they are in no order. No column has this number.
pub(crate) const NO_ORDER: u32 = 0;

impl FileEntry {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut record = RecordWriter::default();
        record.bytes(self.name.as_bytes()).u32(self.schema).u32(self.level).u64(self.rows).u64(self.bytes);
        record.u64(self.masked).u64(self.mask_stamp).u64(self.born).bytes(&self.min).bytes(&self.max);
        put_ids(&mut record, &self.order);
        record.u32(self.is_checksummed.into());
        if !self.tag.is_empty() {
            record.bytes(self.tag.as_bytes());
        }
        record.finish()
    }

    pub(crate) fn from_bytes(number: u64, bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("the entry of a file", bytes)?;
        Ok(Self {
            number,
            name: record.text()?.to_owned(),
            schema: record.u32()?,
            level: record.u32()?,
            rows: record.u64()?,
            bytes: record.u64()?,
            masked: record.u64()?,
            mask_stamp: record.u64()?,
            born: record.u64()?,
            min: record.bytes()?.to_vec(),
            max: record.bytes()?.to_vec(),
            order: read_ids(&mut record)?,
            is_checksummed: !record.is_at_end() && record.u32()? == 1,
            tag: if record.is_at_end() { String::new() } else { record.text()?.to_owned() },
        })
    }

    /// Whether rows are in the order of their keys.
    pub(crate) fn is_by_key(&self) -> bool {
        self.order.is_empty()
    }

    /// Whether a row may have this key.
    pub(crate) fn may_have(&self, key: &[u8]) -> bool {
        &self.min[..] <= key && key <= &self.max[..]
    }

    /// The number of rows that the mask does not have.
    pub(crate) fn unmasked(&self) -> u64 {
        self.rows.saturating_sub(self.masked)
    }
}

/// A file that is no longer part of the table, and that snapshots may still need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DroppedFile {
    pub(crate) name: String,
    /// The store's commits with this number and later ones do not need it, unless a snapshot that they keep does.
    pub(crate) stamp: u64,
    /// The number of the commit that dropped it.
    pub(crate) dropped: u64,
}

impl DroppedFile {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut record = RecordWriter::default();
        record.bytes(self.name.as_bytes()).u64(self.stamp);
        put_dropped(&mut record, self.stamp, self.dropped);
        record.finish()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("the entry of a dropped file", bytes)?;
        let (name, stamp) = (record.text()?.to_owned(), record.u64()?);
        Ok(Self { name, stamp, dropped: read_dropped(&mut record, stamp)? })
    }
}

/// Writes the number of the commit that has dropped something, unless it is the stamp.
fn put_dropped(record: &mut RecordWriter, stamp: u64, dropped: u64) {
    if dropped != stamp {
        record.u64(dropped);
    }
}

fn read_dropped(record: &mut RecordReader<'_>, stamp: u64) -> Result<u64> {
    Ok(if record.is_at_end() { stamp } else { record.u64()? })
}

/// The state of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseState {
    /// The number of the next table.
    pub(crate) next_table: u64,
}

impl DatabaseState {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        RecordWriter::default().u32(FORMAT).u64(self.next_table).finish()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("the state of a database", bytes)?;
        check_format(record.u32()?)?;
        Ok(Self { next_table: record.u64()? })
    }
}

/// A table of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableEntry {
    /// No other table of the database ever has it.
    pub(crate) number: u64,
}

impl TableEntry {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        RecordWriter::default().u64(self.number).finish()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self { number: RecordReader::new("the entry of a table", bytes)?.u64()? })
    }
}

/// A table that was dropped, and whose files snapshots may still need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DroppedTable {
    /// Commits with this number and later ones do not have it, unless a snapshot that they keep does.
    pub(crate) stamp: u64,
    /// The number of the commit that dropped it.
    pub(crate) dropped: u64,
}

impl DroppedTable {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut record = RecordWriter::default();
        record.u64(self.stamp);
        put_dropped(&mut record, self.stamp, self.dropped);
        record.finish()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("the entry of a dropped table", bytes)?;
        let stamp = record.u64()?;
        Ok(Self { stamp, dropped: read_dropped(&mut record, stamp)? })
    }
}
