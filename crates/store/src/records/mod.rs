//! Byte formats of headers, of the operations in the log, and of records of fields.

mod field_record;
pub(crate) mod header;
pub(crate) mod record;

pub use self::field_record::{RecordError, RecordReader, RecordWriter};
pub(crate) use self::header::{Header, NESTED_VERSION, VERSION, newest_header};
pub(crate) use self::record::{Operation, Operations, OperationsMark, TreeLabel};
#[cfg(test)]
pub(crate) use crate::storage::MAGIC;
