//! `age(later, earlier)`: the time between two timestamps in years, months, days and time of day, as PostgreSQL counts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowTimestampType, IntervalMonthDayNano, TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, IntervalMonthDayNanoArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, exec_datafusion_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

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

/// Year, month, day and nanoseconds of the day.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    nanos: i64,
}

impl Moment {
    fn new(count: i64, nanos: i64) -> Self {
        let units_a_day = NANOS_A_DAY / nanos;
        let (days, time) = (count.div_euclid(units_a_day), count.rem_euclid(units_a_day) * nanos);
        // Days since 1 March of the year 0: each leap day is the last of its year.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month, day: day_of_year - (153 * shifted_month + 2) / 5 + 1, nanos: time }
    }

    fn days_in_month(&self) -> i64 {
        let is_leap =
            self.year.rem_euclid(4) == 0 && (self.year.rem_euclid(100) != 0 || self.year.rem_euclid(400) == 0);
        match self.month {
            2 => 28 + i64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }
}

/// The time from `earlier` to `later`: negative if they come the other way round.
fn age(later: i64, earlier: i64, nanos: i64) -> Result<IntervalMonthDayNano> {
    let is_negative = later < earlier;
    let (first, last) = if is_negative { (later, earlier) } else { (earlier, later) };
    let (first, last) = (Moment::new(first, nanos), Moment::new(last, nanos));
    let mut months = (last.year - first.year) * 12 + last.month - first.month;
    let (mut days, mut time) = (last.day - first.day, last.nanos - first.nanos);
    if time < 0 {
        time += NANOS_A_DAY;
        days -= 1;
    }
    if days < 0 {
        // Whole months are counted from the earlier moment.
        days += first.days_in_month();
        months -= 1;
    }
    let sign = if is_negative { -1 } else { 1 };
    let too_long = |_| exec_datafusion_err!("age: the time is too long for an interval");
    let months = i32::try_from(sign * months).map_err(too_long)?;
    let days = i32::try_from(sign * days).map_err(too_long)?;
    Ok(IntervalMonthDayNano::new(months, days, sign * time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (19_782, (2024, 2, 29)),
            (-719_162, (1, 1, 1)),
        ] {
            let moment = Moment::new(days * 86_400_000_000 + 5, 1_000);
            assert_eq!((moment.year, moment.month, moment.day), expected);
            assert_eq!(moment.nanos, 5_000);
        }
    }
}
