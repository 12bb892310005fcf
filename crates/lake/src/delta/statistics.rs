//! Statistics of files from the log, by which a scan rules files out before it opens them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use lath_parquet::{ColumnBounds, FileEvidence};
use lath_predicate::Value;
use serde_json::Value as Json;

use super::texts::{days, micros, unscaled};

/// Digits of a decimal that a float of 64 bits keeps, as which JSON has it.
const EXACT_DIGITS: u8 = 15;

const MINUTE_MICROS: i128 = 60_000_000;

/// The columns that may have statistics, by their path in the table: the path in statistics, and the type.
#[derive(Debug, Default)]
pub(super) struct StatisticsColumns {
    columns: HashMap<Vec<String>, (Vec<String>, DataType)>,
}

impl StatisticsColumns {
    pub(super) fn insert(&mut self, path: Vec<String>, physical_path: Vec<String>, data_type: DataType) {
        self.columns.insert(path, (physical_path, data_type));
    }
}

/// The statistics of one file, as the log has them. They are parsed when a condition asks for a column.
#[derive(Debug)]
pub(super) struct FileStatistics {
    pub(super) json: Box<str>,
    pub(super) columns: Arc<StatisticsColumns>,
}

impl FileEvidence for FileStatistics {
    fn bounds(&self, path: &[String]) -> ColumnBounds {
        let Some((path, data_type)) = self.columns.columns.get(path) else { return ColumnBounds::default() };
        // Damaged statistics rule nothing out.
        let Ok(json) = serde_json::from_str::<Json>(&self.json) else { return ColumnBounds::default() };
        let find = |group: &str| path.iter().try_fold(json.get(group)?, |json, name| json.get(name));
        ColumnBounds {
            min: find("minValues").and_then(|json| value(json, data_type, Side::Min)),
            max: find("maxValues").and_then(|json| value(json, data_type, Side::Max)),
            null_count: find("nullCount").and_then(Json::as_u64),
            nan_count: None,
            value_count: json.get("numRecords").and_then(Json::as_u64),
        }
    }
}

/// Which bound a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Min,
    Max,
}

/// A bound in the type of its column; `None` if it is unknown or could be inexact in the wrong direction.
fn value(json: &Json, data_type: &DataType, side: Side) -> Option<Value> {
    Some(match data_type {
        DataType::Boolean => Value::Boolean(json.as_bool()?),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Value::Int(json.as_i64()?.into()),
        DataType::Date32 => Value::Int(days(json.as_str()?)?.into()),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let text = json.as_str()?;
            // Offsets of old times have seconds, which Spark cuts off.
            let offset_error = if text.ends_with('Z') { 0 } else { MINUTE_MICROS };
            let micros = i128::from(micros(text)?);
            // Times are cut to milliseconds.
            Value::Int(if side == Side::Min { micros - offset_error } else { micros + 999 + offset_error })
        }
        DataType::Decimal128(precision, scale) if *precision <= EXACT_DIGITS => {
            Value::Int(unscaled(&json.as_number()?.to_string(), *scale)?)
        }
        // The parser of JSON may be off by one in the last place, and writers by the shortest text of a float. A column that was widened
        // has the shortest texts of floats of 32 bits: 3.4 is 3.4000000953674316 then.
        DataType::Float32 | DataType::Float64 => {
            let value = json.as_f64()?;
            let narrow = value as f32;
            let is_narrow = narrow.is_finite() || *data_type == DataType::Float32;
            Value::Float(match side {
                Side::Min if is_narrow => narrow.next_down().next_down().into(),
                Side::Max if is_narrow => narrow.next_up().next_up().into(),
                Side::Min => value.next_down().next_down(),
                Side::Max => value.next_up().next_up(),
            })
        }
        DataType::Utf8View => Value::Bytes(json.as_str()?.as_bytes().to_vec().into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bounds_never_exclude_a_value_of_the_file() {
        let mut columns = StatisticsColumns::default();
        let path = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        columns.insert(path(&["id"]), path(&["c1"]), DataType::Int64);
        columns.insert(path(&["in", "text"]), path(&["c2", "c3"]), DataType::Utf8View);
        columns.insert(path(&["price"]), path(&["c4"]), DataType::Decimal128(7, 2));
        columns.insert(path(&["exact"]), path(&["c5"]), DataType::Decimal128(20, 2));
        columns.insert(path(&["at"]), path(&["c6"]), DataType::Timestamp(TimeUnit::Microsecond, None));
        columns.insert(path(&["part"]), path(&["c7"]), DataType::Float32);
        let values = |id: i64, text: &str| json!({ "c1": id, "c2": { "c3": text }, "c4": 12.5, "c5": 12.5, "c6": "2024-02-29T12:30:00.123Z", "c7": 0.1 });
        let json = json!({
            "numRecords": 5, "minValues": values(-3, "a"), "maxValues": values(i64::MAX, "z"),
            "nullCount": { "c1": 0, "c2": { "c3": 2 } }, "tightBounds": false
        });
        let file = FileStatistics { json: json.to_string().into(), columns: Arc::new(columns) };
        let bounds = |names: &[&str]| file.bounds(&path(names));
        let id = bounds(&["id"]);
        assert_eq!((id.min, id.max), (Some(Value::Int(-3)), Some(Value::Int(i64::MAX.into()))));
        assert_eq!((id.null_count, id.nan_count, id.value_count), (Some(0), None, Some(5)));
        let text = bounds(&["in", "text"]);
        assert_eq!((text.min, text.null_count), (Some(Value::Bytes("a".into())), Some(2)));
        assert_eq!(bounds(&["price"]).max, Some(Value::Int(1250)));
        assert_eq!(bounds(&["exact"]).max, None);
        let at = bounds(&["at"]);
        assert_eq!(
            (at.min, at.max),
            (Some(Value::Int(1_709_209_800_123_000)), Some(Value::Int(1_709_209_800_123_999)))
        );
        let old = value(
            &json!("1850-01-01T01:01:01.000+00:53"),
            &DataType::Timestamp(TimeUnit::Microsecond, None),
            Side::Min,
        );
        // 1850-01-01 00:07:33, by an offset of 53 minutes and 28 seconds.
        assert!(old < Some(Value::Int((-3_786_825_600i128 + 453) * 1_000_000)));
        let part = bounds(&["part"]);
        let (below, above) = (Value::Float(0.1f32.next_down().into()), Value::Float(0.1f32.next_up().into()));
        assert!(part.min < Some(below) && part.max > Some(above));
        // This text in a column that is wider now.
        let bound = |number: f64, side| value(&json!(number), &DataType::Float64, side);
        let exact = Value::Float(3.4f32.into());
        assert!(bound(3.4, Side::Min).unwrap() < exact && bound(3.4, Side::Max).unwrap() > exact);
        for far in [1e300, -1e300] {
            let (min, max) = (bound(far, Side::Min).unwrap(), bound(far, Side::Max).unwrap());
            assert!(min < Value::Float(far) && max > Value::Float(far) && max < Value::Float(far + 1e290));
        }
        assert_eq!(bounds(&["absent"]), ColumnBounds::default());
        let damaged = FileStatistics { json: "{".into(), columns: Arc::clone(&file.columns) };
        assert_eq!(damaged.bounds(&path(&["id"])), ColumnBounds::default());
    }
}
