//! `time_bucket(width, moment[, offset or origin])`: the start of the interval that a moment is in.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{IntervalMonthDayNano, IntervalMonthDayNanoType, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Date32Array, TimestampMicrosecondArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::{Result, exec_datafusion_err, exec_err};

use super::differences::moment;
use super::function::{Definition, is_text};
use crate::calendar::Calendar;

const MICROS_A_DAY: i64 = 86_400_000_000;
/// Monday, 3 January 2000.
const ORIGIN: i64 = 10_959 * MICROS_A_DAY;
/// 1 January 2000, for widths of months.
const MONTH_ORIGIN: i64 = 10_957 * MICROS_A_DAY;

pub(super) const FUNCTIONS: &[Definition] = &[Definition {
    name: "time_bucket",
    example: "time_bucket(INTERVAL '15 minutes', moment)",
    coerce,
    returns: |types| match types {
        [_, DataType::Date32, ..] => DataType::Date32,
        [_, moment, ..] => moment.clone(),
        _ => DataType::Null,
    },
    evaluate,
}];

fn coerce(types: &[DataType]) -> Option<Vec<DataType>> {
    let width = |data_type: &DataType| match data_type {
        DataType::Interval(_) => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        text if is_text(text) => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        _ => None,
    };
    let date_or_moment = |data_type: &DataType| match data_type {
        DataType::Date32 => Some(DataType::Date32),
        other => moment(other),
    };
    match types {
        [bucket, value] => Some(vec![width(bucket)?, date_or_moment(value)?]),
        [bucket, value, offset @ DataType::Interval(_)] => {
            Some(vec![width(bucket)?, date_or_moment(value)?, width(offset)?])
        }
        [bucket, value, origin] => {
            Some(vec![width(bucket)?, date_or_moment(value)?, DataType::Timestamp(TimeUnit::Microsecond, None)])
                .filter(|_| moment(origin).is_some())
        }
        _ => None,
    }
}

/// The start of the bucket of a moment.
fn bucket(width: IntervalMonthDayNano, value: i64, origin: Option<i64>) -> Result<i64> {
    let length = i64::from(width.days) * MICROS_A_DAY + width.nanoseconds / 1_000;
    match (width.months, length) {
        (0, length) if length > 0 => {
            let origin = origin.unwrap_or(ORIGIN);
            Ok(origin + (value - origin).div_euclid(length) * length)
        }
        (months, 0) if months > 0 => {
            let origin = origin.unwrap_or(MONTH_ORIGIN);
            let place = |micros: i64| {
                let date = Calendar::from_days(micros.div_euclid(MICROS_A_DAY));
                (date.year * 12 + date.month - 1, date.day, micros.rem_euclid(MICROS_A_DAY))
            };
            let ((first, day, time), (month, value_day, value_time)) = (place(origin), place(value));
            if day > 28 {
                return exec_err!("time_bucket: the origin of months has to be one of the first 28 days of a month");
            }
            let passed = month - first - i64::from((value_day, value_time) < (day, time));
            let start = first + passed.div_euclid(i64::from(months)) * i64::from(months);
            Ok(Calendar::days(start.div_euclid(12), start.rem_euclid(12) + 1, day) * MICROS_A_DAY + time)
        }
        _ => exec_err!("time_bucket: a width is positive, and either months and years, or days and times"),
    }
}

fn add(value: i64, offset: IntervalMonthDayNano, sign: i64) -> Result<i64> {
    if offset.months != 0 {
        return exec_err!("time_bucket: an offset has no months; write an origin");
    }
    let length = i64::from(offset.days) * MICROS_A_DAY + offset.nanoseconds / 1_000;
    value.checked_add(sign * length).ok_or_else(|| exec_datafusion_err!("time_bucket: the moment is out of range"))
}

fn evaluate(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let widths = arguments[0].as_primitive::<IntervalMonthDayNanoType>();
    let is_date = arguments[1].data_type() == &DataType::Date32;
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let cast = if is_date { arrow_cast::cast(&arguments[1], &micros)? } else { Arc::clone(&arguments[1]) };
    let values = cast.as_primitive::<TimestampMicrosecondType>();
    let third = arguments.get(2);
    let start = |row: usize| -> Result<Option<i64>> {
        if widths.is_null(row) || values.is_null(row) || third.is_some_and(|third| third.is_null(row)) {
            return Ok(None);
        }
        let (width, value) = (widths.value(row), values.value(row));
        match third {
            None => bucket(width, value, None).map(Some),
            Some(third) if matches!(third.data_type(), DataType::Interval(_)) => {
                let offset = third.as_primitive::<IntervalMonthDayNanoType>().value(row);
                add(bucket(width, add(value, offset, -1)?, None)?, offset, 1).map(Some)
            }
            Some(third) => {
                bucket(width, value, Some(third.as_primitive::<TimestampMicrosecondType>().value(row))).map(Some)
            }
        }
    };
    let starts = (0..values.len()).map(start).collect::<Result<TimestampMicrosecondArray>>()?;
    if is_date {
        let dates: Date32Array = starts.try_unary(|micros| {
            i32::try_from(micros.div_euclid(MICROS_A_DAY))
                .map_err(|_| exec_datafusion_err!("time_bucket: the date is out of range"))
        })?;
        return Ok(Arc::new(dates));
    }
    Ok(arrow_cast::cast(&starts, arguments[1].data_type())?)
}
