//! Casts of timestamps to seconds and milliseconds round, halves away from zero, as in DuckDB and PostgreSQL. DataFusion 55 cuts them off,
//! which moves moments before 1970 forward.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType, TimestampSecondType};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TryCast, Volatility, cast,
};
use datafusion::scalar::ScalarValue;

/// The functions that round.
pub(crate) fn coarse_moment_functions() -> [ScalarUDF; 2] {
    [TimeUnit::Second, TimeUnit::Millisecond].map(function)
}

fn function(unit: TimeUnit) -> ScalarUDF {
    ScalarUDF::from(CoarseMoment { unit, signature: Signature::any(1, Volatility::Immutable) })
}

/// The operand of a cast from one type to another, rounded if the cast loses parts of a second. A text is read first.
pub(super) fn rounded(operand: &Expr, from: &DataType, to: &DataType, is_lenient: bool) -> Option<Expr> {
    let DataType::Timestamp(unit @ (TimeUnit::Second | TimeUnit::Millisecond), zone) = to else { return None };
    let fine = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
    let operand = match from {
        text if text.is_string() && is_lenient => Expr::TryCast(TryCast::new(Box::new(operand.clone()), fine)),
        text if text.is_string() => cast(operand.clone(), fine),
        DataType::Timestamp(from, _) if ticks(*from) > ticks(*unit) => operand.clone(),
        _ => return None,
    };
    Some(function(*unit).call(vec![operand]))
}

/// The ticks of a second.
fn ticks(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CoarseMoment {
    unit: TimeUnit,
    signature: Signature,
}

impl ScalarUDFImpl for CoarseMoment {
    fn name(&self) -> &'static str {
        match self.unit {
            TimeUnit::Second => "round_to_seconds",
            _ => "round_to_milliseconds",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Timestamp(_, zone)] => Ok(DataType::Timestamp(self.unit, zone.clone())),
            _ => plan_err!("{} has a timestamp as argument", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [moments] = take_function_args(self.name(), args.args)?;
        let is_scalar = matches!(moments, ColumnarValue::Scalar(_));
        let moments = moments.into_array(1)?;
        let DataType::Timestamp(from, zone) = moments.data_type() else {
            return plan_err!("{} has a timestamp as argument", self.name());
        };
        let (zone, size) = (zone.clone(), (ticks(*from) / ticks(self.unit)).max(1));
        let numbers = arrow_cast::cast(&moments, &DataType::Int64)?;
        let numbers = numbers.as_primitive::<Int64Type>();
        let rounded: ArrayRef = match self.unit {
            TimeUnit::Second => Arc::new(divided::<TimestampSecondType>(numbers, size).with_timezone_opt(zone)),
            _ => Arc::new(divided::<TimestampMillisecondType>(numbers, size).with_timezone_opt(zone)),
        };
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&rounded, 0)?)),
            false => Ok(ColumnarValue::Array(rounded)),
        }
    }
}

fn divided<T: ArrowPrimitiveType<Native = i64>>(numbers: &PrimitiveArray<Int64Type>, size: i64) -> PrimitiveArray<T> {
    numbers.unary(|number| {
        let (whole, rest) = (number / size, number % size);
        whole + if rest.abs() >= size - rest.abs() { rest.signum() } else { 0 }
    })
}
