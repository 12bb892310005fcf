//! Commands that read rows, over CSV, JSON lines and Arrow IPC.

use std::fs;
use std::io::Write;

use serde_json::json;

use crate::invocation::lath;

const CSV: &str = "id,text,day,x\n1,,2024-01-31,1.5\n2,\"\",2024-02-01,2\n3,x,,\n4,y,,4\n";
const JSON: &str = "{\"id\":1,\"s\":{\"a\":1,\"b\":[1,2]}}\n{\"id\":2,\"s\":{\"a\":null,\"b\":[]}}\n{\"id\":3}\n";

fn gzip(text: &str) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn every_command_that_reads_rows_reads_text() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("a.csv"), CSV).unwrap();
    fs::write(at("a.csv.gz"), gzip(CSV)).unwrap();
    fs::write(at("a.jsonl"), JSON).unwrap();
    lath(["convert", &at("a.csv"), "-o", &at("a.arrow")]).text(0);
    for name in ["a.csv", "a.csv.gz", "a.jsonl", "a.arrow"] {
        let (path, parquet) = (at(name), at(&format!("{name}.parquet")));
        lath(["convert", &path, "-o", &parquet]).text(0);
        let same = |command: &[&str]| {
            let run = |path: &str| lath([&command[..1], &[path], &command[1..]].concat()).text(0).to_owned();
            assert_eq!(run(&path), run(&parquet), "{command:?} {name}");
        };
        for command in [
            &["head", "-n", "2"][..],
            &["head", "-n", "0"],
            &["head", "--columns", "id", "--format", "csv"],
            &["tail", "-n", "2"],
            &["sample", "-n", "2", "--seed", "1"],
            &["cat"],
            &["count"],
            &["count", "--where", "id > 1"],
            &["find", "--where", "id > 1", "--row-number", "at", "--limit", "2"],
        ] {
            same(command);
        }
        #[cfg(feature = "sql")]
        for command in [
            &["describe"][..],
            &["describe", "--where", "id > 1", "--columns", "id"],
            &["count", "--by", "id"],
            &["find", "--where", "id > 1", "--order-by", "id desc"],
        ] {
            same(command);
        }
        let schema = lath(["schema", &path]).text(0).to_owned();
        assert!(schema.starts_with("Arrow\n  id: Int64\n"), "{schema}");
        for command in [&["head", "--row-groups", "0"][..], &["find", "--where", "id > 1", "--explain"]] {
            let run = lath([command, &[&path]].concat());
            assert_eq!(run.code, 2, "{command:?}");
            assert!(run.stderr.contains("applies to Parquet files"), "{}", run.stderr);
        }
    }
    let found = lath(["find", &at("a.jsonl"), "--where", "s.a = 1", "--select", "s.b"]).json_lines(0);
    assert_eq!(found, [json!({"s": {"b": [1, 2]}})]);
    let found = lath(["find", &at("a.csv"), "--where", "text = ''", "--select", "id"]).json_lines(0);
    assert_eq!(found, [json!({"id": 2})]);
}

#[test]
fn options_and_several_files_are_as_in_convert() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir_all(at("d/year=2024")).unwrap();
    fs::create_dir_all(at("d/year=2025")).unwrap();
    fs::write(at("d/year=2024/a.csv"), "id;x\n007;1,5\n").unwrap();
    fs::write(at("d/year=2025/b.csv"), "id;x\n8;NA\n").unwrap();
    let files = at("d/*/*.csv");
    let rows = lath(["cat", &files, "--decimal", ",", "--null", "NA", "--type", "id=string"]).json_lines(0);
    let expected = [json!({"id": "007", "x": 1.5, "year": 2024}), json!({"id": "8", "x": null, "year": 2025})];
    assert_eq!(rows, expected);
    let run = lath(["head", &files, "--type", "id=bool"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("a.csv: line 2, column id"), "{}", run.stderr);
    // A name does not make a file of text.
    lath(["convert", &at("d/year=2024/a.csv"), "-o", &at("a.parquet")]).text(0);
    fs::rename(at("a.parquet"), at("wrong.csv")).unwrap();
    assert_eq!(lath(["count", &at("wrong.csv")]).text(0), "1\n");
}

#[test]
fn the_first_rows_are_shown_before_a_line_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv").to_str().unwrap().to_owned();
    let mut text = "id,x\n".to_owned();
    (0..20_000).for_each(|id| text.push_str(&format!("{id},{id}\n")));
    text.push_str("broken\n");
    fs::write(&path, text).unwrap();
    let rows = lath(["head", "-n", "2", &path, "--infer-rows", "10"]).json_lines(0);
    assert_eq!(rows, [json!({"id": 0, "x": 0}), json!({"id": 1, "x": 1})]);
    let run = lath(["count", &path, "--infer-rows", "10"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("line 20002"), "{}", run.stderr);
}
