//! The options of the command line.

use std::path::PathBuf;

pub struct Options {
    pub is_quick: bool,
    /// The rows of the base table.
    pub rows: u64,
    /// The maximum number of rows that commits of one size upsert.
    pub upserts: u64,
    pub engines: Vec<String>,
    /// The folder of the measured tables.
    pub folder: PathBuf,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let is_quick = arguments.iter().any(|argument| argument == "--quick");
        let engines = ["lath", "duckdb", "sqlite", "lance", "delta-rs"].map(str::to_owned).to_vec();
        let rows = if is_quick { 500_000 } else { 5_000_000 };
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../data");
        let mut options = Options { is_quick, rows, upserts: rows, engines, folder };
        for argument in arguments {
            let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{argument}: not a number"));
            match argument.split_once('=') {
                None if argument == "--quick" => {}
                Some(("--rows", rows)) => options.rows = number(rows)?.max(1000),
                Some(("--upserts", upserts)) => options.upserts = number(upserts)?.max(1000),
                Some(("--engines", engines)) => options.engines = engines.split(',').map(str::to_owned).collect(),
                _ => return Err(format!("{argument}: not an option")),
            }
        }
        Ok(options)
    }

    /// The number of rows that commits of this size upsert: fewer for small commits, which take longer.
    pub fn upsert_count(&self, rows_per_commit: u64) -> u64 {
        let max = match rows_per_commit {
            1 => 2_000,
            100 => 100_000,
            _ => self.upserts,
        };
        max.min(self.upserts)
    }
}
