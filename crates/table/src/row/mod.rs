//! Encodes rows and keys as bytes.

mod array_bytes;
mod byte_list;
mod canonical_floats;
mod categories;
mod conform;
mod constraints;
mod field_ids;
pub(crate) mod key;
mod key_codec;
mod row_format;
mod row_order;
mod schema;
mod slice_bytes;
mod stored_rows;
mod time_to_live;
mod upgrade;
pub(crate) mod value_codec;
mod value_columns;

pub(crate) use self::byte_list::ByteList;
pub(crate) use self::canonical_floats::{FloatKeys, has_floats};
pub(crate) use self::categories::{Categories, ColumnCategories, Growth, interleave_rows};
pub use self::conform::conform_batch;
pub use self::constraints::Constraint;
pub(crate) use self::constraints::{Check, Constraints, too_long};
pub(crate) use self::field_ids::{field_id, nested_ids, new_nested_ids, with_id};
pub(crate) use self::key_codec::{KeyCodec, MAX_KEY_LEN, as_type};
pub(crate) use self::row_order::{RowOrder, cluster_ids, is_same_order};
pub use self::schema::GENERATED_KEY;
pub(crate) use self::schema::{BATCH_ROWS, ConformedRows, ROW_NUMBER, SchemaParts, TableSchema, batch};
pub(crate) use self::slice_bytes::slice_bytes;
pub(crate) use self::stored_rows::StoredRows;
pub use self::time_to_live::TimeToLive;
pub(crate) use self::time_to_live::Ttl;
pub(crate) use self::upgrade::{Upgrade, decode_values};
pub(crate) use self::value_codec::{HotValue, read_stamp};
pub(crate) use self::value_columns::ValueColumns;
