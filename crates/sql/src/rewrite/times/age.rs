//! `age(later, earlier)`: the time between two timestamps in years, months, days and time of day, as PostgreSQL counts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowTimestampType, IntervalMonthDayNano, TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, IntervalMonthDayNanoArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, exec_datafusion_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::calendar::Calendar;

const NANOS_A_MICROSECOND: i64 = 1_000;
const NANOS_A_DAY: i64 = 86_400_000_000_000;

/// `age(later, earlier)`.
pub(crate) fn age_function() -> ScalarUDF {
    ScalarUDF::from(Age { signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Age {
    signature: Signature,
}

impl ScalarUDFImpl for Age {
    fn name(&self) -> &'static str {
        "age"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let [later, earlier] = take_function_args(self.name(), arg_types)?;
        let is_fine = |data_type: &DataType| matches!(data_type, DataType::Timestamp(TimeUnit::Nanosecond, _));
        let unit = if is_fine(later) || is_fine(earlier) { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
        let coerced = |data_type: &DataType| match data_type {
            DataType::Timestamp(_, Some(_)) => Ok(DataType::Timestamp(unit, Some("+00:00".into()))),
            DataType::Timestamp(_, None) | DataType::Date32 | DataType::Date64 | DataType::Null => {
                Ok(DataType::Timestamp(unit, None))
            }
            text if text.is_string() => Ok(DataType::Timestamp(unit, None)),
            other => plan_err!("age is for timestamps and dates, and got {other}"),
        };
        Ok(vec![coerced(later)?, coerced(earlier)?])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let [later, earlier] = take_function_args(self.name(), args.args)?;
        let (later, earlier) = (later.into_array(rows)?, earlier.into_array(rows)?);
        let ages = match later.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, _) => ages::<TimestampNanosecondType>(&later, &earlier, 1)?,
            _ => ages::<TimestampMicrosecondType>(&later, &earlier, NANOS_A_MICROSECOND)?,
        };
        Ok(ColumnarValue::Array(Arc::new(ages)))
    }
}

/// The ages of timestamps, whose unit has so many nanoseconds.
fn ages<T: ArrowTimestampType>(later: &ArrayRef, earlier: &ArrayRef, nanos: i64) -> Result<IntervalMonthDayNanoArray> {
    let (later, earlier) = (later.as_primitive::<T>(), earlier.as_primitive::<T>());
    let pairs = later.iter().zip(earlier.iter()).map(|(later, earlier)| match (later, earlier) {
        (Some(later), Some(earlier)) => age(later, earlier, nanos).map(Some),
        _ => Ok(None),
    });
    pairs.collect()
}

/// A day and the nanoseconds after its beginning.
struct Moment {
    date: Calendar,
    nanos: i64,
}

impl Moment {
    fn new(count: i64, nanos: i64) -> Self {
        let units_a_day = NANOS_A_DAY / nanos;
        let (days, time) = (count.div_euclid(units_a_day), count.rem_euclid(units_a_day) * nanos);
        Self { date: Calendar::from_days(days), nanos: time }
    }
}

/// The time from `earlier` to `later`: negative if they come the other way round.
fn age(later: i64, earlier: i64, nanos: i64) -> Result<IntervalMonthDayNano> {
    let is_negative = later < earlier;
    let (first, last) = if is_negative { (later, earlier) } else { (earlier, later) };
    let (first, last) = (Moment::new(first, nanos), Moment::new(last, nanos));
    let mut months = (last.date.year - first.date.year) * 12 + last.date.month - first.date.month;
    let (mut days, mut time) = (last.date.day - first.date.day, last.nanos - first.nanos);
    if time < 0 {
        time += NANOS_A_DAY;
        days -= 1;
    }
    if days < 0 {
        // Whole months are counted from the earlier moment.
        days += first.date.days_in_month();
        months -= 1;
    }
    let sign = if is_negative { -1 } else { 1 };
    let too_long = |_| exec_datafusion_err!("age: the time is too long for an interval");
    let months = i32::try_from(sign * months).map_err(too_long)?;
    let days = i32::try_from(sign * days).map_err(too_long)?;
    Ok(IntervalMonthDayNano::new(months, days, sign * time))
}
