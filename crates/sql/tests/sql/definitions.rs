//! Definitions of tables and views that a database stores.

use std::path::Path;

use lath_sql::Session;

use super::{answer, sorted, wait};

fn open(folder: &Path) -> Session {
    Session::builder().database(folder).build().unwrap()
}

#[test]
fn views_and_defaults_are_there_when_the_database_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("shop");
    wait(async {
        let session = open(&folder);
        for statement in [
            "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 1 + 1)",
            "INSERT INTO t (id) VALUES (1)",
            "CREATE VIEW v AS FROM t;",
            "CREATE VIEW w AS SELECT max(n) AS n -- the greatest\n FROM v",
            "CREATE TEMPORARY VIEW gone AS SELECT 1 AS one",
            "CREATE TEMPORARY TABLE gone_too (id INT)",
        ] {
            answer(&session, statement).await;
        }
        assert_eq!(sorted(&answer(&session, "FROM gone").await)[1], "| 1   |");
    });
    wait(async {
        let session = open(&folder);
        answer(&session, "INSERT INTO t (id) VALUES (2)").await;
        answer(&session, "INSERT INTO t VALUES (3, 30)").await;
        assert_eq!(sorted(&answer(&session, "FROM v").await)[1..4], ["| 1  | 2  |", "| 2  | 2  |", "| 3  | 30 |"]);
        for gone in ["gone", "gone_too"] {
            assert!(session.sql(&format!("FROM {gone}")).await.is_err());
        }
    });
    wait(async {
        let session = Session::builder().read_only_database(&folder).build().unwrap();
        assert_eq!(sorted(&answer(&session, "FROM w").await)[1], "| 30 |");
        assert!(session.sql("DROP VIEW w").await.is_err());
        assert!(session.sql("CREATE VIEW x AS SELECT 1 AS one").await.is_err());
    });
}

#[test]
fn columns_are_widened_where_no_value_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        answer(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT, b DECIMAL(5, 1), c SMALLINT, d INT)").await;
        answer(&session, "INSERT INTO t VALUES (1, 2147483647, 1234.5, -32768, NULL), (2, -7, -0.1, 3, 9)").await;
        answer(&session, "CALL flush('t')").await;
        answer(&session, "INSERT INTO t VALUES (3, -2147483648, 9999.9, 5, 1)").await;
        for (column, data_type) in [("a", "DOUBLE"), ("b", "DECIMAL(10, 2)"), ("c", "FLOAT"), ("d", "DECIMAL(12, 2)")] {
            answer(&session, &format!("ALTER TABLE t ALTER COLUMN {column} TYPE {data_type}")).await;
        }
        answer(&session, "INSERT INTO t VALUES (4, 0.5, 12345678.25, 0.25, 0.25)").await;
        let rows = answer(&session, "SELECT id, CAST(a AS VARCHAR), CAST(b AS VARCHAR), c, d FROM t ORDER BY id").await;
        let rows: Vec<String> = sorted(&rows)[1..5].iter().map(|row| row.replace(' ', "")).collect();
        assert_eq!(
            rows,
            [
                "|1|2147483647.0|1234.50|-32768.0||",
                "|2|-7.0|-0.10|3.0|9.00|",
                "|3|-2147483648.0|9999.90|5.0|1.00|",
                "|4|0.5|12345678.25|0.25|0.25|",
            ]
        );
        let found = answer(&session, "SELECT id FROM t WHERE a = 2147483647 AND b = 1234.5 OR d < 0.5").await;
        assert_eq!(sorted(&found)[1..3], ["| 1  |", "| 4  |"]);
        for (column, data_type) in
            [("id", "DOUBLE"), ("a", "FLOAT"), ("b", "DECIMAL(10, 1)"), ("b", "DECIMAL(9, 3)"), ("d", "INT")]
        {
            let alter = format!("ALTER TABLE t ALTER COLUMN {column} TYPE {data_type}");
            assert!(session.sql(&alter).await.is_err(), "{alter}");
        }
    });
}
