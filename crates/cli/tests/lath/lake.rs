//! The folder of a table of Delta Lake is its rows, for every command.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::files::{numbered, write};
use crate::invocation::lath;

/// A table whose files have the rows `one` (0 to 9) in version 0 and `two` (10 to 14) in version 1.
fn table(folder: &Path) -> String {
    fs::create_dir(folder.join("_delta_log")).unwrap();
    write(&folder.join("one.parquet"), &numbered(0..10), 10);
    write(&folder.join("two.parquet"), &numbered(10..15), 10);
    let schema = json!({ "type": "struct", "fields": [
        { "name": "day", "type": "date", "nullable": true, "metadata": {} },
        { "name": "id", "type": "long", "nullable": true, "metadata": {} },
    ] });
    let metadata =
        json!({ "id": "x", "schemaString": schema.to_string(), "partitionColumns": ["day"], "configuration": {} });
    let add = |name: &str, day: &str| json!({ "add": { "path": name, "partitionValues": { "day": day }, "size": 1, "modificationTime": 0, "dataChange": true } });
    let commit = |version: u64, actions: &[Value]| {
        let text: String = actions.iter().map(|action| format!("{action}\n")).collect();
        fs::write(folder.join("_delta_log").join(format!("{version:020}.json")), text).unwrap();
    };
    let protocol = json!({ "protocol": { "minReaderVersion": 1, "minWriterVersion": 2 } });
    commit(0, &[protocol, json!({ "metaData": metadata }), add("one.parquet", "2024-02-29")]);
    commit(1, &[json!({ "remove": { "path": "one.parquet" } }), add("two.parquet", "2025-01-01")]);
    folder.to_str().unwrap().to_owned()
}

#[test]
fn every_command_that_reads_rows_reads_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    assert_eq!(lath(["count", &table]).text(0), "5\n");
    assert_eq!(lath(["count", &table, "--at", "0"]).text(0), "10\n");
    assert_eq!(lath(["count", &table, "--at", "2200-01-01"]).text(0), "5\n");
    assert_eq!(lath(["count", &table, "--plain-files"]).text(0), "15\n");
    assert_eq!(lath(["count", &table, "--where", "day = DATE '2025-01-01' AND id > 12"]).text(0), "2\n");
    let rows = |args: &[&str]| lath(args).text(0).to_owned();
    assert_eq!(rows(&["find", &table, "--where", "id = 3", "--at", "0", "--format", "csv"]), "day,id\n2024-02-29,3\n");
    assert_eq!(lath(["find", &table, "--where", "id = 3"]).code, 1);
    assert_eq!(rows(&["head", &table, "-n", "1", "--format", "csv"]), "day,id\n2025-01-01,10\n");
    assert_eq!(rows(&["tail", &table, "-n", "1", "--format", "csv"]), "day,id\n2025-01-01,14\n");
    assert_eq!(rows(&["cat", &table, "--columns", "id", "--format", "csv"]), "id\n10\n11\n12\n13\n14\n");
    assert_eq!(lath(["sample", &table, "-n", "3", "--format", "csv"]).text(0).lines().count(), 4);
    let schema = rows(&["schema", &table]);
    assert!(
        schema.starts_with("A table of Delta Lake at version 1\n") && schema.contains("  day: Date32\n  id: Int64\n"),
        "{schema}"
    );
    assert_eq!(lath(["schema", &table, "--at", "0", "--json"]).json_lines(0)[0]["version"], 0);
    assert!(rows(&["meta", &table]).contains("two.parquet"));
    let checked = rows(&["check", &table]);
    assert!(checked.contains("two.parquet: ok") && !checked.contains("one.parquet"), "{checked}");
    let output = folder.path().with_extension("csv");
    lath(["convert", &table, "-o", output.to_str().unwrap()]).text(0);
    assert_eq!(fs::read_to_string(&output).unwrap().lines().count(), 6);
    fs::remove_file(output).unwrap();
}

#[test]
fn deleted_rows_are_neither_first_nor_last_nor_in_a_sample() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    // Deletes the first and the last row of the file.
    let vector = json!({
        "storageType": "i", "pathOrInlineDv": r"^Bg9^0rr910000000000iXQKl0rr91000315c8Xg000c4", "sizeInBytes": 36, "cardinality": 2
    });
    let actions = [
        json!({ "protocol": { "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"] } }),
        json!({ "remove": { "path": "two.parquet" } }),
        json!({ "add": { "path": "two.parquet", "partitionValues": { "day": null }, "size": 1, "deletionVector": vector } }),
    ];
    let text: String = actions.iter().map(|action| format!("{action}\n")).collect();
    fs::write(folder.path().join("_delta_log/00000000000000000002.json"), text).unwrap();
    let ids = |args: &[&str]| {
        let run = lath([args, &["--columns", "id", "--format", "csv"]].concat());
        run.text(0).lines().skip(1).map(|id| id.parse().unwrap()).collect::<Vec<u64>>()
    };
    assert_eq!(ids(&["cat", &table]), [11, 12, 13]);
    assert_eq!(ids(&["head", &table, "-n", "2"]), [11, 12]);
    assert_eq!(ids(&["tail", &table, "-n", "2"]), [12, 13]);
    assert_eq!(ids(&["sample", &table, "-n", "9"]), [11, 12, 13]);
    assert_eq!(lath(["count", &table]).text(0), "3\n");
    assert!(lath(["check", &table]).text(0).contains("two.parquet: ok"));
}

#[cfg(feature = "sql")]
#[test]
fn sql_reads_the_table_and_its_versions() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    let answer = |query: String| lath(["sql", &query, "--format", "csv"]).text(0).to_owned();
    assert_eq!(answer(format!("SELECT day, count(*) AS n FROM '{table}' GROUP BY day")), "day,n\n2025-01-01,5\n");
    assert_eq!(
        answer(format!("SELECT sum(id) AS s FROM delta('{table}', version => 0) AS t WHERE t.id > 7")),
        "s\n17\n"
    );
    assert_eq!(answer(format!("SELECT count(*) AS n FROM delta('{table}', timestamp => '2200-01-01')")), "n\n5\n");
    assert_eq!(answer(format!("SELECT count(*) AS n FROM read_parquet('{table}', plain_files => true)")), "n\n15\n");
    let error = |query: String| {
        let run = lath(["sql", &query]);
        assert_eq!(run.code, 2, "{}", run.stderr);
        run.stderr
    };
    assert!(error(format!("SELECT * FROM delta('{table}', version => 2)")).contains("latest version is 1"));
    assert!(error(format!("SELECT * FROM delta('{table}', snapshot => 2)")).contains("unknown argument snapshot"));
    assert!(
        error(format!("SELECT * FROM delta('{table}', version => 1, timestamp => '2024-01-01')"))
            .contains("given twice")
    );
    assert!(
        error(format!("SELECT * FROM iceberg('{table}')"))
            .contains("a table of Delta Lake, not a table of Apache Iceberg")
    );
    assert!(error(format!("COPY (SELECT 1 AS id) TO '{table}/three.parquet'")).contains("would not belong to it"));
    assert_eq!(
        answer(format!("SELECT count(*) AS d FROM '{table}' WHERE id IN (SELECT max(id) FROM '{table}')")),
        "d\n1\n"
    );
    assert!(lath(["describe", &table, "--format", "csv"]).text(0).contains("2025-01-01"));
}

#[test]
fn commands_that_change_files_refuse_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    let output = folder.path().with_extension("parquet");
    let output = output.to_str().unwrap();
    for args in [
        &["rewrite", &table, "--in-place"][..],
        &["rewrite", &table, "-o", output],
        &["merge", &table, "-o", output],
        &["split", &table, "--rows", "2", "-o", output],
    ] {
        let run = lath(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains("lath convert"), "{args:?}: {}", run.stderr);
    }
    let named = |args: &[&str]| {
        let run = lath(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        run.stderr
    };
    let one = folder.path().join("one.parquet");
    assert!(named(&["count", one.to_str().unwrap(), "--at", "0"]).contains("--at chooses a version"));
    assert!(named(&["count", &table, "--at", "0", "--plain-files"]).contains("--plain-files reads no table"));
    assert!(named(&["count", &table, "--at", "7"]).contains("the latest version is 1"));
    assert!(named(&["head", &table, "--no-partitions"]).contains("--no-partitions applies to files"));
    assert!(named(&["count", &table, one.to_str().unwrap()]).contains("name this folder alone"));
    fs::remove_file(folder.path().join("two.parquet")).unwrap();
    assert_eq!(lath(["count", &table]).code, 4);
}

#[cfg(feature = "sql")]
#[test]
fn external_tables_read_the_table_or_a_version_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    let create = |options: &str| format!("CREATE EXTERNAL TABLE t STORED AS DELTA LOCATION '{table}' {options};");
    let count = |options: &str| {
        let query = format!("{} SELECT count(*) AS n FROM t WHERE id < 12", create(options));
        lath(["sql", &query, "--format", "csv"]).text(0).to_owned()
    };
    assert_eq!(count(""), "n\n2\n");
    assert_eq!(count("OPTIONS (version 0)"), "n\n10\n");
    assert_eq!(count("OPTIONS (timestamp '2200-01-01')"), "n\n2\n");
    for (statement, message) in [
        (create("OPTIONS (version 9)"), "9"),
        (create("OPTIONS (snapshot 1)"), "the options are version and timestamp"),
        (create("OPTIONS (version 'x')"), "is not a version"),
        (create("OPTIONS (version 0, timestamp '2200-01-01')"), "given twice"),
        (create("").replace("DELTA", "ICEBERG"), "Delta Lake"),
        (create("").replace("TABLE t", "TABLE t (id BIGINT)"), "leave out the declared ones"),
        (format!("{} INSERT INTO t VALUES (DATE '2024-01-01', 1)", create("")), "only read"),
        (format!("{} DELETE FROM t", create("")), "only read"),
    ] {
        let run = lath(["sql", &statement]);
        assert!(run.code == 2 && run.stderr.contains(message), "{statement}: {} {}", run.code, run.stderr);
    }
    assert_eq!(count(""), "n\n2\n");
}

#[test]
fn damaged_metadata_of_iceberg_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let metadata = folder.path().join("metadata");
    fs::create_dir(&metadata).unwrap();
    let file = metadata.join("v1.metadata.json");
    fs::write(&file, "{").unwrap();
    let done = lath(["count", folder.path().to_str().unwrap()]);
    let start = format!("error: corrupt data: {}: damaged table metadata: ", file.display());
    assert!(done.code == 3 && done.stderr.starts_with(&start), "{}: {}", done.code, done.stderr);
}
