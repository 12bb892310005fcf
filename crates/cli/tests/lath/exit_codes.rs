//! Exit codes, and messages that name the file and say what to do.

use std::fs;

use crate::invocation::{lath, sample};

#[test]
fn success_is_0_and_nothing_found_is_1() {
    let trips = sample("trips/2025-01.parquet");
    assert_eq!(lath(["find", &trips, "--where", "minutes > 40", "--limit", "1"]).code, 0);
    let nothing = lath(["find", &trips, "--where", "minutes > 1000"]);
    assert_eq!((nothing.code, nothing.stdout.len(), nothing.stderr.as_str()), (1, 0, ""));
}

#[test]
fn wrong_usage_is_2() {
    let trips = sample("trips/2025-01.parquet");
    for args in [
        vec![],
        vec!["frobnicate"],
        vec!["head"],
        vec!["head", &trips, "-n", "many"],
        vec!["head", &trips, "--format", "xml"],
        vec!["head", &trips, "--columns", "missing"],
        vec!["head", &trips, "--threads", "0"],
        vec!["head", &trips, "--batch-size", "0"],
        vec!["meta", &trips, "--row-groups", "x"],
        vec!["find", &trips],
        vec!["cat", &trips, "-o", "/"],
        vec!["head", &trips, "--footer-key", "xyz"],
        vec!["head", &trips, "--column-key", "a=00"],
    ] {
        let run = lath(&args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn input_that_is_no_parquet_is_3_and_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(sample("stations.parquet")).unwrap();
    for (name, bytes, hint) in [
        ("empty", &b""[..], "not a Parquet file: it is empty"),
        ("zip", b"PK\x03\x04aaaaaaaaaaaaaaaaaaaa", "not a Parquet file: it is a ZIP archive; extract"),
        ("gzip", b"\x1f\x8b\x08aaaaaaaaaaaaaaaaaaaa", "it is a gzip file; decompress"),
        ("text", b"id,name\n1,a\n2,b\n3,c\n", "not a Parquet file: it is text, perhaps CSV; lath convert makes"),
        ("json", b"{\"id\":1}\n{\"id\":2}\n", "perhaps JSON; lath convert makes"),
        ("feather", b"ARROW1\0\0aaaaaaaaaaaaaaaaaaaaaa", "an Arrow IPC file; lath convert makes"),
        ("bytes", &[0x80; 40], "not a Parquet file"),
        ("short", &whole[..whole.len() - 100], "cut short"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        for command in ["count", "schema", "meta", "head", "cat"] {
            let run = lath([command, path.to_str().unwrap()]);
            assert_eq!(run.code, 3, "{command} {name}: {}", run.stderr);
            assert!(run.stderr.contains(hint) && run.stderr.contains(name), "{command} {name}: {}", run.stderr);
            assert_eq!(run.stderr.contains("corrupt data"), name == "short", "{}", run.stderr);
        }
    }
}

#[test]
fn what_is_encrypted_without_a_key_is_2_and_not_called_corrupt() {
    let Some(folder) = lath_testkit::parquet_test_data() else { return };
    let path = |name: &str| folder.join("data").join(name).canonicalize().unwrap().to_str().unwrap().to_owned();
    let whole = path("encrypt_columns_and_footer.parquet.encrypted");
    for command in ["count", "schema", "meta", "head"] {
        let run = lath([command, &whole]);
        assert!(run.code == 2 && run.stderr.contains("the footer is encrypted"), "{command}: {}", run.stderr);
        assert!(run.stderr.contains("--footer-key") && !run.stderr.contains("corrupt"), "{}", run.stderr);
    }
    // The footer can be read, and six of eight columns.
    let partly = path("encrypt_columns_plaintext_footer.parquet.encrypted");
    let run = lath(["head", &partly, "--columns", "float_field"]);
    assert!(run.code == 2 && run.stderr.contains("column float_field is encrypted"), "{}", run.stderr);
    assert_eq!(lath(["head", &partly, "--columns", "int32_field"]).code, 0);
    let run = lath(["meta", &partly, "--pages"]);
    let text = run.text(0);
    assert!(text.contains("Pages of double_field in row group 0: encrypted: give its key"), "{text}");
    assert!(text.contains("Pages of int32_field in row group 0\n"), "{text}");
    let run = lath(["meta", &partly, "--json"]);
    let columns = &run.json_lines(0)[0]["row_groups"][0]["columns"];
    let is_described = |column: &serde_json::Value| column["encrypted"] == column["pages"].is_null();
    assert!(columns.as_array().unwrap().iter().all(is_described), "{columns}");
    // Other columns and other files are still checked.
    let run = lath(["check", &whole, &partly, &sample("stations.parquet")]);
    let text = run.text(2);
    assert!(text.contains("the footer is encrypted") && text.contains("stations.parquet: ok ("), "{text}");
    assert!(
        text.contains("column double_field: column double_field is encrypted") && !text.contains("corrupt"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 4, "{text}");
    let keys = ["--footer-key", "30313233343536373839303132333435"];
    let run = lath([&["head", &partly, "--columns", "float_field"][..], &keys].concat());
    assert!(run.code == 2 && run.stderr.contains("column float_field is encrypted"), "{}", run.stderr);
}

#[test]
fn storage_that_fails_is_4() {
    let missing = lath(["count", "/nowhere/at/all.parquet"]);
    assert_eq!(missing.code, 4);
    assert!(missing.stderr.contains("/nowhere/at/all.parquet"), "{}", missing.stderr);
    let unwritable = lath(["cat", &sample("stations.parquet"), "-o", "/nowhere/at/all.csv"]);
    assert_eq!(unwritable.code, 4);
    assert!(unwritable.stderr.contains("/nowhere/at/all.csv"), "{}", unwritable.stderr);
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(lath(["count", empty.path().to_str().unwrap()]).code, 4);
    #[cfg(target_os = "linux")]
    {
        let full = lath(["cat", &sample("trips"), "-o", "/dev/full", "--format", "csv"]);
        assert_eq!(full.code, 4, "{}", full.stderr);
    }
}
