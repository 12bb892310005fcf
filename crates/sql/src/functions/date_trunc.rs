//! `date_trunc(part, moment)`: the start of the part that a moment is in.
//!
//! DataFusion 55 computes in nanoseconds, which end in the years 1677 and 2262, rounds milliseconds of literals before 1970 up, and knows no
//! decades, centuries and millennia.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, FieldRef, TimeUnit};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::scalar::ScalarValue;

use super::differences::{MICROS_A_DAY, Part};
use crate::calendar::Calendar;

/// `date_trunc`, in place of DataFusion's.
pub(super) fn date_trunc_function() -> ScalarUDF {
    ScalarUDF::from(DateTrunc { inner: datafusion::functions::datetime::date_trunc() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc {
    /// DataFusion's function, for times and other time zones.
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(part), moments] = args.args.as_slice() else {
            return self.inner.inner().invoke_with_args(args);
        };
        let unit = match moments.data_type() {
            DataType::Timestamp(unit, None) => unit,
            DataType::Timestamp(unit, Some(zone)) if matches!(zone.as_ref(), "UTC" | "+00:00" | "Z") => unit,
            _ => return self.inner.inner().invoke_with_args(args),
        };
        let Some(Some(part)) = part.try_as_str() else { return self.inner.inner().invoke_with_args(args) };
        let part = Part::parse(part)?;
        let is_scalar = matches!(moments, ColumnarValue::Scalar(_));
        let moments = moments.clone().into_array(1)?;
        let starts = match unit {
            TimeUnit::Second => starts::<TimestampSecondType>(&moments, part, 1),
            TimeUnit::Millisecond => starts::<TimestampMillisecondType>(&moments, part, 1_000),
            TimeUnit::Microsecond => starts::<TimestampMicrosecondType>(&moments, part, 1_000_000),
            TimeUnit::Nanosecond => starts::<TimestampNanosecondType>(&moments, part, 1_000_000_000),
        }?;
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&starts, 0)?)),
            false => Ok(ColumnarValue::Array(starts)),
        }
    }
}

/// The starts of parts; a second has `second` ticks.
fn starts<T: ArrowTimestampType>(moments: &ArrayRef, part: Part, second: i64) -> Result<ArrayRef> {
    let moments = moments.as_primitive::<T>();
    let day = 86_400 * second;
    let out_of_range = || exec_datafusion_err!("date_trunc: the start is out of range; write TIMESTAMP(6)");
    let start = |moment: i64| -> Result<i64> {
        match part {
            Part::Micros(size) => {
                // Weeks begin on Mondays; 1 January 1970 was a Thursday.
                let origin = if size == 7 * MICROS_A_DAY { -3 * day } else { 0 };
                // Ticks that are longer than the part begin it.
                let size = i64::try_from(i128::from(size) * i128::from(second) / 1_000_000).unwrap_or(i64::MAX).max(1);
                moment.checked_sub((moment - origin).rem_euclid(size)).ok_or_else(out_of_range)
            }
            Part::Months(count) => {
                let date = Calendar::from_days(moment.div_euclid(day));
                let month = (date.year * 12 + date.month - 1).div_euclid(count) * count;
                let days = Calendar::days(month.div_euclid(12), month.rem_euclid(12) + 1, 1);
                days.checked_mul(day).ok_or_else(out_of_range)
            }
        }
    };
    let starts: PrimitiveArray<T> = moments.try_unary(start)?;
    let zone = match moments.data_type() {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    Ok(Arc::new(starts.with_timezone_opt(zone)))
}
