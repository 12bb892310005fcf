//! DuckDB and SQLite, each in a Python process of its own.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Figures;
use crate::options::Options;

/// Does all work by one of them.
///
/// # Panics
/// If the process fails.
pub fn run(engine: &str, folder: &Path, options: &Options) -> Figures {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/python");
    let output = Command::new(python.join(".venv/bin/python"))
        .arg(python.join("table.py"))
        .arg(engine)
        .arg(folder)
        .args([1, 100, 10_000].map(|per_commit| options.upserts_of(per_commit).to_string()))
        .arg(options.rows.to_string())
        .output()
        .expect("the Python peers were set up");
    assert!(output.status.success(), "{engine}: {}", String::from_utf8_lossy(&output.stderr));
    let figures: Value = serde_json::from_slice(&output.stdout).expect("figures as JSON");
    let figures = figures.as_object().expect("an object").iter();
    figures.map(|(name, figure)| (name.clone(), figure.as_f64().expect("a number"))).collect()
}
