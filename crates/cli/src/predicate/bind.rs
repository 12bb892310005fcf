//! From a [`Condition`] to a [`Test`] on the columns of one schema, with all types settled.

use arrow_array::{ArrayRef, Scalar};
use arrow_schema::{DataType, Schema, TimeUnit};

use super::column::{Column, example_of, type_name};
use super::place::{Place, place};
use super::syntax::{Comparison, Condition, Literal, Operand};

/// A condition that can be evaluated on batches.
#[derive(Debug, Clone)]
pub(super) enum Test {
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
    Constant(Option<bool>),
    /// The same for all values; null for nulls.
    Values(Column, bool),
    CompareLiteral {
        column: Column,
        op: Comparison,
        literal: Scalar<ArrayRef>,
    },
    CompareColumns {
        left: Column,
        op: Comparison,
        right: Column,
        common: DataType,
    },
    Like {
        column: Column,
        pattern: String,
        ignore_case: bool,
    },
    IsNull(Column),
    Is(Box<Test>, Option<bool>),
    Flag(Column),
}

/// Settles names and types of `condition` by `schema`.
pub(super) fn bind(condition: &Condition, schema: &Schema) -> Result<Test, String> {
    let all = |conditions: &[Condition]| {
        conditions.iter().map(|condition| bind(condition, schema)).collect::<Result<Vec<_>, _>>()
    };
    Ok(match condition {
        Condition::And(conditions) => Test::All(all(conditions)?),
        Condition::Or(conditions) => Test::Any(all(conditions)?),
        Condition::Not(condition) => Test::Not(Box::new(bind(condition, schema)?)),
        Condition::Is(condition, truth) => Test::Is(Box::new(bind(condition, schema)?), *truth),
        Condition::IsNull(Operand::Literal(literal)) => Test::Constant(Some(*literal == Literal::Null)),
        Condition::IsNull(Operand::Column(name)) => Test::IsNull(Column::resolve(name, schema)?),
        Condition::Truth(Operand::Literal(Literal::Boolean(truth))) => Test::Constant(Some(*truth)),
        Condition::Truth(Operand::Literal(Literal::Null)) => Test::Constant(None),
        Condition::Truth(Operand::Literal(literal)) => {
            return Err(format!("{} is neither true nor false; compare it with a column", literal.describe()));
        }
        Condition::Truth(Operand::Column(name)) => {
            let column = Column::resolve(name, schema)?;
            match value_type(&column) {
                DataType::Boolean => Test::Flag(column),
                _ => {
                    return Err(format!(
                        "column {:?} is {}, neither true nor false; compare it, for example {} = {}",
                        column.path,
                        type_name(&column.field),
                        column.path,
                        example_of(&column.field)
                    ));
                }
            }
        }
        Condition::Like { operand, pattern, ignore_case } => {
            let Operand::Column(name) = operand else {
                return Err("LIKE needs a column on its left".to_owned());
            };
            let column = Column::resolve(name, schema)?;
            let data_type = value_type(&column);
            if !data_type.is_string() && !data_type.is_binary() {
                return Err(format!("column {:?} is {}; LIKE is for strings", column.path, type_name(&column.field)));
            }
            Test::Like { column, pattern: pattern.clone(), ignore_case: *ignore_case }
        }
        Condition::Compare { left, op, right } => match (left, right) {
            (Operand::Column(name), Operand::Literal(literal)) => {
                compare_literal(Column::resolve(name, schema)?, *op, literal)?
            }
            (Operand::Literal(literal), Operand::Column(name)) => {
                compare_literal(Column::resolve(name, schema)?, op.exchanged(), literal)?
            }
            (Operand::Column(left), Operand::Column(right)) => {
                compare_columns(Column::resolve(left, schema)?, *op, Column::resolve(right, schema)?)?
            }
            (Operand::Literal(left), Operand::Literal(right)) => {
                return Err(format!(
                    "{} and {} are both written out; a comparison needs a column",
                    left.describe(),
                    right.describe()
                ));
            }
        },
    })
}

fn value_type(column: &Column) -> &DataType {
    match column.field.data_type() {
        DataType::Dictionary(_, value) => value,
        other => other,
    }
}

fn compare_literal(column: Column, op: Comparison, literal: &Literal) -> Result<Test, String> {
    if *literal == Literal::Null || value_type(&column) == &DataType::Null {
        return Ok(Test::Constant(None));
    }
    let Some(place) = place(literal, &column.field) else {
        return Err(format!(
            "column {:?} is {} and cannot be compared with {}; write {}",
            column.path,
            type_name(&column.field),
            literal.describe(),
            example_of(&column.field)
        ));
    };
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    Ok(match (place, op) {
        (Place::At(value), op) => Test::CompareLiteral { column, op, literal: Scalar::new(value) },
        (Place::JustAbove(value), Less | LessOrEqual) => {
            Test::CompareLiteral { column, op: LessOrEqual, literal: Scalar::new(value) }
        }
        (Place::JustAbove(value), Greater | GreaterOrEqual) => {
            Test::CompareLiteral { column, op: Greater, literal: Scalar::new(value) }
        }
        (Place::JustAbove(_), Equal) => Test::Values(column, false),
        (Place::JustAbove(_), NotEqual) => Test::Values(column, true),
        (Place::Below, op) => Test::Values(column, matches!(op, Greater | GreaterOrEqual | NotEqual)),
        (Place::Above, op) => Test::Values(column, matches!(op, Less | LessOrEqual | NotEqual)),
    })
}

fn compare_columns(left: Column, op: Comparison, right: Column) -> Result<Test, String> {
    match common_type(value_type(&left), value_type(&right)) {
        Some(DataType::Null) => Ok(Test::Constant(None)),
        Some(common) => Ok(Test::CompareColumns { left, op, right, common }),
        None => Err(format!(
            "column {:?} is {} and cannot be compared with column {:?}, which is {}",
            left.path,
            type_name(&left.field),
            right.path,
            type_name(&right.field)
        )),
    }
}

/// A type that holds the values of both, so that they compare as their values do.
fn common_type(left: &DataType, right: &DataType) -> Option<DataType> {
    if left == right {
        return (!left.is_nested()).then(|| left.clone());
    }
    if left == &DataType::Null || right == &DataType::Null {
        return Some(DataType::Null);
    }
    if left.is_string() && right.is_string() {
        return Some(DataType::Utf8View);
    }
    let is_bytes = |data_type: &DataType| data_type.is_binary() || matches!(data_type, DataType::FixedSizeBinary(_));
    if is_bytes(left) && is_bytes(right) {
        return Some(DataType::BinaryView);
    }
    if left.is_numeric() && right.is_numeric() {
        return Some(common_number(left, right));
    }
    match (left, right) {
        (DataType::Date32 | DataType::Date64, DataType::Date32 | DataType::Date64) => Some(DataType::Date64),
        // Zones are labels of instants that are stored in UTC.
        (DataType::Timestamp(a, _), DataType::Timestamp(b, _)) => Some(DataType::Timestamp((*a).max(*b), None)),
        (DataType::Timestamp(unit, _), DataType::Date32 | DataType::Date64)
        | (DataType::Date32 | DataType::Date64, DataType::Timestamp(unit, _)) => Some(DataType::Timestamp(*unit, None)),
        (DataType::Time32(_) | DataType::Time64(_), DataType::Time32(_) | DataType::Time64(_)) => {
            Some(DataType::Time64(TimeUnit::Nanosecond))
        }
        _ => None,
    }
}

fn common_number(left: &DataType, right: &DataType) -> DataType {
    if left.is_floating() || right.is_floating() {
        return DataType::Float64;
    }
    let signed = |data_type: &DataType| data_type.is_signed_integer();
    if left.is_integer() && right.is_integer() && (signed(left) == signed(right)) {
        return if signed(left) { DataType::Int64 } else { DataType::UInt64 };
    }
    // Digits before and after the point of each.
    let digits = |data_type: &DataType| match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => (i16::from(*precision) - i16::from(*scale), i16::from(*scale)),
        _ => (20, 0),
    };
    let ((left_whole, left_scale), (right_whole, right_scale)) = (digits(left), digits(right));
    let scale = left_scale.max(right_scale).max(0);
    let precision = (left_whole.max(right_whole).max(0) + scale).clamp(1, 76);
    match precision {
        1..=38 => DataType::Decimal128(precision as u8, scale as i8),
        _ => DataType::Decimal256(precision as u8, scale as i8),
    }
}
