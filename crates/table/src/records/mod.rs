//! The records in the store's trees: layout, schema versions, files, indexes, changes.

mod block_index;
mod block_keys;
mod change;
mod clock;
mod file_places;
mod foreign_key;
pub(crate) mod history;
mod index;
mod layout;
mod manifest;
pub(crate) mod named_snapshots;
mod options;
mod publishing;
pub(crate) mod store_file;

pub(crate) use self::block_index::{BLOCK_ROWS, BlockIndex};
pub(crate) use self::block_keys::{BlockKeys, KeyBounds};
pub(crate) use self::change::{Change, ChangeKind};
pub use self::clock::Clock;
pub(crate) use self::file_places::{FILE_PLACES, file_place, put_file_place};
pub(crate) use self::foreign_key::{ForeignKey, ForeignKeys, PRIMARY_KEY};
pub use self::foreign_key::{ForeignKeyAction, ForeignKeyActions};
pub use self::history::HistoryRetention;
pub(crate) use self::index::{Index, IndexEntry, entry_values, row_key};
pub(crate) use self::layout::{
    DATABASE, DatabaseState, DroppedFile, DroppedTable, Feed, FileEntry, MASK_ROWS, NO_ORDER, SEQUENCE_CHANGE_KEY,
    SEQUENCES_FILE, STATE_KEY, State, TABLES, TABLES_DROPPED, TableEntry, TreeName, TreeNames, VIEWS, all_trees,
    file_key, file_number, mask_key, schema_key, table_number,
};
pub(crate) use self::manifest::Manifest;
pub(crate) use self::named_snapshots::{named_snapshots, snapshot_named, snapshot_names};
pub use self::options::{Durability, EncryptionKey, TableOptions};
pub(crate) use self::publishing::{PUBLISHING_KEY, Publishing};
