//! Foreign keys: every way to change rows of both tables, dropped tables and indexes, and random transactions against a model.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use lath_store::{RecordReader, Store};
use lath_table::{Database, Error, Predicate, Problem, Table, TableOptions};
use lath_testkit::{Seeded, seed};

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

fn customers(rows: &[(i64, &str)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let mails: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)));
    RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("mail", mails, true)]).unwrap()
}

fn orders(rows: &[(i64, Option<i32>)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let customers: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int32Array>());
    RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("customer", customers, true)]).unwrap()
}

/// A database in which orders refer to customers by a narrower type.
fn shop(folder: &Path, options: TableOptions) -> (Database, Table, Table) {
    let database = Database::create(folder, options).unwrap();
    let parents = database.create_table("customers", &customers(&[]).schema(), &["id"]).unwrap();
    let children = database.create_table("orders", &orders(&[]).schema(), &["id"]).unwrap();
    database.add_foreign_key("orders", "by_customer", &["customer"], "customers", &["id"]).unwrap();
    (database, parents, children)
}

fn no_row<T: std::fmt::Debug>(result: Result<T, Error>, wanted: &str) {
    match result.unwrap_err() {
        Error::NoReferredRow { foreign_key, values, table } => {
            assert_eq!((&*foreign_key, &*values, &*table), ("by_customer", wanted, "customers"));
        }
        other => panic!("{other}"),
    }
}

fn referred<T: std::fmt::Debug>(result: Result<T, Error>, wanted: &str) {
    match result.unwrap_err() {
        Error::ReferredRow { foreign_key, values, table } => {
            assert_eq!((&*foreign_key, &*values, &*table), ("by_customer", wanted, "orders"));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn every_way_to_put_rows_needs_the_row_that_they_refer_to() {
    let folder = tempfile::tempdir().unwrap();
    let (database, parents, children) = shop(folder.path(), options());
    no_row(children.insert(&orders(&[(1, Some(7))])), "customer = 7");
    children.insert(&orders(&[(1, None)])).unwrap();
    no_row(children.upsert(&orders(&[(1, Some(7))])), "customer = 7");
    no_row(children.update(&orders(&[(1, Some(7))])), "customer = 7");
    assert_eq!(children.count().unwrap(), 1);
    parents.insert(&customers(&[(7, "a"), (8, "b")])).unwrap();
    parents.flush().unwrap();
    children.upsert(&orders(&[(1, Some(7)), (2, Some(8))])).unwrap();
    children.flush().unwrap();
    no_row(children.update(&orders(&[(2, Some(9))])), "customer = 9");
    // Only the row that counts.
    children.upsert(&orders(&[(3, Some(9)), (3, Some(8))])).unwrap();
    assert_eq!(children.count().unwrap(), 3);
    assert!(database.table("orders").unwrap().check().unwrap().is_intact());
}

#[test]
fn every_way_to_delete_rows_keeps_those_that_are_referred_to() {
    let folder = tempfile::tempdir().unwrap();
    let (database, parents, children) = shop(folder.path(), options());
    parents.insert(&customers(&[(7, "a"), (8, "b"), (9, "c"), (1 << 40, "far")])).unwrap();
    children.insert(&orders(&[(1, Some(7)), (2, Some(8)), (3, None)])).unwrap();
    for _ in 0..2 {
        referred(parents.delete([7]), "id = 7");
        referred(parents.delete_where(&Predicate::parse("mail = 'b'").unwrap()), "id = 8");
        referred(parents.delete_where(&Predicate::parse("id > 0").unwrap()), "id = 7");
        assert_eq!(parents.count().unwrap(), 4);
        // Now from files.
        parents.flush().unwrap();
        children.flush().unwrap();
    }
    parents.upsert(&customers(&[(7, "other")])).unwrap();
    // No order can have this number, whose type is narrower.
    parents.delete([1_i64 << 40]).unwrap();
    parents.delete([9]).unwrap();
    children.delete([1]).unwrap();
    parents.delete([7]).unwrap();
    assert_eq!((parents.count().unwrap(), children.count().unwrap()), (1, 2));
    assert!(database.table("customers").unwrap().check().unwrap().is_intact());
}

#[test]
fn a_transaction_is_checked_when_it_commits() {
    let folder = tempfile::tempdir().unwrap();
    let (database, parents, children) = shop(folder.path(), options());
    let mut transaction = database.begin().unwrap();
    transaction.table("orders").unwrap().insert(&orders(&[(1, Some(7))])).unwrap();
    transaction.table("customers").unwrap().insert(&customers(&[(7, "a")])).unwrap();
    transaction.commit().unwrap();

    let mut transaction = database.begin().unwrap();
    transaction.table("customers").unwrap().delete([7]).unwrap();
    referred(transaction.commit(), "id = 7");
    let mut transaction = database.begin().unwrap();
    transaction.table("orders").unwrap().insert(&orders(&[(2, Some(8))])).unwrap();
    no_row(transaction.commit(), "customer = 8");
    assert_eq!((parents.count().unwrap(), children.count().unwrap()), (1, 1));

    // Changes that were undone do not count.
    let mut transaction = database.begin().unwrap();
    let savepoint = transaction.savepoint().unwrap();
    transaction.table("orders").unwrap().insert(&orders(&[(2, Some(8))])).unwrap();
    transaction.table("customers").unwrap().delete([7]).unwrap();
    transaction.rollback(&savepoint).unwrap();
    transaction.table("orders").unwrap().insert(&orders(&[(3, Some(7))])).unwrap();
    transaction.commit().unwrap();

    // A key that is put again, and rows that go together.
    let mut transaction = database.begin().unwrap();
    transaction.table("customers").unwrap().delete([7]).unwrap();
    transaction.table("customers").unwrap().insert(&customers(&[(7, "again")])).unwrap();
    transaction.commit().unwrap();
    let mut transaction = database.begin().unwrap();
    transaction.table("customers").unwrap().delete([7]).unwrap();
    transaction.table("orders").unwrap().delete_where(&Predicate::parse("customer = 7").unwrap()).unwrap();
    transaction.commit().unwrap();
    assert_eq!((parents.count().unwrap(), children.count().unwrap()), (0, 0));
}

#[test]
fn rows_that_become_files_at_once_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let (database, parents, children) = shop(folder.path(), options().bulk_rows(10));
    let many: Vec<(i64, Option<i32>)> = (0..100).map(|id| (id, Some((id % 20) as i32))).collect();
    no_row(children.upsert(&orders(&many)), "customer = 0");
    let all: Vec<(i64, &str)> = (0..20).map(|id| (id, "a")).collect();
    parents.upsert(&customers(&all)).unwrap();
    children.upsert(&orders(&many)).unwrap();
    assert!(!database.table("orders").unwrap().snapshot().unwrap().statistics().unwrap().files.is_empty());
    referred(parents.delete([13]), "id = 13");
    let others: Vec<(i64, Option<i32>)> = many.iter().map(|&(id, _)| (id, Some(3))).collect();
    children.upsert(&orders(&others)).unwrap();
    parents.delete([13]).unwrap();
    referred(parents.delete([3]), "id = 3");
}

#[test]
fn unique_columns_and_own_tables_can_be_referred_to() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    let parents = database.create_table("customers", &customers(&[]).schema(), &["id"]).unwrap();
    let child = |rows: &[(i64, &str, Option<i64>)]| {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
        let mails: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)));
        let before: ArrayRef = Arc::new(rows.iter().map(|row| row.2).collect::<Int64Array>());
        let columns = [("id", ids, false), ("mail", mails, true), ("before", before, true)];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    let letters = database.create_table("letters", &child(&[]).schema(), &["id"]).unwrap();
    let refused = database.add_foreign_key("letters", "to", &["mail"], "customers", &["mail"]);
    assert!(matches!(&refused, Err(Error::Schema { what }) if what.contains("unique")), "{refused:?}");
    parents.create_index("by_mail", &["mail"], true).unwrap();
    database.add_foreign_key("letters", "to", &["mail"], "customers", &["mail"]).unwrap();
    database.add_foreign_key("letters", "after", &["before"], "letters", &[]).unwrap();

    parents.upsert(&customers(&[(1, "a"), (2, "b")])).unwrap();
    assert!(matches!(letters.upsert(&child(&[(1, "c", None)])), Err(Error::NoReferredRow { .. })));
    letters.upsert(&child(&[(1, "a", Some(2)), (2, "a", Some(1)), (3, "b", Some(3))])).unwrap();
    assert!(matches!(letters.upsert(&child(&[(4, "b", Some(5))])), Err(Error::NoReferredRow { .. })));
    assert!(matches!(letters.delete([1]), Err(Error::ReferredRow { .. })));
    letters.delete([3]).unwrap();
    letters.delete([1, 2]).unwrap();

    letters.upsert(&child(&[(1, "a", None)])).unwrap();
    // The values move to another row.
    assert!(matches!(parents.upsert(&customers(&[(1, "other")])), Err(Error::ReferredRow { .. })));
    let mut transaction = parents.begin().unwrap();
    transaction.upsert(&customers(&[(1, "other")])).unwrap();
    transaction.upsert(&customers(&[(3, "a")])).unwrap();
    transaction.commit().unwrap();
    let refused = parents.drop_index("by_mail");
    assert!(matches!(&refused, Err(Error::Schema { what }) if what.contains("\"to\"")), "{refused:?}");
    assert!(parents.rename_column("mail", "address").is_ok());
    let info = letters.snapshot().unwrap().foreign_keys().unwrap();
    let found: Vec<_> =
        info.iter().map(|key| (&*key.name, &key.columns[0][..], &key.referred_columns[0][..])).collect();
    assert_eq!(found, [("after", "before", "id"), ("to", "mail", "address")]);
}

#[test]
fn keys_of_several_columns_match_by_name_and_ignore_rows_with_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    let columns = |a: Vec<Option<i64>>, b: Vec<Option<&str>>, names: [&'static str; 3]| {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..a.len() as i64));
        let (a, b): (ArrayRef, ArrayRef) = (Arc::new(Int64Array::from(a)), Arc::new(StringArray::from(b)));
        RecordBatch::try_from_iter_with_nullable([(names[0], ids, false), (names[1], a, true), (names[2], b, true)])
            .unwrap()
    };
    let parent = columns(vec![Some(1), Some(2)], vec![Some("x"), Some("y")], ["n", "a", "b"]);
    let parents = database.create_table("parents", &parent.schema(), &["a", "b"]).unwrap();
    parents.insert(&parent).unwrap();
    let child = |a, b| columns(a, b, ["id", "one", "two"]);
    let children = database.create_table("children", &child(vec![], vec![]).schema(), &["id"]).unwrap();
    database.add_foreign_key("children", "pair", &["two", "one"], "parents", &["b", "a"]).unwrap();
    children.upsert(&child(vec![Some(2), None, Some(5)], vec![Some("y"), Some("z"), None])).unwrap();
    let refused = children.upsert(&child(vec![Some(2)], vec![Some("x")]));
    assert!(
        matches!(&refused, Err(Error::NoReferredRow { values, .. }) if values == "one = 2, two = x"),
        "{refused:?}"
    );
    assert!(matches!(parents.delete_where(&Predicate::parse("a = 2").unwrap()), Err(Error::ReferredRow { .. })));
    parents.delete_where(&Predicate::parse("a = 1").unwrap()).unwrap();
    assert_eq!(children.snapshot().unwrap().indexes()[0].columns, ["one", "two"]);
}

#[test]
fn a_foreign_key_is_added_to_rows_that_fit_and_dropped_with_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    let parents = database.create_table("customers", &customers(&[]).schema(), &["id"]).unwrap();
    let children = database.create_table("orders", &orders(&[]).schema(), &["id"]).unwrap();
    parents.insert(&customers(&[(1, "a")])).unwrap();
    children.insert(&orders(&[(1, Some(1)), (2, Some(2)), (3, None)])).unwrap();
    children.flush().unwrap();
    let add = || database.add_foreign_key("orders", "by_customer", &["customer"], "customers", &["id"]);
    no_row(add(), "customer = 2");
    assert_eq!(children.snapshot().unwrap().indexes(), []);
    parents.delete([1]).unwrap();
    parents.insert(&customers(&[(1, "a"), (2, "b")])).unwrap();
    add().unwrap();
    assert!(matches!(add(), Err(Error::Schema { .. })));
    let refused = database.add_foreign_key("orders", "mails", &["customer"], "customers", &["nothing"]);
    assert!(matches!(refused, Err(Error::Batch { .. })), "{refused:?}");
    parents.create_index("by_mail", &["mail"], true).unwrap();
    let refused = database.add_foreign_key("orders", "mails", &["customer"], "customers", &["mail"]);
    assert!(matches!(&refused, Err(Error::Schema { what }) if what.contains("same type")), "{refused:?}");
    assert!(matches!(children.drop_index("by_customer"), Err(Error::Schema { .. })));
    assert!(matches!(children.drop_column("customer"), Err(Error::Schema { .. })));
    database.drop_foreign_key("orders", "by_customer").unwrap();
    assert_eq!(children.snapshot().unwrap().indexes(), []);
    children.upsert(&orders(&[(1, Some(9))])).unwrap();
    parents.delete([2]).unwrap();
    assert!(matches!(database.drop_foreign_key("orders", "by_customer"), Err(Error::Schema { .. })));

    // An existing index is used, and stays.
    children.upsert(&orders(&[(1, None), (2, None)])).unwrap();
    children.create_index("own", &["customer"], false).unwrap();
    add().unwrap();
    assert!(matches!(children.drop_index("own"), Err(Error::Schema { .. })));
    database.drop_foreign_key("orders", "by_customer").unwrap();
    assert_eq!(children.snapshot().unwrap().indexes().len(), 1);
}

#[test]
fn tables_are_dropped_and_renamed_without_losing_foreign_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (database, parents, children) = shop(folder.path(), options());
    parents.insert(&customers(&[(1, "a")])).unwrap();
    let refused = database.drop_table("customers");
    assert!(matches!(&refused, Err(Error::Schema { what }) if what.contains("by_customer")), "{refused:?}");
    database.create_table("new", &customers(&[]).schema(), &["id"]).unwrap();
    assert!(matches!(database.replace_table("customers", "new"), Err(Error::Schema { .. })));
    database.rename_table("customers", "people").unwrap();
    let refused = children.insert(&orders(&[(1, Some(2))]));
    assert!(matches!(&refused, Err(Error::NoReferredRow { table, .. }) if table == "people"), "{refused:?}");
    children.insert(&orders(&[(1, Some(1))])).unwrap();
    drop((parents, children, database));

    // With tables opened again; also where a handle is all that is left of the database.
    let database = Database::open(folder.path(), options()).unwrap();
    let people = database.table("people").unwrap();
    drop(database);
    referred_people(people.delete([1]));
    drop(people);
    let format = |table: &str| {
        let store = Store::open(folder.path().join("database.lath")).unwrap();
        let snapshot = store.snapshot().unwrap();
        let state =
            snapshot.tree(&format!("table/{table}/meta")).unwrap().unwrap().get(b"state").unwrap().unwrap().to_vec();
        RecordReader::new("the state", &state).unwrap().u32().unwrap()
    };
    assert_eq!([format("1"), format("2"), format("3")], [10, 10, 6]);

    let database = Database::open(folder.path(), options()).unwrap();
    database.drop_table("orders").unwrap();
    database.table("people").unwrap().delete([1]).unwrap();
    database.drop_table("people").unwrap();
    drop(database);
}

fn referred_people<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(&result, Err(Error::ReferredRow { table, .. }) if table == "orders"), "{result:?}");
}

#[test]
fn check_finds_rows_without_the_row_that_they_refer_to() {
    let folder = tempfile::tempdir().unwrap();
    let (database, parents, children) = shop(folder.path(), options());
    parents.insert(&customers(&[(1, "a")])).unwrap();
    children.insert(&orders(&[(1, Some(1)), (2, None)])).unwrap();
    assert!(children.check().unwrap().is_intact());
    drop((parents, children, database));
    // As if the customer had been lost.
    let store = Store::open(folder.path().join("database.lath")).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.drop_tree("table/1/hot").unwrap();
    transaction.commit().unwrap();
    drop(store);
    let database = Database::open(folder.path(), options()).unwrap();
    let problems = database.table("orders").unwrap().check().unwrap().problems;
    assert!(
        problems
            .iter()
            .any(|problem| matches!(problem, Problem::ForeignKey { values, .. } if values == "customer = 1")),
        "{problems:?}"
    );
}

/// The rows of a model: customers, and orders with their customers.
type Model = (BTreeSet<i64>, BTreeMap<i64, Option<i32>>);

fn holds((parents, children): &Model) -> bool {
    children.values().flatten().all(|customer| parents.contains(&i64::from(*customer)))
}

#[test]
fn random_transactions_keep_what_a_model_keeps() {
    for seed in (0..20).map(|at| seed().wrapping_add(at)) {
        let mut random = Seeded::with_seed("foreign keys", seed);
        let folder = tempfile::tempdir().unwrap();
        let bulk_rows = if seed % 2 == 0 { 3 } else { u64::MAX };
        let (database, parents, children) = shop(folder.path(), options().bulk_rows(bulk_rows));
        let mut model = Model::default();
        let (mut kept, mut refused) = (0, 0);
        for _ in 0..60 {
            let mut transaction = database.begin().unwrap();
            let mut next = model.clone();
            for _ in 0..random.u8(0..4) + 1 {
                let savepoint = transaction.savepoint().unwrap();
                let before = next.clone();
                let ids: Vec<i64> = (0..random.u8(0..5) + 1).map(|_| random.i64(0..8)).collect();
                match random.u8(0..4) {
                    0 => {
                        let rows: Vec<(i64, &str)> = ids.iter().map(|&id| (id, "a")).collect();
                        transaction.table("customers").unwrap().upsert(&customers(&rows)).unwrap();
                        next.0.extend(&ids);
                    }
                    1 => {
                        let customer = |random: &mut Seeded| (random.u8(0..3) > 0).then(|| random.i32(0..8));
                        let rows: Vec<_> = ids.iter().map(|&id| (id, customer(&mut random))).collect();
                        transaction.table("orders").unwrap().upsert(&orders(&rows)).unwrap();
                        next.1.extend(rows);
                    }
                    2 => {
                        transaction.table("customers").unwrap().delete(&ids[..]).unwrap();
                        next.0.retain(|id| !ids.contains(id));
                    }
                    _ => {
                        let first = ids[0];
                        let predicate = Predicate::parse(&format!("id <= {first}")).unwrap();
                        transaction.table("orders").unwrap().delete_where(&predicate).unwrap();
                        next.1.retain(|&id, _| id > first);
                    }
                }
                if random.u8(0..4) == 0 {
                    transaction.rollback(&savepoint).unwrap();
                    next = before;
                }
            }
            match transaction.commit() {
                Ok(()) => {
                    assert!(holds(&next), "seed {seed}: {next:?}");
                    model = next;
                    kept += 1;
                }
                Err(Error::NoReferredRow { .. } | Error::ReferredRow { .. }) => {
                    assert!(!holds(&next), "seed {seed}: {next:?}");
                    refused += 1;
                }
                Err(other) => panic!("seed {seed}: {other}"),
            }
            match random.u8(0..6) {
                0 => drop(parents.flush().unwrap()),
                1 => drop(children.flush().unwrap()),
                2 => drop(children.compact().unwrap()),
                _ => {}
            }
            assert_eq!(parents.count().unwrap(), model.0.len() as u64, "seed {seed}");
            assert_eq!(children.count().unwrap(), model.1.len() as u64, "seed {seed}");
        }
        assert!(kept > 5 && refused > 5, "seed {seed}: {kept} and {refused}");
        for table in [&parents, &children] {
            assert_eq!(table.check().unwrap().problems, [], "seed {seed}");
        }
    }
}

#[test]
fn actions_follow_deletions_and_changes_from_every_call() {
    use lath_table::{ForeignKeyAction, ForeignKeyActions};

    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    let parents = database.create_table("customers", &customers(&[]).schema(), &["id"]).unwrap();
    let children = database.create_table("orders", &orders(&[]).schema(), &["id"]).unwrap();
    let actions = ForeignKeyActions::new(ForeignKeyAction::Cascade, ForeignKeyAction::SetNull);
    let mut transaction = database.begin().unwrap();
    transaction.add_foreign_key("orders", "by_customer", &["customer"], "customers", &["id"], actions).unwrap();
    transaction.commit().unwrap();
    parents.insert(&customers(&[(1, "a"), (2, "b"), (3, "c")])).unwrap();
    children.insert(&orders(&[(10, Some(1)), (11, Some(1)), (20, Some(2)), (30, Some(3))])).unwrap();
    children.flush().unwrap();

    // A call of the table, and a condition.
    parents.delete([1]).unwrap();
    assert_eq!(children.count().unwrap(), 2);
    parents.delete_where(&Predicate::parse("id = 2").unwrap()).unwrap();
    assert_eq!(children.count().unwrap(), 1);

    // Rows that are told to move are changed, not deleted.
    let mut transaction = database.begin().unwrap();
    let part = transaction.table("customers").unwrap();
    let old = customers(&[(3, "c")]).project(&[0]).unwrap();
    part.move_rows(&old, &customers(&[(4, "c")])).unwrap();
    part.delete(old).unwrap();
    part.insert(&customers(&[(4, "c")])).unwrap();
    transaction.apply_actions().unwrap();
    assert_eq!(transaction.table("orders").unwrap().count().unwrap(), 1);
    transaction.commit().unwrap();
    let found = children.get(30).unwrap().unwrap();
    assert!(found.column(1).is_null(0));

    // They are kept with the database.
    let kept = children.snapshot().unwrap().foreign_keys().unwrap();
    assert_eq!(kept[0].actions, actions);
    drop((parents, children, database));
    let database = Database::open(folder.path(), options()).unwrap();
    assert_eq!(database.table("orders").unwrap().snapshot().unwrap().foreign_keys().unwrap(), kept);
    for name in ["customers", "orders"] {
        assert!(database.table(name).unwrap().check().unwrap().problems.is_empty());
    }
}
