//! `kv`, a store worked with from the command line.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::invocation::{Run, lath, lath_with_input};

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn what_was_put_is_got_scanned_counted_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "colours.lath");
    for (key, value) in [("sky", "blue"), ("grass", "green"), ("sun", "yellow"), ("snow, old", "\"grey\"")] {
        assert_eq!(lath(["kv", "put", &store, key, value]).text(0), "");
    }
    assert_eq!(lath(["kv", "put", &store, "sky", "black", "--keep"]).text(1), "");
    assert_eq!(lath(["kv", "get", &store, "sky", "sun"]).text(0), "blue\nyellow\n");
    assert_eq!(lath(["kv", "get", &store, "sky", "sea"]).text(1), "blue\n");
    let scan = lath(["kv", "scan", &store, "--prefix", "s", "--reverse", "--limit", "2"]);
    let keys: Vec<_> = scan.json_lines(0).iter().map(|line| line["key"].as_str().unwrap().to_owned()).collect();
    assert_eq!(keys, ["sun", "snow, old"]);
    let csv = lath(["kv", "scan", &store, "--from", "h", "--to", "su", "--format", "csv"]);
    assert_eq!(csv.text(0), "key,value\nsky,blue\n\"snow, old\",\"\"\"grey\"\"\"\n");
    let table = lath(["kv", "scan", &store, "--to", "h", "--format", "table"]);
    assert_eq!(table.text(0).lines().map(str::trim_end).collect::<Vec<_>>()[2], "grass  green");
    assert_eq!(lath(["kv", "count", &store]).text(0), "4\n");
    assert_eq!(lath(["kv", "count", &store, "--from", "s"]).text(0), "3\n");
    assert_eq!(lath(["kv", "del", &store, "sky", "sea"]).text(1), "");
    assert_eq!(lath(["kv", "get", &store, "sky"]).text(1), "");
    assert_eq!(lath(["kv", "trees", &store]).json_lines(0)[0], serde_json::json!({ "tree": "main", "keys": "3" }));
    assert!(lath(["kv", "check", &store]).text(0).contains("intact: 3 keys"));
    assert_eq!(lath(["kv", "scan", &store, "--prefix", "x"]).text(1), "");
}

#[test]
fn keys_of_a_range_are_removed_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "store");
    let lines: String = (0..5000).map(|i| format!("{{\"key\":\"{i:05}\",\"value\":\"{i}\"}}\n")).collect();
    assert_eq!(lath_with_input(&["kv", "load", &store, "-", "--format", "jsonl"], lines.as_bytes()).code, 0);
    assert_eq!(lath(["kv", "del", &store, "--prefix", "01"]).text(0), "1000\n");
    assert_eq!(lath(["kv", "del", &store, "--prefix", "01"]).text(1), "0\n");
    assert_eq!(lath(["kv", "del", &store, "--from", "02500", "--to", "0300"]).text(0), "500\n");
    assert_eq!(lath(["kv", "del", &store, "--to", "00003"]).text(0), "3\n");
    assert_eq!(lath(["kv", "count", &store]).text(0), "3497\n");
    assert!(lath(["kv", "check", &store]).text(0).contains("intact: 3497 keys"));
    assert_eq!(lath(["kv", "del", &store, "04000", "--prefix", "03"]).code, 2);
    assert_eq!(lath(["kv", "del", &store]).code, 2);
    assert_eq!(lath(["kv", "del", &store, "--prefix", "03", "--from", "1"]).code, 2);
    assert_eq!(lath(["kv", "del", &store, "--tree", "other", "--prefix", "0"]).text(1), "0\n");
    // 3, as bytes.
    assert_eq!(lath(["kv", "del", &store, "--prefix", "3033", "--keys", "hex"]).text(0), "1000\n");
    assert_eq!(lath(["kv", "del", &store, "--from", "0"]).text(0), "2497\n");
    assert_eq!(lath(["kv", "count", &store]).text(0), "0\n");
}

#[test]
fn what_is_dumped_loads_again() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (path_in(&folder, "first"), path_in(&folder, "second"));
    let lines: String =
        (0..2500).map(|i| format!("{{\"value\":\"{i:04x}\",\"key\":\"{:08x}\"}}\n", i * 7919)).collect();
    let hex = ["--keys", "hex", "--values", "hex"];
    let load = ["kv", "load", &first, "-", "--format", "jsonl", "--batch", "1000", "--tree", "ids"];
    let run = lath_with_input(&[&load[..], &hex].concat(), lines.as_bytes());
    assert!(run.text(0).is_empty() && run.stderr.contains("2,500 entries put"), "{}", run.stderr);
    for extension in ["csv", "jsonl"] {
        let dumped = path_in(&folder, &format!("dump.{extension}"));
        let dump = [&["kv", "dump", &first, "--tree", "ids", "-o", &dumped][..], &hex].concat();
        assert_eq!(lath(&dump).text(0), "");
        assert_eq!(lath(&dump).code, 2, "a file is not replaced unasked");
        let tree = format!("from-{extension}");
        let load = [&["kv", "load", &second, &dumped, "--tree", &tree][..], &hex].concat();
        assert!(lath(&load).stderr.contains("2,500 entries put"));
        let again = lath([&["kv", "dump", &second, "--tree", &tree][..], &hex].concat());
        let expected = lath([&["kv", "dump", &first, "--tree", "ids"][..], &hex].concat());
        assert_eq!(again.text(0), expected.text(0));
        assert_eq!(again.json_lines(0).len(), 2500);
    }
    assert_eq!(
        lath(["kv", "get", &second, "AAAAAA==", "--keys", "base64", "--tree", "from-csv", "--values", "hex"]).text(0),
        "0000\n"
    );
}

#[test]
fn a_store_is_copied_repaired_and_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let (store, copy, repaired) = (path_in(&folder, "store"), path_in(&folder, "copy"), path_in(&folder, "repaired"));
    let lines: String = (0..2000).map(|i| format!("{{\"key\":\"{i:05}\",\"value\":\"{i}\"}}\n")).collect();
    assert_eq!(lath_with_input(&["kv", "load", &store, "-", "--format", "jsonl"], lines.as_bytes()).code, 0);
    let stats = lath(["kv", "stats", &store]);
    let stats = stats.text(0);
    assert!(stats.contains("newest commit         1\n") && stats.contains("data file"), "{stats}");
    assert_eq!(lath(["kv", "backup", &store, &copy]).text(0), "");
    let run = lath(["kv", "backup", &store, &copy]);
    assert!(run.code == 2 && run.stderr.contains("exists already"), "{}", run.stderr);
    assert_eq!(lath(["kv", "dump", &copy]).text(0), lath(["kv", "dump", &store]).text(0));
    assert!(lath(["kv", "check", &copy]).text(0).contains("intact: 2000 keys"));
    assert!(lath(["kv", "repair", &copy, &repaired]).text(0).contains("2,000 keys copied"));
    assert_eq!(lath(["kv", "dump", &repaired]).text(0), lath(["kv", "dump", &store]).text(0));
    // A damaged leaf loses only its own keys.
    let mut bytes = fs::read(&copy).unwrap();
    let at = bytes.windows(5).position(|window| window == b"01999" || window == b"1999\x04").unwrap_or(20_000);
    bytes[at] ^= 1;
    fs::write(&copy, bytes).unwrap();
    let again = path_in(&folder, "again");
    let run = lath(["kv", "repair", &copy, &again]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let kept = lath(["kv", "dump", &again]).json_lines(0).len();
    assert!((1500..2000).contains(&kept), "{kept} keys were brought over");
}

#[test]
fn a_store_of_which_most_was_removed_gets_short() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "store");
    let lines: String =
        (0..30_000).map(|i| format!("{{\"key\":\"{i:08}\",\"value\":\"{}\"}}\n", "v".repeat(i % 200))).collect();
    assert_eq!(lath_with_input(&["kv", "load", &store, "-", "--format", "jsonl"], lines.as_bytes()).code, 0);
    let removed: Vec<String> = (0..30_000).filter(|i| i % 10 > 0).map(|i| format!("{i:08}")).collect();
    for keys in removed.chunks(5000) {
        let args = ["kv", "del", &store].into_iter().chain(keys.iter().map(String::as_str));
        assert_eq!(lath(args.collect::<Vec<_>>()).code, 0);
    }
    let (before, dump) = (fs::metadata(&store).unwrap().len(), lath(["kv", "dump", &store]));
    let run = lath(["kv", "compact", &store]);
    let text = run.text(0);
    let after = fs::metadata(&store).unwrap().len();
    assert!(after <= 1 << 20 && before > 4 << 20, "{before} to {after} bytes:\n{text}");
    assert!(text.starts_with("data file before") && text.contains("\ndata file after"), "{text}");
    assert!(text.contains("\nmoved ") && !text.contains("by a reader"), "{text}");
    assert_eq!(lath(["kv", "dump", &store]).text(0), dump.text(0));
    assert!(lath(["kv", "check", &store]).text(0).contains("intact: 3000 keys"));
    let read = fs::metadata(&store).unwrap().len();
    assert!(read < after + after / 4, "reading made {after} bytes {read}");
    assert!(lath(["kv", "compact", "--help"]).text(0).contains("lath kv compact colours.lath"));
}

#[test]
fn mistakes_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "store");
    let run = lath(["kv", "get", &store, "a"]);
    assert!(run.code == 4 && run.stderr.contains("there is no store"), "{}", run.stderr);
    assert_eq!(lath(["kv", "put", &store, "ff00", "ff", "--keys", "hex", "--values", "hex"]).code, 0);
    for (args, code, part) in [
        (vec!["get", &store, "f", "--keys", "hex"], 2, "two digits a byte"),
        (vec!["get", &store, "f", "--keys", "base64"], 2, "is not Base64"),
        (vec!["scan", &store], 2, "--keys hex"),
        (vec!["scan", &store, "--keys", "hex"], 2, "--values hex"),
        (vec!["scan", &store, "--tree", "other"], 2, "there are main"),
        (vec!["scan", &store, "--prefix", "a", "--from", "b"], 2, "cannot be used with"),
        (vec!["load", &store, "entries.txt"], 2, "add --format"),
    ] {
        let run = lath([&["kv"][..], &args].concat());
        assert!(run.code == code && run.stderr.contains(part), "{args:?}: {} {}", run.code, run.stderr);
    }
    for (format, input, code, part) in [
        ("csv", "name,value\na,b\n", 2, "there is no column \"key\""),
        ("jsonl", "{\"key\":\"a\"}\n", 2, "line 1: expected an object whose \"value\" is a string"),
        ("jsonl", "\n{\"key\":\n", 3, "line 2: not JSON"),
    ] {
        let run = lath_with_input(&["kv", "load", &store, "-", "--format", format], input.as_bytes());
        assert!(run.code == code && run.stderr.contains(part), "{input}: {} {}", run.code, run.stderr);
    }
    fs::write(&store, b"no store").unwrap();
    let run = lath(["kv", "count", &store]);
    assert!(run.code != 0 && !run.stderr.is_empty(), "{}", run.stderr);
}

/// Names, lengths and times of all files in a folder.
fn listing(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let entries = entries.map(|entry| (entry.path(), entry.metadata().unwrap()));
    entries.map(|(path, metadata)| (path, (metadata.len(), metadata.modified().unwrap()))).collect()
}

/// Every command that only reads.
fn reading_commands(store: &str) -> Vec<Vec<&str>> {
    let commands = [&["get", store, "00007"][..], &["scan", store], &["count", store], &["trees", store]];
    let whole = [&["dump", store][..], &["check", store], &["stats", store]];
    commands.iter().chain(&whole).map(|args| [&["kv"][..], args].concat()).collect()
}

/// Creates a store of 2,000 entries. With `is_killed`, the commit is left in the log, as by a killed process.
fn build(folder: &Path, name: &str, is_killed: bool) -> String {
    let path = folder.join(name);
    let store = lath_store::Options::new().background_checkpoints(false).open(&path).unwrap();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("main").unwrap();
    for i in 0..2000 {
        tree.upsert(format!("{i:05}").as_bytes(), i.to_string().as_bytes()).unwrap();
    }
    transaction.commit().unwrap();
    if is_killed {
        let copies = ["", "-log0", "-log1", "-lock"].map(|suffix| {
            let path = folder.join(format!("{name}{suffix}"));
            (fs::read(&path).unwrap(), path)
        });
        drop(store);
        copies.iter().for_each(|(bytes, path)| fs::write(path, bytes).unwrap());
    }
    path.to_str().unwrap().to_owned()
}

#[test]
fn reading_commands_change_no_file_but_the_lock() {
    for (is_killed, has_lock) in [(false, true), (false, false), (true, true), (true, false)] {
        let folder = tempfile::tempdir().unwrap();
        let store = build(folder.path(), "store", is_killed);
        if !has_lock {
            fs::remove_file(format!("{store}-lock")).unwrap();
        }
        let mut permissions = fs::metadata(folder.path()).unwrap().permissions();
        permissions.set_readonly(!has_lock);
        fs::set_permissions(folder.path(), permissions.clone()).unwrap();
        // Readers register in the lock file, which is not part of the data.
        let stored =
            || listing(folder.path()).into_iter().filter(|(name, _)| !name.to_string_lossy().ends_with("-lock"));
        let before: Vec<_> = stored().collect();
        for command in reading_commands(&store) {
            let run = lath(&command);
            assert!(run.code == 0 && !run.stdout.is_empty(), "{command:?}: {} {}", run.code, run.stderr);
            assert_eq!(stored().collect::<Vec<_>>(), before, "{command:?}");
        }
        assert_eq!(lath(["kv", "get", &store, "00007"]).text(0), "7\n");
        assert_eq!(lath(["kv", "count", &store]).text(0), "2000\n");
        #[expect(clippy::permissions_set_readonly_false, reason = "the folder is temporary, and about to be removed")]
        permissions.set_readonly(false);
        fs::set_permissions(folder.path(), permissions).unwrap();
    }
}

#[test]
fn commands_make_nothing_of_a_store_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for store in [path_in(&folder, "store"), path_in(&folder, "nowhere/store")] {
        for command in reading_commands(&store) {
            let run = lath(&command);
            assert!(run.code == 4 && run.stderr.contains("there is no store"), "{command:?}: {}", run.stderr);
            assert!(listing(folder.path()).is_empty(), "{command:?}");
        }
        for command in [["kv", "del", &store, "key"].as_slice(), &["kv", "compact", &store]] {
            let run = lath(command);
            assert!(run.code == 4 && run.stderr.contains("there is no store"), "{command:?}: {}", run.stderr);
            assert!(listing(folder.path()).is_empty(), "{command:?}");
        }
    }
}

#[test]
fn reading_commands_work_beside_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let store = build(folder.path(), "store", false);
    let writer = lath_store::Store::open(&store).unwrap();
    for mut command in reading_commands(&store) {
        command.extend(["--wait", "0"]);
        let run = lath(&command);
        if command[1] == "stats" {
            assert!(run.code == 4 && run.stderr.contains("another process has the store open"), "{}", run.stderr);
        } else {
            assert!(run.code == 0 && !run.stdout.is_empty(), "{command:?}: {} {}", run.code, run.stderr);
        }
    }
    drop(writer);
    // One that writes by turns, and is idle.
    let options = lath_store::Options::new().busy_timeout(lath_store::Options::USUAL_BUSY_TIMEOUT);
    let writer = options.open(&store).unwrap();
    let run = lath(["kv", "stats", &store, "--wait", "600"]);
    assert!(run.code == 0 && !run.stdout.is_empty(), "{}", run.stderr);
    drop(writer);
}

#[test]
fn commands_in_several_processes_write_by_turns() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "store");
    assert_eq!(lath(["kv", "put", &store, "gone", "value"]).code, 0);
    thread::scope(|scope| {
        for writer in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..8 {
                    let key = format!("{writer}/{number}");
                    let run = lath(["kv", "put", store, &key, "value", "--wait", "600"]);
                    assert_eq!(run.code, 0, "{}", run.stderr);
                }
            });
        }
        let run = lath(["kv", "del", &store, "gone", "--wait", "600"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    });
    assert_eq!(lath(["kv", "count", &store]).text(0), "32\n");
    assert_eq!(lath(["kv", "check", &store]).code, 0);
}

#[test]
fn command_that_waits_for_input_does_not_keep_others_from_writing() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "store");
    let mut load = std::process::Command::new(env!("CARGO_BIN_EXE_lath"))
        .args(["kv", "load", &store, "-", "--format", "jsonl", "--batch", "1"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = load.stdin.take().unwrap();
    for round in 1..4 {
        writeln!(input, "{{\"key\": \"loaded {round}\", \"value\": \"{round}\"}}").unwrap();
        // The entry is committed once it is read.
        while lath(["kv", "get", &store, &format!("loaded {round}")]).code != 0 {
            assert!(load.try_wait().unwrap().is_none(), "the other command has ended");
        }
        let run = lath(["kv", "put", &store, &format!("put {round}"), "value", "--wait", "600"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(lath(["kv", "count", &store]).text(0), format!("{}\n", 2 * round));
    }
    drop(input);
    assert!(load.wait().unwrap().success());
    assert_eq!(lath(["kv", "count", &store]).text(0), "6\n");
    assert_eq!(lath(["kv", "check", &store]).code, 0);
}

#[test]
fn a_data_file_that_was_emptied_or_removed_is_damage_and_its_log_is_kept() {
    for is_removed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = build(folder.path(), "store", true);
        if is_removed {
            fs::remove_file(&store).unwrap();
        } else {
            fs::write(&store, b"").unwrap();
        }
        let before = listing(folder.path());
        let mut commands = reading_commands(&store);
        commands.extend([vec!["kv", "put", &store, "key", "value"], vec!["kv", "del", &store, "00007"]]);
        commands.push(vec!["kv", "compact", &store]);
        for command in commands {
            let run = lath(&command);
            assert_eq!(run.code, 3, "{command:?}: {}", run.stderr);
            assert!(run.stderr.contains("backup") && run.stderr.contains("lath kv repair"), "{}", run.stderr);
            assert_eq!(listing(folder.path()), before, "{command:?}");
        }
        let repaired = path_in(&folder, "repaired");
        let run = lath(["kv", "repair", &store, &repaired]);
        assert!(run.text(3).contains("1 commit replayed from the log"), "{}", run.text(3));
        assert_eq!(lath(["kv", "count", &repaired]).text(0), "2000\n");
    }
}

#[test]
#[cfg_attr(not(feature = "sql"), ignore = "there is no `lath sql`")]
fn a_command_waits_for_another_process_as_long_as_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (store, database) = (build(folder.path(), "store", false), path_in(&folder, "shop"));
    let put = |wait: &str| lath(["kv", "put", &store, "key", "value", "--wait", wait]);
    let create = |wait: &str| {
        let statement = "CREATE TABLE IF NOT EXISTS t (id BIGINT PRIMARY KEY)";
        lath(["sql", "--database", &database, "--wait", wait, statement])
    };
    assert_eq!(create("0").code, 0);
    // This process has both open for a while.
    for changes in [&put as &dyn Fn(&str) -> Run, &create] {
        let held = (lath_store::Store::open(&store).unwrap(), open_database(&database));
        let refused = changes("0");
        assert!(refused.code == 4 && refused.stderr.contains("process"), "{} {}", refused.code, refused.stderr);
        let holder = format!("process {} ", std::process::id());
        assert!(!cfg!(target_os = "linux") || refused.stderr.contains(&holder), "{}", refused.stderr);
        let release = thread::spawn(move || {
            thread::sleep(Duration::from_millis(500));
            drop(held);
        });
        let waited = changes("60");
        assert_eq!(waited.code, 0, "{}", waited.stderr);
        release.join().unwrap();
    }
    for (arguments, says) in [
        (["kv", "count", &store, "--wait=soon"], "a number of seconds"),
        (["kv", "count", &store, "--wait=-1"], "--wait"),
    ] {
        let run = lath(arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{} {}", run.code, run.stderr);
    }
    let alone = lath(["sql", "--wait", "1", "SELECT 1"]);
    assert!(alone.code == 2 && alone.stderr.contains("--database"), "{} {}", alone.code, alone.stderr);
}

fn open_database(folder: &str) -> lath_table::Database {
    lath_table::Database::open(folder, lath_table::TableOptions::new()).unwrap()
}

#[test]
fn repair_names_the_process_that_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = build(folder.path(), "store", false);
    let writer = lath_store::Store::open(&store).unwrap();
    let run = lath(["kv", "repair", &store, &path_in(&folder, "copy"), "--wait", "0"]);
    let process = format!("process {}", std::process::id());
    assert!(run.code == 4 && run.stderr.contains(&store) && run.stderr.contains(&process), "{}", run.stderr);
    drop(writer);
    assert_eq!(lath(["kv", "repair", &store, &path_in(&folder, "copy")]).code, 0);
}

#[test]
fn removed_data_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = build(folder.path(), "store", false);
    let options = lath_store::Options::new().busy_timeout(lath_store::Options::USUAL_BUSY_TIMEOUT);
    let writer = options.open(&store).unwrap();
    fs::rename(&store, path_in(&folder, "away")).unwrap();
    for command in [["kv", "get", &store, "a"], ["kv", "del", &store, "a"]] {
        let run = lath(command);
        assert!(run.code == 4 && run.stderr.contains("was removed or replaced"), "{}", run.stderr);
    }
    fs::rename(path_in(&folder, "away"), &store).unwrap();
    assert_eq!(lath(["kv", "check", &store]).code, 0);
    drop(writer);
}

#[cfg(unix)]
#[test]
fn file_that_may_not_become_longer_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "store");
    assert_eq!(lath(["kv", "put", &store, "first", "value"]).code, 0);
    let line = format!("{{\"key\": \"NUMBER\", \"value\": \"{}\"}}\n", "v".repeat(10_000));
    let lines: String = (0..3_000).map(|number| line.replace("NUMBER", &number.to_string())).collect();
    fs::write(folder.path().join("lines.jsonl"), lines).unwrap();
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -f 8000 && exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_lath"),
            "kv",
            "load",
            &store,
            "lines.jsonl",
        ])
        .current_dir(&folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{}: {errors}", output.status);
    assert!(errors.contains("File too large"), "{errors}");
    assert_eq!(lath(["kv", "get", &store, "first"]).text(0), "value\n");
    assert_eq!(lath(["kv", "check", &store]).code, 0);
}

#[test]
fn nested_trees_are_made_read_listed_and_removed_by_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "store");
    let office = ["--tree", "buildings", "--path", "office"];
    let rooms = ["--tree", "buildings", "--path", "office", "--path", "rooms"];
    let kv = |command: &str, rest: &[&str], place: &[&str]| lath([&["kv", command, &store], rest, place].concat());
    assert_eq!(kv("put", &["street", "Dorset Street"], &office).text(0), "");
    assert_eq!(kv("put", &["1", "drawing room"], &rooms).text(0), "");
    let lines = b"{\"key\":\"2\",\"value\":\"study\"}\n{\"key\":\"3\",\"value\":\"hall\"}\n";
    let load = [&["kv", "load", &store, "-", "--format", "jsonl"], &rooms[..]].concat();
    assert_eq!(lath_with_input(&load, lines).code, 0);
    assert_eq!(kv("put", &["address", "none"], &["--tree", "buildings"]).text(0), "");

    assert_eq!(kv("get", &["1", "3"], &rooms).text(0), "drawing room\nhall\n");
    assert_eq!(kv("count", &[], &rooms).text(0), "3\n");
    assert_eq!(kv("scan", &["--from", "2", "--format", "csv"], &rooms).text(0), "key,value\n2,study\n3,hall\n");
    assert_eq!(kv("dump", &["--format", "csv"], &rooms).text(0), "key,value\n1,drawing room\n2,study\n3,hall\n");
    let hex = ["--tree", "buildings", "--path", "6f6666696365", "--keys", "hex"];
    assert_eq!(kv("get", &["737472656574"], &hex).text(0), "Dorset Street\n");
    for command in ["scan", "dump"] {
        let values = kv(command, &["--format", "csv"], &["--tree", "buildings"]);
        assert_eq!(values.text(0), "key,value\naddress,none\n");
        assert!(values.stderr.contains("1 key with nested trees left out"), "{}", values.stderr);
    }
    let listed = kv("trees", &["--format", "csv"], &["--tree", "buildings"]);
    assert_eq!(listed.text(0), "tree,keys\noffice,2\n");
    assert_eq!(kv("trees", &["--format", "csv"], &office).text(0), "tree,keys\nrooms,3\n");
    assert_eq!(kv("trees", &["--format", "csv"], &rooms).text(1), "tree,keys\n");

    for (run, words) in [
        (kv("get", &["office"], &["--tree", "buildings"]), "--path KEY reads that tree"),
        (kv("get", &["x"], &["--tree", "buildings", "--path", "address"]), "has a value, and no nested tree"),
        (kv("get", &["x"], &["--tree", "buildings", "--path", "shed"]), "there is no tree buildings/shed"),
        (kv("trees", &[], &["--path", "office"]), "--tree"),
    ] {
        assert!(run.code == 2 && run.stderr.contains(words), "{} {}", run.code, run.stderr);
    }

    assert_eq!(kv("del", &["2"], &rooms).text(0), "");
    assert_eq!(kv("del", &["--from", "3"], &rooms).text(0), "1\n");
    assert_eq!(kv("scan", &["--format", "csv"], &rooms).text(0), "key,value\n1,drawing room\n");
    assert_eq!(kv("del", &["office"], &["--tree", "buildings"]).text(0), "");
    assert_eq!(kv("scan", &["--format", "csv"], &["--tree", "buildings"]).text(0), "key,value\naddress,none\n");
    assert!(lath(["kv", "check", &store]).text(0).contains("intact: 1 key"));
}
