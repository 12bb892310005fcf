//! Decides which conditions an SQL engine can leave to a filter.

mod answers;

use arrow_schema::{DataType, Field, Schema};
use half::f16;

use self::answers::Answers;
use crate::bind;
use crate::bind::{BindContext, Resolution, resolve};
use crate::cast::is_identity;
use crate::predicate::Predicate;
use crate::syntax::{Condition, Literal, Operand};
use crate::value::{ExactType, Number, SqlType, is_uuid, list_element, parse_date, value_type};

/// The relation between the rows that a filter finds and the rows for which SQL is true.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Equal: the engine need not test the rows again.
    Exact,
    /// The filter can find more rows: the engine has to test them again.
    Inexact,
    /// The filter could miss rows, because SQL leaves the answer to the engine; or the condition has unknown columns or types that do not
    /// compare.
    No,
}

/// A part of a condition that AND joins, and the support for it.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub struct ConjunctSupport {
    /// The condition.
    pub conjunct: Predicate,
    /// The relation between the rows that a filter finds and SQL's.
    pub support: Support,
}

impl Predicate {
    /// The support for each condition that AND joins at the top, for rows of a schema.
    ///
    /// SQL here means a session in UTC in which floats have one zero, and one NaN that equals itself and is above all numbers. An engine with
    /// other rules has to test timestamps with a time zone, or floats, itself.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_schema::{DataType, Field, Schema};
    /// use lath_predicate::{Predicate, Support};
    ///
    /// let tags = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)));
    /// let schema = Schema::new(vec![
    ///     Field::new("id", DataType::Int64, false),
    ///     Field::new("ratio", DataType::Float64, true),
    ///     Field::new("tags", tags, true),
    /// ]);
    /// let predicate = Predicate::parse("id > 7 AND NOT 'new' = ANY(tags) AND CAST(ratio AS INT) = 1 AND missing = 1")?;
    /// let supports = predicate.supports(&schema);
    /// // For a list with nulls and without 'new', ANY is null in SQL, and false in the filter.
    /// let expected = [Support::Exact, Support::Inexact, Support::No, Support::No];
    /// assert_eq!(supports.iter().map(|conjunct| conjunct.support).collect::<Vec<_>>(), expected);
    /// assert_eq!(supports[0].conjunct.to_string(), "id > 7");
    /// # Ok::<(), lath_predicate::Error>(())
    /// ```
    pub fn supports(&self, schema: &Schema) -> Vec<ConjunctSupport> {
        let context = BindContext::new(schema);
        let mut conjuncts = Vec::new();
        collect_conjuncts(self.condition(), &mut conjuncts);
        let support = |condition: &Condition| {
            let conjunct = Self::from(condition.clone());
            let support = match bind::bind(condition, &context) {
                Ok(_) => support(Review { context: &context }.answers(condition)),
                Err(_) => Support::No,
            };
            ConjunctSupport { conjunct, support }
        };
        conjuncts.into_iter().map(support).collect()
    }
}

fn collect_conjuncts<'a>(condition: &'a Condition, conjuncts: &mut Vec<&'a Condition>) {
    match condition {
        Condition::And(inner) => inner.iter().for_each(|condition| collect_conjuncts(condition, conjuncts)),
        single => conjuncts.push(single),
    }
}

fn support(answers: Answers) -> Support {
    match (answers.may_miss(), answers.may_exceed()) {
        (true, _) => Support::No,
        (false, true) => Support::Inexact,
        (false, false) => Support::Exact,
    }
}

/// Finds parts of bound conditions that SQL answers differently, or leaves to the engine.
struct Review<'a> {
    context: &'a BindContext<'a>,
}

impl Review<'_> {
    fn answers(&self, condition: &Condition) -> Answers {
        let known = |is_known| if is_known { Answers::SAME } else { Answers::ANY };
        match condition {
            Condition::And(conditions) => self.joined(conditions, Answers::and),
            Condition::Or(conditions) => self.joined(conditions, Answers::or),
            Condition::Not(inner) => self.answers(inner).not(),
            Condition::Is(inner, truth) => self.answers(inner).is(*truth),
            Condition::IsNull(operand) | Condition::Truth(operand) => known(self.is_known(operand)),
            Condition::Compare { left, right, .. } | Condition::Same(left, right) => {
                known(self.is_known(left) && self.is_known(right) && self.compare_as_in_sql(left, right))
            }
            Condition::Between { operand, low, high } => {
                known(self.is_known(operand) && self.places_as_sql(operand, [low, high]))
            }
            Condition::In { operand, list } => known(self.is_known(operand) && self.places_as_sql(operand, list)),
            Condition::Contains { operand, element } => match self.field(operand).as_ref().and_then(list_element) {
                // If no element is equal and one is null, SQL's ANY is null.
                Some(field) if is_placed_as_in_sql(element, field) => Answers::SAME.or_null_for_false(),
                _ => Answers::ANY,
            },
            // Engines and locales differ in the case of letters.
            Condition::Like { ignore_case: true, .. } => Answers::ANY,
            Condition::Like { operand, pattern, .. } => {
                // In byte strings, `_` can match one byte instead of one character.
                let is_text = self.field(operand).is_some_and(|field| value_type(&field).is_string());
                known(self.is_known(operand) && (is_text || !pattern.contains('_')))
            }
        }
    }

    fn joined(&self, conditions: &[Condition], join: fn(Answers, Answers) -> Answers) -> Answers {
        let answers = conditions.iter().map(|condition| self.answers(condition));
        answers.reduce(join).unwrap_or(Answers::ANY)
    }

    /// The field of an operand that is not a literal.
    fn field(&self, operand: &Operand) -> Option<Field> {
        match operand {
            Operand::Column(name) => match resolve(name, self.context).ok()? {
                Resolution::Column(column) => Some(column.field.as_ref().clone()),
                Resolution::Missing(_, field) | Resolution::Default(_, field, ..) => Some(field.as_ref().clone()),
            },
            Operand::Cast { to, .. } => Some(to.field()),
            Operand::Literal(_) => None,
        }
    }

    /// Whether SQL defines the values of an operand.
    fn is_known(&self, operand: &Operand) -> bool {
        let Operand::Cast { operand, to, .. } = operand else { return true };
        match (operand.as_ref(), self.field(operand)) {
            (Operand::Literal(literal), _) => match literal {
                Literal::Null | Literal::String(_) => true,
                Literal::Number(number) => number.is_written_as_integer() && !matches!(to, SqlType::Text),
                _ => false,
            },
            (_, Some(from)) => self.is_known(operand) && is_cast_as_in_sql(&from, *to),
            (_, None) => false,
        }
    }

    fn compare_as_in_sql(&self, left: &Operand, right: &Operand) -> bool {
        match (self.field(left), self.field(right), left, right) {
            (Some(left), Some(right), ..) => compare_as_in_sql(value_type(&left), value_type(&right)),
            (Some(field), None, _, Operand::Literal(literal)) | (None, Some(field), Operand::Literal(literal), _) => {
                is_placed_as_in_sql(literal, &field)
            }
            _ => false,
        }
    }

    fn places_as_sql<'a>(&self, operand: &Operand, literals: impl IntoIterator<Item = &'a Literal>) -> bool {
        let Some(field) = self.field(operand) else { return false };
        literals.into_iter().all(|literal| is_placed_as_in_sql(literal, &field))
    }
}

/// Whether a cast has the same result in all engines.
fn is_cast_as_in_sql(from: &Field, to: SqlType) -> bool {
    let from_type = value_type(from);
    match (from_type, to) {
        (DataType::Null, _) => true,
        _ if is_identity(from, to) => true,
        (from_type, SqlType::Integer { .. } | SqlType::Decimal { .. }) if from_type.is_integer() => true,
        (from_type, SqlType::Float { bits: 32 | 64 }) if from_type.is_integer() => true,
        (DataType::Float16, SqlType::Float { .. }) | (DataType::Float32, SqlType::Float { bits: 64 }) => true,
        // Some engines round, others truncate.
        (from_type, SqlType::Decimal { scale: to_scale, .. }) if from_type.is_decimal() => ExactType::new(from_type)
            .and_then(ExactType::precision_and_scale)
            .is_some_and(|(_, scale)| to_scale >= scale),
        (DataType::Timestamp(..) | DataType::Date32 | DataType::Date64, SqlType::Date) => true,
        (from_type, SqlType::Text) => from_type.is_integer() || is_uuid(from),
        _ => false,
    }
}

/// Whether all engines compare values of two types exactly.
fn compare_as_in_sql(left: &DataType, right: &DataType) -> bool {
    let is_double_exact = |data_type: &DataType| match data_type {
        other if other.is_integer() => other.primitive_width().is_some_and(|width| width <= 4),
        _ => false,
    };
    match (left, right) {
        (DataType::Null, _) | (_, DataType::Null) => true,
        (a, b) if a.is_floating() && b.is_floating() => true,
        // Most engines compare as floats, which do not hold all integers and decimals.
        (DataType::Float64, other) | (other, DataType::Float64) => is_double_exact(other),
        (a, b) => !a.is_floating() && !b.is_floating(),
    }
}

/// Whether all engines compare a literal with values of a field as the filter does.
fn is_placed_as_in_sql(literal: &Literal, field: &Field) -> bool {
    match (literal, value_type(field)) {
        // Engines convert the integer column to doubles.
        (Literal::Number(number), DataType::Float16 | DataType::Float32 | DataType::Float64)
            if number.is_written_as_integer() =>
        {
            number.compare_whole(number.to_f64()).is_eq()
        }
        // The filter uses the nearest float of the column's type, engines the nearest double.
        (Literal::Number(number), DataType::Float32) => f64::from(number.to_f32()).total_cmp(&number.to_f64()).is_eq(),
        (Literal::Number(number), DataType::Float16) => is_half(number),
        // Engines can refuse or truncate literals of dates and times of day.
        (Literal::String(text), DataType::Date32 | DataType::Date64) => parse_date(text).is_some(),
        _ => true,
    }
}

fn is_half(number: &Number) -> bool {
    let double = number.to_f64();
    f64::from(f16::from_f64(double)).total_cmp(&double).is_eq()
}
