//! The folder of a table with a primary key as FILES reads the table.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::invocation::{Run, lath};

/// A table with rows in a file and in the store: since the file was written, 3 was replaced, 1 deleted and 9 added.
fn table(folder: &tempfile::TempDir) -> String {
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("old.csv"), "id,name,people\n3,Bergen,290\n1,Oslo,710\n2,Arendal,78\n-4,Atlantis,\n").unwrap();
    fs::write(path("new.csv"), "id,name,people\n3,BERGEN,291\n9,Moss,30\n").unwrap();
    let table = path("cities");
    assert_eq!(lath(["table", "create", &table, "--key", "id", &path("old.csv")]).code, 0);
    assert_eq!(ids(&lath(["cat", &table])), [-4, 1, 2, 3], "before the first flush");
    assert_eq!(lath(["count", &table]).text(0), "4\n");
    assert_eq!(lath(["table", "compact", &table]).code, 0);
    assert_eq!(lath(["table", "upsert", &table, &path("new.csv")]).code, 0);
    assert_eq!(lath(["table", "delete", &table, "1"]).code, 0);
    table
}

fn ids(run: &Run) -> Vec<i64> {
    run.json_lines(0).iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

fn sorted(mut ids: Vec<i64>) -> Vec<i64> {
    ids.sort_unstable();
    ids
}

/// A file of the table.
fn a_file(table: &str) -> String {
    let mut files = fs::read_dir(format!("{table}/_data")).unwrap().map(|entry| entry.unwrap().path());
    let has_rows = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "pq");
    files.find(has_rows).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn commands_read_the_rows_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder);
    let slash = format!("{table}/");
    assert_eq!(lath(["count", &slash]).text(0), "4\n");
    assert_eq!(lath(["count", &table, "--where", "people > 50"]).text(0), "2\n");
    assert!(lath(["count", &table, "--where", "people > 50", "--explain"]).text(0).contains("found in the store: 1"));
    assert_eq!(ids(&lath(["cat", &table])), [-4, 2, 3, 9]);
    assert_eq!(lath(["cat", &table, "--columns", "name"]).json_lines(0)[2], json!({ "name": "BERGEN" }));
    assert_eq!(ids(&lath(["head", "-n", "2", &slash])), [-4, 2]);
    assert_eq!(ids(&lath(["tail", "-n", "3", &table])), [2, 3, 9]);
    assert_eq!(ids(&lath(["tail", "-n", "30", &table])), [-4, 2, 3, 9]);
    assert_eq!(ids(&lath(["sample", "-n", "4", &table])), [-4, 2, 3, 9]);
    let sample = ids(&lath(["sample", "-n", "2", "--seed", "7", &table]));
    assert!(sample.len() == 2 && sample.iter().all(|id| [-4, 2, 3, 9].contains(id)), "{sample:?}");
    assert_eq!(sorted(ids(&lath(["find", &table, "--where", "people < 300"]))), [2, 3, 9]);
    assert_eq!(lath(["find", &table, "--where", "name = 'Bergen'"]).text(1), "");
    assert_eq!(lath(["find", &table, "--where", "people < 300", "-n", "1"]).json_lines(0).len(), 1);
    assert!(lath(["check", &table]).text(0).contains("intact: 4 rows, 1 file"));
    assert!(lath(["schema", &table]).text(0).starts_with("Primary key\n  id\n\nArrow\n  id: Int64, required\n"));
    assert_eq!(lath(["schema", &table, "--json"]).json_lines(0)[0]["key"], json!(["id"]));
    let csv = lath(["convert", &table, "--format", "csv"]);
    assert_eq!(csv.text(0), "id,name,people\n-4,Atlantis,\n2,Arendal,78\n3,BERGEN,291\n9,Moss,30\n");
}

#[test]
fn a_table_is_written_to_a_file_and_put_into_another_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (slim, copy) = (path("slim.parquet"), path("copy"));
    assert_eq!(lath(["rewrite", &table, "-o", &slim, "--where", "people > 50", "--sort-by", "people:desc"]).code, 0);
    assert_eq!(ids(&lath(["cat", &slim])), [3, 2]);
    assert_eq!(lath(["table", "create", &copy, "--key", "id", &table]).code, 0);
    assert_eq!(ids(&lath(["cat", &copy])), [-4, 2, 3, 9]);
    let both = lath(["convert", &slim, &table, "--format", "jsonl"]);
    assert_eq!(sorted(ids(&both)), [-4, 2, 2, 3, 3, 9]);
}

#[cfg(feature = "sql")]
#[test]
fn sql_reads_the_rows_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder);
    let sql = |text: &str| lath(["sql", &text.replace("FOLDER", &table)]);
    for name in ["'FOLDER'", "'FOLDER/'", "read_parquet('FOLDER')"] {
        let rows = sql(&format!("SELECT count(*) AS n, sum(people) AS people FROM {name}")).json_lines(0);
        assert_eq!(rows, [json!({ "n": 4, "people": 399 })], "{name}");
    }
    let one = sql("SELECT name FROM 'FOLDER' WHERE id = 3").json_lines(0);
    assert_eq!(one, [json!({ "name": "BERGEN" })]);
    let joined = sql("SELECT a.id FROM 'FOLDER' a, 'FOLDER/' b WHERE a.id = b.id AND a.id > 2 ORDER BY 1");
    assert_eq!(ids(&joined), [3, 9]);
    let ordered = lath(["find", &table, "--where", "people > 0", "--order-by", "people desc"]);
    assert_eq!(ids(&ordered), [3, 2, 9]);
    assert_eq!(lath(["count", &table, "--by", "name", "--where", "people > 50"]).json_lines(0).len(), 2);
    let described = lath(["describe", &table, "--where", "people > 50"]).json_lines(0);
    assert_eq!((&described[0]["count"], &described[2]["max"]), (&json!(2), &json!("291")));
    for (text, expected) in [
        ("SELECT * FROM 'FOLDER/*.parquet'", "a table with a primary key"),
        ("SELECT * FROM read_parquet(['FOLDER', 'FOLDER'])", "a table with a primary key"),
        ("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 'FOLDER'", "STORED AS LATH"),
        ("COPY (SELECT 1 AS id) TO 'FOLDER/new.parquet'", "would not belong to it"),
        ("DELETE FROM 'FOLDER' WHERE id = 9", "read-only"),
        ("SELECT * FROM read_parquet('FOLDER', file_name => true)", "file_name and row_number are not supported"),
    ] {
        let run = sql(text);
        assert!(run.code == 2 && run.stderr.contains(expected), "{text}: {} {}", run.code, run.stderr);
    }
    let plain = sql("SELECT count(*) AS n FROM read_parquet('FOLDER', plain_files => true) WHERE id = 1");
    assert_eq!(plain.json_lines(0), [json!({ "n": 1 })]);
    assert_eq!(ids(&lath(["cat", &table, "--plain-files"])), [-4, 1, 2, 3]);
}

#[test]
fn a_table_is_refused_where_only_files_make_sense() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, out, plain) = (a_file(&table), path("out.parquet"), path("plain.parquet"));
    assert_eq!(lath(["convert", &table, "-o", &plain]).code, 0);
    let (above, glob, inside) =
        (folder.path().to_str().unwrap(), format!("{table}/*.parquet"), format!("{table}/new.parquet"));
    for (args, expected) in [
        (vec!["meta", &table], "lath convert"),
        (vec!["merge", &table, &plain, "-o", &out], "lath convert"),
        (vec!["split", &table, "--rows", "2", "-o", &out], "lath convert"),
        (vec!["rewrite", "--in-place", &table], "lath table compact"),
        (vec!["rewrite", "--in-place", &file], "would not belong to it"),
        (vec!["cat", &plain, &table], "takes files"),
        (vec!["cat", &table, "--row-groups", "0"], "--row-groups applies to files"),
        (vec!["find", &table, "--where", "id > 0", "--file-name", "f"], "--file-name applies to files"),
        (vec!["count", above], "a table with a primary key"),
        (vec!["count", &glob], "a table with a primary key"),
        (vec!["count", &file, &file], "a table with a primary key"),
        (vec!["catalog", "add", above], "a table with a primary key"),
        (vec!["catalog", "add", &table], "a table with a primary key"),
        (vec!["cat", &plain, "-o", &inside], "would not belong to it"),
    ] {
        let run = lath(&args);
        assert!(run.code == 2 && run.stderr.contains(expected), "{args:?}: {} {}", run.code, run.stderr);
    }
    assert!(!Path::new(&inside).exists());
    let single = lath(["count", &file]);
    assert_eq!(single.text(0), "4\n");
    assert!(single.stderr.starts_with("note: "), "{}", single.stderr);
}
