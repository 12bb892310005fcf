//! SQL's WHERE over Arrow record batches.
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{BooleanArray, Int64Array, RecordBatch, StringArray};
//! use lath_predicate::Predicate;
//!
//! let rows = RecordBatch::try_from_iter([
//!     ("city", Arc::new(StringArray::from(vec![Some("Oslo"), Some("Bergen"), None])) as _),
//!     ("price", Arc::new(Int64Array::from(vec![12, 8, 15])) as _),
//! ])?;
//! let filter = Predicate::parse("city = 'Oslo' AND price > 10.5")?.filter(&rows.schema())?;
//! assert_eq!(filter.evaluate(&rows)?, BooleanArray::from(vec![Some(true), Some(false), None]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A condition takes three steps. [`Predicate::parse`] parses text, or [`column()`] builds the condition. [`Predicate::bind`] resolves
//! columns and types against an Arrow schema; after that, only a cast can fail for a row. [`BoundPredicate::evaluate`] runs over whole
//! arrays. Literals are compared exactly with the values of the column's type: `small_integer < 1e9` and `decimal = 1.005` neither overflow
//! nor round.
//!
//! Readers that rule out rows without decoding them walk the bound form: a [`Test`] on [`BoundColumn`]s, whose leaves are [`ValueTest`]s
//! with [`Value`]s.
//!
//! No two modules of this crate depend on each other, directly or indirectly. From the bottom up: values, numbers, patterns and types;
//! `syntax`, the conditions that `parse` and `builder` make; `test`, which `evaluate` runs on arrays; and `bind`, which turns a condition
//! into a test.

mod access;
mod array;
mod batch_filter;
mod bind;
mod builder;
mod cast;
mod display;
mod error;
mod evaluate;
mod literal;
mod parse;
mod place;
mod predicate;
mod rename;
mod support;
mod syntax;
mod test;
#[cfg(test)]
mod tests;
mod value;

pub use array::{to_array, value_at};
pub use batch_filter::BatchFilter;
pub use bind::{BindContext, Constant, FieldDefault, Leaf};
pub use bind::{BoundColumn, BoundPredicate};
pub use builder::{Column, column, column_named};
pub use error::{Error, Result};
pub use evaluate::{byte_strings, test_values};
pub use lath_kernels::compare::Comparison;
pub use literal::Literal;
pub use predicate::Predicate;
pub use support::{ConjunctSupport, Support};
pub use test::{Test, ValueTest};
pub use value::Pattern;
pub use value::Timestamp;
pub use value::ValueSet;
#[doc(hidden)]
pub use value::exact_type::decimal_types;
pub use value::{ExactType, ExactUnit};
pub use value::{Value, compare_floats};
