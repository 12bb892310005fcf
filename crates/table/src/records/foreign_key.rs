//! Foreign keys: columns of one table with values from a key or a unique index of another, or of the same one.
//!
//! Both tables have the record of a foreign key: the one with the columns by its name, the one that they refer to by the number of the other
//! table and the name.

use lath_store::{RecordReader, RecordWriter, Tree};

use crate::error::{Error, Result};

/// Prefix of the keys of a table's own foreign keys among its facts, before their names.
const OWN_PREFIX: &[u8] = b"foreign/";

/// Prefix of the keys of foreign keys that refer to a table among its facts, before the number of the other table and the name.
const REFERRING_PREFIX: &[u8] = b"referring/";

/// In place of the number of a unique index: the primary key.
pub(crate) const PRIMARY_KEY: u64 = 0;

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeignKey {
    pub(crate) name: String,
    /// The number of the table with the columns.
    pub(crate) table: u64,
    /// The number of that table's index of the columns.
    pub(crate) index: u64,
    /// Whether the index was created for this foreign key, and is dropped with it.
    pub(crate) has_own_index: bool,
    /// The number of the table that is referred to.
    pub(crate) referred: u64,
    /// The number of that table's unique index, or [`PRIMARY_KEY`].
    pub(crate) target: u64,
}

impl ForeignKey {
    /// Its key among the facts of the table with the columns.
    pub(crate) fn own_key(&self) -> Vec<u8> {
        [OWN_PREFIX, self.name.as_bytes()].concat()
    }

    /// Its key among the facts of the table that is referred to.
    pub(crate) fn referring_key(&self) -> Vec<u8> {
        [REFERRING_PREFIX, &self.table.to_be_bytes(), self.name.as_bytes()].concat()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut record = RecordWriter::default();
        record.bytes(self.name.as_bytes()).u64(self.table).u64(self.index).u32(self.has_own_index.into());
        record.u64(self.referred).u64(self.target).finish()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("a foreign key", bytes)?;
        Ok(Self {
            name: record.text()?.to_owned(),
            table: record.u64()?,
            index: record.u64()?,
            has_own_index: record.u32()? != 0,
            referred: record.u64()?,
            target: record.u64()?,
        })
    }
}

/// The foreign keys of a table and all that refer to it. One that refers to its own table is in both lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ForeignKeys {
    pub(crate) own: Vec<ForeignKey>,
    pub(crate) referring: Vec<ForeignKey>,
}

impl ForeignKeys {
    pub(crate) fn read(meta: Option<Tree<'_>>) -> Result<Self> {
        let Some(meta) = meta else { return Ok(Self::default()) };
        let read = |prefix| -> Result<Vec<ForeignKey>> {
            meta.prefix(prefix).map(|entry| ForeignKey::from_bytes(entry?.1)).collect()
        };
        Ok(Self { own: read(OWN_PREFIX)?, referring: read(REFERRING_PREFIX)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.referring.is_empty()
    }

    /// Whether one of them refers to the primary key of the table.
    pub(crate) fn refer_to_key(&self) -> bool {
        self.referring.iter().any(|key| key.target == PRIMARY_KEY)
    }

    /// The foreign key that needs an index of the table.
    pub(crate) fn needs_index(&self, number: u64) -> Option<&ForeignKey> {
        let own = self.own.iter().find(|key| key.index == number);
        own.or_else(|| self.referring.iter().find(|key| key.target == number))
    }

    /// The error that a table cannot be dropped while the rows of another one refer to it.
    pub(crate) fn check_droppable(&self) -> Result<()> {
        match self.referring.iter().find(|key| key.table != key.referred) {
            Some(ForeignKey { name, .. }) => Err(Error::schema(format!(
                "the foreign key {name:?} of another table refers to this table: drop that constraint, or that table, first"
            ))),
            None => Ok(()),
        }
    }
}
