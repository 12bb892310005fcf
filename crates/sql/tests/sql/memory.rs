//! Queries return the same rows within any memory budget, and a query that succeeds with less memory succeeds with more.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lath_sql::Session;

use super::{answer, wait, write};

const ROW_COUNT: i64 = 60_000;
const BUDGETS_MIB: [usize; 10] = [8, 16, 24, 32, 48, 64, 96, 128, 256, 512];

/// Rows of about 90 bytes: keys that occur once or a few times, groups, and texts.
fn rows() -> RecordBatch {
    let mut random = fastrand::Rng::with_seed(14);
    let mut integers =
        |end: i64| Arc::new(Int64Array::from_iter_values((0..ROW_COUNT).map(|_| random.i64(0..end)))) as ArrayRef;
    let (key, number) = (integers(ROW_COUNT / 2), integers(100));
    let text = (0..ROW_COUNT).map(|row| format!("{:040} is the text of a row", (row * 7919) % 100_003));
    let text = Arc::new(StringArray::from_iter_values(text)) as ArrayRef;
    RecordBatch::try_from_iter([("k", key), ("g", number), ("s", text)]).unwrap()
}

/// Runs each query with some of the budgets and compares with the result without a budget. Budgets below `from_mib` may be too small, but
/// not if a smaller one was enough.
fn check(from_mib: usize, questions: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write(&path, &rows(), 40_000);
    wait(async {
        let unbounded = Session::new();
        for (number, question) in questions.iter().enumerate() {
            let question = question.replace("FROM t", &format!("FROM '{}'", path.display()));
            let question = question.replace("JOIN t", &format!("JOIN '{}'", path.display()));
            let expected = answer(&unbounded, &question).await;
            let mut has_worked = false;
            for budget in BUDGETS_MIB.iter().skip(number % 3).step_by(3) {
                let session = Session::builder().memory_budget_bytes(budget << 20).build().unwrap();
                let batches = session.sql(&question).await.unwrap().collect().await;
                let batches = match batches {
                    Ok(batches) => batches,
                    Err(error) => {
                        let text = error.to_string();
                        let is_refused = text.contains("give a larger budget (--memory)");
                        assert!(is_refused && !has_worked && *budget < from_mib, "{budget} MiB: {question}: {text}");
                        continue;
                    }
                };
                has_worked = true;
                let all = |batches: &[RecordBatch]| {
                    let rows = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
                    assert!(rows > 0);
                    arrow_select::concat::concat_batches(&batches[0].schema(), batches).unwrap()
                };
                assert_eq!(all(&batches), all(&expected), "{budget} MiB: {question}");
            }
        }
    });
}

#[test]
fn sorts_and_windows_work_within_any_budget() {
    check(
        0,
        &[
            "SELECT s, k FROM t ORDER BY s, k, g",
            "SELECT k, g FROM t ORDER BY k, g",
            "SELECT max(r), sum(r) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY s, k) AS r, k FROM t)",
        ],
    );
}

#[test]
fn joins_work_within_any_budget() {
    check(
        0,
        &[
            "SELECT count(*), max(a.s), sum(b.k) FROM t AS a JOIN t AS b ON a.s = b.s",
            "SELECT count(*), count(b.k), sum(a.g) FROM t AS a LEFT JOIN t AS b ON a.s = b.s AND b.g < 50",
            "SELECT count(*) FROM t AS a WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.s = a.s AND b.g < 10)",
        ],
    );
}

#[test]
fn groups_and_distinct_values_work_with_more_if_they_work_with_less() {
    check(
        64,
        &[
            "SELECT count(*), sum(n), max(m) FROM (SELECT s, count(*) AS n, sum(k) AS m FROM t GROUP BY s)",
            "SELECT count(*) FROM (SELECT DISTINCT s, k FROM t)",
            "SELECT count(DISTINCT s) FROM t",
        ],
    );
}

#[test]
fn rows_that_are_kept_for_subqueries_work_with_more_if_they_work_with_less() {
    check(
        64,
        &[
            "SELECT count(*), count(s), sum(m) FROM (SELECT q.s, (SELECT max(v) FROM (VALUES (1), (2)) AS w(v) WHERE v < q.k) AS m \
             FROM (SELECT s, k FROM t LIMIT 60000) AS q)",
        ],
    );
}

/// In DataFusion 55.2, a repartition whose inputs spill at the same time may wait forever.
#[test]
fn queries_whose_repartitions_spill_finish() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write(&path, &rows(), 10_000);
    let question =
        format!("SELECT count(*), sum(n) FROM (SELECT g, count(DISTINCT s) AS n FROM '{}' GROUP BY g)", path.display());
    wait(async {
        for _ in 0..20 {
            let session = Session::builder().memory_budget_bytes(8 << 20).build().unwrap();
            match session.sql(&question).await.unwrap().collect().await {
                Ok(batches) => assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1),
                Err(error) => assert!(error.to_string().contains("give a larger budget (--memory)"), "{error}"),
            }
        }
    });
}
