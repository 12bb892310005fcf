//! Dynamic filters reach the scans of a running query.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use lath_parquet::{Dataset, DatasetOptions};
use lath_sql::Session;
use lath_testkit::Seeded;

use crate::queries::condition;
use crate::{in_memory, sorted, wait, write};

/// A table of shuffled ids in 20 row groups.
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
        // Each id is in one row group, and all row groups have similar ranges of ids.
        let pruned = metric(&plan, "row_groups_pruned_dynamically_bloom");
        assert!(pruned >= 16, "{pruned} of 20: {plan:?}");
        assert!(metric(&plan, "rows_found") <= 20, "{}", metric(&plan, "rows_found"));
    });
}

#[test]
fn the_keys_of_a_join_rule_out_rows_of_a_keyed_table() {
    let (_folder, session) = session();
    let database = tempfile::tempdir().unwrap();
    let keyed = Session::builder().database(database.path().join("database")).build().unwrap();
    wait(async {
        let facts = session.sql("SELECT * FROM facts").await.unwrap().collect().await.unwrap();
        in_memory(&keyed, "rows", facts);
        let keys = session.sql("SELECT * FROM keys").await.unwrap().collect().await.unwrap();
        in_memory(&keyed, "keys", keys);
        for statement in [
            "CREATE TABLE facts (PRIMARY KEY (at)) AS SELECT * FROM rows",
            "CALL flush('facts')",
            "UPDATE facts SET text = 'changed' WHERE at % 2 = 0",
        ] {
            keyed.sql(statement).await.unwrap().collect().await.unwrap();
        }
        let frame = keyed.sql("SELECT id, text FROM keys JOIN facts ON k = id").await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        let rows = collect(Arc::clone(&plan), keyed.context().task_ctx()).await.unwrap();
        let expected = (0..20_000).filter(|row| [7919, 11, 20_010].contains(&(row * 7919 % 20_011))).count();
        assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), expected);
        let read = read_rows(&plan, "lath, table=facts").unwrap();
        assert!(read < 100, "{read}: {plan:?}");
    });
}

/// The rows of the source whose description begins with some text.
fn read_rows(plan: &Arc<dyn ExecutionPlan>, beginning: &str) -> Option<usize> {
    let text = displayable(plan.as_ref()).one_line().to_string();
    match text.contains(beginning) && plan.children().is_empty() {
        true => plan.metrics()?.output_rows(),
        false => plan.children().into_iter().find_map(|input| read_rows(input, beginning)),
    }
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

/// The bound of one function does not exclude rows that another needs: `at` ascends, so its minimum is in the first row group.
#[test]
fn extrema_that_are_asked_for_together_see_all_rows() {
    let (_folder, session) = session();
    wait(async {
        for (query, expected) in [
            ("SELECT min(at), max(at + 1) FROM facts", [0, 20_000]),
            ("SELECT min(at), max(CASE WHEN at > 19000 THEN at END) FROM facts", [0, 19_999]),
            ("SELECT min(at), max(id) FILTER (WHERE at > 19000) FROM facts WHERE id <> 5", [0, 19_991]),
            ("SELECT min(at), max(at) FROM facts WHERE id <> 5", [0, 19_999]),
        ] {
            let rows = session.sql(query).await.unwrap().collect().await.unwrap();
            let value = |column: usize| rows[0].column(column).as_primitive::<Int64Type>().value(0);
            assert_eq!([value(0), value(1)], expected, "{query}");
        }
    });
}

/// Files with ascending ranges of `at`, and names in another order.
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
        // Without reordered tasks, the files with smaller values would be read first.
        let pruned = metric(&plan, "row_groups_pruned_dynamically_statistics");
        assert!(pruned >= 46, "{pruned} of 50");
    });
}

/// A random query of the table `t` with a join, or with ORDER BY and LIMIT.
fn query_with_dynamic_filters(random: &mut Seeded) -> String {
    let (left, right) = (condition(random), condition(random));
    let on = [
        "a.id = b.id",
        "a.key = b.key",
        "a.id = b.id + 3 AND a.key = b.key",
        "a.city = b.city AND a.day = b.day",
        "a.price = b.price",
        "a.at = b.at",
        "a.nested.inner = b.nested.inner AND a.id < b.id",
        "a.ratio = b.ratio AND a.flag = b.flag",
    ][random.usize(..8)];
    // Rows that are equal in the order are equal in the selected columns.
    let (select, order) = [
        ("a.id", "a.id"),
        ("a.id, a.at", "a.at DESC, a.id"),
        ("a.price, a.id", "a.price NULLS FIRST, a.id"),
        ("a.city, a.id", "a.city, a.id DESC"),
    ][random.usize(..4)];
    let limit = random.usize(1..20);
    let (left, right) = (format!("(SELECT * FROM t WHERE {left}) a"), format!("(SELECT * FROM t WHERE {right}) b"));
    match random.u8(..7) {
        0 => format!("SELECT a.id, b.id AS other FROM {left} JOIN {right} ON {on}"),
        1 => format!("SELECT a.id, b.id AS other FROM {left} LEFT JOIN {right} ON {on}"),
        2 => format!("SELECT a.id, b.id AS other FROM {left} RIGHT JOIN {right} ON {on}"),
        3 => format!("SELECT a.id, b.id AS other FROM {left} FULL JOIN {right} ON {on}"),
        4 => format!("SELECT a.id FROM {left} LEFT SEMI JOIN {right} ON {on}"),
        5 => format!("SELECT a.id FROM {left} LEFT ANTI JOIN {right} ON {on}"),
        _ => format!("SELECT {select} FROM {left} ORDER BY {order} LIMIT {limit}"),
    }
}

#[test]
fn answers_are_the_same_without_dynamic_filters() {
    let mut random = Seeded::new("answers_are_the_same_without_dynamic_filters");
    let queries: usize = std::env::var("LATH_CASES").map_or(120, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let with = crate::queries::session(&mut random, folder.path(), 300, 10);
    let without = Session::new();
    without.register("t", Dataset::open([folder.path()], DatasetOptions::new()).unwrap()).unwrap();
    let database = tempfile::tempdir().unwrap();
    let keyed = Session::builder().database(database.path().join("database")).build().unwrap();
    let mut ruled_out = 0;
    wait(async {
        // In a file, and a third of the rows in the store.
        for statement in [
            &format!(
                "CREATE TABLE t (PRIMARY KEY (row)) AS SELECT row_number() OVER () AS row, * FROM '{}/'",
                folder.path().display()
            ),
            "CALL flush('t')",
            "UPDATE t SET at = at WHERE row % 3 = 1",
        ] {
            keyed.sql(statement).await.unwrap().collect().await.unwrap();
        }
        let setting = "SET datafusion.optimizer.enable_dynamic_filter_pushdown = false";
        without.sql(setting).await.unwrap().collect().await.unwrap();
        for _ in 0..queries {
            let query = query_with_dynamic_filters(&mut random);
            let plan = with.sql(&query).await.unwrap().create_physical_plan().await.unwrap();
            let found = collect(Arc::clone(&plan), with.context().task_ctx()).await.unwrap();
            let pruned = metric(&plan, "row_groups_pruned_dynamically_statistics")
                + metric(&plan, "row_groups_pruned_dynamically_bloom")
                + metric(&plan, "rows_pruned_dynamically_page_index");
            ruled_out += usize::from(pruned > 0);
            let plan = without.sql(&query).await.unwrap().create_physical_plan().await.unwrap();
            let expected = collect(Arc::clone(&plan), without.context().task_ctx()).await.unwrap();
            assert!(!displayable(plan.as_ref()).indent(false).to_string().contains("DynamicFilter"), "{query}");
            assert_eq!(sorted(&found), sorted(&expected), "{query}");
            let found = keyed.sql(&query).await.unwrap().collect().await.unwrap();
            assert_eq!(sorted(&found), sorted(&expected), "{query}, of a keyed table");
        }
    });
    assert!(ruled_out > queries / 20, "{ruled_out} of {queries}");
}
