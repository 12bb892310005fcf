//! Adapts key-value metadata about rows or columns to a file with other rows or columns.
//!
//! | key | of rows | of columns |
//! | --- | --- | --- |
//! | `geo` (GeoParquet) | `bbox` of each column is left out | columns that are gone are left out; without its primary column the key |
//! | `pandas` | an index that is a range is left out | columns that are gone are left out, and where they are the index |
//! | `org.apache.spark.sql.parquet.row.metadata` | | fields that are gone are left out |
//! | `parquet.avro.schema`, `avro.schema`, `iceberg.schema` | | left out |
//! | `hoodie_…`, `org.apache.hudi.bloomfilter` | left out | left out |
//!
//! Other keys stay.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

/// The columns and rows that a file keeps from the source of its keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptContent<'a> {
    /// The names of its columns.
    pub(crate) columns: &'a [String],
    /// Whether columns were removed.
    pub(crate) lacks_columns: bool,
    /// Whether it has all rows, in their order, and no others.
    pub(crate) has_same_rows: bool,
    /// Whether an index that is a range is kept where the rows may be others: pandas uses it for as many rows as it has values.
    pub(crate) keeps_range: bool,
}

/// The value that a file with `columns` may have under the key `key` of its footer, if any, where `value` came with the schema of rows
/// that may be any, and what is to be said of it if it is another one.
///
/// ```
/// let geo = r#"{"primary_column":"g","columns":{"g":{"encoding":"WKB","bbox":[0,0,1,1]}}}"#;
/// let (value, note) = lath_cli::adapt_footer_key("geo", geo, &["g".to_owned()]);
/// assert!(value.is_some_and(|value| !value.contains("bbox")));
/// assert_eq!(note.as_deref(), Some("the key geo is kept without bbox of g"));
/// ```
pub fn adapt_footer_key(key: &str, value: &str, columns: &[String]) -> (Option<String>, Option<String>) {
    let lacks_columns = field_names(value).iter().any(|name| !columns.contains(name));
    let kept = KeptContent { columns, lacks_columns, has_same_rows: false, keeps_range: true };
    match adapt(key, value, kept) {
        None => (Some(value.to_owned()), None),
        Some((Outcome::Changed(value), note)) => (Some(value), Some(note)),
        Some((Outcome::Dropped, note)) => (None, Some(note)),
    }
}

/// The fields of a schema of Avro, Iceberg or Spark.
fn field_names(schema: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let fields = schema.get("fields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    fields.iter().filter_map(|field| Some(field.get("name")?.as_str()?.to_owned())).collect()
}

/// The result for a key that does not hold any more.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Changed(String),
    Dropped,
}

/// Adapts `key` with `value`. Returns the result and a note; `None` if it stays.
pub(crate) fn adapt(key: &str, value: &str, kept: KeptContent<'_>) -> Option<(Outcome, String)> {
    if !kept.lacks_columns && kept.has_same_rows {
        return None;
    }
    match key {
        "geo" => edited(key, value, kept, geo),
        "pandas" => edited(key, value, kept, pandas),
        "org.apache.spark.sql.parquet.row.metadata" => edited(key, value, kept, spark),
        "parquet.avro.schema" | "avro.schema" | "iceberg.schema" if kept.lacks_columns => {
            Some(dropped(key, "is of columns that are not in the file"))
        }
        _ if key.starts_with("hoodie_") || key == "org.apache.hudi.bloomfilter" => {
            Some(dropped(key, "is of other rows"))
        }
        _ => None,
    }
}

fn dropped(key: &str, why: &str) -> (Outcome, String) {
    (Outcome::Dropped, format!("the key {key} {why} and is left out"))
}

/// Edits JSON. `edit` returns the parts it left out, or `None` if nothing is left. A value that cannot be parsed is dropped.
fn edited(
    key: &str,
    value: &str,
    kept: KeptContent<'_>,
    edit: fn(&mut Map<String, Value>, KeptContent<'_>) -> Option<Vec<String>>,
) -> Option<(Outcome, String)> {
    let Ok(Value::Object(mut object)) = serde_json::from_str(value) else {
        return Some(dropped(key, "cannot be understood"));
    };
    match edit(&mut object, kept) {
        None => Some(dropped(key, "is of columns that are not in the file")),
        Some(without) if without.is_empty() => None,
        Some(without) => {
            let without = without.join(", ");
            Some((
                Outcome::Changed(Value::Object(object).to_string()),
                format!("the key {key} is kept without {without}"),
            ))
        }
    }
}

fn geo(object: &mut Map<String, Value>, kept: KeptContent<'_>) -> Option<Vec<String>> {
    let mut without = Vec::new();
    let primary = object.get("primary_column").and_then(Value::as_str);
    if primary.is_some_and(|primary| !kept.columns.iter().any(|column| column == primary)) {
        return None;
    }
    let columns = object.get_mut("columns")?.as_object_mut()?;
    let gone: Vec<String> = columns.keys().filter(|name| !kept.columns.contains(name)).cloned().collect();
    for name in gone {
        columns.remove(&name);
        without.push(format!("column {name}"));
    }
    for (name, column) in columns.iter_mut().filter(|_| !kept.has_same_rows) {
        if column.as_object_mut().is_some_and(|column| column.remove("bbox").is_some()) {
            without.push(format!("bbox of {name}"));
        }
        // The column of boxes that a covering names.
        let covers = |box_column: &Value| box_column.pointer("/bbox/xmin/0").and_then(Value::as_str).map(str::to_owned);
        let covering = column.get("covering").and_then(covers);
        if covering.is_some_and(|covering| !kept.columns.contains(&covering)) {
            column.as_object_mut()?.remove("covering");
            without.push(format!("covering of {name}"));
        }
    }
    (!columns.is_empty()).then_some(without)
}

fn pandas(object: &mut Map<String, Value>, kept: KeptContent<'_>) -> Option<Vec<String>> {
    let mut without = Vec::new();
    let is_there = |name: Option<&str>| name.is_none_or(|name| kept.columns.iter().any(|column| column == name));
    if let Some(index) = object.get_mut("index_columns").and_then(Value::as_array_mut) {
        index.retain(|column| {
            let is_kept =
                if column.is_object() { kept.has_same_rows || kept.keeps_range } else { is_there(column.as_str()) };
            if !is_kept {
                without.push(column.as_str().map_or_else(|| "the index".to_owned(), |name| format!("index {name}")));
            }
            is_kept
        });
    }
    if let Some(columns) = object.get_mut("columns").and_then(Value::as_array_mut) {
        columns.retain(|column| {
            let name = column.get("field_name").or_else(|| column.get("name")).and_then(Value::as_str);
            let is_kept = is_there(name);
            if !is_kept {
                without.push(format!("column {}", name.unwrap_or_default()));
            }
            is_kept
        });
    }
    Some(without)
}

fn spark(object: &mut Map<String, Value>, kept: KeptContent<'_>) -> Option<Vec<String>> {
    let mut without = Vec::new();
    let fields = object.get_mut("fields")?.as_array_mut()?;
    fields.retain(|field| {
        let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_kept = kept.columns.iter().any(|column| column == name);
        if !is_kept {
            without.push(format!("field {name}"));
        }
        is_kept
    });
    (!fields.is_empty()).then_some(without)
}

/// Prints `note` to standard error, once.
pub(crate) fn say(note: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.contains(&note) {
        eprintln!("note: {note}");
        said.insert(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapted(key: &str, value: &str, columns: &[&str], lacks_columns: bool, has_same_rows: bool) -> Option<Outcome> {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        adapt(key, value, KeptContent { columns: &columns, lacks_columns, has_same_rows, keeps_range: false })
            .map(|(outcome, _)| outcome)
    }

    fn changed(json: &str) -> Option<Outcome> {
        Some(Outcome::Changed(serde_json::from_str::<Value>(json).unwrap().to_string()))
    }

    #[test]
    fn geo_keeps_what_is_true_of_the_columns_and_rows_that_are_left() {
        let geo = r#"{"version":"1.1.0","primary_column":"g","columns":{"g":{"encoding":"WKB","bbox":[0,0,1,1]},"h":{"encoding":"WKB"}}}"#;
        let one = r#"{"version":"1.1.0","primary_column":"g","columns":{"g":{"encoding":"WKB","bbox":[0,0,1,1]}}}"#;
        let no_box =
            r#"{"version":"1.1.0","primary_column":"g","columns":{"g":{"encoding":"WKB"},"h":{"encoding":"WKB"}}}"#;
        assert_eq!(adapted("geo", geo, &["g", "h"], false, true), None);
        assert_eq!(adapted("geo", geo, &["g", "x"], true, true), changed(one));
        assert_eq!(adapted("geo", geo, &["g", "h"], false, false), changed(no_box));
        assert_eq!(adapted("geo", geo, &["h"], true, true), Some(Outcome::Dropped));
        assert_eq!(adapted("geo", "no JSON", &["g"], false, false), Some(Outcome::Dropped));
    }

    #[test]
    fn pandas_keeps_an_index_that_is_there() {
        let range = r#"{"index_columns":[{"kind":"range","start":0,"stop":3,"step":1}],"columns":[{"name":"a","field_name":"a"}]}"#;
        let none = r#"{"index_columns":[],"columns":[{"name":"a","field_name":"a"}]}"#;
        assert_eq!(adapted("pandas", range, &["a"], false, false), changed(none));
        let named =
            r#"{"index_columns":["i"],"columns":[{"name":"a","field_name":"a"},{"name":null,"field_name":"i"}]}"#;
        assert_eq!(adapted("pandas", named, &["a", "i"], false, false), None);
        assert_eq!(adapted("pandas", named, &["a"], true, true), changed(none));
    }

    #[test]
    fn other_keys_that_speak_of_columns_or_rows_go_and_unknown_ones_stay() {
        let spark = r#"{"type":"struct","fields":[{"name":"a"},{"name":"b"}]}"#;
        let key = "org.apache.spark.sql.parquet.row.metadata";
        assert_eq!(adapted(key, spark, &["a"], true, true), changed(r#"{"type":"struct","fields":[{"name":"a"}]}"#));
        assert_eq!(adapted(key, spark, &["a", "b"], false, false), None);
        assert_eq!(adapted("iceberg.schema", "{}", &["a"], true, true), Some(Outcome::Dropped));
        assert_eq!(adapted("iceberg.schema", "{}", &["a"], false, false), None);
        assert_eq!(adapted("hoodie_min_record_key", "1", &["a"], false, false), Some(Outcome::Dropped));
        assert_eq!(adapted("of somebody", "{", &["a"], true, false), None);
    }

    #[test]
    fn keys_of_rows_that_may_be_any_are_kept_as_far_as_they_can_be_true() {
        let columns: Vec<String> = ["a", "b"].map(str::to_owned).to_vec();
        let adapted = |key: &str, value: &str| adapt_footer_key(key, value, &columns);
        let same = |value: &str| (Some(value.to_owned()), None);
        let range = r#"{"index_columns":[{"kind":"range","start":5,"stop":8,"step":1}],"columns":[{"name":"a","field_name":"a"}]}"#;
        assert_eq!(adapted("pandas", range), same(range));
        assert_eq!(
            adapted("pandas", &range.replace("\"a\"", "\"c\"")).1.as_deref(),
            Some("the key pandas is kept without column c")
        );
        for key in ["iceberg.schema", "avro.schema", "parquet.avro.schema"] {
            let fields = r#"{"type":"struct","fields":[{"name":"a"},{"name":"b"}]}"#;
            assert_eq!(adapted(key, fields), same(fields));
            assert_eq!(adapted(key, &fields.replace("\"b\"", "\"c\"")).0, None);
        }
        assert_eq!(adapted("hoodie_min_record_key", "1").0, None);
        assert_eq!(adapted("mine", "c"), same("c"));
    }
}
