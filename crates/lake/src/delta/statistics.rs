//! Statistics of files from the log, by which a scan rules files out before it opens them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use lath_parquet::{ColumnBounds, FileEvidence};
use lath_predicate::Value;
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::texts::{days, micros, unscaled};

/// Digits of a decimal that a float of 64 bits keeps, as which JSON has it.
const EXACT_DIGITS: u8 = 15;

const MINUTE_MICROS: i128 = 60_000_000;

/// The columns that may have statistics, by their path in the table and by their path in statistics.
#[derive(Debug, Clone, Default)]
pub(super) struct StatisticsColumns {
    numbers: HashMap<Vec<String>, usize>,
    columns: Vec<StatisticsColumn>,
    root: Group,
}

#[derive(Debug, Clone)]
struct StatisticsColumn {
    physical_path: Vec<String>,
    data_type: DataType,
}

/// A column or a struct of columns in statistics.
#[derive(Debug, Clone, Default)]
struct Group {
    column: Option<usize>,
    fields: HashMap<String, Group>,
}

impl StatisticsColumns {
    pub(super) fn insert(&mut self, path: Vec<String>, physical_path: Vec<String>, data_type: DataType) {
        let mut group = &mut self.root;
        for name in &physical_path {
            group = group.fields.entry(name.clone()).or_default();
        }
        group.column = Some(self.columns.len());
        self.numbers.insert(path, self.columns.len());
        self.columns.push(StatisticsColumn { physical_path, data_type });
    }

    /// The columns with the paths that `is_wanted` accepts.
    pub(super) fn only(&self, is_wanted: impl Fn(&[String]) -> bool) -> Self {
        let mut only = Self::default();
        for (path, number) in self.numbers.iter().filter(|(path, _)| is_wanted(path)) {
            if let Some(column) = self.columns.get(*number) {
                only.insert(path.clone(), column.physical_path.clone(), column.data_type.clone());
            }
        }
        only
    }
}

/// Reads the statistics of files from their text.
pub(super) struct StatisticsReader {
    columns: Arc<StatisticsColumns>,
    found: FoundColumns,
    packed: Vec<u8>,
}

impl StatisticsReader {
    pub(super) fn new(columns: StatisticsColumns) -> Self {
        let by_column = columns.columns.iter().map(|_| ColumnStatistics::default()).collect();
        let found = FoundColumns { by_column, present: Vec::new() };
        Self { columns: Arc::new(columns), found, packed: Vec::new() }
    }

    /// The statistics of a file in JSON, in few bytes; `None` if they are damaged, and then rule nothing out.
    pub(super) fn read(&mut self, json: &str) -> Option<FileStatistics> {
        let mut statistics = JsonStatistics { columns: &self.columns, row_count: None, found: &mut self.found };
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let read = deserializer.deserialize_map(&mut statistics).and_then(|()| deserializer.end());
        let row_count = statistics.row_count;
        self.packed.clear();
        put(row_count.map_or(0, |count| u128::from(count) + 1), &mut self.packed);
        let FoundColumns { by_column, present } = &mut self.found;
        for column in present.drain(..) {
            // Columns come once for each part; the values are taken the first time.
            let ColumnStatistics { min, max, null_count } =
                by_column.get_mut(column).map(std::mem::take).unwrap_or_default();
            let parts = [min.is_some(), max.is_some(), null_count.is_some()];
            let parts = parts.iter().enumerate().fold(0, |bits, (bit, is_there)| bits | u128::from(*is_there) << bit);
            if parts != 0 {
                put(column as u128 * 8 + parts, &mut self.packed);
                min.into_iter().chain(max).for_each(|value| put_value(&value, &mut self.packed));
                null_count.into_iter().for_each(|count| put(count.into(), &mut self.packed));
            }
        }
        read.ok()?;
        Some(FileStatistics { packed: self.packed.as_slice().into(), columns: Arc::clone(&self.columns) })
    }
}

/// The statistics of one file: the number of rows and 1, and for each column its number and which of minimum, maximum and number of
/// nulls follow. A table has very many files.
#[derive(Debug)]
pub(super) struct FileStatistics {
    packed: Box<[u8]>,
    columns: Arc<StatisticsColumns>,
}

impl FileEvidence for FileStatistics {
    fn bounds(&self, path: &[String]) -> ColumnBounds {
        self.columns.numbers.get(path).and_then(|column| self.find(*column)).unwrap_or_default()
    }
}

impl FileStatistics {
    fn find(&self, wanted: usize) -> Option<ColumnBounds> {
        let mut rest = &self.packed[..];
        let row_count = take(&mut rest)?.checked_sub(1).and_then(|count| u64::try_from(count).ok());
        while !rest.is_empty() {
            let head = take(&mut rest)?;
            let (column, parts) = (usize::try_from(head / 8).ok()?, head % 8);
            let data_type = &self.columns.columns.get(column)?.data_type;
            let mut value = |bit: u128| match parts & bit {
                0 => Some(None),
                _ => take_value(data_type, &mut rest).map(Some),
            };
            let (min, max) = (value(1)?, value(2)?);
            let null_count = if parts & 4 == 0 { None } else { u64::try_from(take(&mut rest)?).ok() };
            if column == wanted {
                return Some(ColumnBounds { min, max, null_count, nan_count: None, value_count: row_count });
            }
        }
        Some(ColumnBounds { value_count: row_count, ..ColumnBounds::default() })
    }
}

/// Adds a number, of seven bits a byte.
fn put(mut number: u128, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u128> {
    let (mut number, mut shift) = (0u128, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u128::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

fn put_value(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Boolean(value) => bytes.push(u8::from(*value)),
        // The sign is the lowest bit.
        Value::Int(value) => put((value << 1 ^ value >> 127).cast_unsigned(), bytes),
        Value::Float(value) => bytes.extend(value.to_le_bytes()),
        Value::Bytes(value) => {
            put(value.len() as u128, bytes);
            bytes.extend(&value[..]);
        }
        Value::Wide(_) => {}
    }
}

fn take_value(data_type: &DataType, bytes: &mut &[u8]) -> Option<Value> {
    let mut take_bytes = |len: usize| {
        let (taken, rest) = bytes.split_at_checked(len)?;
        *bytes = rest;
        Some(taken)
    };
    Some(match data_type {
        DataType::Boolean => Value::Boolean(take_bytes(1)? == [1]),
        DataType::Float32 | DataType::Float64 => Value::Float(f64::from_le_bytes(take_bytes(8)?.try_into().ok()?)),
        DataType::Utf8View => {
            let len = usize::try_from(take(bytes)?).ok()?;
            let (taken, rest) = bytes.split_at_checked(len)?;
            *bytes = rest;
            Value::Bytes(taken.to_vec().into())
        }
        _ => {
            let number = take(bytes)?;
            Value::Int((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
        }
    })
}

/// Statistics of a column, as they are read.
#[derive(Debug, Default)]
struct ColumnStatistics {
    min: Option<Value>,
    max: Option<Value>,
    null_count: Option<u64>,
}

/// Statistics of the columns of a file; empty between files.
struct FoundColumns {
    by_column: Vec<ColumnStatistics>,
    /// The columns that may have statistics.
    present: Vec<usize>,
}

/// Reads the statistics of a file. Parts of unknown names and of other types than expected are skipped.
struct JsonStatistics<'r> {
    columns: &'r StatisticsColumns,
    row_count: Option<u64>,
    found: &'r mut FoundColumns,
}

/// A part of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Bound(Side),
    NullCount,
}

impl<'de> Visitor<'de> for &mut JsonStatistics<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the statistics of a file")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let kind = |name: &str| match name {
            "numRecords" => Some(None),
            "minValues" => Some(Some(Part::Bound(Side::Min))),
            "maxValues" => Some(Some(Part::Bound(Side::Max))),
            "nullCount" => Some(Some(Part::NullCount)),
            _ => None,
        };
        while let Some(kind) = map.next_key_seed(Name(kind))? {
            match kind {
                Some(Some(part)) => {
                    let group = &self.columns.root;
                    map.next_value_seed(JsonGroup { group, part, columns: self.columns, found: &mut *self.found })?;
                }
                Some(None) => self.row_count = map.next_value_seed(COUNT)?.and_then(count),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Reads a name, and gives what the function makes of it.
struct Name<F>(F);

impl<'de, T, F: FnOnce(&str) -> T> DeserializeSeed<'de> for Name<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T, F: FnOnce(&str) -> T> Visitor<'_> for Name<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<T, E> {
        Ok(self.0(name))
    }
}

/// Reads a part of the statistics of a column, or of the columns of a struct.
struct JsonGroup<'r> {
    group: &'r Group,
    part: Part,
    columns: &'r StatisticsColumns,
    found: &'r mut FoundColumns,
}

impl<'de> DeserializeSeed<'de> for JsonGroup<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Some(at) = self.group.column else { return deserializer.deserialize_any(self) };
        let FoundColumns { by_column, present } = self.found;
        let (Some(column), Some(found)) = (self.columns.columns.get(at), by_column.get_mut(at)) else {
            return deserializer.deserialize_ignored_any(IgnoredAny).map(drop);
        };
        present.push(at);
        let data_type = &column.data_type;
        match self.part {
            Part::Bound(side @ Side::Min) => found.min = JsonValue { data_type, side }.deserialize(deserializer)?,
            Part::Bound(side @ Side::Max) => found.max = JsonValue { data_type, side }.deserialize(deserializer)?,
            Part::NullCount => found.null_count = COUNT.deserialize(deserializer)?.and_then(count),
        }
        Ok(())
    }
}

/// A struct of columns. Values of another kind have no meaning.
impl<'de> Visitor<'de> for JsonGroup<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("statistics of columns")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { group, part, columns, found } = self;
        while let Some(group) = map.next_key_seed(Name(|name: &str| group.fields.get(name)))? {
            match group {
                Some(group) => map.next_value_seed(JsonGroup { group, part, columns, found: &mut *found })?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        IgnoredAny.visit_seq(seq).map(drop)
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Which bound a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Min,
    Max,
}

/// Reads a bound in the type of its column; `None` if it is unknown or could be inexact in the wrong direction.
#[derive(Debug, Clone, Copy)]
struct JsonValue<'t> {
    data_type: &'t DataType,
    side: Side,
}

/// Reads a count.
const COUNT: JsonValue<'static> = JsonValue { data_type: &DataType::Int64, side: Side::Min };

fn count(value: Value) -> Option<u64> {
    match value {
        Value::Int(count) => u64::try_from(count).ok(),
        _ => None,
    }
}

impl<'de> DeserializeSeed<'de> for JsonValue<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonValue<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of statistics")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Option<Value>, E> {
        Ok((*self.data_type == DataType::Boolean).then_some(Value::Boolean(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Option<Value>, E> {
        Ok(self.integer(value.into(), value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Option<Value>, E> {
        Ok(self.integer(value.into(), value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Option<Value>, E> {
        Ok(match self.data_type {
            DataType::Float32 | DataType::Float64 => Some(self.float(value)),
            DataType::Decimal128(..) => {
                serde_json::Number::from_f64(value).and_then(|number| self.decimal(&number.to_string()))
            }
            _ => None,
        })
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<Value>, E> {
        Ok(self.text(text))
    }

    fn visit_unit<E>(self) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Option<Value>, A::Error> {
        IgnoredAny.visit_seq(seq).map(|_| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<Value>, A::Error> {
        IgnoredAny.visit_map(map).map(|_| None)
    }
}

impl JsonValue<'_> {
    fn integer(self, value: i128, as_float: f64) -> Option<Value> {
        match self.data_type {
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                (value <= i64::MAX.into()).then_some(Value::Int(value))
            }
            DataType::Float32 | DataType::Float64 => Some(self.float(as_float)),
            DataType::Decimal128(..) => self.decimal(&value.to_string()),
            _ => None,
        }
    }

    fn decimal(self, text: &str) -> Option<Value> {
        match self.data_type {
            DataType::Decimal128(precision, scale) if *precision <= EXACT_DIGITS => {
                Some(Value::Int(unscaled(text, *scale)?))
            }
            _ => None,
        }
    }

    /// The parser of JSON may be off by one in the last place, and writers by the shortest text of a float. A column that was widened
    /// has the shortest texts of floats of 32 bits: 3.4 is 3.4000000953674316 then.
    fn float(self, value: f64) -> Value {
        let narrow = value as f32;
        let is_narrow = narrow.is_finite() || *self.data_type == DataType::Float32;
        Value::Float(match self.side {
            Side::Min if is_narrow => narrow.next_down().next_down().into(),
            Side::Max if is_narrow => narrow.next_up().next_up().into(),
            Side::Min => value.next_down().next_down(),
            Side::Max => value.next_up().next_up(),
        })
    }

    fn text(self, text: &str) -> Option<Value> {
        Some(match self.data_type {
            DataType::Date32 => Value::Int(days(text)?.into()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                // Offsets of old times have seconds, which Spark cuts off.
                let offset_error = if text.ends_with('Z') { 0 } else { MINUTE_MICROS };
                let micros = i128::from(micros(text)?);
                // Times are cut to milliseconds.
                Value::Int(if self.side == Side::Min { micros - offset_error } else { micros + 999 + offset_error })
            }
            DataType::Utf8View => Value::Bytes(text.as_bytes().to_vec().into()),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn value(json: &Json, data_type: &DataType, side: Side) -> Option<Value> {
        JsonValue { data_type, side }.deserialize(json).unwrap()
    }

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
        let few = columns.only(|path| path == ["price"]);
        let mut reader = StatisticsReader::new(columns);
        let file = reader.read(&json.to_string()).unwrap();
        let few = StatisticsReader::new(few).read(&json.to_string()).unwrap();
        assert_eq!(few.bounds(&path(&["price"])), file.bounds(&path(&["price"])));
        assert_eq!(few.bounds(&path(&["id"])), ColumnBounds::default());
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
        for damaged in ["{", "[]", "1", "{\"numRecords\": 1} 2", "{\"minValues\": {\"c1\": 1}"] {
            assert!(reader.read(damaged).is_none(), "{damaged}");
        }
        // Parts of other kinds than expected have no meaning.
        let odd = json!({ "numRecords": "5", "minValues": 7, "maxValues": { "c1": {}, "c2": [1], "c4": 3 }, "nullCount": null });
        let odd = reader.read(&odd.to_string()).unwrap();
        assert_eq!(odd.bounds(&path(&["id"])), ColumnBounds::default());
        assert_eq!(odd.bounds(&path(&["price"])).max, Some(Value::Int(300)));
        assert_eq!(reader.read("{}").unwrap().bounds(&path(&["id"])), ColumnBounds::default());
    }
}
