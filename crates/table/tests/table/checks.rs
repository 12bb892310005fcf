//! Constraints of rows: every way to put rows, rows that exist, changed columns, and the format of the table.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use lath_store::{RecordReader, Store};
use lath_table::{Constraint, Database, Error, MergeWhen, Predicate, Table, TableOptions, WhenMatched, WhenNotMatched};

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

fn rows(rows: &[(i64, Option<i64>, &str)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let counts: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>());
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.2)));
    RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("count", counts, true), ("name", names, true)])
        .unwrap()
}

fn positive() -> Predicate {
    Predicate::parse("count > 0").unwrap()
}

fn created(folder: &Path) -> Table {
    let table = Table::create(folder, &rows(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&rows(&[(1, Some(1), "a"), (2, None, "éé")])).unwrap();
    table
}

/// The format in the state of a closed table.
fn format(folder: &Path) -> u32 {
    let store = Store::open(folder.join("_table.lath")).unwrap();
    let snapshot = store.snapshot().unwrap();
    let state = snapshot.tree("table/meta").unwrap().unwrap().get(b"state").unwrap().unwrap().to_vec();
    RecordReader::new("the state", &state).unwrap().u32().unwrap()
}

fn violates<T: std::fmt::Debug>(result: Result<T, Error>, key: &str) {
    match result.unwrap_err() {
        Error::Constraint { name, key: found, .. } => assert_eq!((name.as_str(), found.as_str()), ("positive", key)),
        other => panic!("{other}"),
    }
}

#[test]
fn every_way_to_put_rows_checks_them() {
    let folder = tempfile::tempdir().unwrap();
    let table = created(folder.path());
    table.add_check("positive", &positive()).unwrap();
    table.limit_chars("name", Some(2)).unwrap();
    let version = table.snapshot().unwrap().version();
    let bad = rows(&[(3, Some(1), "c"), (4, Some(0), "d")]);
    violates(table.upsert(&bad), "id = 4");
    violates(table.insert(&bad), "id = 4");
    violates(table.merge(&bad, &MergeWhen::new()), "id = 4");
    let known = rows(&[(1, Some(-1), "a")]);
    violates(table.update(&known.project(&[0, 1]).unwrap()), "id = 1");
    let update =
        MergeWhen::new().matched(WhenMatched::Update(vec!["count".to_owned()])).not_matched(WhenNotMatched::Ignore);
    violates(table.merge(&known.project(&[0, 1]).unwrap(), &update), "id = 1");
    let long = table.upsert(&rows(&[(3, None, "ééé")])).unwrap_err();
    assert!(matches!(&long, Error::TooLong { chars: 2, found: 3, .. }), "{long}");
    assert!(long.to_string().contains("id = 3"), "{long}");
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["abc"]));
    let large = RecordBatch::try_from_iter([("id", Arc::clone(known.column(0))), ("name", large)]).unwrap();
    assert!(matches!(table.update(&large), Err(Error::TooLong { .. })));
    assert_eq!(table.snapshot().unwrap().version(), version);

    // A transaction goes on after a refused change.
    let mut transaction = table.begin().unwrap();
    violates(transaction.upsert(&bad), "id = 4");
    transaction.upsert(&rows(&[(3, None, "éé")])).unwrap();
    transaction.commit().unwrap();
    assert_eq!(table.count().unwrap(), 3);
}

#[test]
fn existing_rows_are_checked_hot_and_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let table = created(folder.path());
    for flushes in [false, true] {
        if flushes {
            table.flush().unwrap();
        }
        let large = Predicate::parse("count > 1").unwrap();
        let refused = table.add_check("large", &large).unwrap_err();
        assert!(matches!(&refused, Error::Constraint { key, .. } if key == "id = 1"), "{refused}");
        let long = table.limit_chars("name", Some(1)).unwrap_err();
        assert!(matches!(&long, Error::TooLong { key, .. } if key == "id = 2"), "{long}");
        assert!(table.snapshot().unwrap().constraints().is_empty());
    }
    // A row that was replaced does not count.
    table.upsert(&rows(&[(1, Some(2), "a")])).unwrap();
    table.add_check("large", &Predicate::parse("count > 1").unwrap()).unwrap();
    assert!(matches!(table.upsert(&rows(&[(1, Some(1), "a")])), Err(Error::Constraint { .. })));
}

#[test]
fn constraints_stay_when_the_table_is_opened_again_and_older_versions_refuse_it() {
    let folder = tempfile::tempdir().unwrap();
    drop(created(folder.path()));
    assert_eq!(format(folder.path()), 6);
    let table = Table::open(folder.path(), options()).unwrap();
    table.add_check("positive", &positive()).unwrap();
    table.limit_chars("name", Some(2)).unwrap();
    let constraints = table.snapshot().unwrap().constraints();
    drop(table);
    assert_eq!(format(folder.path()), 8);
    let table = Table::open(folder.path(), options()).unwrap();
    assert_eq!(table.snapshot().unwrap().constraints(), constraints);
    violates(table.upsert(&rows(&[(1, Some(0), "a")])), "id = 1");
    table.flush().unwrap();
    assert!(table.check().unwrap().is_intact());
    let copy = tempfile::tempdir().unwrap();
    table.backup(copy.path().join("copy")).unwrap();
    let copied = Table::open(copy.path().join("copy"), options()).unwrap();
    violates(copied.upsert(&rows(&[(1, Some(0), "a")])), "id = 1");
    table.limit_chars("name", None).unwrap();
    table.drop_constraint("positive").unwrap();
    table.upsert(&rows(&[(1, Some(0), "abc")])).unwrap();
    drop(table);
    assert_eq!(format(folder.path()), 6);
}

#[test]
fn columns_in_constraints_are_renamed_and_not_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let table = created(folder.path());
    let condition = Predicate::parse("COUNT > 0 OR \"count\" = -7 OR id = count").unwrap();
    table.add_check("positive", &condition).unwrap();
    table.limit_chars("name", Some(2)).unwrap();
    table.rename_column("count", "Count of all").unwrap();
    table.rename_column("name", "id2").unwrap();
    let constraints = table.snapshot().unwrap().constraints();
    let renamed = Predicate::parse("\"Count of all\" > 0 OR \"Count of all\" = -7 OR id = \"Count of all\"").unwrap();
    assert!(
        matches!(constraints.as_slice(), [Constraint::Check { condition, .. }, Constraint::MaxChars { column, chars: 2 }]
            if *condition == renamed && column == "id2"),
        "{constraints:?}"
    );
    let refused = table.drop_column("Count of all").unwrap_err();
    assert!(refused.to_string().contains("in the constraint \"positive\""), "{refused}");
    table.drop_column("id2").unwrap();
    table.add_column(&Field::new("name", DataType::Utf8, true), Some("long name".into())).unwrap();
    assert_eq!(table.snapshot().unwrap().constraints().len(), 1);
    table.widen_column("Count of all", &DataType::Decimal128(38, 0)).unwrap();
}

#[test]
fn constraints_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = created(folder.path());
    let refused = |result: Result<(), Error>, part: &str| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Schema { .. }) && error.to_string().contains(part), "{error}");
    };
    refused(table.add_check("c", &Predicate::parse("nothing > 0").unwrap()), "nothing");
    refused(table.add_check("c", &Predicate::parse("name > 0").unwrap()), "name");
    refused(table.add_check("", &positive()), "1 to 255 bytes");
    refused(table.limit_chars("count", Some(3)), "only texts");
    refused(table.limit_chars("nothing", Some(3)), "no column");
    refused(table.drop_constraint("c"), "no constraint");
    table.add_check("c", &positive()).unwrap();
    refused(table.add_check("c", &positive()), "already");
}

#[test]
fn tables_are_created_with_constraints_also_of_dictionaries() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    let names: ArrayRef =
        Arc::new(["ab", "abc"].into_iter().collect::<DictionaryArray<arrow_array::types::Int32Type>>());
    let batch =
        RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef), ("name", names)])
            .unwrap();
    let by_key: [&str; 0] = [];
    let create = |name: &str, constraints: &[Constraint]| {
        database.create_constrained_table(name, &batch.schema(), &["id"], &by_key, None, constraints)
    };
    let limit = |column: &str| Constraint::MaxChars { column: column.to_owned(), chars: 2 };
    let table = create("t", &[limit("name")]).unwrap();
    assert!(matches!(table.upsert(&batch), Err(Error::TooLong { found: 3, .. })));
    table.upsert(&batch.slice(0, 1)).unwrap();
    assert!(matches!(create("u", &[limit("id")]), Err(Error::Schema { .. })));
    let twice = Constraint::Check { name: "c".to_owned(), condition: Predicate::parse("id > 0").unwrap() };
    assert!(matches!(create("u", &[twice.clone(), twice]), Err(Error::Schema { .. })));
    assert_eq!(database.table_names().unwrap(), ["t"]);
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false)]);
    database.create_table("plain", &schema, &["id"]).unwrap();
    assert!(database.table("plain").unwrap().snapshot().unwrap().constraints().is_empty());
}
