//! `ROLLUP`, `CUBE` and `GROUPING SETS` return what one `GROUP BY` for each of their sets returns.

use lath_parquet::Runtime;
use lath_sql::Session;

use crate::{answer, sorted, wait};

/// Rows of four keys, with nulls in them, and of values: whole numbers, decimals, and floats without rounding.
const ROWS: &str = "CREATE TABLE t AS SELECT \
    CASE WHEN i % 7 = 0 THEN NULL ELSE i % 7 END AS a, \
    CASE WHEN i % 5 = 0 THEN NULL ELSE concat('name ', i % 5) END AS b, \
    DATE '2024-01-01' + CAST(i % 3 AS INT) AS c, \
    i % 1000 AS d, \
    CASE WHEN i % 11 = 0 THEN NULL ELSE i END AS x, \
    CAST(i AS DECIMAL(12, 2)) / 4 AS m, \
    CAST(i AS DOUBLE) / 2 AS f \
    FROM generate_series(1, ROWS) AS s(i)";

const RESULTS: &str = "count(*), count(x), sum(x), min(x), max(b), avg(m), sum(m), avg(f), \
    sum(x) FILTER (WHERE d < 500), bool_or(x IS NULL), count(*) FILTER (WHERE a = 1)";

/// The sets of a clause, by the keys that they have.
const CLAUSES: [(&str, &[&[&str]]); 8] = [
    ("ROLLUP (a, b, c)", &[&["a", "b", "c"], &["a", "b"], &["a"], &[]]),
    ("CUBE (a, b)", &[&["a", "b"], &["a"], &["b"], &[]]),
    ("GROUPING SETS ((a), (b), (c, a))", &[&["a"], &["b"], &["c", "a"]]),
    ("GROUPING SETS ((a, b), (a, b), (), ())", &[&["a", "b"], &["a", "b"], &[], &[]]),
    ("a, ROLLUP (b, c)", &[&["a", "b", "c"], &["a", "b"], &["a"]]),
    ("ROLLUP (a), ROLLUP (b)", &[&["a", "b"], &["a"], &["b"], &[]]),
    ("GROUPING SETS ((d, a, b, c), (d), (a, c))", &[&["a", "b", "c", "d"], &["d"], &["a", "c"]]),
    (
        "CUBE (a, b, c, d)",
        &[
            &[],
            &["a"],
            &["b"],
            &["c"],
            &["d"],
            &["a", "b"],
            &["a", "c"],
            &["a", "d"],
            &["b", "c"],
            &["b", "d"],
            &["c", "d"],
            &["a", "b", "c"],
            &["a", "b", "d"],
            &["a", "c", "d"],
            &["b", "c", "d"],
            &["a", "b", "c", "d"],
        ],
    ),
];

/// The query with one `GROUP BY` for each set.
fn apart(results: &str, keys: &[&str], sets: &[&[&str]], condition: &str) -> String {
    let one = |set: &&[&str]| {
        let columns: Vec<String> = keys
            .iter()
            .map(|key| {
                if set.contains(key) {
                    (*key).to_owned()
                } else {
                    format!("(SELECT {key} FROM t WHERE false) AS {key}")
                }
            })
            .collect();
        let columns = columns.join(", ");
        match set.join(", ") {
            empty if empty.is_empty() => format!("SELECT {columns}, {results} FROM t WHERE {condition}"),
            grouped => format!("SELECT {columns}, {results} FROM t WHERE {condition} GROUP BY {grouped}"),
        }
    };
    sets.iter().map(one).collect::<Vec<_>>().join(" UNION ALL ")
}

fn all_keys(sets: &[&[&str]]) -> Vec<&'static str> {
    ["a", "b", "c", "d"].into_iter().filter(|key| sets.iter().any(|set| set.contains(key))).collect()
}

async fn compare(session: &Session, condition: &str) {
    for (clause, sets) in CLAUSES {
        let keys = all_keys(sets);
        let together = format!("SELECT {}, {RESULTS} FROM t WHERE {condition} GROUP BY {clause}", keys.join(", "));
        let apart = apart(RESULTS, &keys, sets, condition);
        let (together, apart) = (answer(session, &together).await, answer(session, &apart).await);
        assert_eq!(sorted(&together), sorted(&apart), "{clause} where {condition}");
    }
}

async fn session(threads: usize, rows: usize) -> Session {
    let runtime = Runtime::builder().threads(threads).build();
    with_rows(Session::builder().runtime(&runtime).build().unwrap(), rows).await
}

async fn with_rows(session: Session, rows: usize) -> Session {
    answer(&session, &ROWS.replace("ROWS", &rows.to_string())).await;
    session
}

#[test]
fn sets_are_what_group_by_of_each_returns() {
    wait(async {
        for threads in 1..=3 {
            let session = session(threads, 6_000).await;
            compare(&session, "true").await;
            compare(&session, "d < 3 AND x > 100").await;
        }
    });
}

#[test]
fn sets_without_rows_have_a_total() {
    wait(async {
        for threads in 1..=3 {
            let session = session(threads, 10).await;
            compare(&session, "d < 0").await;
        }
    });
}

#[test]
fn grouping_tells_totals_from_nulls() {
    wait(async {
        let session = session(2, 70).await;
        let query = "SELECT a, grouping(a), grouping(a, b), count(*) FROM t WHERE a IS NULL AND b IS NULL GROUP BY ROLLUP (a, b)";
        let rows: Vec<String> = sorted(&answer(&session, query).await)
            .iter()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.chars().filter(char::is_ascii_digit).collect())
            .collect();
        assert_eq!(rows, ["002", "012", "132"]);
    });
}

#[test]
fn plan_has_levels_for_results_that_can_be_merged() {
    wait(async {
        let session = session(2, 10).await;
        for (query, sets) in [
            ("SELECT a, b, sum(x) FROM t GROUP BY ROLLUP (a, b)", Some("sets=[(a, b), (a), ()]")),
            ("SELECT a, b, sum(x) FROM t GROUP BY GROUPING SETS ((b), (a))", Some("sets=[(b), (a)]")),
            ("SELECT a, b, sum(x) FROM t GROUP BY a, b", None),
            ("SELECT a, count(DISTINCT x), sum(DISTINCT x) FROM t GROUP BY ROLLUP (a)", None),
            ("SELECT a, array_agg(x ORDER BY x) FROM t GROUP BY ROLLUP (a)", None),
        ] {
            let plan = sorted(&answer(&session, &format!("EXPLAIN {query}")).await).join("\n");
            assert_eq!(plan.contains("GroupingSetsExec"), sets.is_some(), "{query}: {plan}");
            assert!(sets.is_none_or(|sets| plan.contains(sets)), "{query}: {plan}");
        }
        let limited = with_rows(Session::builder().memory_budget_bytes(64 << 20).build().unwrap(), 10).await;
        let query = "EXPLAIN SELECT a, b, sum(x) FROM t GROUP BY ROLLUP (a, b)";
        let plan = sorted(&answer(&limited, query).await).join("\n");
        assert!(!plan.contains("GroupingSetsExec"), "{plan}");
    });
}

#[test]
fn readers_may_stop_early() {
    wait(async {
        let session = session(2, 6_000).await;
        let query = "SELECT count(*) FROM (SELECT a, d, sum(x) FROM t GROUP BY CUBE (a, d) LIMIT 3) AS q";
        assert_eq!(sorted(&answer(&session, query).await), sorted(&answer(&session, "SELECT 3").await));
    });
}
