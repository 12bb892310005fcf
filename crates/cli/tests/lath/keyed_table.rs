//! `table`, a keyed table worked with from the command line.

use std::fs;

use serde_json::{Value, json};

use crate::invocation::{Run, lath, lath_with_input, sample};

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

/// A table of cities and their populations.
fn cities(folder: &tempfile::TempDir) -> String {
    let (csv, table) = (path_in(folder, "cities.csv"), path_in(folder, "cities"));
    fs::write(&csv, "id,name,people\n3,Bergen,290\n1,Oslo,710\n2,Tromsø,78\n-4,Atlantis,\n").unwrap();
    let run = lath(["table", "create", &table, "--key", "id", &csv]);
    assert_eq!((run.text(0), run.stderr.as_str()), ("", "4 rows put\n"));
    table
}

fn names(run: &Run) -> Vec<String> {
    run.json_lines(0).iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_was_put_is_got_scanned_counted_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let table = cities(&folder);
    let got = lath(["table", "get", &table, "2", "-4", "1"]);
    assert_eq!(names(&got), ["Tromsø", "Atlantis", "Oslo"]);
    let got = lath(["table", "get", &table, "1", "9", "--select", "people,id"]);
    assert_eq!(got.json_lines(1), [json!({ "people": 710, "id": 1 })]);
    assert_eq!(names(&lath(["table", "scan", &table, "--ordered"])), ["Atlantis", "Oslo", "Tromsø", "Bergen"]);
    assert_eq!(names(&lath(["table", "scan", &table, "--from", "1", "--to", "3"])), ["Oslo", "Tromsø"]);
    assert_eq!(
        names(&lath(["table", "scan", &table, "--from", "1", "--where", "people < 300", "-n", "1"])),
        ["Tromsø"]
    );
    assert_eq!(names(&lath(["table", "scan", &table, "--where", "people IS NULL"])), ["Atlantis"]);
    assert_eq!(lath(["table", "scan", &table, "--where", "people > 1000"]).text(1), "");
    assert_eq!(lath(["table", "count", &table]).text(0), "4\n");
    assert_eq!(lath(["table", "count", &table, "--from", "1"]).text(0), "3\n");
    assert_eq!(lath(["table", "count", &table, "--from", "1", "--where", "people > 100"]).text(0), "2\n");
    assert_eq!(lath(["table", "count", &table, "--where", "people > 100"]).text(0), "2\n");
    assert_eq!(lath(["table", "delete", &table, "--where", "people IS NULL"]).text(0), "1\n");
    assert_eq!(lath(["table", "delete", &table, "3", "3", "8"]).text(0), "1\n");
    assert_eq!(lath(["table", "delete", &table, "8"]).text(1), "0\n");
    assert_eq!(lath(["table", "count", &table]).text(0), "2\n");
    assert!(lath(["table", "check", &table]).text(0).contains("intact: 2 rows"));
}

#[test]
fn rows_of_any_format_are_put_as_the_types_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = cities(&folder);
    // Digits in quotes are a name, because the table's column is text.
    let lines = b"{\"id\":1,\"name\":\"Kristiania\"}\n{\"name\":\"7\",\"id\":7,\"people\":1}\n";
    let run = lath_with_input(&["table", "upsert", &table, "-", "--from", "jsonl"], lines);
    assert_eq!((run.text(0), run.stderr.as_str()), ("", "2 rows put\n"));
    let got = lath(["table", "get", &table, "1", "7"]).json_lines(0);
    assert_eq!((&got[0]["name"], &got[1]["name"]), (&json!("Kristiania"), &json!("7")));
    assert_eq!(got[0].get("people").unwrap_or(&Value::Null), &Value::Null);

    let exported = path_in(&folder, "exported.parquet");
    assert_eq!(lath(["table", "scan", &table, "-o", &exported]).code, 0);
    let run = lath(["table", "upsert", &table, "--insert", &exported]);
    assert!(run.code == 2 && run.stderr.contains("there is a row with id"), "{}", run.stderr);
    let run = lath(["table", "upsert", &table, &exported, "--batch", "2"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, "5 rows put\n"));

    // Each transaction has --batch rows, and stays if a later one fails.
    let some_new = path_in(&folder, "some-new.csv");
    fs::write(&some_new, "id,name,people\n20,a,1\n21,b,1\n22,c,1\n1,d,1\n23,e,1\n").unwrap();
    assert_eq!(lath(["table", "upsert", &table, "--insert", &some_new, "--batch", "2"]).code, 2);
    assert_eq!(names(&lath(["table", "scan", &table, "--from", "20"])), ["a", "b"]);
    assert_eq!(lath(["table", "delete", &table, "20", "21"]).text(0), "2\n");

    let wrong = path_in(&folder, "wrong.csv");
    fs::write(&wrong, "id,name,people\n5,Moss,many\n").unwrap();
    let run = lath(["table", "upsert", &table, &wrong]);
    assert!(run.code == 3 && run.stderr.contains("\"many\"") && run.stderr.contains("people"), "{}", run.stderr);
    fs::write(&wrong, "id,name,people,mayor\n5,Moss,2,Ibsen\n").unwrap();
    let run = lath(["table", "upsert", &table, &wrong]);
    assert!(run.code == 2 && run.stderr.contains("mayor"), "{}", run.stderr);
    assert_eq!(lath(["table", "count", &table]).text(0), "5\n");

    let gone = path_in(&folder, "gone.csv");
    fs::write(&gone, "why,id\nsmall,7\nunknown,99\n").unwrap();
    assert_eq!(lath(["table", "delete", &table, "--keys", &gone]).text(0), "1\n");
}

#[test]
fn rows_of_other_types_are_put_where_no_value_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let table = cities(&folder);
    let file = path_in(&folder, "typed.parquet");
    for (people, outcome) in [("720", None), ("0.5", Some("0.5"))] {
        let rows = format!("SELECT CAST(1 AS INT) AS id, 'Oslo' AS name, CAST({people} AS DOUBLE) AS people");
        assert_eq!(lath(["sql", &format!("COPY ({rows}) TO '{file}' (overwrite true)")]).code, 0);
        let run = lath(["table", "upsert", &table, &file]);
        match outcome {
            None => assert_eq!((run.code, run.stderr.as_str()), (0, "1 row put\n")),
            Some(lost) => {
                let message = format!("which does not have the value {lost} (row 0 of the batch)");
                assert!(run.code == 2 && run.stderr.contains(&file) && run.stderr.contains(&message), "{}", run.stderr);
            }
        }
        assert_eq!(lath(["table", "get", &table, "1"]).json_lines(0)[0]["people"], json!(720));
    }
}

#[test]
fn keys_of_several_columns_are_texts_with_commas() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, table) = (path_in(&folder, "stock.csv"), path_in(&folder, "stock"));
    fs::write(&csv, "city,item,name\nOslo,1,a\nOslo,2,b\n\"Rome, old\",1,c\n").unwrap();
    assert_eq!(lath(["table", "create", &table, "--key", "city,item", &csv]).code, 0);
    assert_eq!(names(&lath(["table", "get", &table, "Oslo,2", "\"Rome, old\",1"])), ["b", "c"]);
    assert_eq!(names(&lath(["table", "scan", &table, "--from", "Oslo"])), ["a", "b", "c"]);
    assert_eq!(names(&lath(["table", "scan", &table, "--from", "Oslo,2", "--to", "P"])), ["b"]);
    let run = lath(["table", "get", &table, "Oslo"]);
    assert!(run.code == 2 && run.stderr.contains("there are 2 key columns"), "{}", run.stderr);
    let run = lath(["table", "get", &table, "Oslo,two"]);
    assert!(run.code == 2 && run.stderr.contains("\"two\" as a value of column \"item\""), "{}", run.stderr);
}

#[test]
fn a_table_is_compacted_explained_kept_copied_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let table = path_in(&folder, "trips");
    let trips = sample("trips");
    let run = lath(["table", "create", &table, "--key", "trip", &trips, "--batch", "7000"]);
    assert_eq!(run.stderr, "30,000 rows put\n", "{run:?}");
    let whole = lath(["count", &trips]).text(0).to_owned();
    assert_eq!(lath(["table", "count", &table]).text(0), whole);
    assert!(lath(["table", "compact", &table]).text(0).starts_with("30,000 rows moved to 1 file\n"));
    let got = lath(["table", "get", &table, "e5e1f8cd-e414-4074-8ec7-f23beb10968a", "--select", "minutes"]);
    assert_eq!(got.json_lines(0), [json!({ "minutes": 33 })]);
    let explained = lath(["table", "scan", &table, "--where", "minutes > 45", "--explain"]);
    assert!(explained.text(0).contains("pruned by statistics") && explained.text(0).contains("found in the store: 0"));

    assert_eq!(lath(["table", "snapshot", &table, "monday"]).text(0), "");
    assert_eq!(lath(["table", "changes", &table, "--keep"]).text(0), "");
    let deleted = lath(["table", "delete", &table, "--where", "minutes > 45"]).text(0).trim().parse::<u64>().unwrap();
    assert!(deleted > 0);
    assert_eq!(lath(["table", "count", &table]).text(0), format!("{}\n", 30_000 - deleted));
    assert_eq!(lath(["table", "count", &table, "--at", "monday"]).text(0), whole);
    assert_eq!(lath(["table", "snapshot", &table]).text(0), "monday\n");
    let changes = lath(["table", "changes", &table]);
    assert_eq!(changes.json_lines(0).len() as u64, deleted);
    assert!(changes.json_lines(0).iter().all(|change| change["_change"] == "delete"));
    let since = changes.stderr.trim().strip_prefix("go on with --since ").unwrap();
    assert_eq!(lath(["table", "changes", &table, "--since", since]).text(1), "");
    assert_eq!(lath(["table", "changes", &table, "--stop"]).text(0), "");
    assert!(lath(["table", "changes", &table]).stderr.contains("--keep"));

    let stats: Value = serde_json::from_str(lath(["table", "stats", &table, "--json"]).text(0)).unwrap();
    assert_eq!((&stats["rows"], &stats["snapshots"]), (&json!(30_000 - deleted), &json!(["monday"])));
    assert_eq!(stats["files"][0]["rows"], 30_000);
    assert!(lath(["table", "stats", &table]).text(0).contains("snapshot              monday\n"));

    let (copy, plain) = (path_in(&folder, "copy"), path_in(&folder, "plain"));
    assert_eq!(lath(["table", "backup", &table, &copy]).text(0), "");
    assert_eq!(lath(["table", "backup", &table, &copy]).code, 2);
    assert_eq!(lath(["table", "export", &copy, &plain]).text(0), "");
    assert_eq!(lath(["count", &plain]).text(0), format!("{}\n", 30_000 - deleted));
    let run = lath(["table", "export", &copy, &plain]);
    assert!(run.code == 2 && run.stderr.contains("is not empty"), "{run:?}");
    let lake = path_in(&folder, "lake");
    let run = lath(["table", "export", &copy, &lake, "--position-deletes", "--location", "s3://lake/trips/"]);
    assert_eq!(run.text(0), "");
    let said = format!("{} rows in 1 file 1 of them linked\n{deleted} rows deleted in 1 file\n", 30_000 - deleted);
    assert_eq!(run.stderr.replace(',', ""), said);
    assert_eq!(lath(["count", &format!("{lake}/data")]).text(0), "30000\n");
    assert_eq!(lath(["count", &format!("{lake}/deletes")]).text(0), format!("{deleted}\n"));
    let listed = lath(["cat", &format!("{lake}/deletes")]);
    assert!(listed.text(0).contains("s3://lake/trips/data/"), "{listed:?}");
    assert_eq!(lath(["table", "snapshot", &table, "monday", "--drop"]).text(0), "");
    assert_eq!(lath(["table", "count", &table, "--at", "monday"]).code, 2);
    assert!(lath(["table", "check", &copy]).text(0).contains("intact"));
}

#[test]
fn earlier_versions_are_kept_listed_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let table = path_in(&folder, "trips");
    let trips = sample("trips");
    assert_eq!(lath(["table", "create", &table, "--key", "trip", &trips]).code, 0);
    assert_eq!(lath(["table", "history", &table]).text(0), "");
    let run = lath(["table", "count", &table, "--at", "1"]);
    assert!(run.code == 2 && run.stderr.contains("once the history is kept"), "{run:?}");
    assert_eq!(lath(["table", "history", &table, "--keep", "7d"]).text(0), "");
    for minutes in ["45", "40"] {
        assert_eq!(lath(["table", "delete", &table, "--where", &format!("minutes > {minutes}")]).code, 0);
    }
    let kept = lath(["table", "history", &table, "--json"]).json_lines(0);
    let lines = lath(["table", "history", &table]);
    let lines: Vec<(&str, &str)> = lines.text(0).lines().map(|line| line.split_once("  ").unwrap()).collect();
    assert_eq!(lines.len(), 3);
    let mut counts = Vec::new();
    for (kept, (version, time)) in kept.iter().zip(lines) {
        assert_eq!((kept["version"].to_string().as_str(), &kept["time"]), (version, &json!(time)));
        let [by_version, by_time] =
            [version, time].map(|at| lath(["table", "count", &table, "--at", at]).text(0).to_owned());
        assert_eq!(by_version, by_time);
        counts.push(by_version);
    }
    assert_eq!(counts[0], lath(["count", &trips]).text(0));
    assert_eq!(counts[2], lath(["table", "count", &table]).text(0));
    assert_ne!(counts[0], counts[1]);
    let run = lath(["table", "count", &table, "--at", "1970-01-01"]);
    assert!(run.code == 2 && run.stderr.contains("is not kept: version"), "{run:?}");
    assert_eq!(lath(["table", "count", &table, "--at", "2999-01-01T12:00"]).text(0), counts[2]);
    assert!(lath(["table", "count", &table, "--at", "tuesday"]).stderr.contains("no snapshot named \"tuesday\""));
    assert!(lath(["table", "history", &table, "--keep", "7"]).stderr.contains("expected a number with s, m, h or d"));
    assert_eq!(lath(["table", "history", &table, "--stop"]).text(0), "");
    assert_eq!(lath(["table", "history", &table]).text(0), "");
}

#[test]
fn a_damaged_table_is_reported_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let table = cities(&folder);
    assert_eq!(lath(["table", "compact", &table]).code, 0);
    fs::copy(sample("trips/2025-01.parquet"), format!("{table}/00000000-no-commit.parquet")).unwrap();
    let file = fs::read_dir(format!("{table}/_data")).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "pq"));
    fs::write(file.unwrap(), b"PAR1").unwrap();
    let check = lath(["table", "check", &table]);
    assert!(check.text(3).lines().count() >= 1, "{check:?}");
    assert_eq!(lath(["table", "repair", &table]).code, 3, "rows that are lost are not repaired");
}

#[test]
fn tables_of_a_database_are_chosen_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, base) = (path_in(&folder, "a.csv"), path_in(&folder, "base"));
    fs::write(&csv, "id,name\n1,x\n").unwrap();
    let piped = ["table", "create", &path_in(&folder, "piped"), "--key", "id", "-", "--from", "csv"];
    assert_eq!(lath_with_input(&piped, b"id,name\n1,x\n2,y\n").stderr, "2 rows put\n");
    for name in ["first", "second"] {
        assert_eq!(lath(["table", "create", &base, "--table", name, "--key", "id", &csv]).code, 0);
    }
    assert_eq!(lath(["table", "delete", &base, "--table", "first", "1"]).text(0), "1\n");
    assert_eq!(lath(["table", "count", &base, "--table", "second"]).text(0), "1\n");
    let run = lath(["table", "count", &base]);
    assert!(run.code == 2 && run.stderr.contains("--table: first, second"), "{}", run.stderr);
    let copy = path_in(&folder, "copy");
    assert_eq!(lath(["table", "backup", &base, &copy]).code, 0);
    assert_eq!(lath(["table", "count", &copy, "--table", "second"]).text(0), "1\n");
}

#[test]
fn a_table_that_cannot_be_filled_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad, table) = (path_in(&folder, "1.csv"), path_in(&folder, "2.csv"), path_in(&folder, "table"));
    fs::write(&good, "id,name\n1,x\n").unwrap();
    fs::write(&bad, "id,name\nnone,x\n").unwrap();
    let run = lath(["table", "create", &table, "--key", "id", &good, &bad, "--batch", "1"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(!fs::exists(&table).unwrap());
    let run = lath(["table", "create", &table, "--key", "number", &good]);
    assert!(run.code == 2 && run.stderr.contains("number"), "{}", run.stderr);
    assert!(!fs::exists(&table).unwrap());
    let run = lath(["table", "count", &table]);
    assert!(run.code == 2 && run.stderr.contains("lath table create"), "{}", run.stderr);
    assert_eq!(lath(["table", "create", &table, "--key", "id", &good, "--no-rows"]).code, 0);
    assert_eq!(lath(["table", "count", &table]).text(0), "0\n");
}

#[test]
fn files_are_sorted_by_other_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (table, database) = (path_in(&folder, "trips"), path_in(&folder, "database"));
    let trips = sample("trips");
    let create = ["table", "create", &table, "--key", "trip", "--cluster-by", "minutes,trip", &trips];
    assert_eq!(lath(create).stderr, "30,000 rows put\n");
    assert!(lath(["table", "compact", &table]).text(0).starts_with("30,000 rows moved to 1 file\n"));
    let stats: Value = serde_json::from_str(lath(["table", "stats", &table, "--json"]).text(0)).unwrap();
    assert_eq!((&stats["clustered_by"], &stats["files"][0]["in_order"]), (&json!(["minutes", "trip"]), &json!(true)));
    assert!(lath(["table", "stats", &table]).text(0).contains("clustered by          minutes, trip\n"));
    let got = lath(["table", "get", &table, "e5e1f8cd-e414-4074-8ec7-f23beb10968a", "--select", "minutes"]);
    assert_eq!(got.json_lines(0), [json!({ "minutes": 33 })]);
    assert_eq!(lath(["table", "check", &table]).code, 0);

    let run = lath(["table", "create", &database, "--table", "t", "--key", "trip", "--cluster-by", "none", &trips]);
    assert!(run.code == 2 && run.stderr.contains("there is no column \"none\" to cluster by"), "{run:?}");
    let run = lath(["table", "create", &database, "--table", "t", "--key", "trip", "--cluster-by", "minutes", &trips]);
    assert_eq!(run.code, 0, "{run:?}");
    let altered = lath(["sql", "--database", &database, "ALTER TABLE t DROP CLUSTERING KEY"]);
    assert_eq!(altered.code, 0, "{altered:?}");
    let stats = lath(["table", "stats", &database, "--table", "t"]);
    assert!(!stats.text(0).contains("clustered by"), "{stats:?}");
}

#[test]
fn tables_are_flushed_altered_restored_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, alone, base) = (path_in(&folder, "a.csv"), path_in(&folder, "alone"), path_in(&folder, "base"));
    fs::write(&csv, "id,name\n1,x\n2,y\n").unwrap();
    assert_eq!(lath(["table", "create", &alone, "--key", "id", &csv]).code, 0);
    assert_eq!(lath(["table", "create", &base, "--table", "first", "--key", "id", &csv]).code, 0);
    assert_eq!(lath(["table", "flush", &alone]).text(0), "2 rows moved to 1 file\n");
    assert_eq!(lath(["table", "flush", &alone]).text(0), "0 rows moved to 0 files\n");
    for arguments in [vec![alone.as_str()], vec![&base, "--table", "first"]] {
        let alter = |change| lath([&["table", "alter"], &arguments[..], &[change]].concat());
        assert_eq!(alter("ADD COLUMN note VARCHAR DEFAULT 'none'").code, 0);
        assert_eq!(alter("RENAME COLUMN note TO remark").code, 0);
        let wrong = alter("DROP COLUMN note");
        assert!(wrong.code == 2 && wrong.stderr.contains("note"), "{}", wrong.stderr);
        let rows = lath([&["table", "scan"], &arguments[..], &["--where", "id = 2"]].concat());
        assert_eq!(rows.json_lines(0), [json!({ "id": 2, "name": "y", "remark": "none" })]);
    }
    let (backup, restored) = (path_in(&folder, "backup"), path_in(&folder, "restored"));
    assert_eq!(lath(["table", "backup", &base, &backup]).code, 0);
    let run = lath(["table", "drop", &base]);
    assert!(run.code == 2 && run.stderr.contains("--table"), "{}", run.stderr);
    assert_eq!(lath(["table", "drop", &base, "--table", "first"]).code, 0);
    let run = lath(["table", "drop", &base, "--table", "first"]);
    assert!(run.code != 0 && run.stderr.contains("first"), "{}", run.stderr);
    assert_eq!(lath(["table", "restore", &backup, &restored]).code, 0);
    assert_eq!(lath(["table", "count", &restored, "--table", "first"]).text(0), "2\n");
    let run = lath(["table", "restore", &backup, &restored]);
    assert_ne!(run.code, 0, "a table is not overwritten");
}

/// A follower sees the commits of other processes, in their order, and ends when its reader does.
#[test]
fn changes_are_followed() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let (csv, table) = (path_in(&folder, "a.csv"), path_in(&folder, "table"));
    fs::write(&csv, "id,name\n1,x\n2,y\n").unwrap();
    assert_eq!(lath(["table", "create", &table, "--key", "id", &csv]).code, 0);
    let run = lath(["table", "changes", &table, "--follow"]);
    assert!(run.code == 2 && run.stderr.contains("--keep"), "{}", run.stderr);
    assert_eq!(lath(["table", "changes", &table, "--keep"]).code, 0);
    let run = lath(["table", "changes", &table, "--follow", "--format", "csv"]);
    assert!(run.code == 2 && run.stderr.contains("JSON lines"), "{}", run.stderr);
    fs::write(&csv, "id,name\n2,z\n3,n\n").unwrap();
    assert_eq!(lath(["table", "upsert", &table, &csv]).code, 0);
    let mut follower = Command::new(crate::invocation::BINARY)
        .args(["table", "changes", &table, "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let (first, second) = (next(), next());
    assert_eq!((&first["_change"], &first["id"], &first["name"]), (&json!("update"), &json!(2), &json!("z")));
    assert_eq!((&second["_change"], &second["id"]), (&json!("insert"), &json!(3)));
    for id in ["1", "3"] {
        assert_eq!(lath(["table", "delete", &table, id]).text(0), "1\n");
        let change = next();
        assert_eq!((&change["_change"], &change["id"]), (&json!("delete"), &json!(id.parse::<i64>().unwrap())));
        assert!(change["_sequence"].as_u64() > second["_sequence"].as_u64());
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// A follower of changes waits for its table, and for the table to keep changes, with `--await-source`.
#[test]
fn changes_are_awaited() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let (csv, table) = (path_in(&folder, "a.csv"), path_in(&folder, "table"));
    let run = lath(["table", "changes", &table, "--follow"]);
    assert!(run.code == 2 && run.stderr.contains("--await-source waits for it"), "{}", run.stderr);
    let run = lath(["table", "changes", &table, "--await-source"]);
    assert!(run.code == 2 && run.stderr.contains("--follow"), "{}", run.stderr);
    let mut follower = Command::new(crate::invocation::BINARY)
        .args(["table", "changes", &table, "--follow", "--await-source", "--consumer", "copy", "--bootstrap"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(follower.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    assert!(first.ends_with("there is no such table yet; waiting"), "{first}");
    fs::write(&csv, "id,name\n1,x\n").unwrap();
    assert_eq!(lath(["table", "create", &table, "--key", "id", &csv]).code, 0);
    assert_eq!(lath(["table", "changes", &table, "--keep"]).code, 0);
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let first = serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!((&first["_change"], &first["id"]), (&json!("insert"), &json!(1)));
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// A consumer gets the rows of the table, then changes, and goes on where its output was written.
#[test]
fn consumers_go_on_where_their_output_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, table, out) = (path_in(&folder, "a.csv"), path_in(&folder, "table"), path_in(&folder, "out.csv"));
    fs::write(&csv, "id,name\n1,x\n2,y\n").unwrap();
    assert_eq!(lath(["table", "create", &table, "--key", "id", &csv]).code, 0);
    let run = lath(["table", "changes", &table, "--consumer", "copy"]);
    assert!(run.code == 2 && run.stderr.contains("--keep"), "{}", run.stderr);
    assert_eq!(lath(["table", "changes", &table, "--consumers"]).code, 1);
    assert_eq!(lath(["table", "changes", &table, "--keep"]).code, 0);
    assert_eq!(lath(["table", "snapshot", &table, "start"]).code, 0);

    // The output cannot be written: nothing is acknowledged, and nothing is lost.
    let consume = ["table", "changes", &table, "--consumer", "copy", "--bootstrap"];
    let run = lath(consume.into_iter().chain(["-o", "/nothing/here/out.csv"]));
    assert_ne!(run.code, 0);
    let run = lath(["table", "changes", &table, "--consumers"]);
    assert!(run.code == 1 || run.text(0).ends_with("bootstraps\n"), "{}", run.stderr);
    let run = lath(consume.into_iter().chain(["--format", "csv"]));
    let kinds = |text: &str| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split(',').step_by(2).collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(kinds(run.text(0)), ["insert,1", "insert,2"]);
    assert!(lath(["table", "changes", &table, "--consumers"]).text(0).contains("is up to date"));
    let run = lath(consume);
    assert!(run.code == 1 && run.stdout.is_empty(), "{}", run.stderr);
    assert_eq!(lath(["table", "delete", &table, "1"]).code, 0);
    assert!(lath(["table", "changes", &table, "--consumers"]).text(0).contains("copy"));
    let run = lath(["table", "changes", &table, "--consumer", "copy", "-o", &out]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(kinds(&fs::read_to_string(&out).unwrap()), ["delete,1"]);

    // Without a consumer: the rows of the last commit, or of a snapshot, and the changes after it.
    let run = lath(["table", "changes", &table, "--bootstrap", "--format", "csv"]);
    assert_eq!(kinds(run.text(0)), ["insert,2"]);
    let run = lath(["table", "changes", &table, "--bootstrap=start", "--format", "csv"]);
    assert_eq!(kinds(run.text(0)), ["insert,1", "insert,2", "delete,1"]);
    assert!(run.stderr.contains("go on with --since"), "{}", run.stderr);
    let run = lath(["table", "changes", &table, "--bootstrap=nothing"]);
    assert!(run.code == 2 && run.stderr.contains("nothing"), "{}", run.stderr);
    let run = lath(["table", "changes", &table, "--consumer", "copy", "--bootstrap=start"]);
    assert!(run.code == 2 && run.stderr.contains("last commit"), "{}", run.stderr);
    let run = lath(["table", "changes", &table, "--consumer", "a/b"]);
    assert!(run.code == 2 && run.stderr.contains("is no name of a consumer"), "{}", run.stderr);

    let run = lath(["table", "changes", &table, "--stop"]);
    assert!(run.code == 2 && run.stderr.contains("drop them first: copy"), "{}", run.stderr);
    assert_eq!(lath(["table", "changes", &table, "--drop-consumer", "copy"]).code, 0);
    let run = lath(["table", "changes", &table, "--drop-consumer", "copy"]);
    assert!(run.code == 2 && run.stderr.contains("no consumer"), "{}", run.stderr);
    assert_eq!(lath(["table", "changes", &table, "--stop"]).code, 0);
}

/// A consumer that is killed gets again what it may not have written, and misses nothing.
#[test]
fn a_following_consumer_that_is_killed_misses_nothing() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let (csv, table) = (path_in(&folder, "a.csv"), path_in(&folder, "table"));
    fs::write(&csv, "id\n0\n").unwrap();
    assert_eq!(lath(["table", "create", &table, "--key", "id", &csv]).code, 0);
    assert_eq!(lath(["table", "changes", &table, "--keep"]).code, 0);
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..4 {
        let mut follower = Command::new(crate::invocation::BINARY)
            .args(["table", "changes", &table, "--consumer", "copy", "--bootstrap", "--follow"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
        if round == 0 {
            seen.insert(
                serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["id"].as_i64().unwrap(),
            );
        }
        for id in [3 * round + 1, 3 * round + 2] {
            fs::write(&csv, format!("id\n{id}\n")).unwrap();
            assert_eq!(lath(["table", "upsert", &table, &csv]).code, 0);
            while !seen.contains(&id) {
                let line = serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
                seen.insert(line["id"].as_i64().unwrap());
            }
        }
        follower.kill().unwrap();
        follower.wait().unwrap();
        fs::write(&csv, format!("id\n{}\n", 3 * round + 3)).unwrap();
        assert_eq!(lath(["table", "upsert", &table, &csv]).code, 0);
    }
    let run = lath(["table", "changes", &table, "--consumer", "copy", "--format", "jsonl"]);
    for line in run.text(0).lines() {
        seen.insert(serde_json::from_str::<Value>(line).unwrap()["id"].as_i64().unwrap());
    }
    assert_eq!(seen, (0..=12).collect());
}

#[test]
fn tables_are_created_with_columns_in_sql() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, alone, base) = (path_in(&folder, "a.csv"), path_in(&folder, "alone"), path_in(&folder, "base"));
    fs::write(&csv, "id,name\n1,x\n2,y\n").unwrap();
    let columns = "id BIGINT, \"the name\" VARCHAR, price DECIMAL(9, 2)";
    assert_eq!(lath(["table", "create", &alone, "--columns", columns, "--key", "id"]).code, 0);
    assert_eq!(lath(["table", "count", &alone]).text(0), "0\n");
    let run = lath(["table", "create", &alone, "--columns", columns, "--key", "id"]);
    assert!(run.code == 2 && run.stderr.contains("already"), "{}", run.stderr);
    let run = lath([
        "table",
        "create",
        &base,
        "--table",
        "t",
        "--columns",
        "id BIGINT, name VARCHAR(5) DEFAULT 'none'",
        "-k",
        "id",
        &csv,
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (0, "2 rows put\n"));
    assert_eq!(
        lath(["table", "scan", &base, "--table", "t", "--where", "id = 2"]).json_lines(0),
        [json!({"id": 2, "name": "y"})]
    );
    fs::write(&csv, "id,name\n3,much too long\n").unwrap();
    let run =
        lath(["table", "create", &base, "--table", "u", "--columns", "id BIGINT PRIMARY KEY, name VARCHAR(5)", &csv]);
    assert!(run.code == 2 && run.stderr.contains("name"), "{}", run.stderr);
    let run = lath(["table", "count", &base, "--table", "u"]);
    assert!(run.code == 2, "{}", run.stdout_text());
    let new = path_in(&folder, "new");
    let run = lath(["table", "create", &new, "--columns", "id BIGINT, name INT", "--key", "id", &csv]);
    assert_ne!(run.code, 0);
    assert!(!fs::exists(&new).unwrap());
    for (arguments, message) in [
        (vec!["--columns", "id NOTYPE", "--key", "id"], "NOTYPE"),
        (vec!["--columns", "id BIGINT); SELECT (1", "--key", "id"], "--columns takes columns and types"),
        (vec!["--columns", "id BIGINT", "--key", "number"], "number"),
        (vec!["--columns", "id BIGINT"], "PRIMARY KEY"),
        (vec!["--columns", "id BIGINT", "--key", "id", "--cold", "s3://b/x"], "--table"),
        (vec!["--key", "id"], "FILES"),
        (vec![&csv], "--key"),
    ] {
        let run = lath([&["table", "create", &new], &arguments[..]].concat());
        assert!(run.code == 2 && run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
        assert!(!fs::exists(&new).unwrap(), "{arguments:?}");
    }
    let clustered =
        ["table", "create", &new, "--columns", "id BIGINT, at TIMESTAMP", "--key", "id", "--cluster-by", "at"];
    assert_eq!(lath(clustered).code, 0);
    assert!(lath(["table", "stats", &new]).text(0).contains("clustered by          at\n"));
}

/// A table without a primary key takes every row.
#[test]
fn rows_are_added_to_a_table_without_a_primary_key() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, base) = (path_in(&folder, "a.csv"), path_in(&folder, "base"));
    fs::write(&csv, "name,n\nx,1\nx,1\ny,2\n").unwrap();
    let columns = "n INT, name VARCHAR";
    assert_eq!(lath(["table", "create", &base, "--table", "log", "--columns", columns, &csv]).stderr, "3 rows put\n");
    assert_eq!(lath(["table", "upsert", &base, "--table", "log", &csv, "--batch", "2"]).stderr, "3 rows put\n");
    assert_eq!(lath(["table", "upsert", &base, "--table", "log", "--insert", &csv]).stderr, "3 rows inserted\n");
    let query = "SELECT name, n, count(*) AS rows FROM log GROUP BY name, n ORDER BY name";
    assert_eq!(lath(["sql", "--database", &base, "--format", "csv", query]).text(0), "name,n,rows\nx,1,6\ny,2,3\n");
    fs::write(&csv, "name,other\nx,1\n").unwrap();
    assert_eq!(lath(["table", "upsert", &base, "--table", "log", &csv]).code, 2);
    let sorted =
        lath(["table", "scan", &base, "--table", "log", "--order-by", "n desc", "--limit", "1", "--format", "csv"]);
    assert_eq!(sorted.text(0), "n,name\n2,y\n");
}

#[test]
fn rows_are_scanned_in_the_order_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, table) = (path_in(&folder, "a.csv"), path_in(&folder, "table"));
    fs::write(&csv, "id,name,price\n1,x,5\n2,y,\n3,z,7\n4,w,5\n").unwrap();
    assert_eq!(lath(["table", "create", &table, "--key", "id", &csv]).code, 0);
    assert_eq!(lath(["table", "snapshot", &table, "monday"]).code, 0);
    assert_eq!(lath(["table", "delete", &table, "3"]).code, 0);
    let scan = |arguments: &[&str]| {
        let run = lath([&["table", "scan", &table, "--format", "csv", "--select", "id"], arguments].concat());
        (run.code, run.stdout_text().lines().skip(1).map(str::to_owned).collect::<Vec<_>>().join(" "), run.stderr)
    };
    assert_eq!(scan(&["--order-by", "price desc, id"]).1, "1 4 2");
    assert_eq!(scan(&["--order-by", "price nulls first, id desc", "--limit", "2"]).1, "2 4");
    assert_eq!(scan(&["--order-by", "price desc", "--at", "monday", "--limit", "1"]).1, "3");
    assert_eq!(scan(&["--order-by", "id desc", "--where", "price = 5"]).1, "4 1");
    assert_eq!(scan(&["--order-by", "id", "--where", "price > 100"]).0, 1);
    for (arguments, message) in [
        (&["--order-by", "nothing"][..], "nothing"),
        (&["--order-by", "id sideways"], "ASC or DESC"),
        (&["--order-by", "id", "--where", "nothing = 1"], "nothing"),
        (&["--order-by", "id", "--from", "2"], "--from"),
        (&["--order-by", "id", "--ordered"], "--ordered"),
    ] {
        let run = scan(arguments);
        assert!(run.0 == 2 && run.2.contains(message), "{arguments:?}: {}", run.2);
    }
}

/// Each subcommand that opens a table takes --wait, and says what it does with an example.
#[test]
fn every_subcommand_waits_and_has_an_example() {
    let commands = lath(["table", "--help"]);
    let names: Vec<String> = commands
        .text(0)
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        // Descriptions that go on are indented further.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        let help = lath(["table", &name, "--help"]);
        assert!(help.text(0).contains("--wait <SECONDS>"), "{name}");
        assert!(help.text(0).contains(&format!("lath table {name} ")), "{name}");
    }
}

#[test]
fn a_restored_table_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, table, backup) = (path_in(&folder, "a.csv"), path_in(&folder, "table"), path_in(&folder, "backup"));
    fs::write(&csv, "id,name\n1,x\n2,y\n").unwrap();
    assert_eq!(lath(["table", "create", &table, "--key", "id", &csv]).code, 0);
    assert_eq!(lath(["table", "compact", &table]).code, 0);
    assert_eq!(lath(["table", "backup", &table, &backup, "--wait", "0"]).code, 0);
    let first = path_in(&folder, "first");
    let run = lath(["table", "restore", &backup, &first]);
    assert_eq!(run.text(0), format!("{first}: intact: 2 rows, 1 file\n"));
    // A damaged backup is restored as it is, and said to be damaged.
    let data = fs::read_dir(folder.path().join("backup/_data")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&data).unwrap();
    fs::remove_file(&data).unwrap();
    bytes[8] ^= 0xff;
    fs::write(&data, bytes).unwrap();
    let second = path_in(&folder, "second");
    let run = lath(["table", "restore", &backup, &second]);
    assert_eq!(run.code, 3, "{}", run.stdout_text());
    assert!(run.stdout_text().contains(".pq"), "{}", run.stdout_text());
    let run = lath(["table", "restore", &csv, &path_in(&folder, "third")]);
    assert!(run.code == 2 && run.stderr.contains("a.csv"), "{} {}", run.code, run.stderr);
    assert_eq!(lath(["table", "restore", &backup, &first]).code, 2);
}
