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
        ("empty", &b""[..], "the file is empty"),
        ("zip", b"PK\x03\x04aaaaaaaaaaaaaaaaaaaa", "ZIP archive"),
        ("gzip", b"\x1f\x8b\x08aaaaaaaaaaaaaaaaaaaa", "gzip file"),
        ("text", b"id,name\n1,a\n2,b\n3,c\n", "not a Parquet file"),
        ("short", &whole[..whole.len() - 100], "cut short"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        for command in ["count", "schema", "meta", "head", "cat"] {
            let run = lath([command, path.to_str().unwrap()]);
            assert_eq!(run.code, 3, "{command} {name}: {}", run.stderr);
            assert!(run.stderr.contains(hint) && run.stderr.contains(name), "{command} {name}: {}", run.stderr);
        }
    }
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
