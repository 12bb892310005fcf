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

/// The action for rows that refer to a row which is deleted, or whose values are changed.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ForeignKeyAction {
    /// It is an error when the transaction commits, if they still refer to it.
    #[default]
    NoAction,
    /// It is an error at the end of the statement.
    Restrict,
    /// They are deleted, or get the new values.
    Cascade,
    /// Their columns become null.
    SetNull,
}

impl ForeignKeyAction {
    fn number(self) -> u32 {
        match self {
            Self::NoAction => 0,
            Self::Restrict => 1,
            Self::Cascade => 2,
            Self::SetNull => 3,
        }
    }

    fn from_number(number: u32) -> Result<Self> {
        Ok(match number {
            0 => Self::NoAction,
            1 => Self::Restrict,
            2 => Self::Cascade,
            3 => Self::SetNull,
            other => return Err(Error::corrupt(format!("a foreign key has the action {other}"))),
        })
    }
}

/// The actions of a foreign key.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ForeignKeyActions {
    /// When a row to which others refer is deleted.
    pub on_delete: ForeignKeyAction,
    /// When values to which others refer are changed.
    pub on_update: ForeignKeyAction,
}

impl ForeignKeyActions {
    /// Actions on a deletion and on a change.
    pub const fn new(on_delete: ForeignKeyAction, on_update: ForeignKeyAction) -> Self {
        Self { on_delete, on_update }
    }

    /// Whether both are errors at the commit, for which nothing is done before.
    pub(crate) fn are_plain(&self) -> bool {
        *self == Self::default()
    }
}

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
    pub(crate) actions: ForeignKeyActions,
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
        record.u64(self.referred).u64(self.target);
        if !self.actions.are_plain() {
            record.u32(self.actions.on_delete.number()).u32(self.actions.on_update.number());
        }
        record.finish()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("a foreign key", bytes)?;
        let mut key = Self {
            name: record.text()?.to_owned(),
            table: record.u64()?,
            index: record.u64()?,
            has_own_index: record.u32()? != 0,
            referred: record.u64()?,
            target: record.u64()?,
            actions: ForeignKeyActions::default(),
        };
        // Records without actions end here.
        if !record.is_at_end() {
            let mut action = || ForeignKeyAction::from_number(record.u32()?);
            key.actions = ForeignKeyActions { on_delete: action()?, on_update: action()? };
        }
        Ok(key)
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

    /// Whether something is done when values of a key or unique index are removed.
    pub(crate) fn act_on(&self, target: u64) -> bool {
        self.referring.iter().any(|key| key.target == target && !key.actions.are_plain())
    }

    /// Whether something is done when values of the table are removed.
    pub(crate) fn have_actions(&self) -> bool {
        self.referring.iter().any(|key| !key.actions.are_plain())
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
