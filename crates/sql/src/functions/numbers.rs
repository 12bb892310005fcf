//! `fdiv`, `fmod`, `list_sum`, and the number of values that `max(a, n)` returns.

use std::sync::Arc;

use arrow_array::builder::Decimal128Builder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, ListArray, UInt64Array};
use arrow_schema::{DataType, Field};
use datafusion::common::{Result, exec_datafusion_err, exec_err};

use super::function::Definition;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition {
        name: "fdiv",
        example: "fdiv(number, divisor)",
        coerce: two_floats,
        returns: |_| DataType::Float64,
        evaluate: |arguments| floats(arguments, |left, right| (left / right).floor()),
    },
    Definition {
        name: "fmod",
        example: "fmod(number, divisor)",
        coerce: two_floats,
        returns: |_| DataType::Float64,
        evaluate: |arguments| floats(arguments, floor_modulo),
    },
    Definition {
        name: "list_sum",
        example: "list_sum(list of numbers)",
        coerce: summed_list,
        returns: |types| match types {
            [DataType::List(element)] => element.data_type().clone(),
            _ => DataType::Null,
        },
        evaluate: sums,
    },
    Definition {
        name: "value_count",
        example: "max(value, number of values)",
        coerce: |types| match types {
            [number] if number.is_integer() || *number == DataType::Null => Some(vec![DataType::Int64]),
            _ => None,
        },
        returns: |_| DataType::Int64,
        evaluate: positive_counts,
    },
];

fn two_floats(types: &[DataType]) -> Option<Vec<DataType>> {
    let is_number = |data_type: &DataType| data_type.is_numeric() || *data_type == DataType::Null;
    (types.len() == 2 && types.iter().all(is_number)).then(|| vec![DataType::Float64; 2])
}

fn floats(arguments: &[ArrayRef], compute: fn(f64, f64) -> f64) -> Result<ArrayRef> {
    let (left, right) = (arguments[0].as_primitive::<Float64Type>(), arguments[1].as_primitive::<Float64Type>());
    let rows = left.iter().zip(right.iter()).map(|pair| match pair {
        (Some(left), Some(right)) => Some(compute(left, right)),
        _ => None,
    });
    Ok(Arc::new(rows.collect::<Float64Array>()))
}

/// The remainder, with the sign of the divisor.
fn floor_modulo(left: f64, right: f64) -> f64 {
    let remainder = left % right;
    if remainder != 0.0 && (remainder < 0.0) != (right < 0.0) { remainder + right } else { remainder }
}

/// Integers are added to the type that the aggregate `sum` has.
fn summed_list(types: &[DataType]) -> Option<Vec<DataType>> {
    let element = match types {
        [DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _)] => element,
        [DataType::Null] => return Some(vec![list_type(DataType::Int64)]),
        _ => return None,
    };
    let summed = match element.data_type() {
        DataType::Null | DataType::Boolean => DataType::Int64,
        number if number.is_signed_integer() => DataType::Int64,
        number if number.is_unsigned_integer() => DataType::UInt64,
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => {
            DataType::Decimal128(38, *scale)
        }
        number if number.is_numeric() => DataType::Float64,
        _ => return None,
    };
    Some(vec![list_type(summed)])
}

fn list_type(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

/// The sum of each list without its nulls; null if there are no values.
fn sums(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let lists = arguments[0].as_list::<i32>();
    let out_of_range = || exec_datafusion_err!("list_sum: the sum is out of range; cast the list to DECIMAL(38, 0)[]");
    Ok(match lists.value_type() {
        DataType::Int64 => {
            let values = lists.values().as_primitive::<Int64Type>();
            let rows = sum_rows(lists, |at| i128::from(values.value(at)), |sum, value| Ok(sum + value))?;
            let narrow = |sum: Option<i128>| sum.map(|sum| i64::try_from(sum).map_err(|_| out_of_range())).transpose();
            Arc::new(rows.into_iter().map(narrow).collect::<Result<Int64Array>>()?)
        }
        DataType::UInt64 => {
            let values = lists.values().as_primitive::<UInt64Type>();
            let rows = sum_rows(lists, |at| u128::from(values.value(at)), |sum, value| Ok(sum + value))?;
            let narrow = |sum: Option<u128>| sum.map(|sum| u64::try_from(sum).map_err(|_| out_of_range())).transpose();
            Arc::new(rows.into_iter().map(narrow).collect::<Result<UInt64Array>>()?)
        }
        DataType::Decimal128(_, scale) => {
            const LIMIT: i128 = 10_i128.pow(38);
            let values = lists.values().as_primitive::<Decimal128Type>();
            let add = |sum: i128, value: i128| {
                sum.checked_add(value).filter(|sum| (-LIMIT < *sum) && *sum < LIMIT).ok_or_else(out_of_range)
            };
            let mut decimals = Decimal128Builder::new().with_precision_and_scale(38, scale)?;
            sum_rows(lists, |at| values.value(at), add)?.into_iter().for_each(|sum| decimals.append_option(sum));
            Arc::new(decimals.finish())
        }
        _ => {
            let values = lists.values().as_primitive::<Float64Type>();
            let rows = sum_rows(lists, |at| values.value(at), |sum, value| Ok(sum + value))?;
            Arc::new(rows.into_iter().collect::<Float64Array>())
        }
    })
}

fn sum_rows<T: Copy>(
    lists: &ListArray,
    value: impl Fn(usize) -> T,
    add: impl Fn(T, T) -> Result<T>,
) -> Result<Vec<Option<T>>> {
    let offsets = lists.value_offsets();
    let sum = |row: usize| {
        let mut sum: Option<T> = None;
        if lists.is_valid(row) {
            for at in offsets[row] as usize..offsets[row + 1] as usize {
                if lists.values().is_valid(at) {
                    sum = Some(match sum {
                        Some(sum) => add(sum, value(at))?,
                        None => value(at),
                    });
                }
            }
        }
        Ok(sum)
    };
    (0..lists.len()).map(sum).collect()
}

fn positive_counts(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let numbers = arguments[0].as_primitive::<Int64Type>();
    match numbers.iter().find(|number| number.is_none_or(|number| number <= 0)) {
        None => Ok(Arc::clone(&arguments[0])),
        Some(Some(number)) => exec_err!("the number of values is at least 1, and not {number}"),
        Some(None) => exec_err!("the number of values is at least 1, and not null"),
    }
}
