//! Files, directories, globs and pipes.

use std::fs;
use std::process::{Command, Stdio};

use crate::files::{numbered, write};
use crate::invocation::{BINARY, command, lath, lath_with_input, sample};

#[test]
fn directories_are_searched_and_hidden_names_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for directory in ["x/y", ".hidden", "_delta_log"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let rows = numbered(0..10);
    for name in [
        "a.parquet",
        "x/b.PARQUET",
        "x/y/c.parquet",
        "_d.parquet",
        ".e.parquet",
        ".hidden/f.parquet",
        "_delta_log/g.parquet",
        "h.txt",
    ] {
        write(&root.join(name), &rows, 10);
    }
    let root = root.to_str().unwrap();
    assert_eq!(lath(["count", root]).text(0), "30\n");
    assert_eq!(lath(["count", &format!("{root}/*.parquet")]).text(0), "20\n", "a glob finds what it names");
    assert_eq!(
        lath(["count", &format!("{root}/**/*.parquet")]).text(0),
        "30\n",
        "folders are entered by their names alone"
    );
    assert_eq!(lath(["count", &format!("{root}/_delta_log/*.parquet")]).text(0), "10\n");
    assert_eq!(lath(["count", &format!("{root}/h.txt")]).text(0), "10\n", "a file may have any name");
    assert_eq!(lath(["count", &format!("{root}/.hidden/f.parquet")]).text(0), "10\n");
    let none = lath(["count", &format!("{root}/nothing*")]);
    assert_eq!(none.code, 4);
    assert!(none.stderr.contains("no file has a matching name"), "{}", none.stderr);
}

#[test]
fn standard_input_is_a_file_like_others() {
    let bytes = fs::read(sample("stations.parquet")).unwrap();
    assert_eq!(lath_with_input(&["count", "-"], &bytes).text(0), "12\n");
    assert_eq!(lath_with_input(&["head", "-n", "2", "-"], &bytes).json_lines(0).len(), 2);
    assert_eq!(lath_with_input(&["find", "-", "--where", "name = 'Opera'"], &bytes).json_lines(0).len(), 1);
    assert_eq!(lath_with_input(&["check", "-"], &bytes).code, 0);
    let twice = lath_with_input(&["count", "-", "-"], &bytes);
    assert_eq!(twice.code, 2);
    let empty = lath_with_input(&["count", "-"], b"");
    assert_eq!(empty.code, 3);
    assert!(empty.stderr.contains("standard input") && empty.stderr.contains("empty"), "{}", empty.stderr);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for format in ["jsonl", "csv", "json", "table", "arrow", "parquet"] {
        let mut lath = command(["cat", &sample("trips"), "--format", format]);
        let mut lath = lath.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let head = Command::new("head").args(["-c", "10"]).stdin(lath.stdout.take().unwrap()).output().unwrap();
        assert_eq!(head.stdout.len(), 10);
        let output = lath.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
}

#[test]
fn commands_join_in_a_pipe() {
    let first = lath(["cat", &sample("trips/2025-03.parquet"), "--format", "parquet", "--columns", "minutes"]);
    assert_eq!(first.code, 0, "{BINARY}: {}", first.stderr);
    assert_eq!(lath_with_input(&["count", "-"], &first.stdout).text(0), "10000\n");
}

#[test]
fn lists_and_urls_name_files_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("year=2026")).unwrap();
    write(&root.join("a.parquet"), &numbered(0..10), 10);
    write(&root.join("year=2026/b.parquet"), &numbered(0..20), 10);
    let url = format!("file://{}", root.join("year=2026/b.parquet").display());
    assert_eq!(lath(["count", &url]).text(0), "20\n");
    let list = root.join("list.txt");
    fs::write(&list, format!("# both\n{}\n{url}\n", root.join("a.parquet").display())).unwrap();
    let list = format!("@{}", list.display());
    assert_eq!(lath(["count", &list]).text(0), "30\n");
    assert_eq!(lath(["cat", &list]).json_lines(0).len(), 30);
    assert_eq!(lath(["find", &list, "--where", "year = 2026"]).json_lines(0).len(), 20);
    for (name, code) in [("@missing.txt", 4), ("ftp://host/a.parquet", 2), ("http://host/data/", 2)] {
        let refused = lath(["count", name]);
        assert!(
            refused.code == code && refused.stderr.contains(&name[1..]),
            "{name}: {} {}",
            refused.code,
            refused.stderr
        );
    }
}
