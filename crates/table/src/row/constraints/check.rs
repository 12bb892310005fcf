//! Checks rows against the constraints of a schema.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use lath_predicate::BatchFilter;

use super::{Check, Constraints};
use crate::error::{Error, Result};

impl Constraints {
    /// Returns an error for the first row that violates a constraint. The rows have all columns of the table, with the numbers `ids`; `filters`
    /// are the bound conditions, and `key` describes the key of a row.
    pub(crate) fn check(
        &self,
        rows: &RecordBatch,
        ids: &[u32],
        filters: &[BatchFilter],
        key: impl Fn(usize) -> String,
    ) -> Result<()> {
        for (id, &chars) in &self.max_chars {
            let Ok(place) = ids.binary_search(id) else { continue };
            if let Some((row, found)) = too_long(rows.column(place), chars)? {
                let column = rows.schema_ref().field(place).name().clone();
                return Err(Error::TooLong { column, chars, found, key: key(row), row });
            }
        }
        for (Check { name, condition }, filter) in self.checks.iter().zip(filters) {
            let holds = filter.evaluate(rows)?;
            if let Some(row) = holds.iter().position(|holds| holds == Some(false)) {
                let (name, condition) = (name.clone(), condition.to_string());
                return Err(Error::Constraint { name, condition, key: key(row), row });
            }
        }
        Ok(())
    }
}

/// The first text with more characters than allowed, and their number.
pub(crate) fn too_long(texts: &ArrayRef, chars: u32) -> Result<Option<(usize, usize)>> {
    let chars = chars as usize;
    let count = |text: Option<&str>| match text {
        // No character takes less than a byte.
        Some(text) if text.len() > chars => text.chars().count(),
        _ => 0,
    };
    let found = match texts.data_type() {
        DataType::Utf8 => texts.as_string::<i32>().iter().map(count).position(|found| found > chars),
        DataType::LargeUtf8 => texts.as_string::<i64>().iter().map(count).position(|found| found > chars),
        DataType::Utf8View => texts.as_string_view().iter().map(count).position(|found| found > chars),
        DataType::Dictionary(_, values) => return too_long(&cast(texts, values)?, chars as u32),
        _ => None,
    };
    let Some(row) = found else { return Ok(None) };
    let text = cast(&texts.slice(row, 1), &DataType::Utf8)?;
    Ok(Some((row, text.as_string::<i32>().value(0).chars().count())))
}
