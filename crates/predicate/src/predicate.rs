use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

use arrow_schema::Schema;

use crate::batch_filter::BatchFilter;
use crate::bind::{BindContext, BoundPredicate};
use crate::error::{Error, Result};
use crate::syntax::Condition;
use crate::{bind, parse};

/// A condition on rows, in SQL's three-valued logic: true, false or null for each.
///
/// It is read from text by [`Predicate::parse`], or put together from what [`column()`](crate::column()) gives. As text it
/// reads back as the same predicate.
///
/// ```
/// use lath_predicate::{Predicate, column};
///
/// let read = r#""price" BETWEEN 10 AND 20 AND ("note" LIKE 'b%' OR NOT list_contains("tags", 'new'))"#;
/// let built = column("price").between(10, 20) & (column("note").like("b%") | !column("tags").contains("new"));
/// assert_eq!(Predicate::parse(read)?, built);
/// assert_eq!(Predicate::parse(&built.to_string())?, built);
/// # Ok::<(), lath_predicate::Error>(())
/// ```
///
/// # What compares, and how
///
/// - Numbers compare by value, whatever their types: integers, decimals of any scale, and floats, exactly. A number written with a
///   point or an exponent against a column of floats is the nearest float of that column; a whole number is exact there too.
/// - A literal beyond the column's type is below or above all values: none is equal to it, all differ from it.
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
    /// [`Error::Syntax`] if the text is not understood; the message says from where on, or what else to write. [`Error::Limit`] if
    /// it is too long or nests too deep.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map(|condition| Self { condition })
    }

    pub(crate) fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Settles columns and types against a schema, to filter batches that have its columns.
    ///
    /// # Errors
    /// [`Error::Bind`] for columns that the schema does not have, and for types that do not compare.
    pub fn filter(&self, schema: &Schema) -> Result<BatchFilter> {
        self.bind(&BindContext::new(schema)).map(BatchFilter::new)
    }

    /// Settles columns and types against a schema, with what else is known of its columns.
    ///
    /// ```
    /// use arrow_schema::{DataType, Field, Schema};
    /// use lath_predicate::{BindContext, Comparison, Predicate, Test, Value, ValueTest};
    ///
    /// let schema = Schema::new(vec![Field::new("id", DataType::Int64, false)]);
    /// let bound = Predicate::parse("7 < id")?.bind(&BindContext::new(&schema))?;
    /// assert_eq!(bound.columns[0].names, ["id"]);
    /// let test = ValueTest::Compare(Comparison::Greater, Value::Int(7));
    /// assert_eq!(bound.test, Test::Values { column: 0, test });
    /// # Ok::<(), lath_predicate::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Bind`] for columns that there are not, and for types that do not compare.
    pub fn bind(&self, context: &BindContext<'_>) -> Result<BoundPredicate> {
        bind::bind(&self.condition, context).map_err(Error::bind)
    }
}

/// As text that reads back as the same predicate.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)
    }
}

impl Predicate {
    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut conditions = Vec::new();
        for condition in [self.condition, other.condition] {
            match condition {
                Condition::And(inner) => conditions.extend(inner),
                single => conditions.push(single),
            }
        }
        Condition::And(conditions).into()
    }

    /// One of them holds, or both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let mut conditions = Vec::new();
        for condition in [self.condition, other.condition] {
            match condition {
                Condition::Or(inner) => conditions.extend(inner),
                single => conditions.push(single),
            }
        }
        Condition::Or(conditions).into()
    }
}

impl From<Condition> for Predicate {
    fn from(condition: Condition) -> Self {
        Self { condition }
    }
}

/// True where it was false, and false where it was true; null stays null.
impl Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        match self.condition {
            Condition::Not(inner) => *inner,
            other => Condition::Not(Box::new(other)),
        }
        .into()
    }
}

impl BitAnd for Predicate {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.and(other)
    }
}

impl BitOr for Predicate {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

/// Reads what SQL allows after WHERE.
impl std::str::FromStr for Predicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}
