//! Batches and schemas that a table rejects without changing anything.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StringViewArray};
use arrow_schema::{DataType, Field, Schema};
use lath_table::{Error, Table, TableOptions};

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("name", DataType::Utf8, false),
        Field::new("age", DataType::Int32, true),
    ])
}

fn batch(ids: Vec<Option<i64>>, names: Vec<Option<&str>>) -> RecordBatch {
    let ages = Int32Array::from(vec![7; ids.len()]);
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("id", Arc::new(Int64Array::from(ids)), true),
        ("name", Arc::new(StringArray::from(names)), true),
        ("age", Arc::new(ages), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn constraint_violations_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path(), &schema(), &["id"], options()).unwrap();
    table.upsert(&batch(vec![Some(1), Some(2)], vec![Some("a"), Some("b")])).unwrap();
    let version = table.snapshot().unwrap().version();

    let null_key = table.upsert(&batch(vec![Some(3), None], vec![Some("c"), Some("d")])).unwrap_err();
    assert!(matches!(&null_key, Error::Null { column, row: 1 } if column == "id"), "{null_key}");
    let null = table.upsert(&batch(vec![Some(3), Some(1)], vec![None, Some("x")])).unwrap_err();
    assert!(matches!(&null, Error::Null { column, row: 0 } if column == "name"), "{null}");
    let duplicate = table.insert(&batch(vec![Some(3), Some(2)], vec![Some("c"), Some("x")])).unwrap_err();
    assert!(duplicate.to_string().contains("id = 2"), "{duplicate}");
    let twice = table.insert(&batch(vec![Some(5), Some(5)], vec![Some("c"), Some("x")])).unwrap_err();
    assert!(matches!(&twice, Error::DuplicateKey { row: 1, .. }), "{twice}");
    let lacking = batch(vec![Some(3)], vec![Some("c")]).project(&[0, 1]).unwrap();
    assert!(matches!(table.upsert(&lacking), Err(Error::Batch { .. })));
    let other_type: ArrayRef = Arc::new(Float64Array::from(vec![3.5]));
    let other_type = RecordBatch::try_from_iter([("id", other_type)]).unwrap();
    assert!(matches!(table.delete(&other_type), Err(Error::Batch { .. })));
    assert!(matches!(table.get("three"), Err(Error::Key { .. })));
    assert!(matches!(table.get((1, 2)), Err(Error::Key { .. })));
    assert!(matches!(table.get(1_u64 << 63), Err(Error::Key { .. })));
    assert!(table.delete_where(&lath_table::Predicate::parse("nothing = 1").unwrap()).is_err());

    assert_eq!(table.snapshot().unwrap().version(), version);
    assert_eq!(table.count().unwrap(), 2);
    // Layouts of strings are not separate types.
    let views: [(&str, ArrayRef); 3] = [
        ("name", Arc::new(StringViewArray::from(vec!["v"]))),
        ("age", Arc::new(Int32Array::from(vec![None]))),
        ("id", Arc::new(Int64Array::from(vec![9]))),
    ];
    table.insert(&RecordBatch::try_from_iter(views).unwrap()).unwrap();
    let row = table.get(9).unwrap().unwrap();
    assert_eq!(row.column(1).as_ref(), &StringArray::from(vec!["v"]) as &dyn Array);
}

#[test]
fn keys_that_are_too_long_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::new(vec![Field::new("id", DataType::Utf8, false)]);
    let table = Table::create(folder.path(), &schema, &["id"], options()).unwrap();
    let batch = |len: usize| {
        let ids: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(len)]));
        RecordBatch::try_from_iter([("id", ids)]).unwrap()
    };
    table.upsert(&batch(30_000)).unwrap();
    assert!(matches!(table.upsert(&batch(40_000)), Err(Error::KeyTooLong { row: 0, .. })));
    assert!(matches!(table.delete(batch(40_000)), Err(Error::KeyTooLong { .. })));
    assert!(table.get_many(batch(40_000)).unwrap().places() == [None]);
    table.flush().unwrap();
    assert!(table.get_many(batch(30_000)).unwrap().places() == [Some(0)]);
}

#[test]
fn schemas_that_no_table_can_have_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let refused = |schema: &Schema, key: &[&str]| {
        let error = Table::create(&path, schema, key, options()).unwrap_err();
        assert!(!path.exists(), "{error}");
        error.to_string()
    };
    assert!(refused(&schema(), &[]).contains("at least one key column"));
    assert!(refused(&schema(), &["nobody"]).contains("nobody"));
    assert!(refused(&schema(), &["id", "id"]).contains("twice"));
    let entries = Field::new_struct(
        "entries",
        vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Utf8, true)],
        false,
    );
    let map = Schema::new(vec![Field::new("id", DataType::Map(Arc::new(entries), false), false)]);
    assert!(refused(&map, &["id"]).contains("no order"));
    let twins = Schema::new(vec![Field::new("a", DataType::Utf8, false), Field::new("a", DataType::Utf8, false)]);
    assert!(refused(&twins, &["a"]).contains("rename"));
}
