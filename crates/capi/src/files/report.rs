//! Formats what a scan pruned and read.

use std::fmt::Write;

use lath::{PrunedCounts, ScanReport};

/// A line for each stage, with its numbers by name.
pub(super) fn as_text(report: &ScanReport) -> String {
    let mut text = format!(
        "files: {} named, {} pruned by partition, {} opened\nrow groups: {}, rows: {}\n",
        report.files, report.files_pruned, report.files_opened, report.pruned.row_groups, report.pruned.rows,
    );
    let stages: [(&str, &PrunedCounts); 4] = [
        ("statistics", &report.pruned.statistics),
        ("Bloom filters", &report.pruned.bloom),
        ("dictionaries", &report.pruned.dictionary),
        ("page index", &report.pruned.page_index),
    ];
    for (name, stage) in stages {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "pruned by {name}: {} row groups, {} pages, {} rows",
            stage.row_groups, stage.pages, stage.rows
        );
    }
    let _ = writeln!(text, "left: {} row groups, {} rows", report.row_groups, report.rows);
    let _ = writeln!(text, "tested: {} rows, found: {} rows", report.rows_tested, report.rows_found);
    let _ = writeln!(
        text,
        "read: {} bytes in {} requests, {:.3} ms",
        report.bytes_read,
        report.requests,
        report.times.elapsed.as_secs_f64() * 1e3
    );
    text
}
