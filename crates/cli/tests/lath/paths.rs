//! Columns with dots in their names next to fields of structs: every option and condition resolves to one of them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StructArray};
use arrow_schema::Field;
use parquet::file::metadata::ParquetMetaDataReader;
use serde_json::json;

use crate::files::write;
use crate::invocation::{Run, lath};

fn structure(fields: &[(&str, ArrayRef)]) -> ArrayRef {
    let fields = fields
        .iter()
        .map(|(name, array)| (Arc::new(Field::new(*name, array.data_type().clone(), true)), Arc::clone(array)));
    Arc::new(StructArray::from(fields.collect::<Vec<_>>()))
}

/// Six rows with a field `b` of `a`, a column `a.b`, a field `b.c` of `x`, and a field `c` of `x.b`.
fn file(folder: &tempfile::TempDir) -> String {
    let numbers = |from: i64| Arc::new(Int64Array::from_iter_values(from..from + 6)) as ArrayRef;
    let rows = RecordBatch::try_from_iter([
        ("i", numbers(0)),
        ("a", structure(&[("b", numbers(0))])),
        ("a.b", numbers(100)),
        ("x", structure(&[("b.c", numbers(200))])),
        ("x.b", structure(&[("c", numbers(300))])),
        ("q\"uote", numbers(400)),
    ]);
    let path = write(&folder.path().join("a.parquet"), &rows.unwrap(), 3);
    path.to_str().unwrap().to_owned()
}

#[track_caller]
fn line(run: &Run) -> serde_json::Value {
    run.json_lines(0)[0].clone()
}

#[test]
fn a_projection_is_of_the_column_or_of_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let select = |columns: &str| lath(["find", &path, "--where", "i = 5", "--select", columns, "--format", "jsonl"]);
    assert_eq!(line(&select("a.b")), json!({"a.b": 105}));
    assert_eq!(line(&select("\"a.b\"")), json!({"a.b": 105}));
    assert_eq!(line(&select("a.\"b\"")), json!({"a": {"b": 5}}));
    assert_eq!(line(&select("\"a\".\"b\",i")), json!({"a": {"b": 5}, "i": 5}));
    assert_eq!(line(&select("x.\"b.c\"")), json!({"x": {"b.c": 205}}));
    assert_eq!(line(&select("\"x.b\".c")), json!({"x.b": {"c": 305}}));
    assert_eq!(line(&select("q\"uote")), json!({"q\"uote": 405}));
    let both = select("x.b.c");
    assert_eq!(both.code, 2);
    assert!(both.stderr.contains("'x.\"b.c\"' or '\"x.b\".c'"), "{}", both.stderr);
}

#[test]
fn a_condition_is_of_the_column_or_of_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    for (condition, expected) in [
        ("a.b = 5", 5),
        ("\"a\".\"b\" = 4", 4),
        ("\"a.b\" = 103", 3),
        ("a.b > 0 AND a.b < 2", 1),
        ("x.\"b.c\" = 202", 2),
        ("\"x.b\".c = 302", 2),
        ("\"q\"\"uote\" = 401", 1),
        ("a.b + 100 = \"a.b\" AND i = 4", 4),
    ] {
        let in_sql = lath(["sql", &format!("SELECT i FROM '{path}' WHERE {condition}"), "--format", "jsonl"]);
        assert_eq!(line(&in_sql), json!({"i": expected}), "{condition}");
        if !condition.contains('+') {
            let found = lath(["find", &path, "--where", condition, "--select", "i", "--format", "jsonl"]);
            assert_eq!(line(&found), json!({"i": expected}), "{condition}");
        }
    }
    let fields =
        lath(["sql", &format!("SELECT a.b AS f, \"a.b\" AS c FROM '{path}' WHERE i = 2"), "--format", "jsonl"]);
    assert_eq!(line(&fields), json!({"f": 2, "c": 102}));
    let field = lath(["sql", &format!("SELECT max(a.b) AS f FROM '{path}'"), "--format", "jsonl"]);
    assert_eq!(line(&field), json!({"f": 5}));
}

#[test]
fn options_of_columns_are_for_the_column_or_for_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let (path, output) = (file(&folder), folder.path().join("b.parquet"));
    let output = output.to_str().unwrap();
    for (named, expected) in [("a.b", "a.b column"), ("a.\"b\"", "a.b field"), ("\"x.b\".c", "x.b.c")] {
        lath(["rewrite", &path, "-o", output, "--force", "--bloom", named]).text(0);
        let bytes = bytes::Bytes::from(std::fs::read(output).unwrap());
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
        let with_filter =
            metadata.row_group(0).columns().iter().filter(|column| column.bloom_filter_offset().is_some());
        let names: Vec<Vec<String>> = with_filter.map(|column| column.column_path().parts().to_vec()).collect();
        let expected: Vec<&str> = match expected {
            "a.b column" => vec!["a.b"],
            "a.b field" => vec!["a", "b"],
            _ => vec!["x.b", "c"],
        };
        assert_eq!(names, [expected], "{named}");
    }
    for (named, first) in [("a.b:desc", 5), ("a.\"b\":desc", 5)] {
        lath(["rewrite", &path, "-o", output, "--force", "--sort-by", named]).text(0);
        let rows = lath(["head", "-n", "1", output, "--columns", "i", "--format", "jsonl"]);
        assert_eq!(line(&rows), json!({"i": first}), "{named}");
    }
}

#[test]
fn figures_and_groups_are_those_of_the_column_or_of_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    for (named, expected) in [("a.b", "105"), ("a.\"b\"", "5"), ("x.\"b.c\"", "205"), ("\"x.b\".c", "305")] {
        let described = lath(["describe", &path, "--columns", named, "--format", "jsonl"]);
        assert_eq!(line(&described)["max"], json!(expected), "{named}");
    }
    assert_eq!(lath(["describe", &path, "--columns", "x.b.c"]).code, 2);
    let ordered =
        lath(["find", &path, "--where", "TRUE", "--order-by", "a.\"b\" desc", "--limit", "1", "--format", "jsonl"]);
    assert_eq!(line(&ordered)["i"], json!(5));
}

#[test]
fn types_are_given_to_the_column_before_the_field() {
    let lines = "{\"a\":{\"b\":1},\"a.b\":2}";
    let args = ["convert", "-", "--from", "jsonl", "--format", "jsonl", "--type", "a.b=string"];
    let run = crate::invocation::lath_with_input(&args, lines.as_bytes());
    assert_eq!(line(&run), json!({"a": {"b": 1}, "a.b": "2"}));
}
