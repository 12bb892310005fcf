//! Readers that are behind, end early, fail or start again.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect, execute_stream};
use futures_util::TryStreamExt;
use lath_sql::{BlockingSession, Error, Session, Stop};

use super::{count, plan_text, session, without_sharing};
use crate::{answer, sorted, wait};

/// A join of which one input is read to its end first, and a union.
const BEHIND: [&str; 3] = [
    "WITH c AS (SELECT id, s, d, row_number() OVER (PARTITION BY g ORDER BY id) AS r FROM m)
     SELECT a.id, b.r, a.s, b.d FROM c AS a JOIN c AS b ON a.id = b.id + 1",
    "WITH c AS (SELECT a.id, b.s, a.v FROM m AS a JOIN m AS b ON a.id = b.id)
     SELECT id, s FROM c UNION ALL SELECT v, s FROM c UNION ALL SELECT max(id), max(s) FROM c",
    "WITH c AS (SELECT DISTINCT id, g, s FROM m)
     SELECT a.id, b.id, a.s FROM c AS a FULL JOIN c AS b ON a.id = b.id * 2 AND a.s = b.s ORDER BY a.id, b.id",
];

#[test]
fn rows_beyond_the_budget_are_on_disk() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let apart = without_sharing(folder.path()).await;
        for query in BEHIND {
            let expected = sorted(&answer(&apart, query).await);
            for budget_bytes in [1 << 20, 4 << 20, 64 << 20] {
                let session = session(folder.path(), Session::builder().memory_budget_bytes(budget_bytes)).await;
                assert!(plan_text(&session, query).await.contains("readers="), "{query}");
                match session.sql(query).await.unwrap().collect().await {
                    Ok(rows) => assert_eq!(sorted(&rows), expected, "{budget_bytes}: {query}"),
                    Err(error) => {
                        let is_refused = error.to_string().contains("give a larger budget (--memory)");
                        assert!(is_refused && budget_bytes < 4 << 20, "{budget_bytes}: {query}: {error}");
                    }
                }
            }
        }
    });
}

#[test]
fn shared_rows_spill_and_are_read_from_their_files() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let wide = "SELECT value AS id, repeat('x', 500 + value % 3) AS s FROM generate_series(1, 20000)";
        // The smallest numbers are known only after all rows have been read once.
        let query = format!(
            "WITH c AS (SELECT a.id, a.s FROM ({wide}) AS a JOIN generate_series(1, 20000) AS b(id) ON a.id = b.id)
             SELECT sum(length(s)), count(*) FROM c WHERE id > (SELECT min(id) + max(length(s)) * 0 FROM c)"
        );
        let expected = sorted(&answer(&without_sharing(folder.path()).await, &query).await);
        let session = session(folder.path(), Session::builder().memory_budget_bytes(4 << 20)).await;
        let frame = session.sql(&query).await.unwrap();
        let context = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.unwrap();
        let plan = {
            let rows = collect(Arc::clone(&plan), Arc::clone(&context)).await.unwrap();
            assert_eq!(sorted(&rows), expected);
            reset_plan_states(plan).unwrap()
        };
        {
            let rows = collect(Arc::clone(&plan), Arc::clone(&context)).await.unwrap();
            assert_eq!(sorted(&rows), expected);
        }
        fn spilled(plan: &Arc<dyn ExecutionPlan>) -> usize {
            let own =
                if plan.name() == "SharedExec" { plan.metrics().and_then(|all| all.spilled_rows()) } else { None };
            own.unwrap_or(0) + plan.children().into_iter().map(spilled).sum::<usize>()
        }
        assert!(spilled(&plan) > 0, "nothing was spilled");
    });
}

#[test]
fn a_plan_can_be_executed_again() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path(), Session::builder()).await;
        for query in BEHIND {
            let frame = session.sql(query).await.unwrap();
            let context = Arc::new(frame.task_ctx());
            let plan = frame.create_physical_plan().await.unwrap();
            let expected = sorted(&collect(Arc::clone(&plan), Arc::clone(&context)).await.unwrap());
            // An execution that is dropped after its first batch.
            let plan = reset_plan_states(plan).unwrap();
            let mut rows = execute_stream(Arc::clone(&plan), Arc::clone(&context)).unwrap();
            assert!(rows.try_next().await.unwrap().unwrap().num_rows() > 0);
            drop(rows);
            let plan = reset_plan_states(plan).unwrap();
            assert_eq!(sorted(&collect(plan, context).await.unwrap()), expected);
        }
    });
}

#[test]
fn no_more_is_computed_than_the_most_demanding_use_needs() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path(), Session::builder()).await;
        // All rows would take years.
        let query = "WITH c AS (SELECT v FROM generate_series(1, 1000000000000000) AS a(v)
                                JOIN (VALUES (0), (1)) AS b(w) ON v % 2 = w)
                     SELECT count(*) FROM (SELECT v FROM c LIMIT 3) AS x, (SELECT v FROM c LIMIT 20000) AS y";
        assert_eq!(count(&plan_text(&session, query).await, "readers=2"), 1);
        let rows = answer(&session, query).await;
        assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().value(0), 60_000);
    });
}

#[test]
fn all_readers_get_the_error_of_the_shared_plan() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path(), Session::builder()).await;
        let shared = "WITH c AS (SELECT id, max(10 / (id - 5000)) AS q FROM m GROUP BY id)";
        for query in [
            "SELECT * FROM c AS a JOIN c AS b ON a.id = b.q",
            "SELECT * FROM c UNION ALL SELECT * FROM c",
            "SELECT (SELECT max(q) FROM c), (SELECT min(q) FROM c)",
        ] {
            let result: Result<Vec<RecordBatch>, _> =
                session.sql(&format!("{shared} {query}")).await.unwrap().collect().await;
            let error = result.unwrap_err().to_string();
            assert!(error.to_lowercase().contains("divide by zero"), "{query}: {error}");
        }
    });
}

#[test]
fn a_statement_that_shares_rows_can_be_stopped() {
    let session = BlockingSession::new(Session::new()).unwrap();
    session.run("SET lath.common_subplans = true").unwrap().for_each(drop);
    let stop = Stop::new();
    let query = "WITH c AS (SELECT v FROM generate_series(1, 1000000000000000) AS a(v)
                            JOIN (VALUES (0), (1)) AS b(w) ON v % 2 = w)
                 SELECT v FROM c UNION ALL SELECT max(v) FROM c";
    let mut answer = session.run_in(query, 0..query.len(), Some(&stop)).unwrap();
    assert!(answer.next().unwrap().is_ok());
    stop.stop();
    assert!(matches!(answer.next(), Some(Err(Error::Stopped))));
    drop(answer);
    assert_eq!(session.run("SELECT 1").unwrap().count(), 1);
}
