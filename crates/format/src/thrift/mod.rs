//! The [Thrift compact protocol] of page headers, indexes and footers.
//!
//! ```
//! use lath_format::thrift::{ThriftReader, ThriftWriter, WireType};
//!
//! let mut bytes = Vec::new();
//! let mut writer = ThriftWriter::new(&mut bytes);
//! writer.i32(1, 42);
//! writer.bool(3, true);
//! writer.end();
//!
//! let mut number = 0;
//! ThriftReader::new(&bytes).each_field(|reader, field| match (field.id, field.wire_type) {
//!     (1, WireType::I32) => {
//!         number = reader.i32()?;
//!         Ok(())
//!     }
//!     _ => reader.skip(field),
//! })?;
//! assert_eq!(number, 42);
//! # Ok::<(), lath_format::thrift::ThriftError>(())
//! ```
//!
//! [Thrift compact protocol]: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md

mod reader;
mod skip;
mod writer;

pub use reader::{Field, ThriftError, ThriftReader, WireType};
pub use writer::ThriftWriter;
