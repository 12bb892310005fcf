//! From a [`Condition`] to a [`Test`] on the columns of one schema, with all types settled.

use arrow_schema::{DataType, FieldRef, Schema};

use super::access::resolve;
use super::common_type::common_type;
use super::evaluate::TruthCache;
use super::pattern::Pattern;
use super::place::{Place, place};
use super::set::ValueSet;
use super::syntax::{ColumnName, Comparison, Condition, Literal, Operand};
use super::test::{BoundColumn, BoundPredicate, Test, ValueTest};
use super::type_name::{example_of, is_uuid, type_name, value_type};
use super::value::Value;
use crate::schema::Node;

/// What a predicate is bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BindContext<'a> {
    /// The columns that there are.
    pub(crate) schema: &'a Schema,
    /// The nodes that the schema's columns are assembled by, which know the Parquet leaves; empty where there are none.
    pub(crate) nodes: &'a [Node],
    /// Columns that have one value for all rows. They come before those of the schema.
    pub(crate) constants: &'a [Constant],
}

/// A column with one value for all rows: that of a Hive partition, or null where a file lacks a column.
#[derive(Debug, Clone)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) field: FieldRef,
    pub(crate) value: Option<Value>,
}

/// Settles names and types of `condition`.
pub(super) fn bind(condition: &Condition, context: &BindContext<'_>) -> Result<BoundPredicate, String> {
    let mut binder = Binder { context, columns: Vec::new() };
    let test = binder.condition(condition)?.simplify();
    let mut bound = BoundPredicate { test, columns: binder.columns, truths: TruthCache::default() };
    bound.drop_unused();
    Ok(bound)
}

struct Binder<'a> {
    context: &'a BindContext<'a>,
    columns: Vec<BoundColumn>,
}

impl Binder<'_> {
    fn condition(&mut self, condition: &Condition) -> Result<Test, String> {
        Ok(match condition {
            Condition::And(conditions) => Test::All(self.conditions(conditions)?),
            Condition::Or(conditions) => Test::Any(self.conditions(conditions)?),
            Condition::Not(condition) => Test::Not(Box::new(self.condition(condition)?)),
            Condition::Is(condition, truth) => Test::Is(Box::new(self.condition(condition)?), *truth),
            Condition::IsNull(operand) => self.is_null(operand)?,
            Condition::Truth(operand) => self.truth(operand)?,
            Condition::Like { operand, pattern, ignore_case } => {
                let column = self.operand_column(operand, "LIKE needs a column on its left")?;
                let bound = &self.columns[column];
                let data_type = value_type(&bound.field);
                if !data_type.is_string() && !data_type.is_binary() {
                    return Err(format!("column {:?} is {}; LIKE is for strings", bound.name, type_name(&bound.field)));
                }
                let pattern = Pattern::new(pattern, *ignore_case);
                let test = match pattern.exact() {
                    Some(exact) => ValueTest::Compare(Comparison::Equal, Value::Bytes(exact.clone())),
                    None => ValueTest::Like(pattern),
                };
                Test::Values { column, test }
            }
            Condition::Compare { left, op, right } => self.compare(left, *op, right)?,
            Condition::Between { operand, low, high } => self.between(operand, low, high)?,
            Condition::In { operand, list } => self.in_list(operand, list)?,
            Condition::Same(left, right) => {
                let nulls = Test::All(vec![self.is_null(left)?, self.is_null(right)?]);
                let equal = self.compare(left, Comparison::Equal, right)?;
                Test::Any(vec![Test::Is(Box::new(equal), Some(true)), nulls])
            }
            Condition::Contains { operand, element } => self.contains(operand, element)?,
        })
    }

    fn conditions(&mut self, conditions: &[Condition]) -> Result<Vec<Test>, String> {
        conditions.iter().map(|condition| self.condition(condition)).collect()
    }

    /// The index of a column, which is added unless it is there.
    fn column(&mut self, name: &ColumnName) -> Result<usize, String> {
        let column = resolve(name, self.context)?;
        let same = |other: &BoundColumn| other.access == column.access;
        Ok(self.columns.iter().position(same).unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        }))
    }

    fn operand_column(&mut self, operand: &Operand, otherwise: &str) -> Result<usize, String> {
        match operand {
            Operand::Column(name) => self.column(name),
            Operand::Literal(_) => Err(otherwise.to_owned()),
        }
    }

    fn is_null(&mut self, operand: &Operand) -> Result<Test, String> {
        Ok(match operand {
            Operand::Literal(literal) => Test::Constant(Some(*literal == Literal::Null)),
            Operand::Column(name) => Test::Values { column: self.column(name)?, test: ValueTest::IsNull },
        })
    }

    fn truth(&mut self, operand: &Operand) -> Result<Test, String> {
        Ok(match operand {
            Operand::Literal(Literal::Boolean(truth)) => Test::Constant(Some(*truth)),
            Operand::Literal(Literal::Null) => Test::Constant(None),
            Operand::Literal(literal) => {
                return Err(format!("{} is neither true nor false; compare it with a column", literal.describe()));
            }
            Operand::Column(name) => {
                let column = self.column(name)?;
                let bound = &self.columns[column];
                match value_type(&bound.field) {
                    DataType::Boolean => Test::Values { column, test: ValueTest::Truth },
                    DataType::Null => Test::Constant(None),
                    _ => {
                        let (name, example) = (&bound.name, example_of(&bound.field));
                        return Err(format!(
                            "column {name:?} is {}, neither true nor false; compare it, for example {name} = {example}",
                            type_name(&bound.field)
                        ));
                    }
                }
            }
        })
    }

    fn compare(&mut self, left: &Operand, op: Comparison, right: &Operand) -> Result<Test, String> {
        match (left, right) {
            (Operand::Column(name), Operand::Literal(literal)) => {
                let column = self.column(name)?;
                Ok(match self.place(column, literal)? {
                    None => Test::Constant(None),
                    Some(place) => Test::Values { column, test: placed(place, op) },
                })
            }
            (Operand::Literal(_), Operand::Column(_)) => self.compare(right, op.exchanged(), left),
            (Operand::Column(left), Operand::Column(right)) => {
                let (left, right) = (self.column(left)?, self.column(right)?);
                self.compare_columns(left, op, right)
            }
            (Operand::Literal(left), Operand::Literal(right)) => Err(format!(
                "{} and {} are both written out; a comparison needs a column",
                left.describe(),
                right.describe()
            )),
        }
    }

    /// Where a literal stands among the values of a column; `None` if one of them is null.
    fn place(&self, column: usize, literal: &Literal) -> Result<Option<Place>, String> {
        let bound = &self.columns[column];
        if value_type(&bound.field) == &DataType::Null {
            return Ok(None);
        }
        if *literal == Literal::Null {
            return match value_type(&bound.field).is_nested() {
                true => Err(self.mismatch(column, literal)),
                false => Ok(None),
            };
        }
        place(literal, &bound.field).map(Some).ok_or_else(|| self.mismatch(column, literal))
    }

    fn mismatch(&self, column: usize, literal: &Literal) -> String {
        let bound = &self.columns[column];
        format!(
            "column {:?} is {} and cannot be compared with {}; write {}",
            bound.name,
            type_name(&bound.field),
            literal.describe(),
            example_of(&bound.field)
        )
    }

    fn compare_columns(&self, left: usize, op: Comparison, right: usize) -> Result<Test, String> {
        let (a, b) = (&self.columns[left], &self.columns[right]);
        let common = match is_uuid(&a.field) == is_uuid(&b.field) || !value_type(&a.field).is_string() {
            true => common_type(value_type(&a.field), value_type(&b.field)),
            false => None,
        };
        match common {
            Some(DataType::Null) => Ok(Test::Constant(None)),
            Some(common) => Ok(Test::Columns { left, op, right, common }),
            None => Err(format!(
                "column {:?} is {} and cannot be compared with column {:?}, which is {}",
                a.name,
                type_name(&a.field),
                b.name,
                type_name(&b.field)
            )),
        }
    }

    fn between(&mut self, operand: &Operand, low: &Literal, high: &Literal) -> Result<Test, String> {
        let column = self.operand_column(operand, "BETWEEN needs a column on its left")?;
        Ok(match (self.place(column, low)?, self.place(column, high)?) {
            (Some(Place::At(low)), Some(Place::At(high))) => {
                let test = if low <= high { ValueTest::Between(low, high) } else { ValueTest::Always(false) };
                Test::Values { column, test }
            }
            (low, high) => {
                let half = |place: Option<Place>, op| match place {
                    None => Test::Constant(None),
                    Some(place) => Test::Values { column, test: placed(place, op) },
                };
                Test::All(vec![half(low, Comparison::GreaterOrEqual), half(high, Comparison::LessOrEqual)])
            }
        })
    }

    fn in_list(&mut self, operand: &Operand, list: &[Literal]) -> Result<Test, String> {
        let column = self.operand_column(operand, "IN needs a column on its left")?;
        let mut values = Vec::with_capacity(list.len());
        let mut has_null = false;
        for literal in list {
            match self.place(column, literal)? {
                Some(Place::At(value)) => values.push(value),
                Some(_) => {}
                None => has_null = true,
            }
        }
        let test = match values.len() {
            0 => ValueTest::Always(false),
            1 => ValueTest::Compare(Comparison::Equal, values.remove(0)),
            _ => ValueTest::In(ValueSet::new(values)),
        };
        let test = Test::Values { column, test };
        Ok(if has_null { Test::Any(vec![test, Test::Constant(None)]) } else { test })
    }

    fn contains(&mut self, operand: &Operand, element: &Literal) -> Result<Test, String> {
        let column = self.operand_column(operand, "what contains an element has to be a column that is a list")?;
        let bound = &self.columns[column];
        let element_field = match bound.field.data_type() {
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::FixedSizeList(field, _)
            | DataType::ListView(field)
            | DataType::LargeListView(field) => field,
            DataType::Null => return Ok(Test::Constant(None)),
            _ => {
                return Err(format!(
                    "column {:?} is {}; only lists contain elements",
                    bound.name,
                    type_name(&bound.field)
                ));
            }
        };
        if *element == Literal::Null {
            return Ok(Test::Constant(None));
        }
        let test = match (value_type(element_field), place(element, element_field)) {
            (_, Some(Place::At(value))) => ValueTest::Contains(value),
            (DataType::Null, _) | (_, Some(_)) => ValueTest::Always(false),
            (_, None) => {
                return Err(format!(
                    "column {:?} is a list whose element is {} and cannot be compared with {}; write {}",
                    bound.name,
                    type_name(element_field),
                    element.describe(),
                    example_of(element_field)
                ));
            }
        };
        Ok(Test::Values { column, test })
    }
}

/// The test of a comparison with a literal that stands at `place`.
fn placed(place: Place, op: Comparison) -> ValueTest {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    match (place, op) {
        (Place::At(value), op) => ValueTest::Compare(op, value),
        (Place::JustAbove(value), Less | LessOrEqual) => ValueTest::Compare(LessOrEqual, value),
        (Place::JustAbove(value), Greater | GreaterOrEqual) => ValueTest::Compare(Greater, value),
        (Place::JustAbove(_), Equal) => ValueTest::Always(false),
        (Place::JustAbove(_), NotEqual) => ValueTest::Always(true),
        (Place::Below, op) => ValueTest::Always(matches!(op, Greater | GreaterOrEqual | NotEqual)),
        (Place::Above, op) => ValueTest::Always(matches!(op, Less | LessOrEqual | NotEqual)),
    }
}
