//! Columns that SQL generates: no other program puts rows of their tables, and exports are plain files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use lath_parquet::{Dataset, DatasetOptions};
use lath_table::{Error, GENERATED_KEY, IDENTITY_KEY, MergeWhen, ROW_NUMBERS_KEY, Table, TableOptions};

fn field(name: &str, key: &str) -> Field {
    Field::new(name, DataType::Int64, false).with_metadata(HashMap::from([(key.to_owned(), "id * 2".to_owned())]))
}

fn rows(schema: &Schema, count: i64) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
    let columns = schema.fields().iter().map(|_| Arc::clone(&column)).collect();
    RecordBatch::try_new(Arc::new(schema.clone()), columns).unwrap()
}

#[test]
fn rows_of_generated_columns_are_put_only_by_those_who_compute_them() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), field("twice", GENERATED_KEY)]);
    let table = Table::create(folder.path().join("table"), &schema, &["id"], TableOptions::new()).unwrap();
    let batch = rows(&schema, 3);
    let refused = |result: lath_table::Result<()>| match result {
        Err(Error::Generated { column, expression }) => assert_eq!((&*column, &*expression), ("twice", "id * 2")),
        other => panic!("{other:?}"),
    };
    refused(table.upsert(&batch));
    refused(table.insert(&batch));
    refused(table.merge(&batch, &MergeWhen::new()).map(drop));
    assert_eq!(table.count().unwrap(), 0);
    let mut transaction = table.begin().unwrap();
    transaction.computes_generated_columns();
    transaction.insert(&batch).unwrap();
    transaction.commit().unwrap();
    refused(table.update(&batch).map(drop));
    table.delete([1]).unwrap();
    table.flush().unwrap();
    assert_eq!(table.count().unwrap(), 2);
}

#[test]
fn exports_have_no_numbers_of_rows_and_nothing_about_generated_columns() {
    let folder = tempfile::tempdir().unwrap();
    let columns = vec![field("_row", ROW_NUMBERS_KEY), field("id", IDENTITY_KEY), field("twice", GENERATED_KEY)];
    let schema = Schema::new(columns);
    let table = Table::create(folder.path().join("table"), &schema, &["_row"], TableOptions::new()).unwrap();
    let mut transaction = table.begin().unwrap();
    transaction.computes_generated_columns();
    transaction.insert(&rows(&schema, 5)).unwrap();
    transaction.commit().unwrap();
    let target = folder.path().join("plain");
    assert_eq!(table.snapshot().unwrap().export(&target).unwrap().rows, 5);
    let exported = Dataset::open([target.to_str().unwrap()], DatasetOptions::new()).unwrap();
    let fields = exported.schema().fields();
    assert_eq!(fields.iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["id", "twice"]);
    assert!(fields.iter().all(|field| !field.metadata().keys().any(|key| key.starts_with("lath:"))));
}
