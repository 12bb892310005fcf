//! Binds a [`Condition`] to the columns of one schema: makes a [`Test`] with all names and types resolved.

mod bound;
mod context;
mod narrow;
mod resolve;

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use lath_kernels::compare::Comparison;

use self::narrow::narrow;
use self::resolve::{joined, root_name};
use crate::array::{to_array, value_at};
use crate::cast::{Cast, is_identity, is_possible, to_literal};
use crate::evaluate::{TruthCache, test_values};
use crate::place::{Place, place};
use crate::syntax::{ColumnName, Condition, Literal, Operand};
use crate::test::{Test, ValueTest};
use crate::value::{Pattern, SqlType, Value, ValueSet, common_type, example, list_element, type_name, value_type};

pub use self::bound::{BoundColumn, BoundPredicate};
pub use self::context::{BindContext, Constant, FieldDefault, Leaf};
pub(crate) use self::resolve::{Resolution, resolve};

/// Resolves names and types of `condition`.
pub(crate) fn bind(condition: &Condition, context: &BindContext<'_>) -> Result<BoundPredicate, String> {
    let mut binder = Binder { context, columns: Vec::new(), structs: Vec::new() };
    let test = binder.condition(condition)?.simplify();
    let mut bound = BoundPredicate { test, columns: binder.columns, truths: TruthCache::default() };
    bound.drop_unused();
    Ok(bound)
}

struct Binder<'a> {
    context: &'a BindContext<'a>,
    columns: Vec<BoundColumn>,
    /// Structs with a default among the operands of the condition: where they are null, the operand is.
    structs: Vec<usize>,
}

/// An operand with resolved name and type.
enum BoundOperand {
    /// Index among the columns.
    Column(usize),
    Constant(Constant),
    Literal(Literal),
}

impl Binder<'_> {
    /// Only this function recurses, so it needs little stack; [`Self::single`] does the rest.
    fn condition(&mut self, condition: &Condition) -> Result<Test, String> {
        match condition {
            Condition::And(conditions) => self.conditions(conditions).map(Test::All),
            Condition::Or(conditions) => self.conditions(conditions).map(Test::Any),
            Condition::Not(condition) => self.boxed(condition).map(Test::Not),
            Condition::Is(condition, truth) => self.boxed(condition).map(|test| Test::Is(test, *truth)),
            single => self.single(single),
        }
    }

    fn boxed(&mut self, condition: &Condition) -> Result<Box<Test>, String> {
        self.condition(condition).map(Box::new)
    }

    fn single(&mut self, condition: &Condition) -> Result<Test, String> {
        let test = self.unguarded(condition)?;
        Ok(self.guarded(test))
    }

    /// The test, or null where a struct of a default is null.
    fn guarded(&mut self, test: Test) -> Test {
        std::mem::take(&mut self.structs).into_iter().fold(test, |test, column| {
            let is_null = Test::Values { column, test: ValueTest::IsNull };
            let unless_null = Test::Any(vec![Test::Not(Box::new(is_null.clone())), Test::Constant(None)]);
            Test::Any(vec![Test::All(vec![test, unless_null]), Test::All(vec![is_null, Test::Constant(None)])])
        })
    }

    fn unguarded(&mut self, condition: &Condition) -> Result<Test, String> {
        match condition {
            Condition::IsNull(operand) => self.is_null(operand),
            Condition::Truth(operand) => self.truth(operand),
            Condition::Like { operand, pattern, ignore_case } => self.like(operand, pattern, *ignore_case),
            Condition::Compare { left, op, right } => {
                let (left, right) = (self.operand(left)?, self.operand(right)?);
                self.compare(left, *op, right)
            }
            Condition::Between { operand, low, high } => self.between(operand, low, high),
            Condition::In { operand, list } => self.in_list(operand, list),
            Condition::Same(left, right) => {
                let nulls = Test::All(vec![self.is_null(left)?, self.is_null(right)?]);
                let (left, right) = (self.operand(left)?, self.operand(right)?);
                let equal = self.compare(left, Comparison::Equal, right)?;
                let equal = self.guarded(equal);
                Ok(Test::Any(vec![Test::Is(Box::new(equal), Some(true)), nulls]))
            }
            Condition::Contains { operand, element } => self.contains(operand, element),
            Condition::And(_) | Condition::Or(_) | Condition::Not(_) | Condition::Is(..) => self.condition(condition),
        }
    }

    fn conditions(&mut self, conditions: &[Condition]) -> Result<Vec<Test>, String> {
        conditions.iter().map(|condition| self.condition(condition)).collect()
    }

    fn operand(&mut self, operand: &Operand) -> Result<BoundOperand, String> {
        match operand {
            Operand::Literal(literal) => Ok(BoundOperand::Literal(literal.clone())),
            Operand::Column(name) => match self.constant(name) {
                Some(constant) => Ok(BoundOperand::Constant(constant)),
                None => Ok(match resolve(name, self.context)? {
                    Resolution::Column(column) => BoundOperand::Column(self.add(column)),
                    Resolution::Missing(name, field) => BoundOperand::Constant(Constant { name, field, value: None }),
                    Resolution::Default(name, field, value, parent) => {
                        let parent = self.add(parent);
                        self.structs.push(parent);
                        BoundOperand::Constant(Constant { name, field, value: Some(value) })
                    }
                }),
            },
            Operand::Cast { operand, to, or_null } => {
                let inner = self.operand(operand)?;
                self.cast(inner, Cast { to: *to, or_null: *or_null })
            }
        }
    }

    /// An operand that is not a literal.
    fn column_operand(&mut self, operand: &Operand, otherwise: &str) -> Result<BoundOperand, String> {
        match self.operand(operand)? {
            BoundOperand::Literal(_) => Err(otherwise.to_owned()),
            bound => Ok(bound),
        }
    }

    /// The constant column with a name. If names differ in case only, columns of the schema come first.
    fn constant(&self, name: &ColumnName) -> Option<Constant> {
        let constants = self.context.constants;
        if constants.is_empty() {
            return None;
        }
        let named = |name: &str| constants.iter().find(|constant| constant.name == name).cloned();
        let exact = if name.steps.is_empty() { named(&name.name.text) } else { None };
        exact.or_else(|| match root_name(name, self.context.schema) {
            Some(root) => named(root),
            None if resolve(name, self.context).is_ok() => None,
            None => {
                let whole = joined(name)?;
                let lower = whole.text.to_lowercase();
                let alike = || constants.iter().find(|constant| constant.name.to_lowercase() == lower).cloned();
                named(&whole.text).or_else(|| if whole.quoted { None } else { alike() })
            }
        })
    }

    /// The index of a column, which is added if it is new.
    fn add(&mut self, column: BoundColumn) -> usize {
        let same = |other: &BoundColumn| other.access == column.access && other.casts == column.casts;
        self.columns.iter().position(same).unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        })
    }

    fn cast(&mut self, inner: BoundOperand, cast: Cast) -> Result<BoundOperand, String> {
        let field = self.field(&inner);
        if is_identity(&field, cast.to) && !matches!(inner, BoundOperand::Literal(_)) {
            return Ok(inner);
        }
        if !is_possible(&field, cast.to) {
            return Err(format!(
                "{} is {} and cannot be cast to {}",
                self.describe(&inner),
                type_name(&field),
                cast.to
            ));
        }
        let (value, name) = match inner {
            BoundOperand::Column(index) => {
                let mut column = self.columns[index].clone();
                column.casts.push(cast);
                column.leaf = None;
                return Ok(BoundOperand::Column(self.add(column)));
            }
            BoundOperand::Constant(constant) => (constant.value, constant.name),
            BoundOperand::Literal(literal) => (natural_value(&literal), literal.to_string()),
        };
        let target = cast.to.field();
        let array =
            to_array(&[value], value_type(&field)).ok_or_else(|| format!("{name} cannot be cast to {}", cast.to))?;
        let value = cast.apply(&array, &field, &name).map_err(|error| error.to_string())?;
        let value = value_at(&value, 0);
        Ok(BoundOperand::Constant(Constant { name, field: Arc::new(target), value }))
    }

    fn field(&self, bound: &BoundOperand) -> Field {
        match bound {
            BoundOperand::Column(index) => self.columns[*index].tested_field().into_owned(),
            BoundOperand::Constant(constant) => constant.field.as_ref().clone(),
            BoundOperand::Literal(literal) => natural_field(literal),
        }
    }

    /// The description of an operand in messages.
    fn describe(&self, bound: &BoundOperand) -> String {
        match bound {
            BoundOperand::Column(index) => format!("column {:?}", self.columns[*index].name),
            BoundOperand::Constant(constant) => format!("column {:?}", constant.name),
            BoundOperand::Literal(literal) => literal.describe(),
        }
    }

    /// The operand as in an expression, for examples in messages.
    fn name(&self, bound: &BoundOperand) -> String {
        match bound {
            BoundOperand::Column(index) => self.columns[*index].name.clone(),
            BoundOperand::Constant(constant) => constant.name.clone(),
            BoundOperand::Literal(literal) => literal.to_string(),
        }
    }

    /// The test of an operand's values.
    fn values(&self, bound: &BoundOperand, test: ValueTest) -> Result<Test, String> {
        match bound {
            BoundOperand::Column(column) => Ok(Test::Values { column: *column, test }),
            BoundOperand::Constant(Constant { value: None, .. }) => {
                Ok(Test::Constant(matches!(test, ValueTest::IsNull).then_some(true)))
            }
            BoundOperand::Constant(constant) => {
                let array = to_array(std::slice::from_ref(&constant.value), value_type(&constant.field))
                    .ok_or_else(|| format!("column {:?} is not of its type", constant.name))?;
                let truth = test_values(&test, &array).map_err(|error| error.to_string())?;
                Ok(Test::Constant(truth.iter().next().flatten()))
            }
            BoundOperand::Literal(_) => Err("a literal cannot be tested".to_owned()),
        }
    }

    fn is_null(&mut self, operand: &Operand) -> Result<Test, String> {
        let test = match self.operand(operand)? {
            BoundOperand::Literal(literal) => Test::Constant(Some(literal == Literal::Null)),
            bound => self.values(&bound, ValueTest::IsNull)?,
        };
        let structs = std::mem::take(&mut self.structs);
        let structs = structs.into_iter().map(|column| Test::Values { column, test: ValueTest::IsNull });
        Ok(structs.fold(test, |test, is_null| Test::Any(vec![test, is_null])))
    }

    fn truth(&mut self, operand: &Operand) -> Result<Test, String> {
        let bound = match self.operand(operand)? {
            BoundOperand::Literal(Literal::Boolean(truth)) => return Ok(Test::Constant(Some(truth))),
            BoundOperand::Literal(Literal::Null) => return Ok(Test::Constant(None)),
            BoundOperand::Literal(literal) => {
                return Err(format!("{} is neither true nor false; compare it with a column", literal.describe()));
            }
            bound => bound,
        };
        let field = self.field(&bound);
        match value_type(&field) {
            DataType::Boolean => self.values(&bound, ValueTest::Truth),
            DataType::Null => Ok(Test::Constant(None)),
            _ => Err(format!(
                "{} is {}, neither true nor false; compare it, for example {} = {}",
                self.describe(&bound),
                type_name(&field),
                self.name(&bound),
                example(&field)
            )),
        }
    }

    fn like(&mut self, operand: &Operand, pattern: &str, ignore_case: bool) -> Result<Test, String> {
        let bound = self.column_operand(operand, "LIKE needs a column on its left")?;
        let field = self.field(&bound);
        let data_type = value_type(&field);
        if data_type == &DataType::Null {
            return Ok(Test::Constant(None));
        }
        if !data_type.is_string() && !data_type.is_binary() {
            return Err(format!("{} is {}; LIKE is for strings", self.describe(&bound), type_name(&field)));
        }
        let pattern = Pattern::new(pattern, ignore_case);
        let test = match pattern.exact() {
            Some(exact) => ValueTest::Compare(Comparison::Equal, Value::Bytes(exact.clone())),
            None => ValueTest::Like(pattern),
        };
        self.values(&bound, test)
    }

    fn compare(&mut self, left: BoundOperand, op: Comparison, right: BoundOperand) -> Result<Test, String> {
        match (&left, &right) {
            (BoundOperand::Literal(left), BoundOperand::Literal(right)) => Err(format!(
                "{} and {} are both literals; a comparison needs a column",
                left.describe(),
                right.describe()
            )),
            (BoundOperand::Literal(_), _) => self.compare(right, op.exchanged(), left),
            (_, BoundOperand::Literal(literal)) => match self.place(&left, literal)? {
                None => Ok(Test::Constant(None)),
                Some(place) => self.values(&left, test_at(place, op, self.may_overflow(&left))),
            },
            (BoundOperand::Column(a), BoundOperand::Column(b)) => self.compare_columns(*a, op, *b),
            (_, BoundOperand::Constant(constant)) => {
                self.comparable(&left, &right)?;
                let Some(value) = &constant.value else { return Ok(Test::Constant(None)) };
                let literal = to_literal(value, &constant.field)
                    .ok_or_else(|| format!("{} has no literals to compare with", type_name(&constant.field)))?;
                match self.place(&left, &literal)? {
                    None => Ok(Test::Constant(None)),
                    Some(place) => self.values(&left, test_at(place, op, self.may_overflow(&left))),
                }
            }
            (BoundOperand::Constant(_), BoundOperand::Column(_)) => self.compare(right, op.exchanged(), left),
        }
    }

    /// The place of a literal among the values of an operand; `None` if the literal or all values are null.
    fn place(&self, bound: &BoundOperand, literal: &Literal) -> Result<Option<Place>, String> {
        let field;
        let field: &Field = match bound {
            BoundOperand::Column(index) if self.columns[*index].casts.is_empty() => {
                let BoundColumn { field, wide, .. } = &self.columns[*index];
                wide.as_ref().unwrap_or(field)
            }
            other => {
                field = self.field(other);
                &field
            }
        };
        let data_type = value_type(field);
        if data_type == &DataType::Null {
            return Ok(None);
        }
        if *literal == Literal::Null && !data_type.is_nested() {
            return Ok(None);
        }
        let placed = place(literal, field).ok_or_else(|| {
            format!(
                "{} is {} and cannot be compared with {}; write {}",
                self.describe(bound),
                type_name(field),
                literal.describe(),
                example(field)
            )
        })?;
        match self.wide(bound) {
            Some((wide, own)) => narrow(placed, wide, own).map(Some).ok_or_else(|| not_alike(bound, self, wide, own)),
            None => Ok(Some(placed)),
        }
    }

    /// For an operand without casts: its field in the common schema, if that is wider, and its field in the file.
    fn wide(&self, bound: &BoundOperand) -> Option<(&FieldRef, &FieldRef)> {
        let BoundOperand::Column(index) = bound else { return None };
        let BoundColumn { field, wide, casts, .. } = &self.columns[*index];
        wide.as_ref().filter(|_| casts.is_empty()).map(|wide| (wide, field))
    }

    /// Whether reading a value of the operand can fail because its type does not have it.
    fn may_overflow(&self, bound: &BoundOperand) -> bool {
        matches!(bound, BoundOperand::Column(index) if self.columns[*index].may_overflow)
    }

    /// The type in which two operands are compared.
    fn comparable(&self, left: &BoundOperand, right: &BoundOperand) -> Result<DataType, String> {
        let (a, b) = (self.field(left), self.field(right));
        common_type(value_type(&a), value_type(&b)).ok_or_else(|| {
            format!(
                "{} is {} and cannot be compared with {}, which is {}",
                self.describe(left),
                type_name(&a),
                self.describe(right),
                type_name(&b)
            )
        })
    }

    fn compare_columns(&self, left: usize, op: Comparison, right: usize) -> Result<Test, String> {
        let common = self.comparable(&BoundOperand::Column(left), &BoundOperand::Column(right))?;
        if common == DataType::Null {
            return Ok(Test::Constant(None));
        }
        if left == right {
            let holds = matches!(op, Comparison::Equal | Comparison::LessOrEqual | Comparison::GreaterOrEqual);
            return Ok(Test::Values { column: left, test: ValueTest::Always(holds) });
        }
        Ok(Test::Columns { left, op, right, common })
    }

    fn between(&mut self, operand: &Operand, low: &Literal, high: &Literal) -> Result<Test, String> {
        let bound = self.column_operand(operand, "BETWEEN needs a column on its left")?;
        match (self.place(&bound, low)?, self.place(&bound, high)?) {
            (Some(Place::At(low)), Some(Place::At(high))) => {
                let test = if low <= high { ValueTest::Between(low, high) } else { ValueTest::Always(false) };
                self.values(&bound, test)
            }
            (low, high) => {
                let half = |place: Option<Place>, op| match place {
                    None => Ok(Test::Constant(None)),
                    Some(place) => self.values(&bound, test_at(place, op, self.may_overflow(&bound))),
                };
                Ok(Test::All(vec![half(low, Comparison::GreaterOrEqual)?, half(high, Comparison::LessOrEqual)?]))
            }
        }
    }

    fn in_list(&mut self, operand: &Operand, list: &[Literal]) -> Result<Test, String> {
        let bound = self.column_operand(operand, "IN needs a column on its left")?;
        if list.is_empty() {
            return Ok(Test::Constant(Some(false)));
        }
        let mut values = Vec::with_capacity(list.len());
        let (mut has_null, mut is_beyond) = (false, false);
        for literal in list {
            match self.place(&bound, literal)? {
                Some(Place::At(value)) => values.push(value),
                Some(place) => is_beyond |= matches!(place, Place::Below | Place::Above),
                None => has_null = true,
            }
        }
        let test = match values.len() {
            0 if is_beyond && self.may_overflow(&bound) => ValueTest::Compare(Comparison::Equal, ABOVE_ALL),
            0 => ValueTest::Always(false),
            1 => ValueTest::Compare(Comparison::Equal, values.remove(0)),
            _ => ValueTest::In(ValueSet::new(values)),
        };
        let test = self.values(&bound, test)?;
        Ok(if has_null { Test::Any(vec![test, Test::Constant(None)]) } else { test })
    }

    fn contains(&mut self, operand: &Operand, element: &Literal) -> Result<Test, String> {
        let bound = self.column_operand(operand, "list_contains needs a column of lists")?;
        let field = self.field(&bound);
        let element_field = match (list_element(&field), field.data_type()) {
            (Some(field), _) => field,
            (None, DataType::Null) => return Ok(Test::Constant(None)),
            _ => {
                return Err(format!("{} is {}; only lists contain elements", self.describe(&bound), type_name(&field)));
            }
        };
        if *element == Literal::Null {
            return Ok(Test::Constant(None));
        }
        let mut placed = place(element, element_field);
        if let (Some((_, own)), Some(place)) = (self.wide(&bound), &placed) {
            let own = list_element(own).ok_or_else(|| not_alike(&bound, self, &field, own))?;
            placed = match value_type(own) {
                DataType::Null => Some(Place::Below),
                _ => Some(
                    narrow(place.clone(), element_field, own).ok_or_else(|| not_alike(&bound, self, &field, own))?,
                ),
            };
        }
        let test = match (value_type(element_field), placed) {
            (_, Some(Place::At(value))) => ValueTest::Contains(value),
            (_, Some(Place::Below | Place::Above)) if self.may_overflow(&bound) => ValueTest::Contains(ABOVE_ALL),
            (DataType::Null, _) | (_, Some(_)) => ValueTest::Always(false),
            (_, None) => {
                return Err(format!(
                    "{} is a list whose element is {} and cannot be compared with {}; write {}",
                    self.describe(&bound),
                    type_name(element_field),
                    element.describe(),
                    example(element_field)
                ));
            }
        };
        self.values(&bound, test)
    }
}

fn not_alike(bound: &BoundOperand, binder: &Binder<'_>, whole: &Field, file: &Field) -> String {
    let (here, there) = (type_name(file), type_name(whole));
    format!("{} is {here} here and {there} in other files, which do not compare", binder.describe(bound))
}

/// The type of a literal that is not compared with a column. Numbers are text, from which casts parse them.
fn natural_field(literal: &Literal) -> Field {
    let data_type = match literal {
        Literal::Null => DataType::Null,
        Literal::Boolean(_) => DataType::Boolean,
        Literal::Number(_) | Literal::String(_) => DataType::Utf8View,
        Literal::Bytes(_) => DataType::BinaryView,
        Literal::Date(_) => DataType::Date32,
        Literal::Time(_) => DataType::Time64(TimeUnit::Nanosecond),
        Literal::Timestamp(_) => DataType::Timestamp(TimeUnit::Nanosecond, None),
        Literal::Uuid(_) => return SqlType::Uuid.field(),
        Literal::Float(_) => DataType::Float64,
    };
    Field::new("", data_type, true)
}

/// The value of a literal in its natural field.
fn natural_value(literal: &Literal) -> Option<Value> {
    match literal {
        Literal::Number(number) => Some(Value::Bytes(number.to_string().into())),
        other => match place(other, &natural_field(other))? {
            Place::At(value) => Some(value),
            _ => None,
        },
    }
}

/// The comparison with a literal at `place`. If `may_overflow`, a literal outside the type's range is compared with each value, so that all
/// values are read.
fn test_at(place: Place, op: Comparison, may_overflow: bool) -> ValueTest {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    match (place, op) {
        (Place::At(value), op) => ValueTest::Compare(op, value),
        (Place::JustAbove(value), Less | LessOrEqual) => ValueTest::Compare(LessOrEqual, value),
        (Place::JustAbove(value), Greater | GreaterOrEqual) => ValueTest::Compare(Greater, value),
        (Place::JustAbove(_), Equal) => ValueTest::Always(false),
        (Place::JustAbove(_), NotEqual) => ValueTest::Always(true),
        (Place::Below, op) if may_overflow => ValueTest::Compare(op, BELOW_ALL),
        (Place::Above, op) if may_overflow => ValueTest::Compare(op, ABOVE_ALL),
        (Place::Below, op) => ValueTest::Always(matches!(op, Greater | GreaterOrEqual | NotEqual)),
        (Place::Above, op) => ValueTest::Always(matches!(op, Less | LessOrEqual | NotEqual)),
    }
}

/// Below and above all values of types that can overflow, which are stored as integers of at most 64 bits.
const BELOW_ALL: Value = Value::Int(i128::MIN);
const ABOVE_ALL: Value = Value::Int(i128::MAX);
