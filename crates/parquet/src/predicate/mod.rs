//! SQL's WHERE over record batches.
//!
//! An expression goes three steps: `parse` reads the text, `bind` settles columns and types against a schema, so that
//! nothing can go wrong with a row, and `evaluate` runs over whole arrays. Literals are placed exactly among the values of
//! the column's type: `small_integer < 1e9` and `decimal = 1.005` neither overflow nor round.

mod access;
mod batch_filter;
mod bind;
mod common_type;
mod display;
mod evaluate;
mod moment;
mod number;
mod parse;
mod pattern;
mod place;
mod set;
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

pub use batch_filter::BatchFilter;
pub(crate) use bind::{BindContext, Constant};
pub(crate) use evaluate::test_values;
pub(crate) use pattern::Pattern;
pub(crate) use set::ValueSet;
pub(crate) use syntax::Comparison;
pub(crate) use test::{BoundColumn, BoundPredicate, Test, ValueTest};
pub(crate) use value::{Value, compare_floats};

/// A condition on rows, in SQL's three-valued logic: true, false or null for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    condition: Condition,
}

impl Predicate {
    /// Reads what SQL allows after WHERE.
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
