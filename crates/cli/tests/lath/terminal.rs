//! Output on a terminal, which `script` emulates.

use std::process::Command;

use unicode_width::UnicodeWidthStr;

use crate::invocation::{BINARY, sample};

/// Runs a shell line on a terminal of `columns` columns; `None` if `script` is not installed.
fn on_terminal(line: &str, columns: usize) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("stty cols {columns} rows 50; {line}");
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(folder.path())
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .output();
    match output {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap().replace('\r', "")),
        Err(error) => {
            eprintln!("SKIPPED: there is no terminal to test on, because `script` cannot be run: {error}");
            None
        }
    }
}

fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split('\x1b');
    plain.push_str(parts.next().unwrap());
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

#[test]
fn a_terminal_gets_a_table_that_fits() {
    let trips = sample("trips/2025-01.parquet");
    for columns in [40, 80, 132, 250] {
        let Some(text) = on_terminal(&format!("{BINARY} head {trips}"), columns) else { return };
        assert!(text.contains("\x1b[1m"), "headers are bold: {text:?}");
        let text = without_escapes(&text);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 13, "{text}");
        assert!(lines[0].starts_with("trip"), "{text}");
        assert!(lines[12].starts_with("10 rows, 10 columns"), "{text}");
        for line in lines {
            assert!(line.width() <= columns, "{columns}: {line:?}");
        }
    }
}

#[test]
fn no_color_means_no_escapes() {
    let trips = sample("trips/2025-01.parquet");
    let Some(text) = on_terminal(&format!("NO_COLOR=1 {BINARY} head {trips}; NO_COLOR=1 {BINARY} count /nowhere"), 80)
    else {
        return;
    };
    assert!(text.contains("10 rows") && text.contains("error:") && !text.contains('\x1b'), "{text:?}");
}

#[test]
fn binary_formats_do_not_go_to_a_terminal() {
    let trips = sample("trips/2025-01.parquet");
    let Some(text) = on_terminal(&format!("{BINARY} cat {trips} --format parquet; echo code $?"), 80) else { return };
    assert!(text.contains("cannot be shown in a terminal") && text.contains("code 2"), "{text:?}");
}
