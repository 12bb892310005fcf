//! Object container files of [Avro 1.12], as manifests and manifest lists are.
//!
//! A record is read by the schema in its file, and fields are found by their numbers (`field-id`), as Iceberg resolves them: names and
//! order do not matter, and fields that are not known are skipped. Files of writers that leave numbers out are read by names.
//!
//! [Avro 1.12]: https://avro.apache.org/docs/1.12.0/specification/

mod codec;
mod cursor;
mod reader;
mod schema;
mod writer;

pub(crate) use self::cursor::Cursor;
pub(crate) use self::reader::Container;
pub(crate) use self::schema::{AvroType, Record};
pub(crate) use self::writer::{ContainerWriter, Encoder};

/// The first bytes of a file.
const MAGIC: &[u8; 4] = b"Obj\x01";

const SYNC_BYTES: usize = 16;
