//! Workers write what one process writes.

use std::collections::BTreeMap;

use arrow_cast::pretty::pretty_format_batches;
use lath_sql::BlockingSession;

use super::bucket::{Object, assert_nothing_stays, list, objects, unfinished, with_table, write_table};
use crate::{Workers, alone, rows, text};

/// The rows of an object, in their order or in any.
fn lines(object: &Object, is_ordered: bool) -> Vec<String> {
    let rows = match object.url.ends_with(".parquet") {
        true => {
            let batches = rows(&alone(), &format!("SELECT * FROM '{}'", object.url)).unwrap();
            pretty_format_batches(&batches).unwrap().to_string()
        }
        // Text, or compressed text, which is compared as bytes.
        false => String::from_utf8_lossy(&object.bytes).into_owned(),
    };
    let mut lines: Vec<String> = rows.lines().map(str::to_owned).collect();
    if !is_ordered {
        lines.sort_unstable();
    }
    lines
}

fn count(session: &BlockingSession, statement: &str) -> String {
    text(session, statement)
}

/// The comparison of the files of a statement.
#[derive(Clone, Copy, PartialEq)]
enum Compare {
    /// Their rows, in any order.
    Rows,
    /// Their bytes: the rows are in one order.
    Bytes,
}

/// Statements, the options after their folder, and what is compared.
const COPIES: [(&str, &str, Compare); 19] = [
    ("SELECT * FROM t", "PARTITIONED BY (p)", Compare::Rows),
    ("SELECT * FROM t", "PARTITIONED BY (s)", Compare::Rows),
    ("SELECT * FROM t", "PARTITIONED BY (p, s)", Compare::Rows),
    ("SELECT * FROM t", "PARTITIONED BY (b, d)", Compare::Rows),
    ("SELECT * FROM t", "PARTITIONED BY (c)", Compare::Rows),
    ("SELECT id, arrow_cast(s, 'Dictionary(Int32, Utf8)') AS k FROM t", "PARTITIONED BY (k)", Compare::Rows),
    ("SELECT * FROM t WHERE n < 2", "PARTITIONED BY (n)", Compare::Rows),
    ("SELECT p, s, count(*) AS n, sum(price) AS price FROM t GROUP BY p, s", "PARTITIONED BY (p)", Compare::Rows),
    ("SELECT a.*, b.price AS other FROM t a JOIN t b ON a.id = b.id + 1", "PARTITIONED BY (s)", Compare::Rows),
    ("SELECT * FROM t WHERE p = 1 UNION ALL SELECT * FROM t WHERE p = 2", "PARTITIONED BY (p)", Compare::Rows),
    (
        "SELECT * FROM t",
        "PARTITIONED BY (p) OPTIONS (compression 'gzip', sort 'id:desc', row_group_rows 100)",
        Compare::Bytes,
    ),
    ("SELECT * FROM t", "PARTITIONED BY (s) OPTIONS (sort 't,id', compression 'zstd(3)')", Compare::Bytes),
    ("SELECT * FROM t ORDER BY id DESC", "PARTITIONED BY (p)", Compare::Bytes),
    ("SELECT * FROM t ORDER BY t, id", "PARTITIONED BY (s)", Compare::Bytes),
    ("SELECT * FROM t ORDER BY t, id", "PARTITIONED BY (s) OPTIONS (sort 'n')", Compare::Bytes),
    ("SELECT * FROM t ORDER BY abs(id - 2000), id", "PARTITIONED BY (d)", Compare::Bytes),
    (
        "SELECT * FROM t ORDER BY id",
        "STORED AS CSV PARTITIONED BY (s) OPTIONS (compression 'gzip', delimiter ';')",
        Compare::Bytes,
    ),
    ("SELECT * FROM t ORDER BY id", "STORED AS JSON PARTITIONED BY (p)", Compare::Bytes),
    ("SELECT * FROM t", "STORED AS CSV PARTITIONED BY (n) OPTIONS (header false)", Compare::Rows),
];

fn assert_same(expected: &BTreeMap<String, Object>, found: &BTreeMap<String, Object>, compare: Compare, what: &str) {
    let directories = |objects: &BTreeMap<String, Object>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(directories(found), directories(expected), "{what}");
    for (directory, object) in expected {
        let other = &found[directory];
        match compare {
            Compare::Rows => assert_eq!(lines(other, false), lines(object, false), "{what}: {directory}"),
            Compare::Bytes => assert!(other.bytes == object.bytes, "{what}: {directory}: {:?}", lines(other, true)),
        }
    }
}

#[test]
#[ignore = "run by in_a_bucket"]
fn workers_write_what_one_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let one = with_table(alone(), folder.path());
    for (number, (query, options, compare)) in COPIES.into_iter().enumerate() {
        let copy = |to: &str| format!("COPY ({query}) TO 's3://lath/{to}' {options}");
        let alone = format!("same/{number}/0");
        let expected_count = count(&one, &copy(&alone));
        let expected = objects(&alone);
        assert!(expected.values().all(|object| !object.has_parts));
        // Starting workers and sending small files takes long.
        for workers in [3, 1 + number % 2] {
            let to = format!("same/{number}/{workers}");
            let running = Workers::start_writing(workers, folder.path(), &["s3://lath/other", "s3://lath/same/"]);
            let session = with_table(running.session(), folder.path());
            let what = format!("{} on {workers} workers", copy(&to));
            assert_eq!(count(&session, &copy(&to)), expected_count, "{what}");
            let found = objects(&to);
            assert_same(&expected, &found, compare, &what);
            assert!(found.values().all(|object| object.has_parts), "{what}: the coordinator has written");
            assert_eq!(unfinished(&to), 0, "{what}");
            running.stop();
        }
    }
}

#[test]
#[ignore = "run by in_a_bucket"]
fn the_coordinator_writes_what_workers_may_not_or_cannot() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let one = with_table(alone(), folder.path());
    let plain = ("SELECT * FROM t", "PARTITIONED BY (p)");
    for (number, (urls, (query, options))) in [
        // No worker may write, or not there.
        (vec![], plain),
        (vec!["s3://lath/elsewhere", "s3://other", "s3://lath/coordinator/0/a/b"], plain),
        // An order that the rows do not show, rows that come together, and windows.
        (vec!["s3://lath"], ("SELECT n, p FROM t ORDER BY id", "PARTITIONED BY (p)")),
        (vec!["s3://lath"], ("SELECT * FROM t ORDER BY id LIMIT 1000", "PARTITIONED BY (p)")),
        (
            vec!["s3://lath"],
            ("SELECT *, row_number() OVER (ORDER BY id) AS r FROM t ORDER BY id", "PARTITIONED BY (p)"),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let [expected, found] = [format!("coordinator/{number}/0"), format!("coordinator/{number}/1")];
        let copy = |to: &str| format!("COPY ({query}) TO 's3://lath/{to}' {options}");
        let running = Workers::start_writing(2, folder.path(), &urls);
        let session = with_table(running.session(), folder.path());
        assert_eq!(count(&session, &copy(&found)), count(&one, &copy(&expected)), "{query}");
        let (expected, found) = (objects(&expected), objects(&found));
        assert!(found.values().all(|object| !object.has_parts), "{query}: workers have written");
        let compare = if query.contains("ORDER BY") { Compare::Bytes } else { Compare::Rows };
        assert_same(&expected, &found, compare, query);
        running.stop();
    }
}

#[test]
#[ignore = "run by in_a_bucket"]
fn one_worker_that_may_not_write_is_enough_for_the_coordinator_to_write() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let mut running = Workers::start_writing(2, folder.path(), &["s3://lath"]);
    let other = Workers::start(1, folder.path());
    running.addresses.extend(other.addresses.clone());
    let session = with_table(running.session(), folder.path());
    count(&session, "COPY (SELECT * FROM t) TO 's3://lath/mixed' PARTITIONED BY (p)");
    let found = objects("mixed");
    assert!(found.len() == 5 && found.values().all(|object| !object.has_parts));
    other.stop();
    running.stop();
}

#[test]
#[ignore = "run by in_a_bucket"]
fn an_empty_result_has_one_file() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let one = with_table(alone(), folder.path());
    let running = Workers::start_writing(2, folder.path(), &["s3://lath"]);
    let session = with_table(running.session(), folder.path());
    for (number, options) in
        ["PARTITIONED BY (p, s)", "STORED AS CSV PARTITIONED BY (p) OPTIONS (header false)"].into_iter().enumerate()
    {
        let copy = |to: &str| format!("COPY (SELECT * FROM t WHERE id + n < 0) TO 's3://lath/{to}' {options}");
        let [expected, found] = [format!("empty/{number}/0"), format!("empty/{number}/1")];
        assert_eq!(count(&session, &copy(&found)), count(&one, &copy(&expected)));
        let (expected, found) = (objects(&expected), objects(&found));
        assert_eq!(found.len(), 1);
        assert_same(&expected, &found, Compare::Bytes, options);
    }
    running.stop();
}

#[test]
#[ignore = "run by in_a_bucket"]
fn a_folder_with_objects_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let running = Workers::start_writing(2, folder.path(), &["s3://lath"]);
    let session = with_table(running.session(), folder.path());
    let copy = "COPY (SELECT * FROM t) TO 's3://lath/twice' PARTITIONED BY (p)";
    count(&session, copy);
    let before = objects("twice");
    let error = rows(&session, copy).unwrap_err().to_string();
    assert!(error.contains("s3://lath/twice has objects"), "{error}");
    assert_eq!((objects("twice"), unfinished("twice")), (before, 0));
    running.stop();
}

#[test]
#[ignore = "run by in_a_bucket"]
fn insert_adds_files() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let running = Workers::start_writing(2, folder.path(), &["s3://lath"]);
    let several = with_table(running.session(), folder.path());
    let create = |to: &str| {
        format!(
            "CREATE EXTERNAL TABLE copies (id BIGINT, price DOUBLE, p BIGINT) STORED AS PARQUET
             PARTITIONED BY (p) LOCATION 's3://lath/{to}/' OPTIONS (row_group_rows 90)"
        )
    };
    let insert = "INSERT INTO copies SELECT id, price, p FROM t";
    let [expected, found] = ["insert/0", "insert/1"];
    let one = with_table(alone(), folder.path());
    for (session, to) in [(&one, expected), (&several, found)] {
        rows(session, &create(to)).unwrap();
        count(session, insert);
    }
    assert_same(&objects(expected), &objects(found), Compare::Rows, insert);
    assert!(objects(found).values().all(|object| object.has_parts), "the coordinator has written");
    // Nothing to add adds nothing.
    count(&several, &format!("{insert} WHERE id + n < 0"));
    assert_eq!(objects(found).len(), 5);
    // The first file's options are inherited, and the order is kept.
    for statement in [format!("{insert} WHERE p = 1 ORDER BY id"), format!("{insert} ORDER BY id")] {
        let before = [expected, found].map(|to| list(to).len());
        let counted = count(&one, &statement);
        assert_eq!(count(&several, &statement), counted);
        let added = |to: &str, before: usize| list(to).len() - before;
        assert_eq!(added(found, before[1]), added(expected, before[0]), "{statement}");
    }
    assert!(list(found).iter().all(|(_, object)| object.has_parts), "the coordinator has written");
    let bytes =
        |to: &str| list(to).into_iter().map(|(directory, object)| (directory, object.bytes)).collect::<Vec<_>>();
    let same = bytes(found).iter().filter(|file| bytes(expected).contains(file)).count();
    assert!(same >= 6, "{same} of 11 files are the same, and 6 are sorted");
    running.stop();
}

#[test]
#[ignore = "run by in_a_bucket"]
fn analyze_writes_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let running = Workers::start_writing(2, folder.path(), &["s3://lath"]);
    let session = with_table(running.session(), folder.path());
    let plan = text(&session, "EXPLAIN ANALYZE COPY (SELECT * FROM t) TO 's3://lath/analyzed' PARTITIONED BY (p)");
    assert!(plan.contains("ClusterExec, metrics=[attempts=1") && !plan.contains("parts=0"), "{plan}");
    assert!(objects("analyzed").len() == 5 && objects("analyzed").values().all(|object| object.has_parts));
    let plan = text(&session, "EXPLAIN COPY (SELECT * FROM t) TO 's3://lath/explained' PARTITIONED BY (p)");
    assert!(plan.contains("DataSinkExec"), "{plan}");
    assert_nothing_stays("explained");
    running.stop();
}
