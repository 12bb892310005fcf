//! What a table says of itself, and files as tables.

use arrow_array::RecordBatch;
use datafusion::physical_plan::displayable;

use crate::{answer, sorted, wait};
use arrow_array::{ArrayRef, Int64Array, StringViewArray};
use lath_parquet::{Dataset, DatasetOptions};
use lath_sql::Session;
use std::sync::Arc;

fn numbers(from: i64, to: i64) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(from..to));
    let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values((from..to).map(|n| n.to_string())));
    RecordBatch::try_from_iter([("n", numbers), ("a.b", texts)]).unwrap()
}

async fn plan(session: &Session, query: &str) -> String {
    let frame = session.sql(query).await.unwrap();
    displayable(frame.create_physical_plan().await.unwrap().as_ref()).indent(false).to_string()
}

#[test]
fn files_are_tables_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    for part in 1..4 {
        let path = folder.path().join(format!("part={part}"));
        std::fs::create_dir(&path).unwrap();
        crate::write(&path.join("x.parquet"), &numbers(part * 100, part * 100 + 10), 4);
    }
    let session = Session::new();
    let at = |rest: &str| format!("'{}{rest}'", folder.path().display());
    wait(async {
        let count = answer(&session, &format!("SELECT count(*) FROM {}", at("/part=1/x.parquet"))).await;
        assert_eq!(sorted(&count), ["+----------+", "| 10       |"]);
        let parts = answer(&session, &format!("SELECT part, min(n) FROM {} GROUP BY part", at("/*/*.parquet"))).await;
        let parts = sorted(&parts).join(" ");
        let parts: Vec<&str> = parts.split_whitespace().filter(|word| *word != "|").collect();
        assert_eq!(parts[1..], ["1", "100", "2", "200", "3", "300"]);
        let plan = plan(&session, &format!("SELECT n FROM {} WHERE part = 2 AND n > 204", at(""))).await;
        assert!(plan.contains("tasks=2,") && !plan.contains("FilterExec"), "{plan}");
        let error = session.sql("SELECT * FROM 'nowhere/x.parquet'").await.unwrap_err().to_string();
        assert!(error.contains("nowhere/x.parquet"), "{error}");
        let error = session.sql("SELECT * FROM nothing").await.unwrap_err().to_string();
        assert!(error.contains("nothing"), "{error}");
    });
}

#[test]
fn counts_and_bounds_come_from_footers() {
    let folder = tempfile::tempdir().unwrap();
    crate::write(&folder.path().join("a.parquet"), &numbers(0, 1000), 100);
    let session = Session::new();
    session.register("t", Dataset::open([folder.path()], DatasetOptions::new()).unwrap()).unwrap();
    wait(async {
        for query in ["SELECT count(*) FROM t", "SELECT min(n), max(n), count(n) FROM t"] {
            let plan = plan(&session, query).await;
            assert!(plan.contains("PlaceholderRowExec") && !plan.contains("lath"), "{query}: {plan}");
        }
        assert_eq!(sorted(&answer(&session, "SELECT min(n), max(n) FROM t").await)[1], "| 0        | 999      |");
        // With a condition, rows have to be looked at, unless it is settled for all that are left.
        assert!(plan(&session, "SELECT min(n) FROM t WHERE n > 5").await.contains("lath"));
        assert_eq!(sorted(&answer(&session, "SELECT min(n) FROM t WHERE n > 5").await)[1], "| 6        |");
        let odd = answer(&session, "SELECT \"a.b\" FROM t WHERE \"a.b\" = '77'").await;
        assert_eq!(sorted(&odd)[1], "| 77  |");
    });
}

#[test]
fn files_behind_a_server_are_tables() {
    use lath_testkit::server::Server;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    crate::write(&path, &numbers(0, 1000), 100);
    let server = Server::of([("data/x.parquet".to_owned(), std::fs::read(&path).unwrap().into())]);
    let url = server.url("data/x.parquet");
    wait(async {
        let session = Session::new();
        let query =
            |table: &str| format!("SELECT count(*) AS rows, sum(n) AS sum FROM '{table}' WHERE n > 250 AND n < 350");
        let local = answer(&session, &query(&path.display().to_string())).await;
        assert_eq!(sorted(&answer(&session, &query(&url)).await), sorted(&local));
        let joined = format!("SELECT count(*) AS rows FROM '{url}' AS a JOIN '{url}' AS b ON a.n = b.n + 1");
        assert_eq!(sorted(&answer(&session, &joined).await), sorted(&answer(&session, "SELECT 999 AS rows").await));
    });
}
