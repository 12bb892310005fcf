//! Numbers, dates and times of JSON keep every digit, and each field has one value, or there is an error that names the line.

use std::fs;

use serde_json::{Value, json};

use crate::invocation::{lath, lath_with_input};

/// Converts JSON lines to rows.
fn rows(lines: &str, options: &[&str]) -> Vec<Value> {
    let args = [&["convert", "-", "--from", "jsonl", "--format", "jsonl"], options].concat();
    lath_with_input(&args, lines.as_bytes()).json_lines(0)
}

/// The values of the column `a`.
fn values(lines: &str, options: &[&str]) -> Vec<Value> {
    rows(lines, options).into_iter().map(|mut row| row["a"].take()).collect()
}

/// The error of converting these lines.
fn error(lines: &str, options: &[&str]) -> String {
    let args = [&["convert", "-", "--from", "jsonl", "--format", "jsonl"], options].concat();
    let run = lath_with_input(&args, lines.as_bytes());
    assert_eq!(run.code, 3, "{lines}: {}", run.stderr);
    run.stderr
}

#[test]
fn numbers_that_a_column_does_not_hold_are_errors_with_their_line() {
    let one = &["--infer-rows", "1"][..];
    for (lines, options, expected) in [
        ("{\"a\":1}\n{\"a\":2.5}", one, "line 2: field 'a': 2.5 is not a value of Int64"),
        ("{\"a\":1}\n\n{\"a\":18446744073709551616}", one, "line 3: field 'a': 18446744073709551616 is not"),
        ("{\"a\":0.1}\n{\"a\":0.12345678901234567890}", one, "line 2: field 'a': 0.12345678901234567890 is not"),
        ("{\"a\":1.5}\n{\"a\":9007199254740993}", one, "line 2: field 'a': 9007199254740993 is not a value of Float64"),
        (
            "{\"a\":{\"b\":[1,2]}}\n{\"a\":{\"b\":[2.5]}}",
            one,
            "line 2: field 'a': field 'b': 2.5 is not a value of Int64",
        ),
        ("{\"a\":300}", &["--type", "a=Int8"], "line 1: field 'a': 300 is not a value of Int8"),
        ("{\"a\":-1}", &["--type", "a=UInt8"], "-1 is not a value of UInt8"),
        ("{\"a\":1e39}", &["--type", "a=Float32"], "1e39 is not a value of Float32"),
        (
            "{\"a\":1.255}",
            &["--type", "a=decimal(18,2)"],
            "line 1: field 'a': 1.255 is not a value of Decimal128(18, 2)",
        ),
        ("{\"a\":12345}", &["--type", "a=decimal(4,0)"], "12345 is not a value of Decimal128(4, 0)"),
        ("{\"a\":true}", &["--type", "a=bigint"], "\"true\" is not a value of Int64"),
        ("{\"a\":\"x\"}", &["--type", "a=double"], "\"x\" is not a value of Float64"),
        ("{\"a\":5.5}", &["--type", "a=timestamp"], "5.5 is not a value of Timestamp"),
        (
            "{\"a\":\"2025-01-01T00:00:00.1234567\"}",
            &["--type", "a=timestamp"],
            "00.1234567\" is not a value of Timestamp",
        ),
        ("{\"a\":\"2025-01-01T12:00:00\"}", &["--type", "a=date"], "is not a value of Date32"),
        ("{\"a\":3.5}", &["--type", "a=date"], "3.5 is not a value of Date32"),
        ("{\"a\":\"12:00:00.1234567\"}", &["--type", "a=time"], "is not a value of Time64"),
        (
            "{\"a\":[\"2025-01-01T00:00:00.5\"]}",
            &["--type", "a=List(Timestamp(Second, None))"],
            "is not a value of Timestamp",
        ),
    ] {
        let error = error(lines, options);
        assert!(error.contains(expected), "{lines}: {error}");
    }
}

#[test]
fn numbers_fit_however_they_are_written() {
    assert_eq!(
        values("{\"a\":1}\n{\"a\":2.0}\n{\"a\":1e3}\n{\"a\":-0}", &["--infer-rows", "1"]),
        [json!(1), json!(2), json!(1000), json!(0)]
    );
    let decimals = values("{\"a\":1.25e1}\n{\"a\":\"3.5\"}\n{\"a\":7}", &["--type", "a=decimal(18,2)"]);
    assert_eq!(decimals, [json!(12.5), json!(3.5), json!(7.0)]);
    let moments = values("{\"a\":\"2025-01-01T00:00:00.123456\"}\n{\"a\":5}\n{\"a\":null}", &["--type", "a=timestamp"]);
    assert_eq!(moments, [json!("2025-01-01T00:00:00.123456"), json!("1970-01-01T00:00:00.000005"), Value::Null]);
    assert_eq!(
        values("{\"a\":\"2025-01-01\"}\n{\"a\":3}", &["--type", "a=date"]),
        [json!("2025-01-01"), json!("1970-01-04")]
    );
    assert_eq!(
        values("{\"a\":0.1}\n{\"a\":0.123456789012345678}", &["--type", "a=double"])[1],
        json!(0.123_456_789_012_345_68)
    );
}

#[test]
fn types_are_inferred_that_hold_every_digit() {
    for (lines, expected) in [
        ("{\"a\":9007199254740993}\n{\"a\":1.5}", [json!("9007199254740993"), json!("1.5")]),
        ("{\"a\":18446744073709551615}\n{\"a\":1}", [json!(18_446_744_073_709_551_615_u64), json!(1)]),
        ("{\"a\":18446744073709551615}\n{\"a\":-1}", [json!("18446744073709551615"), json!("-1")]),
        ("{\"a\":123456789012345678901234567890}\n{\"a\":1}", [json!("123456789012345678901234567890"), json!("1")]),
        ("{\"a\":0.12345678901234567890}\n{\"a\":1}", [json!("0.12345678901234567890"), json!("1")]),
        ("{\"a\":\"x\"}\n{\"a\":5.10}", [json!("x"), json!("5.10")]),
        ("{\"a\":1}\n{\"a\":2.5}", [json!(1.0), json!(2.5)]),
    ] {
        assert_eq!(values(lines, &[]), expected, "{lines}");
    }
    let nested = rows("{\"a\":{\"b\":[9007199254740993,1.5]},\"c\":1.5}", &[]);
    assert_eq!(nested, [json!({"a": {"b": ["9007199254740993", "1.5"]}, "c": 1.5})]);
}

#[test]
fn a_struct_without_fields_is_said_to_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("a.jsonl"), folder.path().join("a.parquet"));
    fs::write(&input, "{\"a\":{}}\n").unwrap();
    let run = lath(["convert", input.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("column a is a struct without fields") && !run.stderr.contains("--sort-by"),
        "{}",
        run.stderr
    );
}

#[test]
fn two_fields_of_one_name_are_an_error_with_its_line() {
    let (all, one) = (&["--infer-rows", "all"][..], &["--infer-rows", "1"][..]);
    for (lines, expected) in [
        ("{\"a\":1}\n\n{\"a\":1,\"a\":2}", "line 3: an object has two fields \"a\"; give each field a different name"),
        ("{\"a\":1}\n{\"a\":1,\"\\u0061\":2}", "line 2: an object has two fields \"a\";"),
        ("{\"a\":{\"b\":1}}\n{\"a\":{\"b\":1,\"b\":null}}", "line 2: an object has two fields \"b\";"),
        ("{\"a\":[{\"b\":1}]}\n{\"a\":[{\"b\":1},{\"b\":1,\"b\":1}]}", "line 2: an object has two fields \"b\";"),
        // Types of the two differ.
        ("{\"a\":1}\n{\"a\":{\"x\":1},\"a\":2}", "line 2: "),
    ] {
        for options in [all, one] {
            let error = error(lines, options);
            assert!(error.contains(expected), "{lines}: {error}");
            assert!(expected.len() < 10 || !error.contains("infer"), "{error}");
        }
    }
    // Equal names in different objects are not repetitions.
    let lines = "{\"a\":1,\"b\":{\"a\":1}}\n".repeat(5000) + "{\"b\":{\"a\":1},\"a\":2}\n";
    assert_eq!(rows(&lines, one).len(), 5001);
    let error = error(&(lines + "{\"b\":{\"a\":1,\"a\":1},\"a\":2}\n"), one);
    assert!(error.contains("line 5002: an object has two fields \"a\""), "{error}");
}

#[test]
fn a_map_has_a_key_once() {
    let map =
        &["--type", "a=Map(\"entries\": non-null Struct(\"keys\": non-null Utf8, \"values\": Int64), unsorted)"][..];
    let lines = "{\"a\":{\"x\":1,\"y\":2}}\n";
    assert_eq!(values(lines, map), [json!({"x": 1, "y": 2})]);
    let error = error(&lines.replace('y', "x"), map);
    assert!(error.contains("line 1: an object has two fields \"x\""), "{error}");
}

#[test]
fn entries_of_a_store_have_one_value() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("s");
    let lines = b"{\"key\":\"a\",\"value\":\"1\"}\n{\"key\":\"b\",\"value\":\"1\",\"value\":\"2\"}\n";
    let run = lath_with_input(&["kv", "load", store.to_str().unwrap(), "-", "--format", "jsonl"], lines);
    assert!(run.code == 3 && run.stderr.contains("line 2: an object has two fields \"value\""), "{}", run.stderr);
}

#[cfg(feature = "sql")]
#[test]
fn sql_refuses_two_fields_of_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let lines = "{\"a\":1}\n".repeat(20_000) + "{\"a\":2,\"a\":3}\n";
    fs::write(&path, lines).unwrap();
    let run = lath(["sql", &format!("SELECT sum(a) FROM '{}'", path.display())]);
    let expected = "line 20001: an object has two fields \"a\"; give each field a different name";
    assert!(run.code != 0 && run.stderr.contains(expected) && !run.stderr.contains("infer"), "{}", run.stderr);
}

#[cfg(feature = "sql")]
#[test]
fn sql_reads_json_to_the_last_digit_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("a b.jsonl"), "{\"n\":9007199254740993,\"x\":1}\n{\"n\":1.5,\"x\":2}\n").unwrap();
    // With a byte order mark.
    fs::write(path("c.jsonl"), "\u{feff}{\"n\":\"7\",\"y\":true}\n").unwrap();
    let answer = |query: &str| lath(["sql", query, "--format", "jsonl"]);
    let one = answer(&format!("SELECT n, x FROM '{}' ORDER BY x", path("a b.jsonl")));
    assert_eq!(one.json_lines(0), [json!({"n": "9007199254740993", "x": 1}), json!({"n": "1.5", "x": 2})]);
    let both = answer(&format!("SELECT count(*) AS n, count(x) AS x, count(y) AS y FROM '{}'", path("*.jsonl")));
    assert_eq!(both.json_lines(0), [json!({"n": 3, "x": 2, "y": 1})]);

    // Types are inferred from all lines of a small file, and from the first lines of one that is compressed.
    let mut lines = "{\"a\":1}\n".repeat(20_000);
    lines.push_str("{\"a\":2.5}\n");
    fs::write(path("d.json"), &lines).unwrap();
    let whole = answer(&format!("SELECT sum(a) AS a FROM '{}'", path("d.json")));
    assert_eq!(whole.json_lines(0), [json!({"a": 20_002.5})]);
    fs::write(path("d.json.zst"), zstd::encode_all(lines.as_bytes(), 1).unwrap()).unwrap();
    let cut = answer(&format!("SELECT sum(a) FROM '{}'", path("d.json.zst")));
    assert!(
        cut.code != 0 && cut.stderr.contains("line 20001: field 'a': 2.5 is not a value of Int64"),
        "{} {}",
        cut.code,
        cut.stderr
    );
}

#[test]
fn tables_take_no_number_that_they_would_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("a.jsonl"), "{\"id\":1,\"n\":1}\n").unwrap();
    fs::write(path("b.jsonl"), "{\"id\":2,\"n\":2}\n{\"id\":3,\"n\":2.5}\n").unwrap();
    lath(["table", "create", &path("t"), "--key", "id", &path("a.jsonl")]).text(0);
    let run = lath(["table", "upsert", &path("t"), &path("b.jsonl")]);
    assert!(
        run.code != 0 && run.stderr.contains("line 2: field 'n': 2.5 is not a value of Int64"),
        "{} {}",
        run.code,
        run.stderr
    );
}
