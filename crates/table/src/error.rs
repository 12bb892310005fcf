//! Errors of tables.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::ArrowError;
use lath_store::StoreUser;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on a table failed.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum Error {
    /// Other processes have the table open in a way that excludes this one: one writes to it, or some read it while no process
    /// writes to it.
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The processes that have the table open, as far as the operating system reports them.
        users: Vec<StoreUser>,
        /// The time that opening waited for them.
        waited: Duration,
    },
    /// The store with the hot rows and the list of files failed.
    Store {
        /// The store's error.
        source: lath_store::Error,
    },
    /// A Parquet file of the table could not be read or written.
    Parquet {
        /// The reader's or writer's error.
        source: Arc<lath_parquet::Error>,
    },
    /// Arrow could not convert or join rows.
    Arrow {
        /// Arrow's error.
        source: Arc<ArrowError>,
    },
    /// A condition does not fit the table's columns.
    Predicate {
        /// The problem.
        source: Arc<lath_predicate::Error>,
    },
    /// An operation of the operating system failed.
    Io {
        /// The operation, as in "cannot … the folder".
        op: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// There is a table in the folder already.
    Exists {
        /// The folder.
        folder: PathBuf,
    },
    /// The target folder is not empty.
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// There is no table in the folder.
    NoTable {
        /// The folder.
        folder: PathBuf,
    },
    /// There is a table with this name in the database already.
    TableExists {
        /// The name.
        name: String,
    },
    /// There is no table with this name in the database.
    NoSuchTable {
        /// The name.
        name: String,
    },
    /// There is no database in the folder.
    NoDatabase {
        /// The folder.
        folder: PathBuf,
    },
    /// No table can have this name.
    TableName {
        /// The name.
        name: String,
    },
    /// A sequence does not exist, has no number left, or cannot be created.
    Sequence {
        /// The problem, and how to solve it.
        what: String,
    },
    /// A consumer of the change feed does not exist, cannot be added, or was cut off.
    Consumer {
        /// The problem, and how to solve it.
        what: String,
    },
    /// The table has a column that is generated from others, which only SQL computes. Nothing was changed.
    Generated {
        /// The column.
        column: String,
        /// Its expression.
        expression: String,
    },
    /// An encrypted table cannot do this.
    Encryption {
        /// The reason, and what to do instead.
        what: String,
    },
    /// This is one table's part of a [`DatabaseTransaction`](crate::DatabaseTransaction): only the whole transaction can be
    /// committed. Nothing was changed.
    PartOfTransaction,
    /// The table is one of a database, which can only be backed up as a whole.
    PartOfDatabase {
        /// The folder of the table.
        folder: PathBuf,
    },
    /// The table has no change feed, or no longer keeps the requested changes.
    NoChanges {
        /// The sequence after which changes were requested.
        since: u64,
        /// The changes after this sequence are kept; `None` if the table has no change feed.
        kept_since: Option<u64>,
    },
    /// No table can have this schema or key.
    Schema {
        /// The problem, and how to solve it.
        what: String,
    },
    /// A batch does not have the columns of the table.
    Batch {
        /// The difference.
        what: String,
    },
    /// A row has a null where the table allows none. Nothing was changed.
    Null {
        /// The column.
        column: String,
        /// The row of the batch, counted from 0.
        row: usize,
    },
    /// A row to insert has a key that the table or an earlier row of the batch has. Nothing was changed.
    DuplicateKey {
        /// The columns of the key and their values.
        key: String,
        /// The row of the batch, counted from 0.
        row: usize,
    },
    /// Two keys of a table that distinguishes floats by their bits have the same value: both zeros, or two NaNs. Nothing was
    /// changed.
    EqualKeys {
        /// The columns of one key and their values.
        first: String,
        /// The key of the other row.
        second: String,
    },
    /// Two rows would have the same values in the columns of a unique index. Nothing was changed.
    NotUnique {
        /// The name of the index.
        index: String,
        /// The columns of the index and their values.
        values: String,
    },
    /// A row violates a constraint of the table. Nothing was changed.
    Constraint {
        /// The name of the constraint.
        name: String,
        /// Its condition.
        condition: String,
        /// The columns of the row's key and their values.
        key: String,
        /// The row of the batch, counted from 0.
        row: usize,
    },
    /// A row has values in the columns of a foreign key that no row of the other table has. Nothing was changed.
    NoReferredRow {
        /// The name of the foreign key.
        foreign_key: String,
        /// The columns and their values.
        values: String,
        /// The other table.
        table: String,
    },
    /// A row would vanish, or lose values, that rows of another table refer to by a foreign key. Nothing was changed.
    ReferredRow {
        /// The name of the foreign key.
        foreign_key: String,
        /// The columns that are referred to, and their values.
        values: String,
        /// The other table.
        table: String,
    },
    /// The action of a foreign key would change a row to one that its table cannot have. Nothing was changed.
    ImpossibleAction {
        /// The name of the foreign key.
        foreign_key: String,
        /// The columns of the row's key and their values.
        key: String,
        /// The reason.
        what: String,
    },
    /// A text has more characters than its column allows. Nothing was changed.
    TooLong {
        /// The column.
        column: String,
        /// The maximum number of characters.
        chars: u32,
        /// The number of characters of the text.
        found: usize,
        /// The columns of the row's key and their values.
        key: String,
        /// The row of the batch, counted from 0.
        row: usize,
    },
    /// There is no index with this name.
    NoSuchIndex {
        /// The name.
        name: String,
    },
    /// There is an index with this name already.
    IndexExists {
        /// The name.
        name: String,
    },
    /// A key is too long. Nothing was changed.
    KeyTooLong {
        /// The row of the batch, counted from 0.
        row: usize,
        /// The length of the encoded key in bytes.
        len: usize,
        /// The maximum.
        limit: usize,
    },
    /// A requested key does not fit the key columns.
    Key {
        /// The problem, and how to solve it.
        what: String,
    },
    /// There is no snapshot with this name.
    NoSuchSnapshot {
        /// The name.
        name: String,
    },
    /// No snapshot can be kept under this name.
    SnapshotName {
        /// The name.
        name: String,
    },
    /// The state of a table at an earlier commit is not kept.
    NotKept {
        /// The problem, and how to solve it.
        what: String,
    },
    /// Rows of files cannot become a table. There is none.
    Import {
        /// The problem, and how to solve it.
        what: String,
    },
    /// The table cannot be published for other programs.
    Publish {
        /// The problem, and how to solve it.
        what: String,
    },
    /// Another program has written metadata of Iceberg into the folder of a published table. It is not overwritten.
    ForeignMetadata {
        /// The file.
        path: PathBuf,
    },
    /// The files of a table cannot be at this place, or an operation needs them elsewhere.
    Place {
        /// The problem, and how to solve it.
        what: String,
    },
    /// The objects at a URL belong to another table, or to a copy of this one that has written there since. Nothing there is changed.
    ForeignFiles {
        /// The URL.
        path: PathBuf,
    },
    /// The table or database is a follower's copy, which only its follower changes. Nothing was changed.
    Follower {
        /// The folder.
        folder: PathBuf,
        /// The path or URL of what it follows.
        source: String,
    },
    /// A source cannot be followed into a folder, or a folder cannot be promoted.
    Replica {
        /// The problem, and how to solve it.
        what: String,
    },
    /// The table's files contradict each other.
    Corrupt {
        /// The problem.
        what: String,
    },
    /// The table was written by a version with another format.
    Format {
        /// The format's number.
        found: u32,
        /// The oldest one that this version reads.
        oldest: u32,
        /// The number of the format that this version writes.
        known: u32,
    },
    /// The table is being closed, so background work stopped.
    Closing,
    /// A bug in this crate. Please report it.
    Internal {
        /// The failure.
        what: String,
    },
}

impl Error {
    /// Whether a table or database that was opened for reading was to be changed.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::Store { source: lath_store::Error::ReadOnly })
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    pub(crate) fn internal(what: impl Into<String>) -> Self {
        Self::Internal { what: what.into() }
    }

    pub(crate) fn schema(what: impl Into<String>) -> Self {
        Self::Schema { what: what.into() }
    }

    pub(crate) fn sequence(what: impl Into<String>) -> Self {
        Self::Sequence { what: what.into() }
    }

    pub(crate) fn encryption(what: impl Into<String>) -> Self {
        Self::Encryption { what: what.into() }
    }

    pub(crate) fn consumer(what: impl Into<String>) -> Self {
        Self::Consumer { what: what.into() }
    }

    pub(crate) fn batch(what: impl Into<String>) -> Self {
        Self::Batch { what: what.into() }
    }

    pub(crate) fn publish(what: impl Into<String>) -> Self {
        Self::Publish { what: what.into() }
    }

    pub(crate) fn place(what: impl Into<String>) -> Self {
        Self::Place { what: what.into() }
    }

    pub(crate) fn replica(what: impl Into<String>) -> Self {
        Self::Replica { what: what.into() }
    }

    pub(crate) fn import(what: impl Into<String>) -> Self {
        Self::Import { what: what.into() }
    }

    pub(crate) fn key(what: impl Into<String>) -> Self {
        Self::Key { what: what.into() }
    }

    /// For `map_err`: the error of the operation `op` at `path`.
    pub(crate) fn io(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { op, path: path.to_owned(), source: Arc::new(source) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store { source: lath_store::Error::ReadOnly } => {
                write!(f, "the table was opened read-only: open it with Table::open to change it")
            }
            Self::Store { source: lath_store::Error::Busy } => {
                write!(f, "another process has the table open for writing: close it there, or open it read-only")
            }
            Self::InUse { folder, users, waited } => {
                write!(f, "{} is in use", folder.display())?;
                let mut separator = ": ";
                for user in users {
                    write!(f, "{separator}{user}")?;
                    separator = ", ";
                }
                write!(
                    f,
                    "; waited for {} s: try again when its transaction or the process has ended, or wait longer",
                    waited.as_secs_f32()
                )
            }
            Self::Store { source } => write!(f, "the table's store: {source}"),
            Self::Parquet { source } => write!(f, "a file of the table: {source}"),
            Self::Arrow { source } => write!(f, "{source}"),
            Self::Predicate { source } => write!(f, "{source}"),
            Self::Io { op, path, source } => write!(f, "cannot {op} {}: {source}", path.display()),
            Self::Exists { folder } => {
                write!(f, "{} has a table or database already: open it, or choose another folder", folder.display())
            }
            Self::NotEmpty { folder } => {
                write!(f, "{} is not empty: choose another folder, or remove its contents", folder.display())
            }
            Self::NoTable { folder } => {
                write!(f, "{} has no table: name the folder of one, or create it", folder.display())
            }
            Self::TableExists { name } => {
                write!(f, "the database has a table {name:?} already: open it, or choose another name")
            }
            Self::NoSuchTable { name } => {
                write!(f, "the database has no table {name:?}: name one that it has, or create it")
            }
            Self::NoDatabase { folder } => {
                write!(f, "{} has no database: name the folder of one, or create it", folder.display())
            }
            Self::TableName { name } => {
                write!(
                    f,
                    "no table can be called {name:?}: names have 1 to 255 bytes, no control characters, and no space at either end"
                )
            }
            Self::Generated { column, expression } => write!(
                f,
                "column {column:?} is generated by {expression}, which only SQL computes: put rows of the table by INSERT, UPDATE, MERGE or COPY FROM of SQL"
            ),
            Self::Sequence { what } | Self::Consumer { what } | Self::Encryption { what } => f.write_str(what),
            Self::PartOfTransaction => {
                write!(f, "this is a part of a transaction over several tables: commit that one")
            }
            Self::PartOfDatabase { folder } => {
                write!(f, "{} is a table of a database: back up the database with Database::backup", folder.display())
            }
            Self::NoChanges { kept_since: None, .. } => {
                write!(f, "the table keeps no changes: turn the change feed on with Table::keep_changes")
            }
            Self::NoChanges { since, kept_since: Some(kept_since) } if since > kept_since => {
                write!(f, "there is no commit {since} yet: read the changes since an earlier one, or wait for it")
            }
            Self::NoChanges { since, kept_since: Some(kept_since) } => {
                write!(
                    f,
                    "the changes since {since} are no longer kept, only the changes since {kept_since}: read the whole table again, and then the changes since its version"
                )
            }
            Self::Schema { what } | Self::Batch { what } | Self::Key { what } => f.write_str(what),
            Self::Null { column, row } => {
                write!(f, "row {row} has a null in column {column:?}, which does not allow nulls: nothing was changed")
            }
            Self::DuplicateKey { key, row } => {
                write!(
                    f,
                    "row {row}: there is a row with {key} already, so nothing was changed: use upsert to replace it"
                )
            }
            Self::EqualKeys { first, second } => write!(
                f,
                "the keys {first} and {second} are equal by value, so float keys are still compared by their bits: delete one of the rows, and \
                 repair the table again"
            ),
            Self::NotUnique { index, values } => {
                write!(f, "two rows would have {values}, which the unique index {index:?} forbids: nothing was changed")
            }
            Self::Constraint { name, condition, key, .. } => write!(
                f,
                "the row with {key} violates the constraint {name:?}, which is {condition}: nothing was changed"
            ),
            Self::NoReferredRow { foreign_key, values, table } => write!(
                f,
                "table {table:?} has no row for {values}, which the foreign key {foreign_key:?} requires: insert that row before, or in the same transaction; nothing was changed"
            ),
            Self::ReferredRow { foreign_key, values, table } => write!(
                f,
                "rows of table {table:?} refer to the row with {values} by the foreign key {foreign_key:?}: delete or change them before, or in the same transaction; nothing was changed"
            ),
            Self::ImpossibleAction { foreign_key, key, what } => write!(
                f,
                "the foreign key {foreign_key:?} would change the row with {key}, but {what}: change or delete that row before; nothing was changed"
            ),
            Self::TooLong { column, chars, found, key, .. } => write!(
                f,
                "the text of column {column:?} in the row with {key} has {found} characters, and {chars} is the maximum: nothing was changed"
            ),
            Self::NoSuchIndex { name } => {
                write!(f, "the table has no index {name:?}: name one that it has, or create it")
            }
            Self::IndexExists { name } => {
                write!(f, "the table has an index {name:?} already: drop it first, or choose another name")
            }
            Self::KeyTooLong { row, len, limit } => {
                write!(f, "the key of row {row} has {len} bytes, and {limit} is the maximum: nothing was changed")
            }
            Self::Import { what } => write!(f, "the rows cannot be imported: {what}"),
            Self::Publish { what } => write!(f, "the table cannot be published: {what}"),
            Self::ForeignMetadata { path } => write!(
                f,
                "another program has written {}: the table is not published over it; move the folder of this file away",
                path.display()
            ),
            Self::Place { what } | Self::Replica { what } => f.write_str(what),
            Self::Follower { folder, source } => write!(
                f,
                "{folder} is a follower of {source}, so nothing else changes it: change {source}, or make the copy independent by \
                 `lath table follow --promote {folder}`",
                folder = folder.display()
            ),
            Self::ForeignFiles { path } => write!(
                f,
                "the objects in {} belong to another table, or to a copy of this one that has written there since: choose another URL for a new table; \
                 to go on with this copy, back it up while the objects are there",
                path.display()
            ),
            Self::NoSuchSnapshot { name } => write!(f, "there is no snapshot named {name:?}"),
            Self::SnapshotName { name } => {
                write!(
                    f,
                    "no snapshot can be called {name:?}: names that begin with \"history/\" are kept for the history"
                )
            }
            Self::NotKept { what } => f.write_str(what),
            Self::Corrupt { what } => write!(f, "the table is damaged: {what}"),
            Self::Format { found, oldest, known } => {
                write!(
                    f,
                    "the table has format {found}, and this version reads {oldest} to {known}: use a version of Lath that reads format {found}"
                )
            }
            Self::Closing => write!(f, "the table is being closed"),
            Self::Internal { what } => write!(f, "internal error (please report it): {what}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store { source } => Some(source),
            Self::Parquet { source } => Some(source),
            Self::Arrow { source } => Some(source),
            Self::Predicate { source } => Some(source),
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<lath_store::Error> for Error {
    fn from(source: lath_store::Error) -> Self {
        Self::Store { source }
    }
}

impl From<lath_store::RecordError> for Error {
    fn from(error: lath_store::RecordError) -> Self {
        Self::corrupt(error.to_string())
    }
}

impl From<lath_iceberg::Error> for Error {
    fn from(error: lath_iceberg::Error) -> Self {
        Self::publish(error.to_string())
    }
}

impl From<lath_parquet::Error> for Error {
    fn from(source: lath_parquet::Error) -> Self {
        Self::Parquet { source: Arc::new(source) }
    }
}

impl From<ArrowError> for Error {
    fn from(source: ArrowError) -> Self {
        Self::Arrow { source: Arc::new(source) }
    }
}

impl From<lath_predicate::Error> for Error {
    fn from(source: lath_predicate::Error) -> Self {
        Self::Predicate { source: Arc::new(source) }
    }
}
