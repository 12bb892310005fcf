//! Statements that write several rows with the same key, and aliases of changed tables.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lath_sql::Session;

use super::{answer, sorted, wait, write};

fn open(folder: &Path) -> Session {
    let runtime = lath_parquet::Runtime::builder().threads(4).build();
    Session::builder().runtime(&runtime).database(folder.join("db")).build().unwrap()
}

async fn failure(session: &Session, statement: &str) -> String {
    let error = match session.sql(statement).await {
        Ok(frame) => frame.collect().await.err(),
        Err(error) => Some(error),
    };
    error.unwrap_or_else(|| panic!("{statement} is no error")).to_string()
}

/// Files with row groups of 40 rows: each of 60 keys occurs 100 times, and `n` numbers the rows in order.
fn write_files(folder: &Path) {
    for file in 0..3i64 {
        let numbers = file * 2000..(file + 1) * 2000;
        let ids: ArrayRef = Arc::new(numbers.clone().map(|n| Some(n * 7 % 60)).collect::<Int64Array>());
        let n: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        let rows = RecordBatch::try_from_iter([("id", ids), ("n", n)]).unwrap();
        write(&folder.join(format!("{file}.parquet")), &rows, 40);
    }
}

/// The first or the last row of each key.
fn kept(first: bool, order: impl Iterator<Item = i64>) -> Vec<(i64, i64)> {
    let mut kept = std::collections::BTreeMap::new();
    for n in order {
        if first {
            kept.entry(n * 7 % 60).or_insert(n);
        } else {
            kept.insert(n * 7 % 60, n);
        }
    }
    kept.into_iter().collect()
}

#[test]
fn the_last_or_first_row_of_a_key_wins_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let files = format!("SELECT id, n FROM '{}/*.parquet'", folder.path().display());
    let sources: [(String, Vec<i64>); 5] = [
        (files.clone(), (0..6000).collect()),
        (format!("{files} ORDER BY n DESC"), (0..6000).rev().collect()),
        (format!("{files} WHERE n % 3 = 0 ORDER BY n % 100, n"), {
            let mut order: Vec<i64> = (0..6000).filter(|n| n % 3 == 0).collect();
            order.sort_by_key(|n| (n % 100, *n));
            order
        }),
        (format!("{files} WHERE n >= 3000 UNION ALL {files} WHERE n < 3000"), (3000..6000).chain(0..3000).collect()),
        (
            format!("SELECT f.id, f.n FROM ({files}) AS f JOIN generate_series(0, 1) AS v(x) ON f.n % 2 = v.x"),
            (0..6000).collect(),
        ),
    ];
    wait(async {
        let session = open(folder.path());
        for round in 0..3 {
            for (source, order) in &sources {
                for (insert, tail, first) in [
                    ("INSERT OR REPLACE INTO", "", false),
                    ("INSERT OR IGNORE INTO", "", true),
                    ("INSERT INTO", " ON CONFLICT DO NOTHING", true),
                ] {
                    answer(&session, "DROP TABLE IF EXISTS t").await;
                    answer(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)").await;
                    answer(&session, &format!("{insert} t {source}{tail}")).await;
                    let rows = kept(first, order.iter().copied());
                    let rows = rows.iter().map(|(id, n)| format!("({id}, {n})")).collect::<Vec<_>>().join(", ");
                    let expected = format!("SELECT column1 AS id, column2 AS n FROM (VALUES {rows})");
                    let (table, expected) = (answer(&session, "FROM t").await, answer(&session, &expected).await);
                    assert_eq!(sorted(&table), sorted(&expected), "round {round}: {insert} {source}");
                }
            }
        }
    });
}

#[test]
fn a_row_that_a_statement_would_change_twice_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        answer(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)").await;
        answer(&session, "INSERT INTO t VALUES (1, 10)").await;
        for values in ["(1, 11), (1, 12)", "(2, 20), (2, 21)"] {
            let insert = format!("INSERT INTO t VALUES {values} ON CONFLICT (id) DO UPDATE SET n = excluded.n");
            failure(&session, &insert).await;
        }
        assert_eq!(sorted(&answer(&session, "FROM t").await)[1], "| 1  | 10 |");
    });
}

#[test]
fn a_unique_index_is_judged_on_the_rows_that_a_statement_leaves() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        answer(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT UNIQUE)").await;
        answer(&session, "INSERT INTO t SELECT value, value AS n FROM generate_series(1, 20000)").await;
        // Each row gets the value of the next one, which is replaced in a later batch.
        let rotate = "SELECT value, value % 20000 + 1 AS n FROM generate_series(1, 20000)";
        answer(&session, &format!("INSERT OR REPLACE INTO t {rotate}")).await;
        answer(&session, "UPDATE t SET n = n % 20000 + 1").await;
        answer(&session, &format!("INSERT INTO t {rotate} ON CONFLICT (id) DO UPDATE SET n = t.n % 20000 + 1")).await;
        let moved = answer(&session, "SELECT count(*) AS c FROM t WHERE n = (id + 2) % 20000 + 1").await;
        assert_eq!(sorted(&moved)[1], "| 20000 |");
        let error = failure(&session, "INSERT OR REPLACE INTO t VALUES (1, 7)").await;
        assert!(error.contains("n_key"), "{error}");
    });
}

#[test]
fn a_column_alone_means_that_of_the_table_in_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        answer(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT, \"N\" BIGINT)").await;
        answer(&session, "INSERT INTO t VALUES (1, 10, 100), (2, 20, 200)").await;
        for set in [
            "INSERT INTO t VALUES (1, 5, 6), (3, 30, 300) ON CONFLICT (id) DO UPDATE SET n = n + 1, \"N\" = \"N\" + excluded.n",
            "INSERT INTO t VALUES (2, 5, 6) ON CONFLICT (id) DO UPDATE SET N = N + excluded.N WHERE n = 21",
            "INSERT INTO t VALUES (2, 5, 6) ON CONFLICT (id) DO UPDATE SET n = t.n + n WHERE t.n = 20",
            "INSERT INTO t VALUES (2, 5, 6) ON CONFLICT (id) DO UPDATE SET n = (SELECT max(u.n) FROM t AS u) + n WHERE n > 100",
        ] {
            answer(&session, set).await;
        }
        assert_eq!(
            sorted(&answer(&session, "FROM t").await)[1..4],
            ["| 1  | 11 | 105 |", "| 2  | 40 | 200 |", "| 3  | 30 | 300 |"]
        );
    });
}

#[test]
fn a_statement_may_give_the_table_that_it_changes_another_name() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        answer(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)").await;
        answer(&session, "INSERT INTO t SELECT value, value * 10 FROM generate_series(1, 9)").await;
        answer(&session, "DELETE FROM t AS x WHERE x.id = 3").await;
        answer(&session, "DELETE FROM t x WHERE x.n > 80 AND id > 5").await;
        answer(&session, "DELETE FROM t AS \"X\" WHERE \"X\".id = 4").await;
        // The table's own name refers to its other use.
        answer(
            &session,
            "DELETE FROM t AS x WHERE x.id = (SELECT max(t.id) FROM t WHERE t.n = x.n AND t.id < 7) AND x.id > 5",
        )
        .await;
        answer(&session, "UPDATE t AS x SET n = x.n + 1 WHERE x.id = 1").await;
        answer(
            &session,
            "MERGE INTO t AS x USING (SELECT 2 AS id) AS s ON x.id = s.id WHEN MATCHED THEN UPDATE SET n = x.n + s.id",
        )
        .await;
        let plan = sorted(&answer(&session, "EXPLAIN DELETE FROM t AS x WHERE x.id = 1").await).concat();
        assert!(plan.contains("ChangeExec: delete"), "{plan}");
        assert_eq!(
            sorted(&answer(&session, "FROM t").await)[1..6],
            ["| 1  | 11 |", "| 2  | 22 |", "| 5  | 50 |", "| 7  | 70 |", "| 8  | 80 |"]
        );
        let error = failure(&session, "DELETE FROM t AS x WHERE t.id = 1").await;
        assert!(error.contains("t.id"), "{error}");
    });
}

#[test]
fn values_within_a_query_keep_their_types_when_its_rows_are_inserted() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        answer(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 5, s VARCHAR)").await;
        for insert in [
            "INSERT INTO t SELECT v.a, 1, 'x' FROM (VALUES (1, 2.9, 3), (2, 2.1, 3)) AS v(a, b, c) WHERE v.b > 2.5",
            "INSERT OR REPLACE INTO t (s, id) SELECT 'y', a FROM (VALUES (3), (4)) AS v(a)",
            "INSERT INTO t (id) SELECT column1 FROM (VALUES (5, 'text', 0)) WHERE column2 = 'text'",
            "INSERT INTO t WITH v AS (VALUES (6, 'text', 0)) SELECT column1, 2, column2 FROM v",
            "INSERT INTO t SELECT a, a + 0, b FROM (SELECT 7 AS a, 'z' AS b UNION ALL VALUES (8, 'zz')) AS v",
        ] {
            answer(&session, insert).await;
        }
        let rows: Vec<String> =
            sorted(&answer(&session, "FROM t").await)[1..8].iter().map(|row| row.replace(' ', "")).collect();
        assert_eq!(rows, ["|1|1|x|", "|3|5|y|", "|4|5|y|", "|5|5||", "|6|2|text|", "|7|7|z|", "|8|8|zz|"]);
        let error = failure(&session, "INSERT INTO t SELECT a FROM (VALUES (9)) AS v(a)").await;
        assert!(error.contains("the INSERT names 3 columns and its query returns 1"), "{error}");
    });
}
