//! Queries in WITH, views and equal subqueries that are used several times are computed once, and return the same rows.

mod execution;
mod plans;
mod random;
mod statements;

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray};
use datafusion::physical_plan::displayable;
use lath_sql::{Session, SessionBuilder};

use crate::{answer, in_memory, write};

/// Rows with unique numbers `id`, groups, nulls, NaN and texts.
fn rows(count: i64) -> RecordBatch {
    let number = |row: i64, range: i64| (row * 7919 % 13 > 0).then_some(row * 104_729 % range);
    let float = |row: i64| match row % 11 {
        0 => None,
        1 => Some(f64::NAN),
        2 => Some(-0.0),
        _ => Some((row % 5) as f64),
    };
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..count))),
        ("g", Arc::new((0..count).map(|row| number(row, 17)).collect::<Int64Array>())),
        ("v", Arc::new((0..count).map(|row| number(row, 1000)).collect::<Int64Array>())),
        ("d", Arc::new((0..count).map(float).collect::<Float64Array>())),
        (
            "s",
            Arc::new(
                (0..count).map(|row| (row % 7 > 0).then(|| format!("text {}", row % 5))).collect::<StringViewArray>(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

/// A session with the rows in memory as `m`, in batches, and in a file as `t`.
async fn session(folder: &std::path::Path, builder: SessionBuilder) -> Session {
    let session = builder.build().unwrap();
    answer(&session, "SET lath.common_subplans = true").await;
    let all = rows(6_000);
    let path = folder.join("t.parquet");
    if !path.exists() {
        write(&path, &all, 1000);
    }
    answer(&session, &format!("CREATE VIEW t AS SELECT * FROM '{}'", path.display())).await;
    in_memory(&session, "m", (0..12).map(|part| all.slice(part * 500, 500)).collect());
    session
}

/// A session that computes equal plans for each of their uses.
async fn without_sharing(folder: &std::path::Path) -> Session {
    let session = session(folder, Session::builder()).await;
    answer(&session, "SET lath.common_subplans = false").await;
    session
}

/// The physical plan of a query.
async fn plan_text(session: &Session, query: &str) -> String {
    let plan = session.sql(query).await.unwrap().create_physical_plan().await.unwrap();
    displayable(plan.as_ref()).indent(true).to_string()
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}
