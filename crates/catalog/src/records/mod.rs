//! Encodes the records of a catalog's store: schemas, locations, roots, versions.

mod column;
pub(crate) mod ipc;
mod location;
pub(crate) mod roots;
mod schemas;
mod table;
mod trees;
pub(crate) mod version;

pub(crate) use self::column::{ColumnKind, PlanningColumn};
pub(crate) use self::location::Folder;
pub(crate) use self::roots::Root;
pub(crate) use self::schemas::StoredSchema;
pub(crate) use self::table::TableRecord;
pub(crate) use self::trees::{
    BLOCK_SLOTS, BLOCKS, BlockKey, BlockKind, COLUMNS, ENDS, FILES, FORMAT, FORMAT_KEY, FORMAT_WITH_TABLE, META, NAMES,
    PAGE_INDEXES, PARTITIONS_KEY, SCHEMAS, SEGMENTS, STATE_KEY, TABLE_KEY, UNITED_KEY, name_key, number_in, number_key,
};
pub(crate) use self::version::len_bytes;
