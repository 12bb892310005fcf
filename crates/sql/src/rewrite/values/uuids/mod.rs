//! Values of UUIDs, which are bytes in fields that metadata marks.

mod arguments;
mod fields;
mod texts;
mod uuid;

pub(crate) use self::arguments::accept_uuids;
#[cfg(feature = "remote")]
pub(crate) use self::arguments::plain_function;
pub(crate) use self::texts::{UuidComparisons, UuidTexts, cast_to_column};
pub(crate) use self::uuid::{TRY_UUID, UUID, UuidColumns, try_uuid_function, uuid_function, uuid_text_function};
