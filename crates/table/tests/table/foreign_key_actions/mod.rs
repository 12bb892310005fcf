//! Actions of foreign keys that reach rows in several ways.

mod model;
mod tables;

use arrow_schema::DataType::{Int8, Int64};
use lath_table::Error;
use lath_table::ForeignKeyAction::{Cascade, SetNull};

use self::tables::{Reference, Row, Shape, change, create, read};

fn numbers(values: &[i64]) -> Row {
    values.iter().copied().map(Some).collect()
}

/// Parents with a key and a unique column, and children that refer to the unique one by their key.
fn family() -> ([Shape; 2], Reference) {
    let shapes = [
        Shape { name: "parents", columns: vec![("id", Int64, false), ("u", Int64, true)], key_len: 1, unique: Some(1) },
        Shape { name: "children", columns: vec![("k", Int8, false)], key_len: 1, unique: None },
    ];
    let reference = Reference {
        table: 1,
        columns: vec![0],
        referred: 0,
        referred_columns: vec![1],
        on_delete: Cascade,
        on_update: Cascade,
    };
    (shapes, reference)
}

#[test]
fn rows_that_a_table_cannot_have_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (shapes, reference) = family();
    let database = create(folder.path(), &shapes, &[reference]);
    database.table("parents").unwrap().insert(&shapes[0].batch(&[numbers(&[1, 10]), numbers(&[2, 20])])).unwrap();
    database.table("children").unwrap().insert(&shapes[1].batch(&[numbers(&[10]), numbers(&[20])])).unwrap();
    let changes: [(Row, &str); 4] = [
        (vec![Some(1), None], "column \"k\" would be null"),
        // Also with another key.
        (vec![Some(3), None], "column \"k\" would be null"),
        (numbers(&[1, 128]), "does not have the value 128"),
        (numbers(&[3, -129]), "does not have the value -129"),
    ];
    for (new, wanted) in changes {
        let mut transaction = database.begin().unwrap();
        change(&mut transaction, &shapes[0], &[(numbers(&[1, 10]), Some(new.clone()))]).unwrap();
        let refused = transaction.apply_actions();
        assert!(
            matches!(&refused, Err(Error::ImpossibleAction { foreign_key, key, what })
                if foreign_key == "f0" && key == "k = 10" && what.contains(wanted)),
            "{refused:?}"
        );
        // The transaction goes on as before; its commit finds the same.
        assert_eq!(transaction.table("children").unwrap().count().unwrap(), 2);
        assert!(matches!(transaction.commit(), Err(Error::ImpossibleAction { .. })));
        let refused = database.table("parents").unwrap().upsert(&shapes[0].batch(&[new]));
        assert_eq!(read(&database, &shapes[1]), [numbers(&[10]), numbers(&[20])], "{refused:?}");
        database.table("parents").unwrap().delete([3]).unwrap();
    }
    // A key that another row has.
    let mut transaction = database.begin().unwrap();
    transaction.table("children").unwrap().insert(&shapes[1].batch(&[numbers(&[30])])).unwrap();
    change(&mut transaction, &shapes[0], &[(numbers(&[1, 10]), Some(numbers(&[1, 30])))]).unwrap();
    assert!(matches!(transaction.commit(), Err(Error::DuplicateKey { key, .. }) if key == "k = 30"));
}

#[test]
fn a_row_that_is_deleted_by_one_way_and_changed_by_another_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let shape = |name, columns| Shape { name, columns, key_len: 1, unique: None };
    let shapes = [
        shape("tops", vec![("id", Int64, false)]),
        shape("middles", vec![("id", Int64, false), ("top", Int64, true)]),
        // Its first way goes to a type that does not have the new value.
        shape("ends", vec![("id", Int64, false), ("top", Int8, true), ("middle", Int64, true)]),
    ];
    let refer = |table, column, referred, on_delete, on_update| Reference {
        table,
        columns: vec![column],
        referred,
        referred_columns: vec![0],
        on_delete,
        on_update,
    };
    let references =
        [refer(1, 1, 0, Cascade, SetNull), refer(2, 1, 0, SetNull, Cascade), refer(2, 2, 1, Cascade, Cascade)];
    let database = create(folder.path(), &shapes, &references);
    database.table("tops").unwrap().insert(&shapes[0].batch(&[numbers(&[1]), numbers(&[2])])).unwrap();
    database.table("middles").unwrap().insert(&shapes[1].batch(&[numbers(&[5, 2])])).unwrap();
    database.table("ends").unwrap().insert(&shapes[2].batch(&[numbers(&[7, 1, 5]), numbers(&[8, 2, 5])])).unwrap();
    let mut transaction = database.begin().unwrap();
    let changes = [(numbers(&[1]), Some(numbers(&[1000]))), (numbers(&[2]), None)];
    change(&mut transaction, &shapes[0], &changes).unwrap();
    transaction.commit().unwrap();
    assert_eq!(read(&database, &shapes[0]), [numbers(&[1000])]);
    assert_eq!(read(&database, &shapes[1]), Vec::<Row>::new());
    assert_eq!(read(&database, &shapes[2]), Vec::<Row>::new());
}
