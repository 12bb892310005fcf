//! Reordered joins return the same rows, and selective joins come first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use lath_parquet::{Dataset, DatasetOptions, Runtime};
use lath_sql::{LathTable, Session};
use lath_testkit::Seeded;

use crate::{sorted, wait, write};

/// Writes tables `t0` to `t5` with the given numbers of rows; each column has its own range of numbers, nulls and repetitions.
fn write_tables(folder: &std::path::Path, random: &mut Seeded, rows: [i64; 6]) {
    for (table, count) in rows.into_iter().enumerate() {
        let mut column = |range: i64| -> ArrayRef {
            Arc::new((0..count).map(|_| (random.u8(..12) > 0).then(|| random.i64(0..range))).collect::<Int64Array>())
        };
        let columns = [("a", column(count / 2 + 1)), ("b", column(20)), ("c", column(7))];
        let mut columns = columns.to_vec();
        columns.insert(0, ("id", Arc::new(Int64Array::from_iter_values(0..count))));
        let text = (0..count).map(|row| (row % 9 > 0).then(|| format!("text {}", row % 5)));
        columns.push(("s", Arc::new(text.collect::<StringViewArray>())));
        write(&folder.join(format!("t{table}.parquet")), &RecordBatch::try_from_iter(columns).unwrap(), 1000);
    }
}

fn tables(folder: &std::path::Path) -> Vec<(String, Dataset)> {
    let table = |number| {
        let name = format!("t{number}");
        let path = folder.join(format!("{name}.parquet"));
        (name, Dataset::open([path], DatasetOptions::new()).unwrap())
    };
    (0..6).map(table).collect()
}

fn session(folder: &std::path::Path) -> Session {
    let session = Session::new();
    for (name, dataset) in tables(folder) {
        session.register(&name, dataset).unwrap();
    }
    session
}

/// A random query that joins each table to an earlier one by one or two equal columns, with other conditions.
fn query(random: &mut Seeded) -> String {
    let count = random.usize(2..=6);
    let mut from = "t0 x0".to_owned();
    let mut conditions = Vec::new();
    for at in 1..count {
        let other = random.usize(..at);
        let keys = ["id", "a", "b", "c"];
        let (own, theirs) = (keys[random.usize(..3)], keys[random.usize(..4)]);
        from += &format!(" JOIN t{} x{at} ON x{at}.{own} = x{other}.{theirs}", random.usize(..6));
        match random.u8(..6) {
            0 => conditions.push(format!("x{at}.b = x{}.b", random.usize(..at))),
            1 => conditions.push(format!("x{at}.a < x{}.a + {}", random.usize(..at), random.u8(..30))),
            2 => conditions.push(format!("x{at}.s = x{}.s", random.usize(..at))),
            3 => conditions.push(format!("(x{at}.c = 1 OR x{}.c = 2)", random.usize(..at))),
            _ => {}
        }
    }
    // Leaves few rows, whatever is joined.
    let few = random.usize(..count);
    conditions.push(format!("x{few}.id < {}", random.u8(1..9)));
    conditions.push(format!("x{}.c < {}", random.usize(..count), random.u8(2..7)));
    if random.u8(..3) == 0 {
        let (table, of) = (random.usize(..6), random.usize(..count));
        conditions.push(format!("x{of}.c IN (SELECT y.b FROM t{table} y WHERE y.a < {})", random.u8(2..20)));
    }
    let of_each = |column: &str| (0..count).map(|at| format!("x{at}.{column}")).collect::<Vec<_>>().join(", ");
    let select = match random.u8(..4) {
        0 => "count(*)".to_owned(),
        1 => format!("x{}.s, count(x{}.a) AS n", random.usize(..count), random.usize(..count)),
        2 => of_each("id"),
        _ => format!("{}, x0.s", of_each("b")),
    };
    let group = match random.u8(..2) {
        _ if select.contains("AS n") => " GROUP BY 1".to_owned(),
        // Orders by all selected columns, so that the first rows are unambiguous.
        0 if !select.contains("count") => format!(" ORDER BY {select} LIMIT 7"),
        _ => String::new(),
    };
    format!("SELECT {select} FROM {from} WHERE {}{group}", conditions.join(" AND "))
}

#[test]
fn answers_are_those_of_the_order_of_the_query() {
    let mut random = Seeded::new("answers_are_those_of_the_order_of_the_query");
    let queries: usize = std::env::var("LATH_CASES").map_or(80, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path(), &mut random, [300, 40, 7, 1200, 120, 25]);
    let session = session(folder.path());
    let mut config = SessionConfig::new().with_target_partitions(2);
    // With dynamic filters, DataFusion 55 loses rows if columns of several tables have the same name.
    config.options_mut().optimizer.enable_join_dynamic_filter_pushdown = false;
    config.options_mut().optimizer.enable_topk_dynamic_filter_pushdown = false;
    let plain = SessionContext::new_with_config(config);
    for (name, dataset) in tables(folder.path()) {
        plain.register_table(name, Arc::new(LathTable::new(dataset, &Runtime::global()))).unwrap();
    }
    let mut reordered = 0;
    wait(async {
        for _ in 0..queries {
            let query = query(&mut random);
            let expected = plain.sql(&query).await.unwrap().collect().await.unwrap();
            let ours = session.sql(&query).await.unwrap().create_physical_plan().await.unwrap();
            let rows = collect(Arc::clone(&ours), session.context().task_ctx()).await.unwrap();
            let plan = displayable(ours.as_ref()).indent(true).to_string();
            assert_eq!(sorted(&rows), sorted(&expected), "{query}\n{plan}");
            let theirs = plain.sql(&query).await.unwrap().create_physical_plan().await.unwrap();
            reordered += usize::from(scan_order(&ours) != scan_order(&theirs));
        }
    });
    assert!(reordered > queries / 4, "{reordered} of {queries}");
}

/// The tables of a plan's scans, from top to bottom. Build sides of joins come first.
fn scan_order(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let text = displayable(plan.as_ref()).indent(true).to_string();
    text.lines().filter(|line| line.contains("DataSourceExec")).map(|line| line.trim().to_owned()).collect()
}

/// The number of output rows of all hash joins of a plan.
fn joined_rows(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let rows = plan.metrics().and_then(|metrics| metrics.output_rows()).filter(|_| plan.name() == "HashJoinExec");
    rows.unwrap_or(0) + plan.children().into_iter().map(joined_rows).sum::<usize>()
}

/// Few items of a shop were ordered in one town, so towns and customers have to be joined before orders and items.
#[test]
fn selective_joins_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let numbers =
        |count: i64, of: fn(i64) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..count).map(of))) };
    let names: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..50).map(|town| format!("town {town}"))));
    let tables: [(&str, Vec<(&str, ArrayRef)>); 4] = [
        ("items", vec![("of", numbers(40_000, |row| row / 4)), ("price", numbers(40_000, |row| row % 100))]),
        ("orders", vec![("id", numbers(10_000, |row| row)), ("customer", numbers(10_000, |row| row * 7919 % 1000))]),
        ("customers", vec![("id", numbers(1000, |row| row)), ("town", numbers(1000, |row| row % 50))]),
        ("towns", vec![("id", numbers(50, |row| row)), ("name", names)]),
    ];
    for threads in [1, 2] {
        let session = Session::builder().runtime(&Runtime::builder().threads(threads).build()).build().unwrap();
        for (name, columns) in &tables {
            let path = folder.path().join(format!("{name}.parquet"));
            write(&path, &RecordBatch::try_from_iter(columns.clone()).unwrap(), 10_000);
            session.register(name, Dataset::open([path], DatasetOptions::new()).unwrap()).unwrap();
        }
        let query = "SELECT sum(price) AS total FROM items JOIN orders ON items.of = orders.id \
                     JOIN customers ON orders.customer = customers.id JOIN towns ON customers.town = towns.id \
                     WHERE towns.name = 'town 7'";
        wait(async {
            let plan = session.sql(query).await.unwrap().create_physical_plan().await.unwrap();
            let rows = collect(Arc::clone(&plan), session.context().task_ctx()).await.unwrap();
            let expected: i64 =
                (0..40_000).filter(|item| (item / 4 * 7919 % 1000) % 50 == 7).map(|item| item % 100).sum();
            assert_eq!(sorted(&rows).iter().filter(|line| line.contains(&format!(" {expected} "))).count(), 1);
            // 20 customers, 200 orders and 800 items.
            assert_eq!(joined_rows(&plan), 1020, "{}", displayable(plan.as_ref()).indent(true));
        });
    }
}

/// Both tables have a column of this name, and a condition on the nullable side's must not be applied to the other's.
#[test]
fn conditions_above_outer_joins_stay_there() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new();
    for (name, rows, keys) in [("items", 40_000, 50), ("names", 60, 60)] {
        let key: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row % keys)));
        let path = folder.path().join(format!("{name}.parquet"));
        write(&path, &RecordBatch::try_from_iter([("key", key)]).unwrap(), 10_000);
        session.register(name, Dataset::open([path], DatasetOptions::new()).unwrap()).unwrap();
    }
    let query = "SELECT count(*) AS total FROM items RIGHT JOIN names ON items.key = names.key \
                 WHERE coalesce(items.key, -1) >= 35";
    let rows = wait(async { session.sql(query).await.unwrap().collect().await.unwrap() });
    assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().value(0), 12_000);
}
