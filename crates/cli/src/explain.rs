//! The report of a scan (what was pruned at each stage, what was read, and times) as a table or JSON.

use std::time::Duration;

use lath_parquet::{PrunedCounts, ScanReport};
use serde_json::json;

use crate::console::quantity::{bytes, grouped};

/// The report as JSON, on one line.
pub(crate) fn as_json(report: &ScanReport) -> String {
    let pruned =
        |stage: &PrunedCounts| json!({ "row_groups": stage.row_groups, "pages": stage.pages, "rows": stage.rows });
    let seconds = |time: Duration| time.as_secs_f64();
    let value = json!({
        "files": { "all": report.files, "pruned_by_partition": report.files_pruned, "opened": report.files_opened },
        "row_groups": { "all": report.pruned.row_groups, "left": report.row_groups },
        "rows": {
            "all": report.pruned.rows,
            "left": report.rows,
            "tested": report.rows_tested,
            "found": report.rows_found,
        },
        "pruned": {
            "statistics": pruned(&report.pruned.statistics),
            "bloom_filters": pruned(&report.pruned.bloom),
            "dictionaries": pruned(&report.pruned.dictionary),
            "page_index": pruned(&report.pruned.page_index),
        },
        "bytes_read": report.bytes_read,
        "requests": report.requests,
        "seconds": {
            "elapsed": seconds(report.times.elapsed),
            "open": seconds(report.times.open),
            "prune": seconds(report.times.prune),
            "test": seconds(report.times.test),
            "fetch": seconds(report.times.fetch),
        },
    });
    format!("{value}\n")
}

/// The report as a table.
pub(crate) fn as_text(report: &ScanReport) -> String {
    let none = String::new;
    let count = |count: u64| grouped(count);
    let stage = |name: &str, stage: &PrunedCounts, time: String| {
        [name.to_owned(), none(), count(stage.row_groups), count(stage.pages), count(stage.rows), time]
    };
    let times = &report.times;
    let rows = [
        ["", "files", "row groups", "pages", "rows", "time"].map(str::to_owned),
        ["named".to_owned(), count(report.files), none(), none(), none(), none()],
        ["pruned by partition".to_owned(), count(report.files_pruned), none(), none(), none(), none()],
        [
            "opened".to_owned(),
            count(report.files_opened),
            count(report.pruned.row_groups),
            none(),
            count(report.pruned.rows),
            time(times.open),
        ],
        stage("pruned by statistics", &report.pruned.statistics, time(times.prune)),
        stage("pruned by Bloom filters", &report.pruned.bloom, none()),
        stage("pruned by dictionaries", &report.pruned.dictionary, none()),
        stage("pruned by page index", &report.pruned.page_index, none()),
        ["left".to_owned(), none(), count(report.row_groups), none(), count(report.rows), none()],
        ["tested".to_owned(), none(), none(), none(), count(report.rows_tested), time(times.test)],
        ["found".to_owned(), none(), none(), none(), count(report.rows_found), time(times.fetch)],
    ];
    let widths: Vec<usize> =
        (0..6).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = format!("{:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let requests = if report.requests == 1 { "request" } else { "requests" };
    text.push_str(&format!(
        "{} read in {} {requests}, {} in all; times of stages are summed over all threads\n",
        bytes(report.bytes_read),
        grouped(report.requests),
        time(times.elapsed),
    ));
    text
}

/// A time in milliseconds, or in seconds from ten seconds on.
fn time(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    match millis {
        10_000.0.. => format!("{:.1} s", millis / 1e3),
        100.0.. => format!("{millis:.0} ms"),
        _ => format!("{millis:.2} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_milliseconds_until_they_are_long() {
        assert_eq!(time(Duration::from_micros(1234)), "1.23 ms");
        assert_eq!(time(Duration::from_millis(1234)), "1234 ms");
        assert_eq!(time(Duration::from_secs(75)), "75.0 s");
    }
}
