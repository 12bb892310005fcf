//! Compares `find` and `count --where` with filters written in Rust.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, TimestampMicrosecondType, UInt8Type, UInt16Type};
use arrow_array::{Array, RecordBatch};

use crate::files::{numbered, oracle, write};
use crate::invocation::{lath, sample};

const MONTHS: [&str; 3] = ["trips/2025-01.parquet", "trips/2025-02.parquet", "trips/2025-03.parquet"];

/// Rows of all months for which `holds` is true.
fn count_rows(holds: impl Fn(&RecordBatch, usize) -> bool) -> usize {
    MONTHS
        .map(|name| oracle(sample(name)))
        .iter()
        .map(|rows| (0..rows.num_rows()).filter(|&row| holds(rows, row)).count())
        .sum()
}

#[track_caller]
fn check(expression: &str, holds: impl Fn(&RecordBatch, usize) -> bool) {
    let expected = count_rows(holds);
    assert!(expected > 0, "{expression} should find something");
    let found = lath(["find", &sample("trips"), "--where", expression]).json_lines(0);
    assert_eq!(found.len(), expected, "{expression}");
    assert_eq!(lath(["count", &sample("trips"), "--where", expression]).text(0), format!("{expected}\n"));
}

#[test]
fn what_is_found_is_what_a_plain_loop_finds() {
    check("price > 12.5", |rows, row| rows["price"].as_primitive::<Decimal128Type>().value(row) > 1250);
    check("minutes BETWEEN 48 AND 50 OR minutes < 3", |rows, row| {
        let minutes = rows["minutes"].as_primitive::<UInt16Type>().value(row);
        (48..=50).contains(&minutes) || minutes < 3
    });
    check("rider.plan = 'day pass' AND rider.age > 70", |rows, row| {
        let rider = rows["rider"].as_struct();
        let age = rider["age"].as_primitive::<UInt8Type>();
        rider["plan"].as_string::<i32>().value(row) == "day pass" && age.is_valid(row) && age.value(row) > 70
    });
    check("note LIKE 'b%squeal%'", |rows, row| {
        let note = rows["note"].as_string::<i32>();
        note.is_valid(row) && note.value(row).starts_with('b') && note.value(row).contains("squeal")
    });
    check("\"to\" IS NULL AND \"from\" IN ('Opera', 'Östra Bron')", |rows, row| {
        rows["to"].is_null(row) && ["Opera", "Östra Bron"].contains(&rows["from"].as_string::<i32>().value(row))
    });
    check("started >= '2025-02-28 23:00' AND started < TIMESTAMP '2025-03-01 02:00:00+01:00'", |rows, row| {
        let started = rows["started"].as_primitive::<TimestampMicrosecondType>().value(row);
        (1_740_783_600_000_000..1_740_790_800_000_000).contains(&started)
    });
}

#[test]
fn columns_of_the_expression_need_not_be_shown() {
    let trips = sample("trips");
    let run = lath(["find", &trips, "--where", "rider.age = 70 AND minutes > 40", "--select", "price,rider.plan"]);
    let found = run.json_lines(0);
    for trip in &found {
        assert_eq!(trip.as_object().unwrap().keys().collect::<Vec<_>>(), ["price", "rider"]);
        assert_eq!(trip["rider"].as_object().unwrap().keys().collect::<Vec<_>>(), ["plan"]);
    }
    let both = lath(["find", &trips, "--where", "rider.age = 70 AND minutes > 40", "--select", "rider,minutes,price"]);
    let both = both.json_lines(0);
    assert_eq!(found.len(), both.len());
    for (found, both) in found.iter().zip(&both) {
        assert_eq!(found["price"], both["price"], "rows read in two steps belong together");
        assert_eq!(found["rider"]["plan"], both["rider"]["plan"]);
        assert_eq!(both["rider"]["age"], 70);
        assert!(both["minutes"].as_u64().unwrap() > 40);
    }
}

#[test]
fn the_limit_is_kept_across_row_groups_and_files() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.parquet"), &numbered(0..1000), 100);
    write(&folder.path().join("b.parquet"), &numbered(1000..2000), 100);
    let path = folder.path().to_str().unwrap();
    for limit in ["1", "57", "100", "150", "285", "286", "1000"] {
        let found = lath(["find", path, "--where", "name IS NULL", "--limit", limit, "--select", "id"]).json_lines(0);
        let expected: Vec<i64> = (0..2000).filter(|id| id % 7 == 3).take(limit.parse().unwrap()).collect();
        let ids: Vec<i64> = found.iter().map(|line| line["id"].as_i64().unwrap()).collect();
        assert_eq!(ids, expected, "limit {limit}");
    }
    assert_eq!(lath(["find", path, "--where", "TRUE", "--limit", "3"]).json_lines(0).len(), 3);
    assert_eq!(lath(["count", path, "--where", "TRUE"]).text(0), "2000\n");
    assert_eq!(lath(["count", path, "--where", "NULL"]).text(0), "0\n");
}

#[test]
fn row_groups_and_small_batches_do_not_change_what_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &numbered(0..1000), 100);
    let path = path.to_str().unwrap();
    let ids = |extra: &[&str]| -> Vec<i64> {
        let args = ["find", path, "--where", "name = 'name 4'"];
        lath(args.iter().chain(extra)).json_lines(0).iter().map(|line| line["id"].as_i64().unwrap()).collect()
    };
    let expected: Vec<i64> = (0..1000).filter(|id| id % 10 == 4 && id % 7 != 3).collect();
    assert_eq!(ids(&[]), expected);
    assert_eq!(ids(&["--batch-size", "7", "--threads", "3"]), expected);
    let chosen: Vec<i64> = expected.iter().copied().filter(|id| (200..300).contains(id) || *id >= 900).collect();
    assert_eq!(ids(&["--row-groups", "9,2"]), chosen);
}

#[test]
fn mistakes_are_explained() {
    let trips = sample("trips/2025-01.parquet");
    for (expression, part) in [
        ("price = 'cheap'", "column \"price\" is a decimal(7, 2) and cannot be compared with the string 'cheap'"),
        ("prize > 3", "there is no column \"prize\"; there are trip, started"),
        ("price >", "the expression ends"),
        ("lower(note) = 'x'", "functions such as lower"),
    ] {
        let run = lath(["find", &trips, "--where", expression]);
        assert_eq!((run.code, run.stdout.len()), (2, 0), "{expression}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{expression}: {}", run.stderr);
    }
}
