//! SQL's WHERE over record batches.
//!
//! An expression goes three steps: `parse` reads the text, `bind` settles columns and types against a schema, so that
//! nothing can go wrong with a row, and `evaluate` runs over whole arrays. Literals are placed exactly among the values of
//! the column's type: `small_integer < 1e9` and `decimal = 1.005` neither overflow nor round.

mod access;
mod array;
mod batch_filter;
mod bind;
mod cast;
mod common_type;
mod display;
mod evaluate;
mod expression;
mod moment;
mod number;
mod parse;
mod pattern;
mod place;
mod set;
mod sql_type;
mod syntax;
mod test;
#[cfg(test)]
mod tests;
mod type_name;
mod value;

use std::fmt;

use arrow_schema::Schema;

use self::syntax::Condition;
use crate::error::{Error, Result};

pub(crate) use array::value_at;
pub use batch_filter::BatchFilter;
pub(crate) use bind::{BindContext, Constant};
pub(crate) use evaluate::{byte_strings, test_values};
pub use expression::{Column, Literal, column};
pub(crate) use moment::Timestamp;
pub(crate) use pattern::Pattern;
pub(crate) use set::ValueSet;
pub(crate) use test::{BoundColumn, BoundPredicate, Test, ValueTest};
pub(crate) use value::{Value, compare_floats};

/// A condition on rows, in SQL's three-valued logic: true, false or null for each.
///
/// It is read from text by [`Predicate::parse`], or put together from what [`column()`] gives. As text it reads back as the same predicate.
///
/// ```
/// use lath_parquet::{Predicate, column};
///
/// let read = r#""price" BETWEEN 10 AND 20 AND ("note" LIKE 'b%' OR NOT list_contains("tags", 'new'))"#;
/// let built = column("price").between(10, 20) & (column("note").like("b%") | !column("tags").contains("new"));
/// assert_eq!(Predicate::parse(read)?, built);
/// assert_eq!(Predicate::parse(&built.to_string())?, built);
/// # Ok::<(), lath_parquet::Error>(())
/// ```
///
/// # What compares, and how
///
/// - Numbers compare by value, whatever their types: integers, decimals of any scale, and floats, exactly. A number written with a
///   point or an exponent against a column of floats is the nearest float of that column; a whole number is exact there too.
/// - Floats have one zero, and one NaN, which is equal to itself and above all numbers. `DOUBLE 'NaN'` writes it.
/// - Dates are midnights; timestamps of all units compare as points in time. A timestamp without an offset is in UTC, in literals
///   and in columns; the time zone of a column is a label and moves nothing.
/// - Strings and byte strings compare by unsigned bytes. A UUID is written `'xxxxxxxx-xxxx-…'` or `X'…'`, bytes `X'…'`; a string
///   against bytes means its UTF-8.
/// - `CAST(x AS type)`, also `x::type`, rounds numbers to the nearest (halves of floats to even, of decimals away from zero) and
///   moments down; what the type does not have is an error, or null with `TRY_CAST`.
/// - What compares with null is null. Only rows for which a predicate is true are found.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    condition: Condition,
}

impl Predicate {
    /// Reads what SQL allows after WHERE.
    ///
    /// AND and OR join at most 5,000 conditions, and parentheses, NOT and casts nest at most 200 levels deep together, so that
    /// no text exhausts the stack; a list of IN may be of any length.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text is not understood; the message says from where on, or what else to write.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map(|condition| Self { condition }).map_err(Error::invalid)
    }

    /// Settles columns and types against a schema, to filter batches that have its columns.
    ///
    /// # Errors
    /// [`Error::Invalid`] for columns that the schema does not have, and for types that do not compare.
    pub fn filter(&self, schema: &Schema) -> Result<BatchFilter> {
        self.bind(&BindContext { schema, nodes: &[], constants: &[] }).map(BatchFilter::new)
    }

    /// Settles columns and types.
    pub(crate) fn bind(&self, context: &BindContext<'_>) -> Result<BoundPredicate> {
        bind::bind(&self.condition, context).map_err(Error::invalid)
    }
}

/// As text that reads back as the same predicate.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)
    }
}
