//! Unique indexes compared with maps, ranges of indexes, and rejected operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use lath_table::{Database, Durability, Error, MergeWhen, Predicate, Snapshot, Table, TableOptions, WhenMatched};
use lath_testkit::Seeded;

type Rows = BTreeMap<i64, Option<i64>>;

fn batch(rows: &[(i64, Option<i64>)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let codes: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>());
    RecordBatch::try_from_iter_with_nullable([("code", codes, true), ("id", ids, false)]).unwrap()
}

fn rows(batches: impl IntoIterator<Item = RecordBatch>) -> Vec<(i64, Option<i64>)> {
    let mut found = Vec::new();
    for batch in batches {
        let (codes, ids) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<Int64Type>());
        found.extend((0..batch.num_rows()).map(|row| (ids.value(row), codes.is_valid(row).then(|| codes.value(row)))));
    }
    found
}

fn options() -> TableOptions {
    TableOptions::new().background(false).durability(Durability::Off).file_rows(300).merge_files(2)
}

/// Rows in index order: by code, nulls first, and then by key.
fn by_code(snapshot: &Snapshot) -> Vec<(i64, Option<i64>)> {
    rows(snapshot.range_by_index::<i64>("code", ..).unwrap().map(Result::unwrap))
}

fn is_unique(rows: &Rows) -> bool {
    let mut codes: Vec<i64> = rows.values().copied().flatten().collect();
    let count = codes.len();
    codes.sort_unstable();
    codes.dedup();
    codes.len() == count
}

/// Changes the model if the table may change, and returns whether it may.
fn attempt(model: &mut Rows, changed: Rows) -> bool {
    let may = is_unique(&changed);
    if may {
        *model = changed;
    }
    may
}

fn hold(result: lath_table::Result<()>, may: bool, what: &str) {
    match result {
        Ok(()) => assert!(may, "{what}: two rows have one code"),
        Err(error) => assert!(!may && matches!(error, Error::NotUnique { .. }), "{what}: {error}"),
    }
}

#[test]
fn unique_indexes_match_maps() {
    let mut random = Seeded::new("unique indexes forbid what maps say they forbid");
    let mut refused = 0;
    for _ in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let table = Table::create(folder.path(), &batch(&[]).schema(), &["id"], options()).unwrap();
        table.create_index("code", &["code"], true).unwrap();
        let mut model = Rows::new();
        for step in 0..120 {
            let count = random.usize(1..4);
            let mut some: Vec<(i64, Option<i64>)> =
                (0..count).map(|_| (random.i64(0..40), (random.u8(..4) > 0).then(|| random.i64(0..30)))).collect();
            if random.bool() && model.len() > 1 {
                // Two rows exchange their codes.
                let [a, b] = [(); 2].map(|()| *model.iter().nth(random.usize(..model.len())).unwrap().0);
                some = vec![(a, model[&b]), (b, model[&a])];
            }
            let what = format!("step {step}: {some:?} into {model:?}");
            let may = match random.u8(..12) {
                0..=6 => {
                    let mut changed = model.clone();
                    changed.extend(some.iter().copied());
                    let may = attempt(&mut model, changed);
                    hold(table.upsert(&batch(&some)), may, &what);
                    may
                }
                7 => {
                    let keys: Vec<i64> = some.iter().map(|row| row.0).collect();
                    model.retain(|key, _| !keys.contains(key));
                    table.delete(keys).unwrap();
                    true
                }
                8 => {
                    let code = random.i64(0..30);
                    model.retain(|_, other| *other != Some(code));
                    table.delete_where(&Predicate::parse(&format!("code = {code}")).unwrap()).unwrap();
                    true
                }
                9 | 10 => {
                    // Existing rows are removed, and the others are added.
                    let mut changed = model.clone();
                    let source: Rows = some.iter().copied().collect();
                    for (key, code) in source {
                        if changed.remove(&key).is_none() {
                            changed.insert(key, code);
                        }
                    }
                    let may = attempt(&mut model, changed);
                    let when = MergeWhen::new().matched(WhenMatched::Delete);
                    // The transaction continues after an error.
                    let mut transaction = table.begin().unwrap();
                    hold(transaction.merge(&batch(&some), &when).map(drop), may, &what);
                    transaction.commit().unwrap();
                    may
                }
                _ => {
                    table.flush().unwrap();
                    table.compact().unwrap();
                    true
                }
            };
            refused += u32::from(!may);
            let snapshot = table.snapshot().unwrap();
            let mut expected: Vec<(i64, Option<i64>)> = model.iter().map(|(key, code)| (*key, *code)).collect();
            expected.sort_by_key(|&(key, code)| (code, key));
            assert_eq!(by_code(&snapshot), expected, "{what}");
        }
        let report = table.check().unwrap();
        assert!(report.is_intact() && report.rows == model.len() as u64, "{report:?}");
    }
    assert!(refused > 20, "only {refused} changes were refused");
}

#[test]
fn new_index_contains_existing_rows() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    let table = database.create_table("a", &batch(&[]).schema(), &["id"]).unwrap();
    let all: Vec<(i64, Option<i64>)> = (0..20_000).map(|id| (id, (id % 5 > 0).then_some(id / 2))).collect();
    table.upsert(&batch(&all)).unwrap();
    table.flush().unwrap();
    table.upsert(&batch(&[(3, Some(-1)), (30_000, None)])).unwrap();
    let before = table.snapshot().unwrap();
    let version = before.version();
    let refused = table.create_index("code", &["code"], true).unwrap_err();
    assert!(refused.to_string().contains("code = "), "{refused}");
    assert!(matches!(table.create_index("x", &["none"], false), Err(Error::Batch { .. })));
    assert!(matches!(table.create_index("x", &["id", "id"], false), Err(Error::Schema { .. })));
    assert!(matches!(table.create_index::<&str>("x", &[], false), Err(Error::Schema { .. })));
    assert!(matches!(table.create_index("", &["id"], false), Err(Error::Schema { .. })));
    assert!(matches!(table.drop_index("code"), Err(Error::NoSuchIndex { .. })));
    assert_eq!(table.snapshot().unwrap().version(), version);

    table.create_index("code", &["code"], false).unwrap();
    assert!(matches!(table.create_index("code", &["id"], false), Err(Error::IndexExists { .. })));
    assert!(matches!(before.get_by_index("code", 7), Err(Error::NoSuchIndex { .. })));
    let snapshot = table.snapshot().unwrap();
    assert_eq!(rows([snapshot.get_by_index("code", 9).unwrap()]), [(18, Some(9)), (19, Some(9))]);
    assert_eq!(rows([snapshot.get_by_index("code", -1).unwrap()]), [(3, Some(-1))]);
    let found = rows(snapshot.range_by_index("code", 6..=8).unwrap().map(Result::unwrap));
    assert_eq!(found, [(12, Some(6)), (13, Some(6)), (14, Some(7)), (16, Some(8)), (17, Some(8))]);
    assert_eq!(by_code(&snapshot).len(), 20_001);
    assert!(matches!(snapshot.get_by_index("code", "seven"), Err(Error::Key { .. })));
    drop(snapshot);

    drop((before, table, database));
    let database = Database::open(folder.path(), options()).unwrap();
    let table = database.table("a").unwrap();
    table.delete([18]).unwrap();
    assert_eq!(rows([table.snapshot().unwrap().get_by_index("code", 9).unwrap()]), [(19, Some(9))]);
    assert!(table.check().unwrap().is_intact());
    drop(table);
    database.drop_table("a").unwrap();
    let table = database.create_table("a", &batch(&[]).schema(), &["id"]).unwrap();
    assert!(table.snapshot().unwrap().indexes().is_empty());
}
