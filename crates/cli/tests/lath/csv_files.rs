//! Real-world CSV files: delimiters, quotes, nulls, compression, and broken files.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::invocation::{Run, lath, lath_with_input};

fn convert(csv: &[u8], options: &[&str]) -> Run {
    let args = ["convert", "-", "--from", "csv", "--format", "jsonl"];
    lath_with_input(&[&args, options].concat(), csv)
}

#[track_caller]
fn error(csv: &[u8], options: &[&str], parts: &[&str]) {
    let run = convert(csv, options);
    assert_eq!(run.code, 3, "{}", run.stderr);
    for part in parts {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

/// Compresses `bytes` with another program; `None` if the machine does not have it.
fn compressed(program: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new(program).arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    stdin.write_all(bytes).unwrap();
    drop(stdin);
    Some(child.wait_with_output().unwrap().stdout)
}

/// `text`, stored without compression in a member of a gzip file (RFC 1952).
fn gzip_member(text: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in text {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let len = text.len() as u16;
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    member.extend([len.to_le_bytes(), (!len).to_le_bytes()].concat());
    member.extend(text);
    member.extend([(!crc).to_le_bytes(), u32::from(len).to_le_bytes()].concat());
    member
}

/// `text` as one raw block in a frame of Zstandard (RFC 8878).
fn zstd_frame(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, text.len() as u8];
    frame.extend(&((text.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    frame.extend(text);
    frame
}

#[test]
fn the_delimiter_is_found_in_the_first_lines() {
    for delimiter in [",", ";", "\t", "|"] {
        let csv = format!("id{delimiter}name\n1{delimiter}\"a, b; c\"\n2{delimiter}d\n");
        assert_eq!(convert(csv.as_bytes(), &[]).json_lines(0)[0], json!({"id": 1, "name": "a, b; c"}), "{delimiter:?}");
    }
    let one_column = convert(b"text\na;b\n", &[]).json_lines(0);
    assert_eq!(one_column, [json!({"text": "a;b"})]);
    assert_eq!(convert(b"a,b;c\n1,2;3\n", &[]).json_lines(0), [json!({"a": 1, "b;c": "2;3"})]);
}

#[test]
fn a_row_of_another_length_is_an_error_with_its_line_and_the_delimiter() {
    error(b"a;b\n1;2\n\"x\ny\";2\n3\n", &[], &["line 5: 1 field", "the first record has 2", "';'", "--delimiter"]);
    error(b"a,b\n1,2,3,4\n", &[], &["line 2: 4 fields", "','"]);
}

#[test]
fn compression_is_told_by_the_first_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let rows = [json!({"a": 1, "b": "x"}), json!({"a": 2, "b": "y"})];
    let (first, second) = (b"a;b\n1;x\n".as_slice(), b"2;y\n".as_slice());
    let gzip = [gzip_member(first), gzip_member(second)].concat();
    let zstd = [zstd_frame(first), zstd_frame(second)].concat();
    for (name, bytes) in [("a.csv", &gzip), ("a.csv.gz", &gzip), ("b.csv", &zstd), ("b.csv.zst", &zstd)] {
        fs::write(path(name), bytes).unwrap();
        assert_eq!(lath(["convert", &path(name), "--format", "jsonl"]).json_lines(0), rows, "{name}");
        assert_eq!(convert(bytes, &[]).json_lines(0), rows, "{name} in a pipe");
    }
    fs::write(path("lines"), gzip_member(b"{\"a\":1}\n")).unwrap();
    assert_eq!(lath(["convert", &path("lines"), "--format", "csv"]).text(0), "a\n1\n");
    let many: String = (0..50_000).map(|row| format!("{row},text {row}\n")).collect();
    for program in ["gzip", "zstd"] {
        if let Some(bytes) = compressed(program, format!("a,b\n{many}").as_bytes()) {
            let run = convert(&bytes, &[]);
            assert_eq!(run.json_lines(0)[49_999], json!({"a": 49_999, "b": "text 49999"}), "{program}");
        }
    }
    let cut = convert(&gzip[..gzip.len() - 10], &[]);
    assert_eq!(cut.code, 4, "{}", cut.stderr);
}

#[test]
fn a_mark_of_utf_8_and_line_ends_of_windows_are_not_data() {
    let rows = [json!({"a": 1, "b": "x"}), json!({"a": 2, "b": "y"})];
    assert_eq!(convert(b"\xef\xbb\xbf\"a\",b\r\n1,x\r\n2,y\r\n", &[]).json_lines(0), rows);
    assert_eq!(lath_with_input(&["convert", "-", "--format", "csv"], b"\xef\xbb\xbf{\"a\":1}\n").text(0), "a\n1\n");
}

#[test]
fn nothing_is_null_and_quoted_nothing_is_an_empty_text() {
    let csv = "id,text\n1,\n2,\"\"\n,a\n\"\",b\n";
    let rows = convert(csv.as_bytes(), &[]).json_lines(0);
    let texts: Vec<_> = rows.iter().map(|row| (row["id"].clone(), row["text"].clone())).collect();
    assert_eq!(
        texts,
        [(json!(1), json!(null)), (json!(2), json!("")), (json!(null), json!("a")), (json!(null), json!("b"))]
    );
    let again = lath_with_input(&["convert", "-", "--from", "csv", "--format", "csv"], csv.as_bytes());
    assert_eq!(again.text(0), "id,text\n1,\n2,\"\"\n,a\n,b\n");
}

#[test]
fn an_empty_line_is_the_null_of_a_single_column() {
    for csv in ["s\na\n\n\"\"\nb\n\n", "s\r\na\r\n\r\n\"\"\r\nb\r\n\r\n"] {
        let rows = convert(csv.as_bytes(), &[]).json_lines(0);
        let texts = [json!("a"), json!(null), json!(""), json!("b"), json!(null)].map(|text| json!({ "s": text }));
        assert_eq!(rows, texts, "{csv:?}");
        let again = lath_with_input(&["convert", "-", "--from", "csv", "--format", "csv"], csv.as_bytes());
        assert_eq!(again.text(0), "s\na\n\n\"\"\nb\n\n", "{csv:?}");
    }
    // Readers that skip empty lines see nulls of numbers.
    let numbers = lath_with_input(&["convert", "-", "--from", "csv", "--format", "csv"], b"n\n1\n\n\"\"\n2\n");
    assert_eq!(numbers.text(0), "n\n1\n\"\"\n\"\"\n2\n");
    let query = "SELECT * FROM (VALUES ('a'), (NULL), ('')) AS t(s)";
    assert_eq!(lath(["sql", "--format", "csv", query]).text(0), "s\na\n\n\"\"\n");
}

#[test]
fn tokens_stand_for_null_in_both_directions() {
    let csv = b"a,b\n1,NA\nNA,\"NA\"\n-,\n3,\"\"\n";
    let tokens = ["--null", "NA", "--null", "-"];
    let rows = convert(csv, &tokens).json_lines(0);
    assert_eq!(
        rows,
        [
            json!({"a": 1, "b": null}),
            json!({"a": null, "b": "NA"}),
            json!({"a": null, "b": null}),
            json!({"a": 3, "b": ""})
        ]
    );
    let args = ["convert", "-", "--from", "csv", "--format", "csv"];
    let written = lath_with_input(&[args.as_slice(), &tokens].concat(), csv);
    assert_eq!(written.text(0), "a,b\n1,NA\nNA,\"NA\"\nNA,NA\n3,\"\"\n");
    let other = lath_with_input(&[args.as_slice(), &tokens, &["--output-null", "\\N"]].concat(), csv);
    assert_eq!(other.text(0), "a,b\n1,\\N\n\\N,NA\n\\N,\\N\n3,\"\"\n");
    let one = lath_with_input(&[args.as_slice(), &["--null", "NA"]].concat(), b"a\nNA\n\"\"\nx\n");
    assert_eq!(one.text(0), "a\nNA\n\"\"\nx\n");
    assert_eq!(lath_with_input(&[args.as_slice(), &["--output-null", "a,b"]].concat(), csv).code, 2);
}

#[test]
fn the_delimiter_of_the_output_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("a.csv"), "a,b\n1,x;y\n").unwrap();
    for (options, expected) in [
        (vec!["-o", "b.csv"], "a,b\n1,x;y\n"),
        (vec!["-o", "b.tsv"], "a\tb\n1\tx;y\n"),
        (vec!["-o", "c.csv", "--output-delimiter", ";"], "a;b\n1;\"x;y\"\n"),
    ] {
        let output = path(options[1]);
        lath([&["convert", &path("a.csv"), "-o", &output], &options[2..]].concat()).text(0);
        assert_eq!(fs::read_to_string(&output).unwrap(), expected);
    }
    fs::write(path("a.jsonl"), "{\"a\":1,\"b\":null}\n").unwrap();
    let run = lath(["convert", &path("a.jsonl"), "--format", "csv", "--delimiter", "|", "--null", "?"]);
    assert_eq!(run.text(0), "a|b\n1|?\n");
    let run = lath(["convert", &path("a.csv"), "--format", "jsonl", "--output-delimiter", ";"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn quotes_can_be_chosen() {
    assert_eq!(convert(b"a,b\n'x,y',1\n", &["--quote", "'"]).json_lines(0), [json!({"a": "x,y", "b": 1})]);
    assert_eq!(convert(b"a,b\n6\" pipe,1\n", &["--quote", "none"]).json_lines(0), [json!({"a": "6\" pipe", "b": 1})]);
    assert_eq!(convert(b"a,b\n\"x,1\n", &["--quote", "none"]).json_lines(0), [json!({"a": "\"x", "b": 1})]);
}

#[test]
fn what_is_no_csv_in_utf_8_is_explained() {
    error(b"a,b\n1,x\n2,\"y\n3,z\n", &[], &["line 3", "quote", "--quote"]);
    error(b"a,b\n1,x\n\n2,caf\xe9\n", &[], &["line 4", "column b", "iconv"]);
    error(b"a,b\n1,\xc3\n2,\xa9\n", &[], &["line 2", "column b", "iconv"]);
    error(b"caf\xe9\n1\n", &[], &["line 1", "UTF-8"]);
    error(b"\xff\xfea\0,\0b\0\n\0", &[], &["UTF-16", "iconv"]);
    error(b"\xfd7zXZ\0rest", &[], &["xz"]);
    error(b"PK\x03\x04rest", &[], &["ZIP"]);
}

#[test]
fn without_a_header_the_first_line_is_a_row() {
    let rows = convert(b"1,\"\"\n2,NA\n", &["--no-header", "--null", "NA"]).json_lines(0);
    assert_eq!(rows, [json!({"column_1": 1, "column_2": ""}), json!({"column_1": 2, "column_2": null})]);
}

#[test]
fn errors_in_json_lines_name_the_line() {
    let convert = |lines: &str, options: &[&str]| {
        lath_with_input(&[&["convert", "-", "--from", "jsonl", "--format", "csv"], options].concat(), lines.as_bytes())
    };
    let rows: String = (0..20_000).map(|row| format!("{{\"a\":{row},\"b\":\"x\"}}\n")).collect();
    for (last, part) in [("{\"a\":\"x\"}", "'a'"), ("{\"a\":1,", ""), ("{\"a\":1,\"c\":2}", "'c'"), ("nonsense", "")] {
        let run = convert(&format!("{rows}\n{last}\n"), &["--infer-rows", "100"]);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains("line 20002: ") && run.stderr.contains(part), "{}", run.stderr);
    }
    let run = convert("{\"a\":1}\n\n{\"a\":1,\n", &[]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("line 3: "), "{}", run.stderr);
    let run = convert("{\"a\":\"00\"}\n{\"a\":\"zz\"}\n", &["--type", "a=binary"]);
    assert!(run.stderr.contains("line 2: ") && run.stderr.contains("'a'"), "{}", run.stderr);
}

#[test]
fn a_line_that_says_the_separator_is_no_row() {
    let rows = |text: &str, options: &[&str]| {
        let args = [&["convert", "-", "--from", "csv", "--format", "jsonl"], options].concat();
        lath_with_input(&args, text.as_bytes())
    };
    for text in
        ["sep=;\r\na;b\r\n1,5;2\r\n", "\u{feff}sep=;\na;b\n1,5;2\n", "\"sep=;\"\na;b\n1,5;2\n", "SEP=;\na;b\n1,5;2\n"]
    {
        let expected = [serde_json::json!({"a": 1.5, "b": 2})];
        assert_eq!(rows(text, &["--decimal", ","]).json_lines(0), expected, "{text:?}");
    }
    assert_eq!(
        rows("sep=|\na|b\n", &["--no-header"]).json_lines(0)[0],
        serde_json::json!({"column_1": "a", "column_2": "b"})
    );
    let late = rows("sep=;\na;b\n1;2\nx;3\n", &["--infer-rows", "1"]);
    assert!(late.code == 3 && late.stderr.contains("line 4"), "{}", late.stderr);
    assert_eq!(rows("sep=x,b\n1,2\n", &[]).json_lines(0)[0], serde_json::json!({"sep=x": 1, "b": 2}));
}
