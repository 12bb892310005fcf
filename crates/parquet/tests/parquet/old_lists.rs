//! The specification's [backward-compatibility rules] for lists and maps, rule by rule.
//!
//! Types and rows are the ones that pyarrow 26 reads from the same bytes, unless stated otherwise.
//!
//! [backward-compatibility rules]: https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#nested-types

use std::sync::Arc;

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use lath_parquet::{ParquetFile, Strings};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::reading::collect;

/// The entries of a leaf: repetition level, definition level, and a value if the definition level is the largest.
enum Leaf<'a> {
    Numbers(&'a [(i16, i16, Option<i32>)]),
    Texts(&'a [(i16, i16, Option<&'a str>)]),
}

use Leaf::{Numbers, Texts};

/// A file with one column of one row group, written without any code that knows lists.
fn file(field: &str, leaves: &[Leaf<'_>]) -> Bytes {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {field} }}")).unwrap());
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::builder().build())).unwrap();
    let mut row_group = writer.next_row_group().unwrap();
    for leaf in leaves {
        let mut column = row_group.next_column().unwrap().unwrap();
        match leaf {
            Numbers(entries) => {
                let (rep, def) = levels(entries);
                let values: Vec<i32> = entries.iter().filter_map(|entry| entry.2).collect();
                column.typed::<Int32Type>().write_batch(&values, Some(&def), Some(&rep)).unwrap();
            }
            Texts(entries) => {
                let (rep, def) = levels(entries);
                let values: Vec<ByteArray> = entries.iter().filter_map(|entry| entry.2).map(ByteArray::from).collect();
                column.typed::<ByteArrayType>().write_batch(&values, Some(&def), Some(&rep)).unwrap();
            }
        }
        column.close().unwrap();
    }
    row_group.close().unwrap();
    writer.close().unwrap();
    bytes.into()
}

fn levels<V>(entries: &[(i16, i16, V)]) -> (Vec<i16>, Vec<i16>) {
    (entries.iter().map(|entry| entry.0).collect(), entries.iter().map(|entry| entry.1).collect())
}

/// A field in pyarrow's notation.
fn describe(field: &Field) -> String {
    let data_type = match field.data_type() {
        DataType::Int32 => "int32".to_owned(),
        DataType::Utf8 => "string".to_owned(),
        DataType::List(element) => format!("list<{}>", describe(element)),
        DataType::Struct(fields) => {
            let fields: Vec<String> = fields.iter().map(|field| describe(field)).collect();
            format!("struct<{}>", fields.join(", "))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else { panic!("{entries:?}") };
            format!("map<{}>", fields.iter().map(|field| describe(field)).collect::<Vec<_>>().join(", "))
        }
        other => panic!("{other}"),
    };
    format!("{}: {data_type}{}", field.name(), if field.is_nullable() { "" } else { " not null" })
}

#[track_caller]
fn check(field: &str, leaves: &[Leaf<'_>], data_type: &str, rows: &[&str]) {
    let file = ParquetFile::from_bytes(file(field, leaves)).unwrap();
    let (schema, batches) = file.scan().strings(Strings::Offsets).build().and_then(collect).unwrap();
    assert_eq!(describe(schema.field(0)), data_type, "{field}");
    let options = FormatOptions::default().with_null("null");
    let mut found = Vec::new();
    for batch in &batches {
        let formatter = ArrayFormatter::try_new(batch.column(0), &options).unwrap();
        found.extend((0..batch.num_rows()).map(|row| formatter.value(row).to_string()));
    }
    assert_eq!(found, rows, "{field}");
}

/// Null, an empty list, and two elements.
const TWO_NUMBERS: Leaf<'static> = Numbers(&[(0, 0, None), (0, 1, None), (0, 2, Some(1)), (1, 2, Some(2))]);
const TWO_TEXTS: Leaf<'static> = Texts(&[(0, 0, None), (0, 1, None), (0, 2, Some("a")), (1, 2, Some("b"))]);
/// Null, an empty list, an empty list in a list, and lists of two and of one.
const LISTS: Leaf<'static> =
    Numbers(&[(0, 0, None), (0, 1, None), (0, 2, None), (0, 3, Some(1)), (2, 3, Some(2)), (1, 3, Some(3))]);
/// Like [`LISTS`], with one null element.
const LISTS_WITH_NULL: Leaf<'static> =
    Numbers(&[(0, 0, None), (0, 1, None), (0, 2, None), (0, 4, Some(10)), (2, 3, None), (1, 4, Some(30))]);

#[test]
fn a_repeated_primitive_is_the_element_by_the_first_rule() {
    check(
        "optional group l (LIST) { repeated int32 element; }",
        &[TWO_NUMBERS],
        "l: list<element: int32 not null>",
        &["null", "[]", "[1, 2]"],
    );
}

#[test]
fn a_repeated_group_of_several_fields_is_the_element_by_the_second_rule() {
    check(
        "optional group l (LIST) { repeated group element { required binary str (STRING); required int32 num; } }",
        &[TWO_TEXTS, TWO_NUMBERS],
        "l: list<element: struct<str: string not null, num: int32 not null> not null>",
        &["null", "[]", "[{str: a, num: 1}, {str: b, num: 2}]"],
    );
}

#[test]
fn a_repeated_list_is_the_element_by_the_third_rule_whatever_its_name() {
    let rows = ["null", "[]", "[[]]", "[[1, 2], [3]]"];
    check(
        "optional group l (LIST) { repeated group array (LIST) { repeated int32 array; } }",
        &[LISTS],
        "l: list<array: list<array: int32 not null> not null>",
        &rows,
    );
    check(
        "optional group l (LIST) { repeated group element (LIST) { repeated int32 x; } }",
        &[LISTS],
        "l: list<element: list<x: int32 not null> not null>",
        &rows,
    );
}

#[test]
fn a_repeated_list_of_three_levels_is_the_element_by_the_third_rule() {
    // pyarrow rejects the schema; DuckDB reads INTEGER[][] with the same rows.
    check(
        "optional group l (LIST) { repeated group element (LIST) { repeated group list { optional int32 y; } } }",
        &[LISTS_WITH_NULL],
        "l: list<element: list<y: int32> not null>",
        &["null", "[]", "[[]]", "[[10, null], [30]]"],
    );
}

#[test]
fn a_repeated_map_is_the_element_by_the_third_rule() {
    for name in ["array", "element", "l_tuple"] {
        check(
            &format!(
                "optional group l (LIST) {{ repeated group {name} (MAP) {{
                   repeated group key_value {{ required int32 key; optional int32 value; }} }} }}"
            ),
            &[LISTS, LISTS_WITH_NULL],
            &format!("l: list<{name}: map<key: int32 not null, value: int32> not null>"),
            &["null", "[]", "[{}]", "[{1: 10, 2: null}, {3: 30}]"],
        );
    }
}

#[test]
fn a_repeated_map_without_values_is_a_list_of_keys() {
    // pyarrow and DuckDB reject the schema.
    check(
        "optional group l (LIST) { repeated group element (MAP) { repeated group key_value { required int32 key; } } }",
        &[LISTS],
        "l: list<element: list<key: int32 not null> not null>",
        &["null", "[]", "[[]]", "[[1, 2], [3]]"],
    );
}

#[test]
fn a_repeated_group_of_one_repeated_field_is_the_element_by_the_third_rule() {
    // DuckDB reads the same rows without structs: it drops every group of one field.
    for name in ["array", "element"] {
        check(
            &format!("optional group l (LIST) {{ repeated group {name} {{ repeated int32 x; }} }}"),
            &[LISTS],
            &format!("l: list<{name}: struct<x: list<x: int32 not null> not null> not null>"),
            &["null", "[]", "[{x: []}]", "[{x: [1, 2]}, {x: [3]}]"],
        );
    }
    check(
        "optional group l (LIST) { repeated group element { repeated group x { optional int32 y; required int32 z; } } }",
        &[LISTS_WITH_NULL, LISTS],
        "l: list<element: struct<x: list<x: struct<y: int32, z: int32 not null> not null> not null> not null>",
        &["null", "[]", "[{x: []}]", "[{x: [{y: 10, z: 1}, {y: null, z: 2}]}, {x: [{y: 30, z: 3}]}]"],
    );
}

#[test]
fn a_repeated_group_of_one_field_with_an_old_name_is_the_element_by_the_fourth_rule() {
    // DuckDB reads strings instead of structs with one field.
    for name in ["array", "l_tuple"] {
        check(
            &format!("optional group l (LIST) {{ repeated group {name} {{ required binary str (STRING); }} }}"),
            &[TWO_TEXTS],
            &format!("l: list<{name}: struct<str: string not null> not null>"),
            &["null", "[]", "[{str: a}, {str: b}]"],
        );
    }
}

#[test]
fn the_field_of_any_other_repeated_group_is_the_element_by_the_fifth_rule() {
    check(
        "optional group l (LIST) { repeated group element { optional binary str (STRING); } }",
        &[Texts(&[(0, 0, None), (0, 1, None), (0, 3, Some("a")), (1, 2, None)])],
        "l: list<str: string>",
        &["null", "[]", "[a, null]"],
    );
}

#[test]
fn entries_and_keys_and_values_of_a_map_are_known_by_their_place() {
    check(
        "optional group m (MAP) { repeated group map { required binary str (STRING); required int32 num; } }",
        &[TWO_TEXTS, TWO_NUMBERS],
        "m: map<str: string not null, num: int32 not null>",
        &["null", "{}", "{a: 1, b: 2}"],
    );
}

#[test]
fn map_key_value_is_a_map_where_no_map_is_around_it() {
    let values = Numbers(&[(0, 0, None), (0, 1, None), (0, 3, Some(1)), (1, 2, None)]);
    let leaves = [TWO_TEXTS, values];
    let rows = ["null", "{}", "{a: 1, b: null}"];
    for field in [
        "optional group m (MAP_KEY_VALUE) {
           repeated group map { required binary key (STRING); optional int32 value; } }",
        "optional group m (MAP) {
           repeated group map (MAP_KEY_VALUE) { required binary key (STRING); optional int32 value; } }",
    ] {
        check(field, &leaves, "m: map<key: string not null, value: int32>", &rows);
    }
}

#[test]
fn a_map_without_values_is_the_list_of_its_keys() {
    check(
        "optional group m (MAP) { repeated group key_value { required int32 key; } }",
        &[TWO_NUMBERS],
        "m: list<key: int32 not null>",
        &["null", "[]", "[1, 2]"],
    );
}

#[test]
fn fields_of_an_old_list_are_chosen_by_both_of_their_paths() {
    let field = "optional group l (LIST) { repeated group array (MAP) {
        repeated group key_value { required int32 key; optional int32 value; } } }";
    let file = ParquetFile::from_bytes(file(field, &[LISTS, LISTS_WITH_NULL])).unwrap();
    for path in ["l", "l.array.key_value.value", "l.array"] {
        let (schema, batches) = file.scan().select([path]).build().and_then(collect).unwrap();
        assert_eq!(describe(schema.field(0)), "l: list<array: map<key: int32 not null, value: int32> not null>");
        assert_eq!(batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), 4);
    }
}
