//! `hash`, `len`, `bit_count`, `isinf`, `isfinite` and `bar`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, StringArray, UInt64Array};
use arrow_schema::DataType;
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::common::{Result, exec_err};

use super::function::{Definition, is_text};

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition {
        name: "hash",
        example: "hash(value, …)",
        coerce: |types| (!types.is_empty()).then(|| types.to_vec()),
        returns: |_| DataType::UInt64,
        evaluate: |arguments| {
            let mut hashes = vec![0; arguments[0].len()];
            create_hashes(arguments, &RandomState::with_seed(0), &mut hashes)?;
            Ok(Arc::new(UInt64Array::from(hashes)))
        },
    },
    Definition {
        name: "len",
        example: "len(text) or len(list)",
        coerce: |types| match types {
            [text] if is_text(text) => Some(vec![DataType::Utf8]),
            [list @ (DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::Map(..))] => {
                Some(vec![list.clone()])
            }
            _ => None,
        },
        returns: |_| DataType::Int64,
        evaluate: lengths,
    },
    Definition {
        name: "bit_count",
        example: "bit_count(integer)",
        coerce: |types| match types {
            [number] if number.is_integer() && *number != DataType::UInt64 => Some(vec![number.clone()]),
            _ => None,
        },
        returns: |_| DataType::Int64,
        evaluate: bit_counts,
    },
    Definition {
        name: "isinf",
        example: "isinf(number or moment)",
        coerce: number_or_moment,
        returns: |_| DataType::Boolean,
        evaluate: |arguments| finiteness(arguments, f64::is_infinite, false),
    },
    Definition {
        name: "isfinite",
        example: "isfinite(number or moment)",
        coerce: number_or_moment,
        returns: |_| DataType::Boolean,
        evaluate: |arguments| finiteness(arguments, f64::is_finite, true),
    },
    Definition {
        name: "bar",
        example: "bar(number, minimum, maximum, width)",
        coerce: |types| {
            (matches!(types.len(), 3 | 4) && types.iter().all(is_number)).then(|| vec![DataType::Float64; types.len()])
        },
        returns: |_| DataType::Utf8,
        evaluate: bars,
    },
];

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || *data_type == DataType::Null
}

fn number_or_moment(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [number] if is_number(number) => Some(vec![DataType::Float64]),
        [moment @ (DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))] => Some(vec![moment.clone()]),
        _ => None,
    }
}

fn finiteness(arguments: &[ArrayRef], test: fn(f64) -> bool, of_moments: bool) -> Result<ArrayRef> {
    let array = &arguments[0];
    let answers: BooleanArray = match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().map(|value| value.map(test)).collect(),
        _ => (0..array.len()).map(|row| array.is_valid(row).then_some(of_moments)).collect(),
    };
    Ok(Arc::new(answers))
}

fn lengths(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let array = &arguments[0];
    let length = |row: usize| -> usize {
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().value(row).chars().count(),
            DataType::List(_) => array.as_list::<i32>().value_length(row).unsigned_abs() as usize,
            DataType::LargeList(_) => usize::try_from(array.as_list::<i64>().value_length(row)).unwrap_or_default(),
            DataType::Map(..) => array.as_map().value_length(row).unsigned_abs() as usize,
            DataType::FixedSizeList(_, length) => length.unsigned_abs() as usize,
            _ => 0,
        }
    };
    let lengths = (0..array.len()).map(|row| array.is_valid(row).then(|| i64::try_from(length(row)).ok()).flatten());
    Ok(Arc::new(lengths.collect::<Int64Array>()))
}

/// Negative numbers have the bits of their type.
fn bit_counts(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let array = &arguments[0];
    let mask = match array.data_type() {
        DataType::Int8 => 0xff,
        DataType::Int16 => 0xffff,
        DataType::Int32 => 0xffff_ffff,
        _ => u64::MAX,
    };
    let numbers = arrow_cast::cast(array, &DataType::Int64)?;
    let counts: Int64Array =
        numbers.as_primitive::<Int64Type>().unary(|value| i64::from((value.cast_unsigned() & mask).count_ones()));
    Ok(Arc::new(counts))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the numbers are within the width")]
fn bars(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    const PARTS: [&str; 8] = [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    const DEFAULT_WIDTH: f64 = 80.0;
    let numbers: Vec<_> = arguments.iter().map(AsArray::as_primitive::<Float64Type>).collect();
    let bar = |row: usize| {
        if numbers.iter().any(|array| array.is_null(row)) {
            return Ok(None);
        }
        let [value, minimum, maximum] = [0, 1, 2].map(|at| numbers[at].value(row));
        let width = numbers.get(3).map_or(DEFAULT_WIDTH, |array| array.value(row));
        if !(1.0..=1000.0).contains(&width) {
            return exec_err!("bar: the width is between 1 and 1000, and not {width}");
        }
        let length = if [value, minimum, maximum].iter().any(|number| number.is_nan()) || value <= minimum {
            0.0
        } else if value >= maximum {
            width
        } else {
            width * (value - minimum) / (maximum - minimum)
        };
        if !length.is_finite() {
            return exec_err!("bar: the minimum and the maximum are finite, and not {minimum} and {maximum}");
        }
        let eighths = (length * 8.0) as usize;
        let mut bar = "█".repeat(eighths / 8);
        if !eighths.is_multiple_of(8) {
            bar.push_str(PARTS[eighths % 8]);
        }
        let used = eighths.div_ceil(8);
        bar.push_str(&" ".repeat((width as usize).saturating_sub(used)));
        Ok(Some(bar))
    };
    Ok(Arc::new((0..arguments[0].len()).map(bar).collect::<Result<StringArray>>()?))
}
