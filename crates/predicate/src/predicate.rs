use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

use arrow_schema::Schema;

use crate::batch_filter::BatchFilter;
use crate::bind::{BindContext, BoundPredicate};
use crate::error::{Error, Result};
use crate::syntax::{Condition, Literal, Operand};
use crate::{bind, parse};

/// A condition on rows in SQL's three-valued logic: true, false or null for each row.
///
/// [`Predicate::parse`] parses it from text, and [`column()`](crate::column()) builds it. Its text parses to the same predicate.
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
/// # Comparisons
///
/// - Numbers compare exactly by value, whatever their types: integers, decimals of any scale, and floats. If a number with a point or an
///   exponent is compared with a column of floats, it means the nearest float of that column. A whole number is exact there too.
/// - A literal outside the range of the column's type is below or above all values: no value equals it.
/// - Floats have one zero and one NaN, which equals itself and is above all numbers. `DOUBLE 'NaN'` writes it.
/// - Dates are midnights. Timestamps of all units compare as points in time. A timestamp without an offset is in UTC, in literals and in
///   columns; the time zone of a column does not change the point in time.
/// - Strings and byte strings compare by unsigned bytes. A UUID is written `'xxxxxxxx-xxxx-…'` or `X'…'`, bytes `X'…'`. A string that is
///   compared with bytes means its UTF-8.
/// - `CAST(x AS type)`, also `x::type`, rounds numbers to the nearest (halves of floats to even, halves of decimals away from zero), and
///   dates and times down. A value that the type does not have is an error, or null with `TRY_CAST`.
/// - A comparison with null is null. Only rows for which the predicate is true are found.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    condition: Condition,
}

impl Predicate {
    /// True for every row: the condition of a search for all rows.
    ///
    /// ```
    /// use lath_predicate::{Predicate, column};
    ///
    /// assert_eq!(Predicate::parse("TRUE")?, Predicate::TRUE);
    /// assert_eq!(Predicate::TRUE & column("id").eq(7), column("id").eq(7));
    /// # Ok::<(), lath_predicate::Error>(())
    /// ```
    pub const TRUE: Self = Self::constant(Literal::Boolean(true));

    /// False for every row.
    pub const FALSE: Self = Self::constant(Literal::Boolean(false));

    /// Null for every row (SQL's UNKNOWN): neither the predicate nor its negation finds a row.
    pub const NULL: Self = Self::constant(Literal::Null);

    const fn constant(literal: Literal) -> Self {
        Self { condition: Condition::Truth(Operand::Literal(literal)) }
    }

    /// Parses a condition in the syntax of SQL's WHERE.
    ///
    /// AND and OR join at most 5,000 conditions, and parentheses, NOT and casts nest at most 200 levels deep together, so that no text
    /// exhausts the stack. An IN list may have any length.
    ///
    /// # Errors
    /// [`Error::Syntax`] if the text is not a condition; the message has the position, or what to write instead. [`Error::Limit`] if the
    /// text is too long or nests too deep.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map(|condition| Self { condition })
    }

    pub(crate) fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Binds the predicate to a schema, to filter batches with its columns.
    ///
    /// # Errors
    /// [`Error::Bind`] for columns that the schema does not have, and for types that do not compare.
    pub fn filter(&self, schema: &Schema) -> Result<BatchFilter> {
        self.bind(&BindContext::new(schema)).map(BatchFilter::new)
    }

    /// Binds the predicate to a schema and other properties of its columns: resolves the columns and the types of comparisons.
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
    /// [`Error::Bind`] for columns that do not exist, and for types that do not compare.
    pub fn bind(&self, context: &BindContext<'_>) -> Result<BoundPredicate> {
        bind::bind(&self.condition, context).map_err(Error::bind)
    }
}

/// Writes text that parses to the same predicate.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)
    }
}

impl Predicate {
    /// Both hold. [`Predicate::TRUE`] adds nothing.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if self == Self::TRUE {
            return other;
        }
        if other == Self::TRUE {
            return self;
        }
        let mut conditions = Vec::new();
        for condition in [self.condition, other.condition] {
            match condition {
                Condition::And(inner) => conditions.extend(inner),
                single => conditions.push(single),
            }
        }
        Condition::And(conditions).into()
    }

    /// One of them holds, or both. [`Predicate::FALSE`] adds nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self == Self::FALSE {
            return other;
        }
        if other == Self::FALSE {
            return self;
        }
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

/// Exchanges true and false; null stays null.
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

/// Parses a condition in the syntax of SQL's WHERE.
impl std::str::FromStr for Predicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}
