//! Properties of rows in the planner: constant keys, orders, partitions. They do not hold if rows may also be null: in totals of
//! `ROLLUP`, `CUBE` and `GROUPING SETS`, in the other side of outer joins, in frames without values. The expected results are DuckDB's.

use arrow_cast::pretty::pretty_format_batches;
use lath_parquet::Runtime;
use lath_sql::Session;

use crate::{answer, wait};

const TABLES: [&str; 2] = [
    "CREATE TABLE t AS SELECT * FROM (VALUES (1, 10, 'p'), (1, 20, 'q'), (2, 30, 'p'), (2, NULL, 'q'), (NULL, 50, 'p'), (3, 60, NULL)) AS v(a, x, s)",
    "CREATE VIEW twice AS SELECT 'a' AS k, s, x FROM t UNION ALL SELECT 'a', s, x FROM t",
];

/// Queries, and their rows sorted as text.
const TOTALS: [(&str, &[&str]); 9] = [
    ("SELECT k, count(*) FROM twice GROUP BY ROLLUP (k)", &["NULL 12", "a 12"]),
    (
        "SELECT k, s, sum(x) FROM twice GROUP BY CUBE (k, s)",
        &["NULL NULL 120", "NULL NULL 340", "NULL p 180", "NULL q 40", "a NULL 120", "a NULL 340", "a p 180", "a q 40"],
    ),
    ("SELECT a, count(*) FROM t WHERE a = 1 GROUP BY ROLLUP (a)", &["1 2", "NULL 2"]),
    (
        "SELECT k, count(*) FROM (SELECT 7 AS k FROM t) AS q GROUP BY GROUPING SETS ((k), (), ())",
        &["7 6", "NULL 6", "NULL 6"],
    ),
    ("SELECT DISTINCT k FROM (SELECT k FROM twice GROUP BY CUBE (k, s)) AS q", &["NULL", "a"]),
    (
        "SELECT k, sum(c) FROM (SELECT k, count(*) AS c FROM twice GROUP BY ROLLUP (k)) AS q GROUP BY k",
        &["NULL 12", "a 12"],
    ),
    (
        "SELECT k, c, row_number() OVER (PARTITION BY k ORDER BY c) FROM (SELECT k, count(*) AS c FROM twice GROUP BY CUBE (k, s)) AS q WHERE k = 'a'",
        &["a 12 4", "a 2 1", "a 4 2", "a 6 3"],
    ),
    // Rows are partitioned by `a` for the window, and sorted by it.
    (
        "SELECT a, max(r), count(*) FROM (SELECT a, row_number() OVER (PARTITION BY a ORDER BY x) AS r FROM t) AS q GROUP BY ROLLUP (a)",
        &["1 2 2", "2 2 2", "3 1 1", "NULL 1 1", "NULL 2 6"],
    ),
    (
        "SELECT a, b, count(*) FROM (SELECT l.a, r.a AS b FROM t AS l JOIN t AS r ON l.a = r.a) AS q GROUP BY CUBE (a, b)",
        &[
            "1 1 4",
            "1 NULL 4",
            "2 2 4",
            "2 NULL 4",
            "3 3 1",
            "3 NULL 1",
            "NULL 1 4",
            "NULL 2 4",
            "NULL 3 1",
            "NULL NULL 9",
        ],
    ),
];

async fn session(threads: usize) -> Session {
    let runtime = Runtime::builder().threads(threads).build();
    let session = Session::builder().runtime(&runtime).build().unwrap();
    for table in TABLES {
        answer(&session, table).await;
    }
    session
}

/// The values of each row, in the order of the answer.
async fn values(session: &Session, query: &str) -> Vec<String> {
    let batches = answer(session, query).await;
    let text = pretty_format_batches(&batches).unwrap().to_string();
    let value = |value: &str| match value.trim() {
        "" => "NULL".to_owned(),
        value => value.to_owned(),
    };
    let row = |line: &str| {
        let values = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(value);
        Some(values.collect::<Vec<_>>().join(" "))
    };
    text.lines().skip(3).filter_map(row).collect()
}

#[test]
fn totals_over_known_keys_come_once_on_any_number_of_threads() {
    wait(async {
        for threads in 1..=3 {
            let session = session(threads).await;
            for (query, expected) in TOTALS {
                let mut rows = values(&session, query).await;
                rows.sort_unstable();
                assert_eq!(rows, expected, "{threads} threads: {query}");
            }
        }
    });
}

#[test]
fn totals_over_equal_keys_are_sorted_where_the_query_says_so() {
    wait(async {
        let session = session(1).await;
        let query = "SELECT a, b, count(*) FROM (SELECT a, x - 9 * x / 10 AS b FROM t WHERE a = x - 9 * x / 10) AS q \
                     GROUP BY CUBE (a, b) ORDER BY a NULLS FIRST, b NULLS FIRST";
        let rows = values(&session, query).await;
        assert_eq!(rows, ["NULL NULL 1", "NULL 1 1", "1 NULL 1", "1 1 1"]);
    });
}

/// Queries of outer joins with a constant on one side, and their rows in order.
const JOINS: [(&str, &[&str]); 5] = [
    (
        "SELECT t.x, f.found FROM t LEFT JOIN (SELECT 1 AS a, 7 AS found) AS f ON t.a = f.a ORDER BY f.found NULLS FIRST, t.x",
        &["30 NULL", "50 NULL", "60 NULL", "NULL NULL", "10 7", "20 7"],
    ),
    (
        "SELECT t.x, f.found FROM t LEFT JOIN (SELECT a, 7 AS found FROM t WHERE a = 2 LIMIT 1) AS f ON t.a = f.a \
         ORDER BY f.found DESC NULLS LAST, t.x",
        &["30 7", "NULL 7", "10 NULL", "20 NULL", "50 NULL", "60 NULL"],
    ),
    (
        "SELECT x, found, row_number() OVER (PARTITION BY found ORDER BY x) \
         FROM (SELECT t.x, f.found FROM t LEFT JOIN (SELECT 1 AS a, 7 AS found) AS f ON t.a = f.a) AS q ORDER BY found, x",
        &["10 7 1", "20 7 2", "30 NULL 1", "50 NULL 2", "60 NULL 3", "NULL NULL 4"],
    ),
    (
        "SELECT f.found, t.x FROM (SELECT 1 AS a, 7 AS found) AS f RIGHT JOIN t ON t.a = f.a ORDER BY f.found NULLS FIRST, t.x",
        &["NULL 30", "NULL 50", "NULL 60", "NULL NULL", "7 10", "7 20"],
    ),
    (
        "SELECT t.one, f.found, count(*) FROM (SELECT a, 1 AS one FROM t) AS t FULL JOIN (SELECT 9 AS a, 7 AS found) AS f ON t.a = f.a \
         GROUP BY t.one, f.found ORDER BY t.one NULLS FIRST",
        &["NULL 7 1", "1 NULL 6"],
    ),
];

#[test]
fn constants_of_an_outer_join_are_null_where_no_row_matches() {
    wait(async {
        for threads in 1..=3 {
            let session = session(threads).await;
            for (query, expected) in JOINS {
                assert_eq!(values(&session, query).await, expected, "{threads} threads: {query}");
            }
        }
    });
}

#[test]
fn running_extremes_begin_with_null() {
    wait(async {
        for threads in 1..=2 {
            let session = session(threads).await;
            let first = "(SELECT x, max(x) OVER w AS most, min(x) OVER w AS least FROM t \
                         WINDOW w AS (ORDER BY x IS NULL DESC, x)) AS q";
            for (query, expected) in [
                ("SELECT most FROM {first} ORDER BY most NULLS LAST", ["10", "20", "30", "50", "60", "NULL"]),
                ("SELECT most FROM {first} ORDER BY most NULLS FIRST", ["NULL", "10", "20", "30", "50", "60"]),
                ("SELECT least FROM {first} ORDER BY least DESC NULLS LAST", ["10", "10", "10", "10", "10", "NULL"]),
            ] {
                let query = query.replace("{first}", first);
                assert_eq!(values(&session, &query).await, expected, "{threads} threads: {query}");
            }
        }
    });
}

/// A session is made from the functions of another one in any order, so that a name with two meanings has one or the other.
#[test]
fn each_name_of_a_function_has_one_meaning() {
    let meanings = || {
        let state = Session::builder().build().unwrap().context().state();
        let scalar = state.scalar_functions().iter().map(|(name, function)| (name.clone(), function.name().to_owned()));
        let aggregates =
            state.aggregate_functions().iter().map(|(name, function)| (name.clone(), function.name().to_owned()));
        let windows =
            state.window_functions().iter().map(|(name, function)| (name.clone(), function.name().to_owned()));
        let mut all: Vec<_> = scalar.chain(aggregates).chain(windows).collect();
        all.sort_unstable();
        all
    };
    let first = meanings();
    for _ in 0..30 {
        let other = meanings();
        let differences: Vec<_> = first.iter().filter(|meaning| !other.contains(meaning)).collect();
        assert!(differences.is_empty(), "in one session only: {differences:?}");
    }
}
