//! Statements that change something, and names and places that could be taken for each other.

use lath_sql::Session;

use super::{count, plan_text, session};
use crate::{answer, sorted, wait};

const GROUPS: &str = "WITH c AS (SELECT g, count(*) AS n FROM m WHERE g IS NOT NULL GROUP BY g)";

#[test]
fn changes_read_shared_rows() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path(), Session::builder().database(folder.path().join("database"))).await;
        answer(&session, "CREATE TABLE k (g BIGINT PRIMARY KEY, n BIGINT)").await;
        let both = "SELECT a.g, b.n FROM c AS a JOIN c AS b ON a.g = b.g";
        let expected = sorted(&answer(&session, &format!("{GROUPS} {both}")).await);
        assert_eq!(expected.len(), 1 + 17, "a border and the groups");
        let insert = format!("INSERT INTO k {GROUPS} {both}");
        answer(&session, &insert).await;
        assert_eq!(sorted(&answer(&session, "SELECT g, n FROM k").await), expected);
        let update =
            "UPDATE k SET n = 0 WHERE n IN (SELECT max(n) FROM (SELECT g, count(*) AS n FROM m WHERE g IS NOT NULL GROUP BY g) AS a)
                      OR g IN (SELECT g FROM (SELECT g, count(*) AS n FROM m WHERE g IS NOT NULL GROUP BY g) AS b WHERE n < 0)";
        answer(&session, update).await;
        assert_ne!(sorted(&answer(&session, "SELECT g, n FROM k").await), expected);
        answer(
            &session,
            &format!("MERGE INTO k USING ({GROUPS} {both}) AS s ON k.g = s.g WHEN MATCHED THEN UPDATE SET n = s.n"),
        )
        .await;
        assert_eq!(sorted(&answer(&session, "SELECT g, n FROM k").await), expected);
        answer(&session, &format!("CREATE TABLE made AS {GROUPS} {both}")).await;
        assert_eq!(sorted(&answer(&session, "SELECT * FROM made").await), expected);
        answer(&session, &format!("CREATE VIEW seen AS {GROUPS} {both}")).await;
        assert_eq!(sorted(&answer(&session, "SELECT * FROM seen").await), expected);
        let path = folder.path().join("copied.parquet");
        answer(&session, &format!("COPY ({GROUPS} {both}) TO '{}'", path.display())).await;
        assert_eq!(sorted(&answer(&session, &format!("SELECT * FROM '{}'", path.display())).await), expected);
        answer(&session, "DELETE FROM k WHERE n <= (SELECT max(n) FROM seen) AND g IN (SELECT g FROM seen)").await;
        assert!(answer(&session, "SELECT * FROM k").await.iter().all(|rows| rows.num_rows() == 0));
    });
}

#[test]
fn a_recursive_query_is_shared_as_a_whole() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path(), Session::builder()).await;
        let steps = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10)";
        let query = format!("{steps} SELECT sum(a.n), count(*) FROM r AS a JOIN r AS b ON a.n = b.n + 1");
        assert_eq!(sorted(&answer(&session, &query).await), ["+----------+----------+", "| 54       | 9        |"]);
        let plan = plan_text(&session, &query).await;
        assert_eq!((count(&plan, "RecursiveQueryExec"), count(&plan, "readers=2")), (1, 1), "{plan}");
    });
}

#[test]
fn equal_names_of_different_tables_are_not_shared() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path(), Session::builder()).await;
        for (query, expected) in [
            (
                "WITH c AS (SELECT count(*) AS n FROM generate_series(1, 3)), d AS (SELECT count(*) AS n FROM generate_series(1, 4))
                 SELECT c.n, d.n FROM c, d",
                "| 3 | 4 |",
            ),
            (
                "SELECT (WITH c AS (SELECT count(*) AS n FROM m) SELECT n FROM c),
                        (WITH c AS (SELECT count(g) AS n FROM m) SELECT n FROM c)",
                "| 6000 | 5538 |",
            ),
            (
                "WITH m AS (SELECT 1 AS id), c AS (SELECT count(*) AS n FROM m) SELECT n, (SELECT count(*) FROM datafusion.public.m) FROM c",
                "| 1 | 6000 |",
            ),
        ] {
            let rows = sorted(&answer(&session, query).await);
            let rows: Vec<String> = rows[1..].iter().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            assert_eq!(rows, [expected], "{query}");
        }
    });
}
