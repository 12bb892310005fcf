//! `last_day(moment)`: the last day of its month.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Date32Array};
use arrow_schema::DataType;
use datafusion::common::{Result, exec_datafusion_err};

use super::differences::moment;
use super::function::Definition;
use crate::calendar::Calendar;

const MICROS_A_DAY: i64 = 86_400_000_000;

pub(super) const FUNCTIONS: &[Definition] = &[Definition {
    name: "last_day",
    example: "last_day(moment)",
    coerce: |types| match types {
        [DataType::Date32] => Some(vec![DataType::Date32]),
        [other] => Some(vec![moment(other)?]),
        _ => None,
    },
    returns: |_| DataType::Date32,
    evaluate,
}];

fn evaluate(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let array = &arguments[0];
    let day = |row: usize| match array.data_type() {
        DataType::Date32 => i64::from(array.as_primitive::<Date32Type>().value(row)),
        _ => array.as_primitive::<TimestampMicrosecondType>().value(row).div_euclid(MICROS_A_DAY),
    };
    let last = |row: usize| {
        if array.is_null(row) {
            return Ok(None);
        }
        let date = Calendar::from_days(day(row));
        let last = Calendar::days(date.year, date.month, date.days_in_month());
        i32::try_from(last).map(Some).map_err(|_| exec_datafusion_err!("last_day: the date is out of range"))
    };
    Ok(Arc::new((0..array.len()).map(last).collect::<Result<Date32Array>>()?))
}
