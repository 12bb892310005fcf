//! Implements `+`, `-`, `*` and unary minus of integers and decimals as DataFusion functions.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
};
use arrow_array::{Array, ArrayRef, Datum, Decimal128Array, PrimitiveArray, Scalar, downcast_integer, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::kernels::numeric::{add, mul, neg, sub};
use datafusion::common::{Result, exec_datafusion_err, exec_err, internal_err};
use datafusion::logical_expr::interval_arithmetic::{Interval, apply_operator};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::decimal::{DecimalOperation, decimal_text};
use super::integer::{Overflowing, Side, combine};
use super::operation::Operation;
use super::sql_name;

/// Maximum length of an expression's text in an error. Longer text is truncated.
const MAX_TEXT_BYTES: usize = 80;

/// An operation that returns an error if its result does not fit.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Arithmetic {
    operation: Operation,
    signature: Signature,
}

impl Arithmetic {
    pub(super) fn new(operation: Operation) -> Self {
        let argument_count = if operation == Operation::Negate { 1 } else { 2 };
        Self { operation, signature: Signature::any(argument_count, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        self.operation.name()
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.operation.write(&args.iter().map(ToString::to_string).collect::<Vec<_>>()))
    }

    // The name of the replaced expression, because other parts of the plan refer to it.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let sides: Vec<String> = args.iter().map(|side| side.schema_name().to_string()).collect();
        Ok(match self.operation {
            Operation::Negate => format!("(- {})", sides.concat()),
            operation => operation.write(&sides),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match (self.operation.operator(), arg_types) {
            (Some(operator), [left, right]) => BinaryTypeCoercer::new(left, &operator, right).get_result_type(),
            (None, [inner]) => Ok(inner.clone()),
            _ => internal_err!("{} has {} arguments", self.name(), arg_types.len()),
        }
    }

    // The field's name is the text of the expression, for errors of enclosing expressions.
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        let sides = args.arg_fields.iter().zip(args.scalar_arguments);
        let sides: Vec<String> = sides.map(|(field, &constant)| side_text(field, constant)).collect();
        let text = self.operation.write(&sides);
        let text = if text.len() > MAX_TEXT_BYTES { "…".to_owned() } else { text };
        Ok(Arc::new(Field::new(text, self.return_type(&types)?, is_nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let all_constant = args.args.iter().all(|side| matches!(side, ColumnarValue::Scalar(_)));
        let row_count = if all_constant { 1 } else { args.number_rows };
        let sides = args.args.iter().map(Argument::new).collect::<Result<Vec<_>>>()?;
        let (left, right) = match sides.as_slice() {
            [left, right] => (left, right),
            // The second side is ignored.
            [inner] => (inner, inner),
            _ => return internal_err!("{} has {} arguments", self.name(), sides.len()),
        };
        let call = Call { operation: self.operation, args: &args, left, right, row_count };
        let results = call.run()?;
        if all_constant {
            return ScalarValue::try_from_array(&results, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(results))
    }

    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        match (self.operation.operator(), inputs) {
            (Some(operator), [left, right]) => apply_operator(&operator, left, right),
            (_, [inner, ..]) => Interval::make_unbounded(&inner.data_type()),
            _ => Interval::make_unbounded(&DataType::Null),
        }
    }

    // Results that do not fit are errors, so all results keep the order.
    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(match (self.operation, inputs) {
            (Operation::Add, [left, right]) => left.sort_properties.add(&right.sort_properties),
            (Operation::Subtract, [left, right]) => left.sort_properties.sub(&right.sort_properties),
            (Operation::Negate, [inner]) => -inner.sort_properties,
            _ if inputs.iter().all(|input| input.sort_properties == SortProperties::Singleton) => {
                SortProperties::Singleton
            }
            _ => SortProperties::Unordered,
        })
    }
}

/// One side of an operation: an array with one value per row, or a single value for all rows.
struct Argument {
    values: ArrayRef,
    is_constant: bool,
}

impl Argument {
    fn new(side: &ColumnarValue) -> Result<Self> {
        Ok(match side {
            ColumnarValue::Array(values) => Self { values: Arc::clone(values), is_constant: false },
            ColumnarValue::Scalar(value) => Self { values: value.to_array()?, is_constant: true },
        })
    }

    fn is_null_constant(&self) -> bool {
        self.is_constant && self.values.is_null(0)
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        if self.is_constant { None } else { self.values.nulls() }
    }

    fn side<T: ArrowPrimitiveType>(&self) -> Side<'_, T::Native> {
        let values = self.values.as_primitive::<T>();
        if self.is_constant { Side::Constant(values.value(0)) } else { Side::Values(values.values()) }
    }

    fn datum(&self) -> Box<dyn Datum> {
        let values = Arc::clone(&self.values);
        if self.is_constant { Box::new(Scalar::new(values)) } else { Box::new(values) }
    }
}

/// An operation on the rows of one batch.
struct Call<'c> {
    operation: Operation,
    args: &'c ScalarFunctionArgs,
    left: &'c Argument,
    right: &'c Argument,
    row_count: usize,
}

impl Call<'_> {
    fn run(&self) -> Result<ArrayRef> {
        let result_type = self.args.return_type();
        if self.left.is_null_constant() || self.right.is_null_constant() {
            return Ok(new_null_array(result_type, self.row_count));
        }
        macro_rules! integers {
            ($t:ty) => {
                self.run_integers::<$t>()
            };
        }
        downcast_integer! {
            self.left.values.data_type() => (integers),
            DataType::Decimal128(p1, s1) => match self.right.values.data_type() {
                DataType::Decimal128(p2, s2) => self.run_decimals((*p1, *s1), (*p2, *s2)),
                other => internal_err!("{} of DECIMAL and {other}", self.operation.name()),
            },
            DataType::Decimal32(..) => self.run_other::<Decimal32Type>(),
            DataType::Decimal64(..) => self.run_other::<Decimal64Type>(),
            DataType::Decimal256(..) => self.run_other::<Decimal256Type>(),
            other => internal_err!("{} of {other}", self.operation.name()),
        }
    }

    fn run_integers<T: Overflowing>(&self) -> Result<ArrayRef> {
        let (left, right) = (self.left.side::<T>(), self.right.side::<T>());
        let operation = self.operation;
        let apply = |left, right| T::apply(operation, left, right);
        // A separate loop for each operation.
        let (results, any) = match operation {
            Operation::Add => combine(left, right, self.row_count, |left, right| T::apply(Operation::Add, left, right)),
            Operation::Subtract => {
                combine(left, right, self.row_count, |left, right| T::apply(Operation::Subtract, left, right))
            }
            Operation::Multiply => {
                combine(left, right, self.row_count, |left, right| T::apply(Operation::Multiply, left, right))
            }
            Operation::Negate => combine(left, left, self.row_count, apply),
        };
        let nulls = NullBuffer::union(self.left.nulls(), self.right.nulls());
        if any && let Some(row) = self.first_valid(nulls.as_ref(), |row| apply(left.value(row), right.value(row)).1) {
            return self.overflow(&[left.value(row).to_string(), right.value(row).to_string()]);
        }
        Ok(Arc::new(PrimitiveArray::<T>::new(results.into(), nulls)))
    }

    fn run_decimals(&self, left_type: (u8, i8), right_type: (u8, i8)) -> Result<ArrayRef> {
        let operation = DecimalOperation::new(self.operation, left_type, right_type);
        let (Some(operation), DataType::Decimal128(precision, scale)) = (operation, self.args.return_type()) else {
            return self.run_other::<Decimal128Type>();
        };
        let (left, right) = (self.left.side::<Decimal128Type>(), self.right.side::<Decimal128Type>());
        let (left_scaled, left_factor) = left.scaled(operation.left_factor);
        let (right_scaled, right_factor) = right.scaled(operation.right_factor);
        let (results, any) = if left_factor == 1 && right_factor == 1 {
            combine(left_scaled, right_scaled, self.row_count, |left, right| operation.apply(left, right))
        } else {
            combine(left_scaled, right_scaled, self.row_count, |left, right| {
                operation.apply_scaled((left, left_factor), (right, right_factor))
            })
        };
        let apply = |row| {
            let (left, right) = (left.value(row), right.value(row));
            operation.apply_scaled((left, operation.left_factor), (right, operation.right_factor))
        };
        let nulls = NullBuffer::union(self.left.nulls(), self.right.nulls());
        if any && let Some(row) = self.first_valid(nulls.as_ref(), |row| apply(row).1) {
            let sides = [(left, left_type.1), (right, right_type.1)];
            return self.overflow(&sides.map(|(side, scale)| decimal_text(side.value(row), scale)));
        }
        let results = Decimal128Array::new(results.into(), nulls);
        Ok(Arc::new(results.with_precision_and_scale(*precision, *scale)?))
    }

    /// Computes decimals of other widths with Arrow's kernels.
    fn run_other<T: DecimalType>(&self) -> Result<ArrayRef> {
        let (left, right) = (self.left.datum(), self.right.datum());
        let results = match self.operation {
            Operation::Add => add(left.as_ref(), right.as_ref()),
            Operation::Subtract => sub(left.as_ref(), right.as_ref()),
            Operation::Multiply => mul(left.as_ref(), right.as_ref()),
            Operation::Negate => neg(self.left.values.as_ref()),
        };
        let results = results.map_err(|error| self.in_words(error))?;
        let decimals = results.as_primitive::<T>();
        decimals.validate_decimal_precision(decimals.precision()).map_err(|error| self.in_words(error))?;
        Ok(results)
    }

    fn in_words(&self, error: ArrowError) -> datafusion::error::DataFusionError {
        exec_datafusion_err!("{}: {error}; cast one side to fewer digits, or to DOUBLE", self.args.return_field.name())
    }

    fn first_valid(&self, nulls: Option<&NullBuffer>, overflows: impl Fn(usize) -> bool) -> Option<usize> {
        (0..self.row_count).find(|&row| nulls.is_none_or(|nulls| nulls.is_valid(row)) && overflows(row))
    }

    fn overflow<T>(&self, values: &[String]) -> Result<T> {
        let values = &values[..self.args.args.len()];
        let sides = self.args.args.iter().zip(&self.args.arg_fields);
        let sides: Vec<String> = sides
            .map(|(side, field)| match side {
                ColumnarValue::Scalar(value) => side_text(field, Some(value)),
                ColumnarValue::Array(_) => side_text(field, None),
            })
            .collect();
        let data_type = self.args.return_type();
        let wider = match data_type {
            DataType::Int8 | DataType::Int16 | DataType::Int32 => "cast one side to BIGINT",
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => "cast both sides to BIGINT",
            DataType::Int64 | DataType::UInt64 => "cast one side to DECIMAL(38, 0)",
            _ => "cast one side to fewer digits, or to DOUBLE",
        };
        let (expression, values) = (self.operation.write(&sides), self.operation.write(values));
        let is_of = if expression == values { String::new() } else { format!(" ({values})") };
        exec_err!("{expression} does not fit {}{is_of}; {wider}", sql_name(data_type))
    }
}

/// The text of one side of an expression.
fn side_text(field: &Field, constant: Option<&ScalarValue>) -> String {
    match constant {
        Some(value) => value.to_string(),
        None if field.name().contains(' ') => format!("({})", field.name()),
        None => field.name().clone(),
    }
}
