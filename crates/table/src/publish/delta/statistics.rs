//! Statistics of a file, from its footer.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef,
    types::{Float32Type, Float64Type, Int64Type},
};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, TimeUnit};
use lath_parquet::Precision;
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::file::DataFile;
use crate::records::FileEntry;
use crate::row::TableSchema;
use crate::view::{Commit, Engine};

/// Longer texts are left out: a cut one is no upper bound.
const MAX_TEXT_BYTES: usize = 32;

/// The number of rows, and counts and bounds of columns, of all rows of a file. A file that cannot be verified has the number alone.
pub(super) fn statistics(
    engine: &Engine,
    newest: &Arc<Commit>,
    schema: &Arc<TableSchema>,
    entry: &FileEntry,
) -> Result<Value> {
    let checksums = engine.checksums(&mut Arc::clone(newest), entry).unwrap_or_default();
    if checksums.is_none() {
        return Ok(json!({ "numRecords": entry.rows }));
    }
    let file = DataFile::without_keys(&engine.files, entry, schema, checksums)?.file().open()?;
    let stored = schema.with_version(entry.schema)?;
    let (mut nulls, mut least, mut greatest) = (Map::new(), Map::new(), Map::new());
    for (field, column) in stored.arrow().fields().iter().zip(&file.statistics()?.columns) {
        if field.data_type().is_nested() {
            continue;
        }
        let Precision::Exact(count) = column.null_count else { continue };
        nulls.insert(field.name().clone(), count.into());
        // Engines do not agree on whether NaN is above all numbers.
        if field.data_type().is_floating() && column.nan_count != Precision::Exact(0) {
            continue;
        }
        let bound = |bound: &Precision<ArrayRef>| bound.value().map_or(Ok(None), value);
        if let (Some(low), Some(high)) = (bound(&column.min)?, bound(&column.max)?) {
            least.insert(field.name().clone(), low);
            greatest.insert(field.name().clone(), high);
        }
    }
    Ok(json!({ "numRecords": entry.rows, "minValues": least, "maxValues": greatest, "nullCount": nulls }))
}

/// The value of an array of one element; `None` if statistics do not have its type.
fn value(array: &ArrayRef) -> Result<Option<Value>> {
    if array.is_empty() || array.is_null(0) {
        return Ok(None);
    }
    let text = || -> Result<String> { Ok(array_value_to_string(array, 0)?) };
    Ok(match array.data_type() {
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32 => Some(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().value(0).into()),
        // Either zero may be the bound.
        DataType::Float16 | DataType::Float32 => {
            float(cast(array, &DataType::Float32)?.as_primitive::<Float32Type>().value(0).into())
        }
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(0)),
        DataType::Date32 => {
            Some(text()?.into()).filter(|text: &Value| text.as_str().is_some_and(|text| text.len() == 10))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => None,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Some(text()?).filter(|text| text.len() <= MAX_TEXT_BYTES).map(Value::from)
        }
        _ => None,
    })
}

/// JSON has no infinities, and readers may take either zero for a bound of the other.
fn float(value: f64) -> Option<Value> {
    (value.is_finite() && value != 0.0).then(|| value.into())
}
