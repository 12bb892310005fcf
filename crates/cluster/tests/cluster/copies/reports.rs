//! Copies that other engines wrote wrong, as their reports tell: rows whose partition is null were lost (dask 9911, fastparquet 711), null and the
//! text that stands for it shared a folder (DuckDB 24308), values like paths were split (ClickHouse 111758, Hudi 10754), an order was not kept
//! (DuckDB 14349), partitions had several files (DuckDB 18662), empty parts were errors (dask 2016, Daft 6927), one job deleted the uploads of
//! another (HADOOP-18797), a job that was run again left rows twice (SPARK-29037).

use std::collections::BTreeSet;
use std::thread;

use lath_testkit::s3::Proxy;

use super::bucket::{assert_nothing_stays, objects, unfinished, with_table, write_table};
use super::faults::{held_workers, on};
use crate::processes::Process;
use crate::{Workers, alone, rows, text};

/// Queries with the column `p` to partition by, and the number of its values.
const QUERIES: [(&str, usize); 9] = [
    ("SELECT id, CASE id % 3 WHEN 0 THEN NULL WHEN 1 THEN '__HIVE_DEFAULT_PARTITION__' ELSE '__hive_default_partition__' END AS p FROM t", 3),
    ("SELECT id, CASE id % 9 WHEN 0 THEN '..' WHEN 1 THEN '.' WHEN 2 THEN '/' WHEN 3 THEN 'a//b' WHEN 4 THEN '\\' WHEN 5 THEN 'a\"b''c'
        WHEN 6 THEN 'part-1.parquet' WHEN 7 THEN '%2F' ELSE 'a=b/c=d' END AS p FROM t", 9),
    // All rows in one partition, without a value, or of one worker.
    ("SELECT id, CAST(NULL AS INT) AS p FROM t", 1),
    ("SELECT id, 7 AS p FROM t", 1),
    // Far more partitions than workers, of very different sizes.
    ("SELECT id, CASE WHEN id % 10 < 8 THEN -1 ELSE id % 300 END AS p FROM t", 61),
    ("SELECT id, CASE WHEN id > 3900 THEN id ELSE 0 END AS p FROM t", 101),
    // Numbers and text that look alike.
    ("SELECT id, CASE id % 4 WHEN 0 THEN '1' WHEN 1 THEN '01' WHEN 2 THEN '1.0' ELSE ' 1' END AS p FROM t", 4),
    ("SELECT id, arrow_cast(id % 3, 'Int8') AS p, [id, NULL] AS l, {'x': id} AS st FROM t", 3),
    ("SELECT id, to_timestamp(id % 5) AS p FROM t", 5),
];

#[test]
#[ignore = "run by in_a_bucket"]
fn reported_copies_are_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let running = Workers::start_writing(3, folder.path(), &["s3://lath"]);
    let (one, several) = (with_table(alone(), folder.path()), with_table(running.session(), folder.path()));
    for (number, (query, partitions)) in QUERIES.into_iter().enumerate() {
        let to = format!("reports/{number}");
        let copy = format!("COPY ({query}) TO 's3://lath/{to}' PARTITIONED BY (p)");
        assert!(text(&several, &copy).contains("4000"), "{query}");
        let found = objects(&to);
        assert_eq!(found.len(), partitions, "{query}: {:?}", found.keys());
        assert!(found.values().all(|object| object.has_parts), "{query}");
        let count = "count(*) AS rows, count(p) AS p, count(DISTINCT p) AS values, sum(id) AS id";
        let written = text(&alone(), &format!("SELECT {count} FROM 's3://lath/{to}'"));
        assert_eq!(written, text(&one, &format!("SELECT {count} FROM ({query})")), "{query}");
    }
    running.stop();
}

#[test]
#[ignore = "run by in_a_bucket"]
fn the_order_of_many_rows_is_kept_in_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let table =
        "SELECT value AS id, value % 2 AS p, md5(CAST(value AS VARCHAR)) AS term FROM generate_series(1, 100000)";
    rows(&alone(), &format!("COPY ({table}) TO '{}' (row_group_rows 5000)", path.display())).unwrap();
    let running = Workers::start_writing(3, folder.path(), &["s3://lath"]);
    let (one, several) = (with_table(alone(), folder.path()), with_table(running.session(), folder.path()));
    let query = "SELECT * FROM t ORDER BY term";
    for (session, to) in [(&one, "reports/order/0"), (&several, "reports/order/1")] {
        let options = "PARTITIONED BY (p) OPTIONS (row_group_rows 3000)";
        text(session, &format!("COPY ({query}) TO 's3://lath/{to}' {options}"));
    }
    let (expected, found) = (objects("reports/order/0"), objects("reports/order/1"));
    assert!(expected.values().all(|object| !object.has_parts) && found.values().all(|object| object.has_parts));
    for (directory, object) in &expected {
        assert!(found[directory].bytes == object.bytes, "{directory}");
        let file = lath_parquet::ParquetFile::from_bytes(object.bytes.clone().into()).unwrap();
        assert_eq!((file.row_count(), file.metadata().row_group_count()), (50_000, 17));
    }
    running.stop();
}

#[test]
#[ignore = "run by in_a_bucket"]
fn a_statement_that_fails_does_not_harm_another_one_in_the_same_folder() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let allow = folder.path().to_str().unwrap();
    let (proxy, workers): (Proxy, Vec<_>) = held_workers(2, allow, "PUT", "partNumber=");
    let slow = on(&workers, folder.path());
    let running = Workers::start_writing(2, folder.path(), &["s3://lath"]);
    let fails = with_table(running.session(), folder.path());
    for session in [&slow, &fails] {
        let create = "CREATE EXTERNAL TABLE copies (id BIGINT, p BIGINT) STORED AS PARQUET PARTITIONED BY (p)
            LOCATION 's3://lath/reports/shared/'";
        rows(session, create).unwrap();
    }
    let insertion = thread::spawn(move || text(&slow, "INSERT INTO copies SELECT id, p FROM t"));
    proxy.wait();
    let error = rows(&fails, "INSERT INTO copies SELECT id / (id - 4000), p FROM t").unwrap_err();
    assert!(!error.to_string().is_empty());
    proxy.open();
    assert!(insertion.join().unwrap().contains("4000"));
    assert_eq!((objects("reports/shared").len(), unfinished("reports/shared")), (5, 0));
    running.stop();
}

#[test]
#[ignore = "run by in_a_bucket"]
fn a_statement_that_lost_a_worker_is_run_again_by_its_user() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let (proxy, mut workers) = held_workers(3, folder.path().to_str().unwrap(), "PUT", "partNumber=");
    let session = on(&workers, folder.path());
    let copy = "COPY (SELECT * FROM t) TO 's3://lath/reports/again' PARTITIONED BY (s)";
    let running = thread::spawn(move || (rows(&session, copy).unwrap_err().to_string(), session));
    proxy.wait();
    workers.iter_mut().take(2).for_each(Process::kill);
    proxy.open();
    let (error, session) = running.join().unwrap();
    assert!(error.contains("a worker was lost"), "{error}");
    assert_nothing_stays("reports/again");
    assert!(text(&session, copy).contains("4000"));
    let names: BTreeSet<String> =
        objects("reports/again").values().map(|object| object.url.rsplit_once('/').unwrap().1.to_owned()).collect();
    assert_eq!((names.len(), objects("reports/again").len()), (1, 12));
    assert_eq!(unfinished("reports/again"), 0);
}
