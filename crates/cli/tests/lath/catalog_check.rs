//! `catalog check`, and the same answers with a catalog and without.

use std::fs;
use std::path::Path;

use crate::invocation::{Run, lath, lath_with_input};

fn write(path: &Path, lines: &str) {
    let path = path.to_str().unwrap();
    let run = lath_with_input(&["convert", "-", "--from", "jsonl", "-o", path, "--force"], lines.as_bytes());
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_check_says_what_of_a_catalog_is_not_true_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    for (name, line) in [("a", "{\"k\":1}"), ("b", "{\"k\":2}"), ("c", "{\"k\":3}")] {
        write(&data.join(format!("{name}.parquet")), line);
    }
    let data = data.to_str().unwrap();
    assert_eq!(lath(["catalog", "add", data]).code, 0);
    let check = |code: i32| lath(["catalog", "check", data]).text(code).to_owned();
    assert!(check(0).contains("sound: 3 files"));
    write(&Path::new(data).join("a.parquet"), "{\"k\":10}\n{\"k\":11}");
    fs::remove_file(Path::new(data).join("b.parquet")).unwrap();
    write(&Path::new(data).join("d.parquet"), "{\"k\":4}");
    let text = check(1);
    for expected in
        ["a.parquet: has changed", "b.parquet: no longer exists", "d.parquet: is new", "lath catalog refresh"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(text.lines().count(), 4);
    assert_eq!(lath(["catalog", "refresh", data]).code, 0);
    assert!(check(0).contains("sound: 3 files"));
}

#[test]
fn a_check_finds_damage_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    for file in 0..20 {
        write(&data.join(format!("{file}.parquet")), &format!("{{\"k\":{file},\"name\":\"n{file}\"}}"));
    }
    let data = data.to_str().unwrap();
    assert_eq!(lath(["catalog", "add", data]).code, 0);
    let path = Path::new(data).join("_lath_catalog");
    let sound = fs::read(&path).unwrap();
    // Bits of stored footers, which have checksums.
    let at = sound.windows(4).position(|bytes| bytes == b"name").unwrap();
    let mut damaged = sound.clone();
    damaged[at] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let run = lath(["catalog", "check", data]);
    assert_eq!(run.code, 3, "{} {}", String::from_utf8_lossy(&run.stdout), run.stderr);
}

/// The exit code and the output, without the texts of errors.
fn answer(run: &Run) -> (i32, Vec<u8>) {
    (run.code, if run.code == 2 { Vec::new() } else { run.stdout.clone() })
}

#[test]
fn searches_answer_alike_with_a_catalog_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let kinds: [(&str, [&str; 3]); 4] = [
        ("conflict", ["{\"k\":1,\"x\":1}", "{\"k\":11,\"x\":\"t\"}", "{\"k\":21,\"x\":7}"]),
        ("missing", ["{\"k\":1,\"x\":1}", "{\"k\":11}", "{\"k\":21,\"x\":7}"]),
        ("alike", ["{\"k\":1,\"x\":1}", "{\"k\":11,\"x\":5}", "{\"k\":21,\"x\":7}"]),
        ("first conflicts", ["{\"k\":1,\"x\":\"t\"}", "{\"k\":11,\"x\":5}", "{\"k\":21,\"x\":7}"]),
    ];
    for (kind, files) in kinds {
        let data = folder.path().join(kind);
        fs::create_dir(&data).unwrap();
        for (name, lines) in ["a", "b", "c"].iter().zip(files) {
            write(&data.join(format!("{name}.parquet")), lines);
        }
        let (data, catalog) = (data.to_str().unwrap(), folder.path().join(format!("{kind}.catalog")));
        let catalog = catalog.to_str().unwrap();
        assert_eq!(lath(["catalog", "add", data, "--catalog", catalog]).code, 0);
        for condition in ["k = 1", "k = 11", "k = 21", "k = 5", "x = 7", "x = 1", "x = 't'", "k > 5 AND x > 1"] {
            for more in [&[][..], &["--select", "k"][..], &["--select", "x"][..], &["--schema", "union"][..]] {
                let with = |inputs: &[&str]| lath([&["find"], inputs, &["--where", condition], more].concat());
                let (plain, by_catalog) = (with(&[data]), with(&["--catalog", catalog]));
                assert_eq!(answer(&plain), answer(&by_catalog), "{kind}: {condition} {more:?}: {}", by_catalog.stderr);
            }
            let count = |inputs: &[&str]| lath([&["count"], inputs, &["--where", condition]].concat());
            assert_eq!(answer(&count(&[data])), answer(&count(&["--catalog", catalog])), "{kind}: count {condition}");
        }
    }
}
