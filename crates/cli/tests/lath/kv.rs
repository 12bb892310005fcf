//! `kv`, a store worked with from the command line.

use std::fs;

use crate::invocation::{lath, lath_with_input};

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
    assert!(lath(["kv", "check", &store]).text(0).contains("sound: 3 keys"));
    assert_eq!(lath(["kv", "scan", &store, "--prefix", "x"]).text(1), "");
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
    assert!(run.code == 2 && run.stderr.contains("is there already"), "{}", run.stderr);
    assert_eq!(lath(["kv", "dump", &copy]).text(0), lath(["kv", "dump", &store]).text(0));
    assert!(lath(["kv", "check", &copy]).text(0).contains("sound: 2000 keys"));
    assert!(lath(["kv", "repair", &copy, &repaired]).text(0).contains("2,000 keys brought over"));
    assert_eq!(lath(["kv", "dump", &repaired]).text(0), lath(["kv", "dump", &store]).text(0));
    // A leaf that is damaged costs its own keys and no others.
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
    assert!(lath(["kv", "check", &store]).text(0).contains("sound: 3000 keys"));
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
        ("csv", "name,value\na,b\n", 2, "no column is called \"key\""),
        ("jsonl", "{\"key\":\"a\"}\n", 2, "line 1: an object with \"value\""),
        ("jsonl", "\n{\"key\":\n", 3, "line 2: not JSON"),
    ] {
        let run = lath_with_input(&["kv", "load", &store, "-", "--format", format], input.as_bytes());
        assert!(run.code == code && run.stderr.contains(part), "{input}: {} {}", run.code, run.stderr);
    }
    fs::write(&store, b"no store").unwrap();
    let run = lath(["kv", "count", &store]);
    assert!(run.code != 0 && !run.stderr.is_empty(), "{}", run.stderr);
}
