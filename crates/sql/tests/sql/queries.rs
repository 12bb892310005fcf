use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringViewArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field};
use lath_parquet::{Dataset, DatasetOptions};
use lath_sql::Session;
use lath_testkit::Seeded;

use crate::{answer, in_memory, sorted, wait, write};

fn random_table(random: &mut Seeded, rows: usize) -> RecordBatch {
    let words = ["Oslo", "Bergen", "", "Åre", "it's", "100%", "a_b"];
    let maybe = |random: &mut Seeded| random.u8(..5) > 0;
    let ids: Int64Array = (0..rows as i64).map(|row| Some(row * 3)).collect();
    let keys: Int32Array = (0..rows).map(|_| maybe(random).then(|| random.i32(0..50))).collect();
    let city: StringViewArray = (0..rows).map(|_| maybe(random).then(|| words[random.usize(..words.len())])).collect();
    let price: Decimal128Array = (0..rows).map(|_| maybe(random).then(|| random.i128(-5000..5000))).collect();
    let price = price.with_precision_and_scale(12, 2).unwrap();
    let ratio: Float64Array = (0..rows)
        .map(|_| maybe(random).then(|| [f64::NAN, 1.5, -2.25, 1e300, f64::NEG_INFINITY][random.usize(..5)]))
        .collect();
    let day: Date32Array = (0..rows).map(|_| maybe(random).then(|| random.i32(19_000..19_030))).collect();
    let at: TimestampMicrosecondArray =
        (0..rows).map(|_| maybe(random).then(|| random.i64(1_700_000_000_000_000..1_700_000_100_000_000))).collect();
    let flag: BooleanArray = (0..rows).map(|_| maybe(random).then(|| random.bool())).collect();
    let inner: ArrayRef = Arc::new((0..rows).map(|_| maybe(random).then(|| random.i32(0..5))).collect::<Int32Array>());
    let nested = StructArray::from(vec![(Arc::new(Field::new("inner", DataType::Int32, true)), inner)]);
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(ids) as ArrayRef, true),
        ("key", Arc::new(keys), true),
        ("city", Arc::new(city), true),
        ("price", Arc::new(price), true),
        ("ratio", Arc::new(ratio), true),
        ("day", Arc::new(day), true),
        ("at", Arc::new(at), true),
        ("flag", Arc::new(flag), true),
        ("nested", Arc::new(nested), true),
    ])
    .unwrap()
}

/// A session with the same rows in files (`t`) of `row_groups` row groups each, and in memory (`m`).
pub(crate) fn session(random: &mut Seeded, folder: &Path, rows: usize, row_groups: usize) -> Session {
    let tables: Vec<RecordBatch> = (0..3).map(|_| random_table(random, rows)).collect();
    for (number, table) in tables.iter().enumerate() {
        write(&folder.join(format!("{number}.parquet")), table, rows / row_groups + 1);
    }
    let session = Session::new();
    session.register("t", Dataset::open([folder], DatasetOptions::new()).unwrap()).unwrap();
    in_memory(&session, "m", tables);
    session
}

pub(crate) fn condition(random: &mut Seeded) -> String {
    let simple = |random: &mut Seeded| {
        let op = ["=", "<>", "<", "<=", ">", ">="][random.usize(..6)];
        match random.u8(..16) {
            0 => format!("id {op} {}", random.i32(-10..3000)),
            1 => format!("key {op} {}", random.i32(-1..52)),
            2 => format!("key IN ({}, {}, NULL)", random.i32(0..50), random.i32(0..50)),
            3 => format!("key NOT IN ({}, {})", random.i32(0..50), random.i32(0..50)),
            4 => format!("city {op} 'Bergen'"),
            5 => format!("city LIKE '{}'", ["%er%", "B%", "_slo", "%", "it''s", "100%", "a\\_b"][random.usize(..7)]),
            6 => format!("city NOT LIKE '{}'", ["%er%", "B%"][random.usize(..2)]),
            7 => format!("price {op} {}.{:02}", random.i32(-60..60), random.i32(0..100)),
            8 => format!("ratio {op} {}", ["1.5", "0", "'NaN'::double", "-1e300"][random.usize(..4)]),
            9 => format!("day {op} DATE '2022-01-{:02}'", random.i32(1..31)),
            10 => format!("at {op} TIMESTAMP '2023-11-14T22:14:{:02}'", random.i32(0..60)),
            11 => ["flag", "NOT flag", "flag IS NULL", "flag IS NOT TRUE", "flag = true"][random.usize(..5)].to_owned(),
            12 => format!("{} IS {}NULL", ["city", "price", "key"][random.usize(..3)], ["", "NOT "][random.usize(..2)]),
            13 => format!("nested.inner {op} {}", random.i32(0..5)),
            14 => format!("key BETWEEN {} AND {}", random.i32(0..50), random.i32(0..50)),
            _ => format!("key {op} id % 50"),
        }
    };
    let mut text = simple(random);
    for _ in 0..random.u8(..3) {
        let join = ["AND", "OR"][random.usize(..2)];
        let other = simple(random);
        text = if random.u8(..4) == 0 {
            format!("NOT ({text}) {join} {other}")
        } else {
            format!("({text}) {join} {other}")
        };
    }
    text
}

#[test]
fn files_answer_as_rows_in_memory_do() {
    let mut random = Seeded::new("files_answer_as_rows_in_memory_do");
    let queries: usize = std::env::var("LATH_CASES").map_or(300, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let session = session(&mut random, folder.path(), 600, 3);
    wait(async {
        for _ in 0..queries {
            let condition = condition(&mut random);
            let (select, rest, is_ordered) = match random.u8(..9) {
                0 => ("*", String::new(), false),
                1 => ("id, city", String::new(), false),
                2 => ("count(*)", String::new(), false),
                3 => ("count(*), count(key), min(price), max(city), sum(key)", String::new(), false),
                4 => ("city, count(*), avg(key)", " GROUP BY city".to_owned(), false),
                5 => ("id, key", " ORDER BY key NULLS FIRST, id LIMIT 7".to_owned(), true),
                6 => ("id, at", " ORDER BY at DESC NULLS LAST, id LIMIT 5 OFFSET 3".to_owned(), true),
                7 => ("id, key + 1 AS next, upper(city)", String::new(), false),
                _ => ("DISTINCT nested.inner, flag", String::new(), false),
            };
            let query = |table: &str| format!("SELECT {select} FROM {table} WHERE {condition}{rest}");
            let (files, memory) = (answer(&session, &query("t")).await, answer(&session, &query("m")).await);
            let show = |batches: &[RecordBatch]| {
                if is_ordered {
                    arrow_cast::pretty::pretty_format_batches(batches).unwrap().to_string()
                } else {
                    sorted(batches).join("\n")
                }
            };
            assert_eq!(show(&files), show(&memory), "{}", query("t"));
        }
    });
}

#[test]
fn joins_answer_as_rows_in_memory_do() {
    let mut random = Seeded::new("joins_answer_as_rows_in_memory_do");
    let folder = tempfile::tempdir().unwrap();
    let session = session(&mut random, folder.path(), 400, 3);
    wait(async {
        for _ in 0..60 {
            let (left, right) = (condition(&mut random), condition(&mut random));
            let kind = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"][random.usize(..4)];
            let on = [
                "a.id = b.id",
                "a.key = b.key AND a.id < b.id + 900",
                "a.id = b.key",
                "a.city = b.city AND a.day = b.day",
            ][random.usize(..4)];
            let query = |table: &str| {
                format!(
                    "SELECT a.id, b.id, b.city FROM (SELECT * FROM {table} WHERE {left}) a {kind} \
                     (SELECT * FROM {table} WHERE {right}) b ON {on}"
                )
            };
            let (files, memory) = (answer(&session, &query("t")).await, answer(&session, &query("m")).await);
            assert_eq!(sorted(&files), sorted(&memory), "{}", query("t"));
        }
    });
}
