//! Detects dates, times and timestamps with more digits than the column's unit, which Arrow's reader truncates.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::exact::misfit;
use crate::number::whole;

/// Whether values of a type are compared with their text after reading.
pub(crate) fn is_moment(data_type: &DataType) -> bool {
    data_type.is_temporal() && !matches!(data_type, DataType::Interval(_))
}

/// Checks that `values`, which have type `target` or contain such values, equal `texts`.
pub(crate) fn check(values: &ArrayRef, texts: &ArrayRef, target: &DataType) -> Result<(), ArrowError> {
    match target {
        DataType::Struct(fields) => {
            let (values, texts) = (values.as_struct(), texts.as_struct());
            for (at, field) in fields.iter().enumerate() {
                check(values.column(at), texts.column(at), field.data_type())?;
            }
            Ok(())
        }
        DataType::List(element) => {
            check(values.as_list::<i32>().values(), texts.as_list::<i32>().values(), element.data_type())
        }
        DataType::LargeList(element) => {
            check(values.as_list::<i64>().values(), texts.as_list::<i64>().values(), element.data_type())
        }
        DataType::FixedSizeList(element, _) => {
            check(values.as_fixed_size_list().values(), texts.as_fixed_size_list().values(), element.data_type())
        }
        DataType::Map(entries, _) => {
            let (keys, values_field) = match entries.data_type() {
                DataType::Struct(pair) if pair.len() == 2 => (pair[0].data_type(), pair[1].data_type()),
                _ => return Ok(()),
            };
            let (values, texts) = (values.as_map(), texts.as_map());
            check(values.keys(), texts.keys(), keys)?;
            check(values.values(), texts.values(), values_field)
        }
        moment if is_moment(moment) => each(values, texts, moment),
        _ => Ok(()),
    }
}

fn each(values: &ArrayRef, texts: &ArrayRef, target: &DataType) -> Result<(), ArrowError> {
    let counts = match target {
        DataType::Date32 | DataType::Time32(_) => cast(&cast(values, &DataType::Int32)?, &DataType::Int64)?,
        _ => cast(values, &DataType::Int64)?,
    };
    let (Some(counts), Some(texts)) = (counts.as_primitive_opt::<Int64Type>(), texts.as_string_opt::<i32>()) else {
        return Ok(());
    };
    for (row, text) in texts.iter().enumerate() {
        let Some(text) = text else { continue };
        let count = counts.is_valid(row).then(|| i128::from(counts.value(row)));
        let is_count = count.is_some() && whole(text) == count;
        // A text of only digits may be a date.
        let is_cut_number = text.contains(['.', 'e', 'E']) && text.parse::<f64>().is_ok();
        if !is_count && (is_cut_number || has_more_digits(text, target)) {
            return Err(misfit(text, target));
        }
    }
    Ok(())
}

/// Whether a text has digits that a type cannot represent: fractions of a second, or a time of day.
fn has_more_digits(text: &str, target: &DataType) -> bool {
    let kept = match target {
        DataType::Date32 | DataType::Date64 => {
            let time = text.get(10..).unwrap_or_default();
            return time.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        }
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => {
            match unit {
                TimeUnit::Second => 0,
                TimeUnit::Millisecond => 3,
                TimeUnit::Microsecond => 6,
                TimeUnit::Nanosecond => 9,
            }
        }
        _ => return false,
    };
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.bytes().take_while(u8::is_ascii_digit).skip(kept).any(|digit| digit != b'0')
}
