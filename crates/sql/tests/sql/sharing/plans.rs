//! Plans are computed once, for the rows and columns that their uses need.

use lath_sql::Session;

use super::{count, plan_text, session, without_sharing};
use crate::{answer, sorted, wait};

/// Compares the rows of a query with those without sharing, and returns its plan.
async fn checked(folder: &std::path::Path, query: &str) -> String {
    let shared = session(folder, Session::builder()).await;
    let apart = without_sharing(folder).await;
    assert_eq!(sorted(&answer(&shared, query).await), sorted(&answer(&apart, query).await), "{query}");
    assert_eq!(count(&plan_text(&apart, query).await, "SharedExec"), 0, "{query}");
    plan_text(&shared, query).await
}

fn scans(plan: &str) -> usize {
    count(plan, "DataSourceExec")
}

#[test]
fn a_query_in_with_is_computed_once_and_shown_once() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let query = "WITH c AS (SELECT g, sum(v) AS total FROM t GROUP BY g)
                     SELECT * FROM c WHERE total = (SELECT max(total) FROM c)";
        let plan = checked(folder.path(), query).await;
        assert_eq!((scans(&plan), count(&plan, "readers=2"), count(&plan, "read again")), (1, 1, 1), "{plan}");
        let session = session(folder.path(), Session::builder()).await;
        let explained = sorted(&answer(&session, &format!("EXPLAIN {query}")).await).join("\n");
        assert!(explained.contains("SharedRead: 1, of") && explained.contains("read again"), "{explained}");
        let analyzed = sorted(&answer(&session, &format!("EXPLAIN ANALYZE {query}")).await).join("\n");
        assert!(analyzed.contains("readers=2, metrics=[output_rows="), "{analyzed}");
        let tree = sorted(&answer(&session, &format!("EXPLAIN FORMAT TREE {query}")).await).join("\n");
        assert!(tree.contains("readers: 2"), "{tree}");
    });
}

#[test]
fn views_and_equal_subqueries_are_computed_once() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let block = "SELECT g, count(*) AS n FROM t GROUP BY g";
        for query in [
            format!("SELECT a.g, b.n FROM ({block}) AS a JOIN ({block}) AS b ON a.g = b.n % 17"),
            format!("{block} UNION ALL ({block})"),
            format!(
                "SELECT id FROM t WHERE g IN (SELECT g FROM ({block}) AS a) AND v IN (SELECT n FROM ({block}) AS b)"
            ),
        ] {
            let plan = checked(folder.path(), &query).await;
            assert_eq!(count(&plan, "readers=2"), 1, "{query}\n{plan}");
        }
        let session = session(folder.path(), Session::builder()).await;
        answer(&session, &format!("CREATE VIEW w AS {block}")).await;
        let plan = plan_text(&session, "SELECT * FROM w AS a, w AS b, w AS c WHERE a.g = b.g AND b.g = c.g").await;
        assert_eq!((scans(&plan), count(&plan, "readers=3"), count(&plan, "read again")), (1, 1, 2), "{plan}");
    });
}

#[test]
fn conditions_and_columns_of_all_uses_are_pushed_down() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let query = "WITH c AS (SELECT g, sum(v) AS total, max(s) AS s, min(d) AS d FROM t GROUP BY g)
                     SELECT a.total, b.s FROM c AS a, c AS b
                     WHERE a.g = 3 AND b.g = 4 AND a.total > b.total - 1000000 AND a.total > 5";
        let plan = checked(folder.path(), query).await;
        assert_eq!(count(&plan, "readers=2"), 1, "{plan}");
        assert!(!plan.contains("min("), "the column that no use reads is computed: {plan}");
        let scan = plan.lines().find(|line| line.contains("DataSourceExec")).unwrap();
        assert!(scan.contains("g") && scan.contains('3') && scan.contains('4'), "{scan}");
        // A use without conditions needs all rows.
        let query = "WITH c AS (SELECT g, sum(v) AS total FROM t GROUP BY g)
                     SELECT * FROM c AS a, c AS b WHERE a.g = 3 AND b.total > a.total";
        let plan = checked(folder.path(), query).await;
        assert_eq!(count(&plan, "readers=2"), 1, "{plan}");
    });
}

#[test]
fn uses_that_read_different_parts_stay_apart() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let query = "WITH c AS (SELECT a.id, a.g, b.v FROM t AS a JOIN t AS b ON a.id = b.id)
                     SELECT * FROM c AS a JOIN c AS b ON a.id = b.id + 1 WHERE a.g = 3 AND b.v = 4";
        let plan = checked(folder.path(), query).await;
        assert_eq!((scans(&plan), count(&plan, "SharedExec")), (4, 0), "{plan}");
    });
}

#[test]
fn no_error_comes_from_rows_that_its_use_leaves_out() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let query = "WITH c AS (SELECT g, max(10 / g) AS q, count(*) AS n FROM t GROUP BY g)
                     SELECT q FROM c WHERE g > 0 UNION ALL SELECT n FROM c WHERE g < 5";
        let plan = checked(folder.path(), query).await;
        assert_eq!(count(&plan, "SharedExec"), 0, "{plan}");
    });
}

#[test]
fn equal_plans_are_shared_unless_it_is_switched_off() {
    wait(async {
        let query = "WITH c AS (SELECT value % 3 AS g, count(*) AS n FROM generate_series(1, 100) GROUP BY 1)
                     SELECT a.n FROM c AS a JOIN c AS b ON a.g = b.n % 3";
        let session = Session::new();
        assert_eq!(count(&plan_text(&session, query).await, "readers=2"), 1);
        answer(&session, "SET lath.common_subplans = false").await;
        assert_eq!(count(&plan_text(&session, query).await, "SharedExec"), 0);
    });
}

#[test]
fn expressions_over_the_rows_of_one_use_are_shared() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        // The divisions within `d` are the same for both uses, and no condition reaches them.
        let within = "WITH d AS (SELECT id, sum(10 / (v + 1)) AS q FROM t WHERE v > 0 GROUP BY id HAVING sum(10 / (v + 1)) >= 0),
                      c AS (SELECT m.g, count(*) AS n, max(m.v) AS v FROM m JOIN d ON m.id = d.id GROUP BY m.g)
                      SELECT a.n, b.v FROM c AS a, c AS b WHERE a.g = 3 AND b.g = 4";
        // Arithmetic of constants raises errors for all rows or for none.
        let constant = "WITH c AS (SELECT g, count(*) AS n, max(v) AS v FROM t WHERE g > 7 - 5 GROUP BY g)
                        SELECT n FROM c WHERE g > 3 UNION ALL SELECT v FROM c WHERE g < 5";
        for query in [within, constant] {
            let plan = checked(folder.path(), query).await;
            assert!(count(&plan, "SharedExec") > 0, "{plan}");
        }
    });
}

#[test]
fn a_use_that_is_left_alone_has_its_own_plan() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let query = "WITH c AS (SELECT g, sum(v) AS total FROM t GROUP BY g)
                     SELECT total FROM c WHERE g = 3 UNION ALL SELECT total FROM c WHERE 1 = 2";
        let plan = checked(folder.path(), query).await;
        assert_eq!((scans(&plan), count(&plan, "SharedExec")), (1, 0), "{plan}");
    });
}

#[test]
fn plain_scans_and_products_within_blocks_are_not_shared() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        for query in [
            "WITH c AS (SELECT id, g FROM t WHERE v > 3) SELECT count(*) FROM c AS a JOIN c AS b ON a.id = b.id",
            "SELECT (SELECT count(*) FROM t AS a, t AS b WHERE a.id = b.id AND a.g = 1)
             + (SELECT count(*) FROM t AS a, t AS b WHERE a.id = b.id AND a.g = 2)",
        ] {
            let plan = checked(folder.path(), query).await;
            assert_eq!(count(&plan, "SharedExec"), 0, "{query}\n{plan}");
        }
    });
}

#[test]
fn shared_queries_use_other_shared_queries() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let query = "WITH a AS (SELECT g, v, count(*) AS n FROM t GROUP BY g, v),
                     b AS (SELECT x.g, sum(y.n) AS n FROM a AS x JOIN a AS y ON x.g = y.g AND x.v = y.v GROUP BY x.g)
                     SELECT p.g, p.n, q.n, (SELECT max(n) FROM a) FROM b AS p JOIN b AS q ON p.g = q.g + 1";
        let plan = checked(folder.path(), query).await;
        let found = (scans(&plan), count(&plan, "readers=3"), count(&plan, "readers=2"), count(&plan, "read again"));
        assert_eq!(found, (1, 1, 1, 3), "{plan}");
    });
}

#[test]
fn the_order_of_shared_rows_is_known() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let query = "WITH c AS (SELECT id, row_number() OVER (ORDER BY id) AS r FROM t)
                     SELECT a.id FROM (SELECT id FROM c ORDER BY id) AS a
                     JOIN (SELECT id, lag(r) OVER (ORDER BY id) AS p FROM c) AS b ON a.id = b.id WHERE b.p % 100 = 1";
        let plan = checked(folder.path(), query).await;
        assert_eq!(count(&plan, "SortExec"), 1, "{plan}");
    });
}
