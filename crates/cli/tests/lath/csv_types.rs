//! Inferred types of CSV columns, and errors for values that do not fit.

use std::fs;

use serde_json::{Value, json};

use crate::invocation::{Run, lath, lath_with_input};

/// Converts `csv` to JSON lines.
fn convert(csv: &str, options: &[&str]) -> Run {
    let args = ["convert", "-", "--from", "csv", "--format", "jsonl"];
    lath_with_input(&[&args, options].concat(), csv.as_bytes())
}

/// The values of the only column, which is called `a`.
#[track_caller]
fn values(lines: &[&str], options: &[&str]) -> Vec<Value> {
    let csv = format!("a\n{}\n", lines.join("\n"));
    convert(&csv, options).json_lines(0).into_iter().map(|mut row| row["a"].take()).collect()
}

/// The error for a file with this content.
fn error(csv: &str, options: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    fs::write(&path, csv).unwrap();
    let run = lath([&["convert", path.to_str().unwrap(), "--format", "jsonl"], options].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    run.stderr
}

#[test]
fn values_that_a_type_would_change_stay_text() {
    for text in [
        "01234",
        "007",
        "+5",
        "1.50?",
        "1e5",
        "12E4",
        "0.12345678901234567890",
        "123456789012345678901234567890",
        "2025-02-30",
        "2025-13-01",
        "1_000",
        "0x1F",
        "2025-01-31 08:30",
    ] {
        assert_eq!(values(&[text], &[]), [json!(text)]);
        // One of them is enough for the whole column.
        assert_eq!(values(&["1", text], &[]), [json!("1"), json!(text)]);
    }
    assert_eq!(values(&["2025-01-31", "2025-02-29"], &[]), [json!("2025-01-31"), json!("2025-02-29")]);
    assert_eq!(values(&["2025-01-31", "2025-01-31 10:00:00"], &[])[0], json!("2025-01-31"));
    assert_eq!(values(&["1.5", "9007199254740993"], &[]), [json!("1.5"), json!("9007199254740993")]);
}

#[test]
fn another_spelling_of_the_same_value_is_no_obstacle() {
    assert_eq!(
        values(&["1.50", "2", ".5", "1e5", "2.5e-07"], &[]),
        [json!(1.5), json!(2.0), json!(0.5), json!(100_000.0), json!(2.5e-7)]
    );
    assert_eq!(
        values(&["0.10000000000000001", "0.30000000000000004"], &[]),
        [json!(0.1), json!(0.300_000_000_000_000_04)]
    );
    assert_eq!(values(&["True", "FALSE"], &[]), [json!(true), json!(false)]);
    assert_eq!(values(&["0", "18446744073709551615"], &[]), [json!(0), json!(u64::MAX)]);
}

#[test]
fn timestamps_with_offsets_are_instants() {
    assert_eq!(
        values(&["2025-01-31T08:30:00+01:00", "2025-01-31 08:30:00Z"], &[]),
        [json!("2025-01-31T07:30:00Z"), json!("2025-01-31T08:30:00Z")]
    );
    assert_eq!(
        values(&["2025-01-31 08:30:00+01:00", "2025-01-31 08:30:00"], &[])[0],
        json!("2025-01-31 08:30:00+01:00")
    );
    // Before the first count of nanoseconds.
    assert_eq!(values(&["0900-01-31 08:30:00"], &[]), [json!("0900-01-31T08:30:00")]);
}

#[test]
fn dates_are_read_in_the_format_that_is_given() {
    let dates = ["31.01.2025", "1.2.2025"];
    assert_eq!(values(&dates, &[]), dates.map(|date| json!(date)));
    assert_eq!(values(&dates, &["--date-format", "%d.%m.%Y"]), [json!("2025-01-31"), json!("2025-02-01")]);
    let formats = ["--date-format", "%m/%d/%Y", "--date-format", "%m/%d/%Y %I:%M %p"];
    assert_eq!(values(&["01/31/2025 08:30 PM"], &formats), [json!("2025-01-31T20:30:00")]);
    assert_eq!(values(&["20250131"], &["--date-format", "%Y%m%d"]), [json!("2025-01-31")]);
    // A type that was given, too.
    let given = ["--date-format", "%d.%m.%Y", "--type", "a=timestamp"];
    assert_eq!(values(&["31.01.2025"], &given), [json!("2025-01-31T00:00:00")]);
    let wrong = error("a\n31.01.2025\n31.13.2025\n", &["--date-format", "%d.%m.%Y", "--infer-rows", "1"]);
    assert!(wrong.contains("line 3, column a: \"31.13.2025\" is not in the format %d.%m.%Y"), "{wrong}");
    let run = convert("a\n1\n", &["--date-format", "dd.mm.yyyy"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn decimals_may_be_separated_by_a_comma() {
    let csv = "a;b;c\n1,50;1,005;x\n-0,25;2;y\n";
    let rows = convert(csv, &["--decimal", ",", "--type", "b=decimal(10,3)"]).json_lines(0);
    assert_eq!(rows[0], json!({"a": 1.5, "b": 1.005, "c": "x"}));
    assert_eq!(rows[1], json!({"a": -0.25, "b": 2.0, "c": "y"}));
    assert_eq!(convert("a;b\n1,5;2\n", &[]).json_lines(0)[0], json!({"a": "1,5", "b": 2}));
    assert_eq!(values(&["1.5", "2.5"], &["--decimal", ","]), [json!("1.5"), json!("2.5")]);
}

#[test]
fn decimals_do_not_drop_digits() {
    let wrong = error("price\n1.500\n1.505\n", &["--type", "price=decimal(10,2)"]);
    assert!(wrong.contains("line 3, column price: \"1.505\""), "{wrong}");
}

#[test]
fn a_file_of_usual_size_is_looked_at_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let numbers: String = (0..30_000).map(|number| format!("{number}\n")).collect();
    fs::write(&path, format!("zip\n{numbers}N1 7AA\n")).unwrap();
    let run = lath(["convert", path.to_str().unwrap(), "--format", "jsonl"]);
    let rows = run.json_lines(0);
    assert_eq!((&rows[7], &rows[30_000]), (&json!({"zip": "7"}), &json!({"zip": "N1 7AA"})));
}

#[test]
fn a_value_behind_the_sample_is_held_to_what_the_sample_showed() {
    let sampled = ["--infer-rows", "1"];
    for (first, second) in [
        ("1", "007"),
        ("1", "1.5"),
        ("1", "99999999999999999999"),
        ("1.5", "0.12345678901234567890"),
        ("1.5", "9007199254740993"),
        ("true", "yes"),
        ("2025-01-31", "2025-02-30"),
        ("2025-01-31", "2025-01-31 08:30:00"),
        ("2025-01-31 08:30:00", "2025-01-31 08:30:00+01:00"),
        ("2025-01-31 08:30:00", "2025-01-31 08:30:00.1234567"),
    ] {
        let wrong = error(&format!("a,b\n{first},x\n{second},y\n"), &sampled);
        for part in ["a.csv: line 3, column a: ", second, "--type a=string", "--infer-rows all", "first 1 row:"] {
            assert!(wrong.contains(part), "{part}: {wrong}");
        }
    }
}

#[test]
fn lines_are_counted_as_the_file_has_them() {
    let csv = "\n\"a\r\nname\",b,c\r\n\r\n\"one\ntwo\",1,x\r\n\"three\nfour\nfive\",\"six\n\nseven\",no\r\n";
    let wrong = error(csv, &["--type", "c=bigint"]);
    assert!(wrong.contains("line 6, column c: \"x\""), "{wrong}");
    let wrong = error(csv, &["--type", "b=bigint"]);
    assert!(wrong.contains("line 9, column b: \"six\\n\\nseven\""), "{wrong}");
    // Far from the start, in a later batch.
    let rows: String = (0..20_000).map(|row| format!("\"{row}\n\",{row}\n")).collect();
    let wrong = error(&format!("a,b\n{rows}x,y\n"), &["--type", "b=bigint"]);
    assert!(wrong.contains("line 40002, column b: \"y\""), "{wrong}");
}

#[test]
fn errors_say_who_chose_the_type() {
    let wrong = error("my column\n1\nx\n", &["--type", "my column=bigint"]);
    assert!(wrong.contains("--type requires it") && wrong.contains("--type \"my column=string\""), "{wrong}");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (first, second) in
        [("1", "03"), ("2025-01-31", "2025-01-31 08:30:00"), ("2025-01-31 08:30:00", "2025-01-31 08:30:00Z")]
    {
        fs::write(path("1.csv"), format!("a\n{first}\n")).unwrap();
        fs::write(path("2.csv"), format!("a\n{first}\n{second}\n")).unwrap();
        let run = lath(["convert", &path("1.csv"), &path("2.csv"), "--format", "jsonl"]);
        assert_eq!(run.code, 3);
        let place = format!("2.csv: line 3, column a: \"{second}\"");
        assert!(run.stderr.contains(&place) && run.stderr.contains("first input"), "{}", run.stderr);
    }
    let long = "x".repeat(1000);
    assert!(error(&format!("a\n1\n{long}\n"), &["--infer-rows", "1"]).len() < 400);
}
