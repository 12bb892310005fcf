//! Reads JSON lines as Arrow batches without losing digits.
//!
//! Arrow's reader truncates numbers that do not fit their column: `2.5` becomes 2 in a column of integers, and 9007199254740993 loses its
//! last digit in a column with fractions. Here a number that does not fit its column is an error that names the line, and inferred types
//! represent every digit of the inspected numbers. Versions 58 and 59 of `arrow-json` truncate; they also take the last of two fields of
//! the same name, which is an error here.
//!
//! ```
//! use lath_json::{Rows, infer_schema};
//!
//! let text = b"{\"n\":9007199254740993,\"x\":1.5}\n{\"n\":2,\"x\":3}\n";
//! let schema = infer_schema(&text[..], usize::MAX)?;
//! let mut rows = Rows::new(&text[..], schema, 1024, |_| true)?;
//! assert_eq!(rows.next().transpose()?.map_or(0, |batch| batch.num_rows()), 2);
//!
//! let cut = Rows::new(&b"{\"n\":1}\n{\"n\":2.5}\n"[..], infer_schema(&b"{\"n\":1}"[..], 1)?, 1024, |_| true)?;
//! let error = cut.last().and_then(Result::err).map(|error| error.to_string());
//! assert_eq!(error.as_deref(), Some("line 2: field 'n': 2.5 is not a value of Int64"));
//! # Ok::<(), lath_json::Error>(())
//! ```

mod decoder;
mod error;
mod exact;
mod infer;
mod moment;
mod names;
mod number;
mod rows;

pub use error::{Error, Result};
pub use infer::infer_schema;
pub use names::check_names;
pub use rows::Rows;
