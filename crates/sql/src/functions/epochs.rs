//! `epoch_ms(x)`, `epoch_us(x)` and `epoch_ns(x)`: the time since 1970 of a moment, and the moment of a number.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, IntervalMonthDayNanoType, TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, Int64Array, TimestampMicrosecondArray, TimestampNanosecondArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::{Result, exec_datafusion_err};

use super::differences::moment;
use super::function::Definition;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition {
        name: "epoch_ms",
        example: "epoch_ms(moment) or epoch_ms(milliseconds)",
        coerce,
        returns,
        evaluate: |arguments| evaluate(arguments, 1_000_000),
    },
    Definition {
        name: "epoch_us",
        example: "epoch_us(moment) or epoch_us(microseconds)",
        coerce,
        returns,
        evaluate: |arguments| evaluate(arguments, 1_000),
    },
    Definition {
        name: "epoch_ns",
        example: "epoch_ns(moment) or epoch_ns(nanoseconds)",
        coerce,
        returns,
        evaluate: |arguments| evaluate(arguments, 1),
    },
];

fn coerce(types: &[DataType]) -> Option<Vec<DataType>> {
    let [data_type] = types else { return None };
    Some(vec![match data_type {
        number if number.is_integer() => DataType::Int64,
        DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
        other => moment(other)?,
    }])
}

fn returns(types: &[DataType]) -> DataType {
    match types {
        [DataType::Int64] => DataType::Timestamp(TimeUnit::Microsecond, None),
        _ => DataType::Int64,
    }
}

/// `unit` is in nanoseconds.
fn evaluate(arguments: &[ArrayRef], unit: i64) -> Result<ArrayRef> {
    let range = || exec_datafusion_err!("the time since 1970 is out of range");
    let array = &arguments[0];
    Ok(match array.data_type() {
        DataType::Int64 => {
            let micros = |value: i64| {
                value
                    .checked_mul(unit.max(1_000) / 1_000)
                    .map(|value| if unit == 1 { value.div_euclid(1_000) } else { value })
            };
            let moments: TimestampMicrosecondArray =
                array.as_primitive::<Int64Type>().try_unary(|value| micros(value).ok_or_else(range))?;
            Arc::new(moments)
        }
        DataType::Interval(_) => {
            let length = |value: arrow_array::types::IntervalMonthDayNano| {
                let days = i128::from(value.months) * 30 + i128::from(value.days);
                i64::try_from((days * 86_400_000_000_000 + i128::from(value.nanoseconds)) / i128::from(unit))
                    .map_err(|_| range())
            };
            let lengths: Int64Array = array.as_primitive::<IntervalMonthDayNanoType>().try_unary(length)?;
            Arc::new(lengths)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let moments: &TimestampNanosecondArray = array.as_primitive::<TimestampNanosecondType>();
            Arc::new(moments.unary::<_, Int64Type>(|nanos| nanos.div_euclid(unit)))
        }
        _ => {
            let moments = array.as_primitive::<TimestampMicrosecondType>();
            let since = |micros: i64| match unit {
                1 => micros.checked_mul(1_000).ok_or_else(range),
                _ => Ok(micros.div_euclid(unit / 1_000)),
            };
            let since: Int64Array = moments.try_unary(since)?;
            Arc::new(since)
        }
    })
}
