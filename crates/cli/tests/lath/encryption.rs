//! Encrypted stores, tables and databases, whose key is in the environment.

use std::path::Path;

use crate::invocation::{Run, command, finish};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER_KEY: &str = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn with(variable: &str, value: &str, args: &[&str]) -> Run {
    let mut command = command(args);
    command.env(variable, value);
    finish(command.output().unwrap())
}

fn with_key(args: &[&str]) -> Run {
    with("LATH_KEY", KEY, args)
}

fn without(args: &[&str]) -> Run {
    finish(command(args).output().unwrap())
}

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn assert_nothing_is_plain(path: &Path, text: &str) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            assert_nothing_is_plain(&entry.unwrap().path(), text);
        }
        return;
    }
    let bytes = std::fs::read(path).unwrap();
    assert!(!bytes.windows(text.len()).any(|window| window == text.as_bytes()), "{}", path.display());
}

#[test]
fn stores_are_encrypted_with_the_key_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let [store, plain, copy, repaired] = ["store", "plain", "copy", "repaired"].map(|name| path_in(&folder, name));
    assert_eq!(without(&["kv", "put", &plain, "sky", "blue"]).text(0), "");
    assert_eq!(with_key(&["kv", "put", &store, "sky", "hush hush"]).text(0), "");
    assert_eq!(with_key(&["kv", "get", &store, "sky"]).text(0), "hush hush\n");
    assert_eq!(with("LATH_KEY_COMMAND", &format!("echo {KEY}"), &["kv", "get", &store, "sky"]).text(0), "hush hush\n");
    // A store without encryption stays so.
    assert_eq!(with_key(&["kv", "put", &plain, "sun", "yellow"]).text(0), "");
    assert_eq!(without(&["kv", "get", &plain, "sun"]).text(0), "yellow\n");
    let failed = without(&["kv", "get", &store, "sky"]);
    assert!(failed.code == 2 && failed.stderr.contains("its key was not given"), "{}", failed.stderr);
    let failed = with("LATH_KEY", OTHER_KEY, &["kv", "get", &store, "sky"]);
    assert!(failed.code == 2 && failed.stderr.contains("another key"), "{}", failed.stderr);
    let failed = with("LATH_KEY", "12", &["kv", "get", &store, "sky"]);
    assert!(failed.code == 2 && failed.stderr.contains("LATH_KEY: a key has 64"), "{}", failed.stderr);
    let failed = with("LATH_KEY_COMMAND", "exit 3", &["kv", "get", &store, "sky"]);
    assert!(failed.code == 2 && failed.stderr.contains("LATH_KEY_COMMAND failed"), "{}", failed.stderr);

    assert_eq!(with_key(&["kv", "backup", &store, &copy]).code, 0);
    assert_eq!(without(&["kv", "check", &copy]).code, 2);
    assert!(with_key(&["kv", "check", &copy]).text(0).contains("intact: 1 key"));
    assert!(with_key(&["kv", "repair", &copy, &repaired]).text(0).contains("1 keys copied"));
    assert_eq!(with_key(&["kv", "get", &repaired, "sky"]).text(0), "hush hush\n");
    assert_eq!(with_key(&["kv", "compact", &store]).code, 0);
    for path in [&store, &copy, &repaired] {
        assert_nothing_is_plain(Path::new(path), "hush hush");
    }
}

#[test]
fn tables_are_encrypted_with_the_key_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let [table, backup, restored, export] =
        ["table", "backup", "restored", "export"].map(|name| path_in(&folder, name));
    let rows = path_in(&folder, "rows.csv");
    let text: String = (0..2_000).map(|id| format!("{id},hush hush {id}\n")).collect();
    std::fs::write(&rows, format!("id,name\n{text}")).unwrap();
    let created = with_key(&["table", "create", &table, &rows, "--key", "id"]);
    assert_eq!(created.code, 0, "{}", created.stderr);
    assert_eq!(with_key(&["table", "flush", &table]).code, 0);
    assert_eq!(with_key(&["table", "delete", &table, "7"]).code, 0);
    for failed in [without(&["table", "count", &table]), with("LATH_KEY", OTHER_KEY, &["cat", &table])] {
        assert!(failed.code != 0 && failed.stderr.contains("key"), "{}", failed.stderr);
    }
    assert_eq!(with_key(&["table", "count", &table]).text(0), "1999\n");
    assert!(with_key(&["table", "get", &table, "42"]).stdout_text().contains("hush hush 42"));
    assert!(with_key(&["head", &table, "-n", "1"]).stdout_text().contains("hush hush 0"));
    assert_eq!(with_key(&["table", "backup", &table, &backup]).code, 0);
    assert!(with_key(&["table", "restore", &backup, &restored]).text(0).contains("intact: 1,999 rows"));
    assert_eq!(with_key(&["table", "count", &restored, "--where", "name = 'hush hush 9'"]).text(0), "1\n");
    let refused = with_key(&["table", "publish", &table, "--as", "iceberg"]);
    assert!(refused.code == 2 && refused.stderr.contains("encrypted"), "{} {}", refused.code, refused.stderr);
    assert_eq!(with_key(&["table", "export", &table, &export]).code, 0);
    assert_eq!(without(&["count", &export]).text(0), "1999\n");
    for path in [&table, &backup, &restored] {
        assert_nothing_is_plain(Path::new(path), "hush");
    }
}

#[cfg(feature = "sql")]
#[test]
fn databases_are_encrypted_with_the_key_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let database = path_in(&folder, "database");
    let run = |text: &str| with_key(&["sql", "--database", &database, "--format", "csv", text]);
    assert_eq!(run("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR UNIQUE)").code, 0);
    assert_eq!(run("BEGIN; INSERT INTO t VALUES (1, 'hush'), (2, 'hush hush'); COMMIT").code, 0);
    assert_eq!(run("CALL keep_history(age => '1 day'); UPDATE t SET name = 'x' WHERE id = 1").code, 0);
    assert_eq!(run("SELECT * FROM t ORDER BY id").text(0), "id,name\n1,x\n2,hush hush\n");
    assert_eq!(run("SELECT count(*) AS n FROM t WHERE name = 'hush hush'").text(0), "n\n1\n");
    let failed = without(&["sql", "--database", &database, "SELECT * FROM t"]);
    assert!(failed.code == 2 && failed.stderr.contains("its key was not given"), "{} {}", failed.code, failed.stderr);
    assert_nothing_is_plain(Path::new(&database), "hush");
}

#[test]
fn an_empty_key_is_an_error_and_its_command_reads_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "store");
    for variable in ["LATH_KEY", "LATH_KEY_COMMAND"] {
        let failed = with(variable, "", &["kv", "put", &store, "sky", "blue"]);
        assert!(failed.code == 2 && failed.stderr.contains(&format!("{variable} is empty")), "{}", failed.stderr);
    }
    let rows = path_in(&folder, "rows.jsonl");
    std::fs::write(&rows, "{\"key\":\"a\",\"value\":\"1\"}\n{\"key\":\"b\",\"value\":\"2\"}\n").unwrap();
    let mut load = command(["kv", "load", &store, "-", "--format", "jsonl"]);
    load.env("LATH_KEY_COMMAND", format!("cat > /dev/null; echo {KEY}")).stdin(std::fs::File::open(&rows).unwrap());
    assert_eq!(finish(load.output().unwrap()).code, 0);
    assert_eq!(with_key(&["kv", "count", &store]).text(0), "2\n");
}

#[cfg(feature = "sql")]
#[test]
fn tables_in_folders_are_encrypted_by_sql_and_read_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let [declared, attached, database] = ["declared", "attached", "database"].map(|name| path_in(&folder, name));
    let created = with_key(&["table", "create", &declared, "--columns", "id BIGINT, name VARCHAR", "--key", "id"]);
    assert_eq!(created.code, 0, "{}", created.stderr);
    let statement = format!(
        "CREATE EXTERNAL TABLE x (id BIGINT, PRIMARY KEY (id)) STORED AS LATH LOCATION '{attached}'; INSERT INTO x VALUES (7)"
    );
    assert_eq!(with_key(&["sql", &statement]).code, 0);
    for table in [&declared, &attached] {
        let failed = without(&["table", "count", table]);
        assert!(failed.code == 2 && failed.stderr.contains("its key was not given"), "{}", failed.stderr);
        let count = format!("SELECT count(*) AS n FROM '{table}'");
        let rows = if table == &attached { 1 } else { 0 };
        assert_eq!(with_key(&["sql", "--format", "csv", &count]).text(0), format!("n\n{rows}\n"));
        assert_eq!(without(&["sql", &count]).code, 2);
    }
    assert_eq!(with_key(&["sql", "--database", &database, "CREATE TABLE t (id BIGINT PRIMARY KEY)"]).code, 0);
    let failed = without(&["table", "count", &database]);
    assert!(failed.code == 2 && failed.stderr.contains("its key was not given"), "{}", failed.stderr);
}

#[test]
fn a_refused_attempt_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let [store, table, rows, text] = ["store", "table", "rows.csv", "text"].map(|name| path_in(&folder, name));
    std::fs::write(&rows, "id\n1\n").unwrap();
    std::fs::write(&text, "no store").unwrap();
    assert_eq!(with_key(&["kv", "put", &store, "a", "b"]).code, 0);
    assert_eq!(with_key(&["table", "create", &table, "--key", "id", &rows]).code, 0);
    let names = |folder: &Path| {
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    for path in ["store-lock", "table/_table.lath-lock"] {
        let _ = std::fs::remove_file(folder.path().join(path));
    }
    let all = || (names(folder.path()), names(Path::new(&table)));
    let before = all();
    let absent = path_in(&folder, "absent");
    for args in [
        &["kv", "put", &store, "a", "c"][..],
        &["kv", "get", &store, "a"],
        &["table", "upsert", &table, &rows],
        &["table", "count", &table],
        &["kv", "get", &absent, "a"],
        &["kv", "stats", &absent],
        &["kv", "get", &text, "a"],
    ] {
        assert!(without(args).code >= 2, "{args:?}");
        assert_eq!(all(), before, "{args:?}");
    }
}

#[test]
fn statistics_say_whether_a_store_is_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let rows = path_in(&folder, "rows.csv");
    std::fs::write(&rows, "id\n1\n").unwrap();
    for (kind, run, expected) in [("secret", with_key as fn(&[&str]) -> Run, true), ("open", without, false)] {
        let [store, table] = ["store", "table"].map(|name| path_in(&folder, &format!("{kind}-{name}")));
        assert_eq!(run(&["kv", "put", &store, "a", "b"]).code, 0);
        assert_eq!(run(&["table", "create", &table, "--key", "id", &rows]).code, 0);
        let line = format!("encrypted             {}\n", if expected { "yes" } else { "no" });
        for args in [&["kv", "stats", &store][..], &["table", "stats", &table]] {
            assert!(run(args).text(0).contains(&line), "{args:?}");
        }
        let json: serde_json::Value = serde_json::from_str(run(&["table", "stats", &table, "--json"]).text(0)).unwrap();
        assert_eq!(json["encrypted"], expected);
    }
}

#[test]
fn encrypted_tables_are_followed_with_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let [table, copy, rows, more] = ["table", "copy", "rows.csv", "more.csv"].map(|name| path_in(&folder, name));
    std::fs::write(&rows, "id,name\n1,hush hush\n").unwrap();
    std::fs::write(&more, "id,name\n2,very hush\n").unwrap();
    assert_eq!(with_key(&["table", "create", &table, "--key", "id", &rows]).code, 0);
    let follow = ["table", "follow", &table, &copy, "--once"];
    let refused = without(&follow);
    assert!(refused.code == 2 && refused.stderr.contains("LATH_KEY"), "{}", refused.stderr);
    assert_eq!(with_key(&follow).code, 0);
    assert_eq!(with_key(&["table", "upsert", &table, &more]).code, 0);
    let followed = with_key(&follow);
    assert!(followed.code == 0 && followed.stderr.contains("after 1 commit"), "{}", followed.stderr);
    assert_nothing_is_plain(Path::new(&copy), "hush");
    assert_eq!(without(&["table", "count", &copy]).code, 2);
    assert_eq!(with("LATH_KEY", OTHER_KEY, &["table", "count", &copy]).code, 2);
    assert!(with_key(&["table", "scan", &copy, "--format", "csv"]).text(0).contains("1,hush hush\n2,very hush\n"));
    // Another table with another key in the place of the source.
    let old = path_in(&folder, "old");
    std::fs::rename(&table, &old).unwrap();
    assert_eq!(with("LATH_KEY", OTHER_KEY, &["table", "create", &table, "--key", "id", &rows]).code, 0);
    let refused = with("LATH_KEY", OTHER_KEY, &follow);
    assert!(refused.code != 0 && refused.stderr.contains("remove the copy"), "{}", refused.stderr);
    std::fs::remove_dir_all(&table).unwrap();
    std::fs::rename(&old, &table).unwrap();
    assert_eq!(with_key(&["table", "follow", "--promote", &copy]).code, 0);
    assert_eq!(with_key(&["table", "delete", &copy, "1"]).code, 0);
    assert_eq!(with_key(&["table", "count", &copy]).text(0), "1\n");
}
