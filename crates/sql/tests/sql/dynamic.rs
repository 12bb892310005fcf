//! What a query finds out while it runs goes into its scans.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::physical_plan::{ExecutionPlan, collect};
use lath_parquet::{Dataset, DatasetOptions};
use lath_sql::Session;

use crate::{in_memory, wait, write};

/// A table of ids that are in no order, in 20 row groups.
fn facts() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..20_000).map(|row| row * 7919 % 20_011)));
    let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..20_000).map(|row| format!("row {row}"))));
    let order: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20_000));
    RecordBatch::try_from_iter([("id", ids), ("text", texts), ("at", order)]).unwrap()
}

/// The metrics of all sources of a plan, by name.
pub(crate) fn metric(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name(name)).map_or(0, |value| value.as_usize());
    own + plan.children().into_iter().map(|child| metric(child, name)).sum::<usize>()
}

fn session() -> (tempfile::TempDir, Session) {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("facts.parquet"), &facts(), 1000);
    let session = Session::new();
    session.register("facts", Dataset::open([folder.path()], DatasetOptions::new()).unwrap()).unwrap();
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![7919, 11, 20_010]));
    in_memory(&session, "keys", vec![RecordBatch::try_from_iter([("k", keys)]).unwrap()]);
    (folder, session)
}

#[test]
fn the_keys_of_a_join_are_looked_up_in_bloom_filters() {
    let (_folder, session) = session();
    wait(async {
        let frame = session.sql("SELECT id, text FROM keys JOIN facts ON k = id").await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        let rows = collect(Arc::clone(&plan), session.context().task_ctx()).await.unwrap();
        let expected = (0..20_000).filter(|row| [7919, 11, 20_010].contains(&(row * 7919 % 20_011))).count();
        assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), expected);
        // Each id is in one row group; ranges of ids say nothing.
        let pruned = metric(&plan, "row_groups_pruned_dynamically_bloom");
        assert!(pruned >= 16, "{pruned} of 20: {plan:?}");
        assert!(metric(&plan, "rows_found") <= 20, "{}", metric(&plan, "rows_found"));
    });
}

#[test]
fn the_first_rows_of_an_order_rule_out_the_others() {
    let (_folder, session) = session();
    wait(async {
        let frame = session.sql("SELECT text, at FROM facts ORDER BY at LIMIT 3").await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        let rows = collect(Arc::clone(&plan), session.context().task_ctx()).await.unwrap();
        assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
        let pruned = metric(&plan, "row_groups_pruned_dynamically_statistics");
        assert!(pruned >= 15, "{pruned} of 20");
    });
}

/// Rows whose column `at` rises from file to file, and files whose names are in another order.
fn days(folder: &std::path::Path) {
    for (name, from) in [("a", 4000), ("b", 1000), ("c", 3000), ("d", 0), ("e", 2000)] {
        let at: ArrayRef = Arc::new(Int64Array::from_iter_values(from..from + 1000));
        let text: ArrayRef = Arc::new(StringViewArray::from_iter_values((from..from + 1000).map(|n| n.to_string())));
        let batch = RecordBatch::try_from_iter([("at", at), ("text", text)]).unwrap();
        write(&folder.join(format!("{name}.parquet")), &batch, 100);
    }
}

#[test]
fn the_last_rows_of_an_order_are_looked_for_where_they_are_likely() {
    let folder = tempfile::tempdir().unwrap();
    days(folder.path());
    let session = Session::new();
    session.register("days", Dataset::open([folder.path()], DatasetOptions::new()).unwrap()).unwrap();
    wait(async {
        let query = "SELECT text, at FROM days ORDER BY at DESC LIMIT 3";
        let frame = session.sql(query).await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        let rows = collect(Arc::clone(&plan), session.context().task_ctx()).await.unwrap();
        let at: Vec<i64> =
            rows.iter().flat_map(|rows| rows.column(1).as_primitive::<Int64Type>().values().to_vec()).collect();
        assert_eq!(at, [4999, 4998, 4997]);
        // Without the order of tasks, the files with smaller rows would be read before.
        let pruned = metric(&plan, "row_groups_pruned_dynamically_statistics");
        assert!(pruned >= 46, "{pruned} of 50");
    });
}
