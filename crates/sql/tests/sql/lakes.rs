//! Tables of Delta Lake, whose logs are written here by hand.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::prelude::SessionContext;
use lath_sql::Session;
use serde_json::{Value, json};

use crate::{answer, sorted, wait, write};

fn rows(ids: std::ops::Range<i64>) -> RecordBatch {
    let texts: ArrayRef =
        Arc::new(ids.clone().map(|id| (id % 7 != 0).then(|| format!("t{}", id % 13))).collect::<StringArray>());
    let ids: ArrayRef = Arc::new(ids.collect::<Int64Array>());
    RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap()
}

fn commit(folder: &Path, version: u64, actions: &[Value]) {
    let text: String = actions.iter().map(|action| format!("{action}\n")).collect();
    fs::write(folder.join("_delta_log").join(format!("{version:020}.json")), text).unwrap();
}

/// Writes a file with rows of these numbers, and returns its action with the bounds of the numbers.
fn file(folder: &Path, name: &str, ids: std::ops::Range<i64>) -> Value {
    let path = folder.join(name);
    write(&path, &rows(ids.clone()), 8);
    let stats = json!({
        "numRecords": ids.end - ids.start, "minValues": { "id": ids.start }, "maxValues": { "id": ids.end - 1 }, "nullCount": { "id": 0 }
    });
    let size = fs::metadata(&path).unwrap().len();
    json!({ "add": {
        "path": name, "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": true, "stats": stats.to_string()
    } })
}

/// A table with the numbers below `count`, ten in each file.
fn table(folder: &Path, count: i64) {
    fs::create_dir(folder.join("_delta_log")).unwrap();
    let field =
        |name: &str, data_type: &str| json!({ "name": name, "type": data_type, "nullable": true, "metadata": {} });
    let schema = json!({ "type": "struct", "fields": [field("id", "long"), field("text", "string")] }).to_string();
    let mut actions = vec![
        json!({ "protocol": { "minReaderVersion": 1, "minWriterVersion": 2 } }),
        json!({ "metaData": {
            "id": "t", "format": { "provider": "parquet", "options": {} }, "schemaString": schema, "partitionColumns": [],
            "configuration": {}
        } }),
    ];
    actions.extend((0..count / 10).map(|at| file(folder, &format!("{at}.parquet"), at * 10..(at + 1) * 10)));
    commit(folder, 0, &actions);
}

/// The ways to name the table in a statement, with the statement that comes before.
fn names(folder: &Path) -> [(String, String); 3] {
    let folder = folder.display();
    [
        (String::new(), format!("'{folder}'")),
        (String::new(), format!("delta('{folder}')")),
        (format!("CREATE EXTERNAL TABLE t STORED AS DELTA LOCATION '{folder}'"), "t".to_owned()),
    ]
}

async fn session(before: &str) -> Session {
    let session = Session::new();
    if !before.is_empty() {
        answer(&session, before).await;
    }
    session
}

#[test]
fn a_file_that_the_log_rules_out_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path(), 50);
    fs::remove_file(folder.path().join("3.parquet")).unwrap();
    wait(async {
        for (before, name) in names(folder.path()) {
            let session = session(&before).await;
            let found = answer(&session, &format!("SELECT id FROM {name} WHERE id IN (15, 29) ORDER BY id")).await;
            assert_eq!(sorted(&found), ["+----+", "| 15 |", "| 29 |"], "{name}");
            let none = answer(&session, &format!("SELECT count(*) FROM {name} WHERE id = -1")).await;
            assert_eq!(sorted(&none)[1], "| 0        |", "{name}");
            for missing in ["WHERE id = 35", "", "WHERE text = 't1'"] {
                let run =
                    async { session.sql(&format!("SELECT sum(id) FROM {name} {missing}")).await?.collect().await };
                let message = run.await.unwrap_err().to_string();
                assert!(message.contains("3.parquet"), "{name} {missing}: {message}");
            }
        }
    });
}

#[test]
fn conditions_of_one_scan_leave_the_files_of_another() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path(), 50);
    wait(async {
        let queries = [
            "SELECT count(*) AS a, (SELECT count(*) FROM {t}) AS b, (SELECT min(id) FROM {t}) AS c, (SELECT max(id) FROM {t} WHERE id < 31) AS d FROM {t} WHERE id >= 42",
            "SELECT a.id AS a, b.id AS b FROM {t} a JOIN {t} b ON a.id = b.id + 20 WHERE a.id > 35",
            "SELECT a.id, b.text FROM {t} a LEFT JOIN {t} b ON a.id = b.id AND b.id < 13 WHERE a.id BETWEEN 9 AND 14",
            "SELECT count(*) AS a FROM {t} WHERE id = 7 OR EXISTS (SELECT 1 FROM {t} u WHERE u.id = -1)",
            "SELECT id FROM {t} WHERE id = (SELECT max(id) FROM {t})",
            "SELECT id FROM {t} WHERE id > 3 AND text IS NULL UNION ALL SELECT id FROM {t} WHERE id + 1 = 20",
            "SELECT id FROM {t} ORDER BY id DESC LIMIT 3",
        ];
        // Without Lath's scans.
        let memory = SessionContext::new();
        memory.register_batch("t", rows(0..50)).unwrap();
        for (before, name) in names(folder.path()) {
            let session = session(&before).await;
            for query in queries {
                let expected = memory.sql(&query.replace("{t}", "t")).await.unwrap().collect().await.unwrap();
                let expected = sorted(&expected);
                assert_eq!(sorted(&answer(&session, &query.replace("{t}", &name)).await), expected, "{name}: {query}");
            }
        }
    });
}

#[test]
fn a_planned_query_reads_one_version() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path(), 30);
    wait(async {
        for (at, (before, name)) in names(folder.path()).into_iter().enumerate() {
            let session = session(&before).await;
            let count = |version: i64| 30 + 10 * version;
            let before = count(at as i64);
            let query = format!("SELECT count(*), max(a.id) FROM {name} a JOIN {name} b USING (id) WHERE id >= 20");
            let planned = session.sql(&query).await.unwrap();
            let added = file(folder.path(), &format!("late-{at}.parquet"), before..before + 10);
            commit(folder.path(), at as u64 + 1, &[added]);
            let read = |rows: &[RecordBatch]| {
                let value =
                    |column: usize| rows[0].column(column).as_any().downcast_ref::<Int64Array>().unwrap().value(0);
                (value(0), value(1))
            };
            assert_eq!(read(&planned.collect().await.unwrap()), (before - 20, before - 1), "{name}");
            assert_eq!(read(&answer(&session, &query).await), (before - 10, before + 9), "{name}");
        }
    });
}
