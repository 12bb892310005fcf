//! Builds predicates in Rust.

use lath_kernels::compare::Comparison;

use crate::literal::Literal;
use crate::predicate::Predicate;
use crate::syntax::{ColumnName, Condition, Name, Operand, Step};
use crate::value::with_backslash_escapes;

/// A column by its path, to build predicates. Dots separate fields of structs. Names are case-sensitive.
///
/// ```
/// use lath_predicate::column;
///
/// let expensive = column("price").ge("19.99".parse::<lath_predicate::Literal>()?);
/// let near = column("shop.city").is_in(["Oslo", "Bergen"]);
/// assert_eq!((expensive & near).to_string(), r#""price" >= 19.99 AND "shop"."city" IN ('Oslo', 'Bergen')"#);
/// # Ok::<(), lath_predicate::Error>(())
/// ```
pub fn column(path: &str) -> Column {
    let mut names = path.split('.').map(exact_name);
    let name = names.next().unwrap_or_else(|| exact_name(path));
    Column { name: ColumnName { name, steps: names.map(Step::Field).collect() } }
}

/// A top-level column by its name, which may have dots in it.
pub fn column_named(name: &str) -> Column {
    Column { name: ColumnName { name: exact_name(name), steps: Vec::new() } }
}

fn exact_name(name: &str) -> Name {
    Name { text: name.to_owned(), quoted: true }
}

/// A column, a field of a struct, or a value of a map. Its methods build predicates.
///
/// All predicates but [`Column::is_null`] and [`Column::is_not_null`] are null for rows in which the column is null.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a column alone is not a predicate"]
pub struct Column {
    name: ColumnName,
}

impl Column {
    /// A field of a struct by its name, which may have dots in it.
    pub fn field(mut self, name: &str) -> Self {
        self.name.steps.push(Step::Field(exact_name(name)));
        self
    }

    /// The value of a map at a key.
    pub fn at(mut self, key: impl Into<Literal>) -> Self {
        self.name.steps.push(Step::Key(key.into().0));
        self
    }

    fn compare(self, op: Comparison, right: impl Into<Operand>) -> Predicate {
        Condition::Compare { left: self.into(), op, right: right.into() }.into()
    }

    /// `=`
    pub fn eq(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::Equal, value.into())
    }

    /// `<>`
    pub fn not_eq(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::NotEqual, value.into())
    }

    /// `<`
    pub fn lt(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::Less, value.into())
    }

    /// `<=`
    pub fn le(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::LessOrEqual, value.into())
    }

    /// `>`
    pub fn gt(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::Greater, value.into())
    }

    /// `>=`
    pub fn ge(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::GreaterOrEqual, value.into())
    }

    /// `=` with the value of another column in the same row.
    pub fn eq_column(self, other: Self) -> Predicate {
        self.compare(Comparison::Equal, other)
    }

    /// `<` with the value of another column in the same row.
    pub fn lt_column(self, other: Self) -> Predicate {
        self.compare(Comparison::Less, other)
    }

    /// `<=` with the value of another column in the same row.
    pub fn le_column(self, other: Self) -> Predicate {
        self.compare(Comparison::LessOrEqual, other)
    }

    /// `BETWEEN`, which includes both ends.
    pub fn between(self, low: impl Into<Literal>, high: impl Into<Literal>) -> Predicate {
        Condition::Between { operand: self.into(), low: low.into().0, high: high.into().0 }.into()
    }

    /// `IN`, with a list of any length.
    pub fn is_in<V: Into<Literal>>(self, values: impl IntoIterator<Item = V>) -> Predicate {
        let list = values.into_iter().map(|value| value.into().0).collect();
        Condition::In { operand: self.into(), list }.into()
    }

    /// `IS NULL`
    pub fn is_null(self) -> Predicate {
        Condition::IsNull(self.into()).into()
    }

    /// `IS NOT NULL`
    pub fn is_not_null(self) -> Predicate {
        !self.is_null()
    }

    /// `IS DISTINCT FROM`: `<>`, but null counts as a value.
    pub fn is_distinct_from(self, value: impl Into<Literal>) -> Predicate {
        !Predicate::from(Condition::Same(self.into(), value.into().into()))
    }

    /// `LIKE`: `%` stands for any characters, `_` for one.
    pub fn like(self, pattern: &str) -> Predicate {
        self.matches(pattern, false)
    }

    /// `ILIKE`: as [`Column::like`], but not case-sensitive.
    pub fn ilike(self, pattern: &str) -> Predicate {
        self.matches(pattern, true)
    }

    fn matches(self, pattern: &str, ignore_case: bool) -> Predicate {
        // Every pattern without an escape character is valid.
        let pattern = with_backslash_escapes(pattern, None).unwrap_or_default();
        Condition::Like { operand: self.into(), pattern, ignore_case }.into()
    }

    /// `LIKE` for strings that start with `prefix`, which has no wildcards.
    pub fn starts_with(self, prefix: &str) -> Predicate {
        let mut pattern = String::with_capacity(prefix.len() + 1);
        for c in prefix.chars() {
            if matches!(c, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern.push('%');
        Condition::Like { operand: self.into(), pattern, ignore_case: false }.into()
    }

    /// `list_contains`: whether a list has an element. Null elements are ignored.
    pub fn contains(self, element: impl Into<Literal>) -> Predicate {
        Condition::Contains { operand: self.into(), element: element.into().0 }.into()
    }

    /// Whether a column of booleans is true.
    pub fn is_true(self) -> Predicate {
        Condition::Is(Box::new(Condition::Truth(self.into())), Some(true)).into()
    }
}

impl From<Column> for Operand {
    fn from(column: Column) -> Self {
        Self::Column(column.name)
    }
}
