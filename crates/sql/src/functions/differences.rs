//! `date_diff(part, start, end)`, the number of boundaries between two moments, and `date_sub(part, start, end)`, the number of whole parts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::{DataType, TimeUnit};
use datafusion::common::{Result, exec_err};

use super::function::{Definition, is_text};
use crate::calendar::Calendar;

pub(crate) const MICROS_A_DAY: i64 = 86_400_000_000;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition {
        name: "date_diff",
        example: "date_diff('day', start, end)",
        coerce,
        returns: |_| DataType::Int64,
        evaluate: |arguments| evaluate(arguments, boundaries),
    },
    Definition {
        name: "date_sub",
        example: "date_sub('day', start, end)",
        coerce,
        returns: |_| DataType::Int64,
        evaluate: |arguments| evaluate(arguments, whole_parts),
    },
];

fn coerce(types: &[DataType]) -> Option<Vec<DataType>> {
    let [part, start, end] = types else { return None };
    Some(vec![is_text(part).then_some(DataType::Utf8)?, moment(start)?, moment(end)?])
}

/// The type in which moments are computed.
pub(super) fn moment(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Timestamp(_, Some(_)) => Some(DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()))),
        DataType::Timestamp(_, None) | DataType::Date32 | DataType::Date64 => {
            Some(DataType::Timestamp(TimeUnit::Microsecond, None))
        }
        text if is_text(text) => Some(DataType::Timestamp(TimeUnit::Microsecond, None)),
        _ => None,
    }
}

/// A part of a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// A number of microseconds.
    Micros(i64),
    /// A number of months.
    Months(i64),
}

impl Part {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" => Self::Micros(1),
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => Self::Micros(1_000),
            "second" | "seconds" | "sec" | "secs" | "s" => Self::Micros(1_000_000),
            "minute" | "minutes" | "min" | "mins" | "m" => Self::Micros(60_000_000),
            "hour" | "hours" | "hr" | "hrs" | "h" => Self::Micros(3_600_000_000),
            "day" | "days" | "d" | "dayofmonth" | "dow" | "doy" | "dayofweek" | "dayofyear" => {
                Self::Micros(MICROS_A_DAY)
            }
            "week" | "weeks" | "w" | "weekofyear" => Self::Micros(7 * MICROS_A_DAY),
            "month" | "months" | "mon" | "mons" => Self::Months(1),
            "quarter" | "quarters" => Self::Months(3),
            "year" | "years" | "yr" | "yrs" | "y" => Self::Months(12),
            "decade" | "decades" | "dec" | "decs" => Self::Months(120),
            "century" | "centuries" | "cent" | "c" => Self::Months(1_200),
            "millennium" | "millennia" | "mil" => Self::Months(12_000),
            other => {
                return exec_err!(
                    "{other} is not a part of a date; the parts are microsecond to hour, day, week, month, quarter, year, decade, century and millennium"
                );
            }
        })
    }
}

/// The months from the year 0 to a moment.
fn month_number(micros: i64) -> i64 {
    let date = Calendar::from_days(micros.div_euclid(MICROS_A_DAY));
    date.year * 12 + date.month - 1
}

/// The boundaries between parts from `start` to `end`. Whole weeks are counted, as in DuckDB 2.
fn boundaries(part: Part, start: i64, end: i64) -> i64 {
    match part {
        Part::Micros(week) if week == 7 * MICROS_A_DAY => {
            (end.div_euclid(MICROS_A_DAY) - start.div_euclid(MICROS_A_DAY)) / 7
        }
        Part::Micros(size) => end.div_euclid(size) - start.div_euclid(size),
        Part::Months(size) => month_number(end).div_euclid(size) - month_number(start).div_euclid(size),
    }
}

/// The whole parts from `start` to `end`.
fn whole_parts(part: Part, start: i64, end: i64) -> i64 {
    let size = match part {
        Part::Micros(size) => return (end - start) / size,
        Part::Months(size) => size,
    };
    let (sign, first, last) = if start <= end { (1, start, end) } else { (-1, end, start) };
    let mut months = month_number(last) - month_number(first);
    let place = |micros: i64| {
        let date = Calendar::from_days(micros.div_euclid(MICROS_A_DAY));
        (date, micros.rem_euclid(MICROS_A_DAY))
    };
    let ((first, first_time), (last, last_time)) = (place(first), place(last));
    // The last day of a month is reached by any later day.
    let first_day = first.day.min(last.days_in_month());
    if (last.day, last_time) < (first_day, first_time) {
        months -= 1;
    }
    sign * (months / size)
}

fn evaluate(arguments: &[ArrayRef], count: fn(Part, i64, i64) -> i64) -> Result<ArrayRef> {
    let parts = arguments[0].as_string::<i32>();
    let start = arguments[1].as_primitive::<TimestampMicrosecondType>();
    let end = arguments[2].as_primitive::<TimestampMicrosecondType>();
    let mut known: Option<(&str, Part)> = None;
    let rows = (0..parts.len()).map(|row| {
        if parts.is_null(row) || start.is_null(row) || end.is_null(row) {
            return Ok(None);
        }
        let text = parts.value(row);
        let part = match known {
            Some((name, part)) if name == text => part,
            _ => Part::parse(text)?,
        };
        known = Some((text, part));
        Ok(Some(count(part, start.value(row), end.value(row))))
    });
    Ok(Arc::new(rows.collect::<Result<Int64Array>>()?))
}
