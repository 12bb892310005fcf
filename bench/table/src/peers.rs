//! The other engines, each in a separate Python process.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Figures;
use crate::options::Options;

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/python/.venv/bin/python");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/python/table.py");

/// Does all work with one of them.
///
/// # Errors
/// The output of the process if it fails.
pub fn run(engine: &str, folder: &Path, options: &Options) -> Result<Figures, String> {
    let figures = python(
        Command::new(PYTHON)
            .args([PROGRAM, engine])
            .arg(folder)
            .args([1, 100, 10_000].map(|per_commit| options.upsert_count(per_commit).to_string()))
            .arg(options.rows.to_string()),
    )?;
    let figures = figures.as_object().expect("an object").iter();
    Ok(figures.map(|(name, figure)| (name.clone(), figure.as_f64().expect("a number"))).collect())
}

/// The milliseconds that DuckDB takes to count the rows of the Parquet files in a folder by their status, and the counts.
///
/// # Panics
/// If the process fails.
pub fn count_parquet(folder: &Path) -> (f64, Vec<(String, u64)>) {
    let answer = python(Command::new(PYTHON).args([PROGRAM, "count-parquet"]).arg(folder.join("_data/*.pq")));
    serde_json::from_value(answer.expect("DuckDB reads the files")).expect("milliseconds and counts")
}

fn python(command: &mut Command) -> Result<Value, String> {
    let output = command.output().expect("the Python peers were set up");
    if !output.status.success() {
        return Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(serde_json::from_slice(&output.stdout).expect("JSON"))
}
