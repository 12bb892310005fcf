//! The summary of a command that writes files: sizes before and after, encodings, and other changes.

mod changes;
mod columns;
mod partitions;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arrow_schema::Schema;
use lath_parquet::{ParquetFile, PartitionColumn};
use lath_writer::WriteSummary;
use serde_json::{Value, json};

use self::changes::Changes;
use self::columns::Columns;
use self::partitions::Partitions;
use crate::args::ReportArgs;
use crate::console::quantity::{bytes, plural};
use crate::console::terminal::Terminal;
use crate::failure::{Failure, Result};
use crate::output::layout::printable;
use crate::target::Target;

/// The inputs and outputs of a command.
#[derive(Debug)]
pub(crate) struct Summary {
    output: String,
    /// The outputs, for commands that may write several.
    outputs: Vec<String>,
    start: Instant,
    pub(crate) rows: u64,
    /// Total size of the inputs, if they are files.
    pub(crate) bytes_before: Option<u64>,
    /// Size of the output, if it is known.
    bytes_after: Option<u64>,
    columns: Columns,
    partitions: Partitions,
    changes: Changes,
}

impl Summary {
    /// Starts the clock.
    pub(crate) fn new(output: Option<&Path>) -> Self {
        let output = output.map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
        Self {
            output,
            outputs: Vec::new(),
            start: Instant::now(),
            rows: 0,
            bytes_before: None,
            bytes_after: None,
            columns: Columns::default(),
            partitions: Partitions::default(),
            changes: Changes::default(),
        }
    }

    /// Adds a Parquet input.
    pub(crate) fn add_input(&mut self, file: &ParquetFile) {
        self.columns.add_input(file.metadata());
        self.changes.add_input(file);
    }

    /// Adds the partition columns, which are stored if `schema`, which is written, has them; `chosen` are the requested columns.
    pub(crate) fn add_partitions(&mut self, columns: &[PartitionColumn], schema: &Schema, chosen: Option<&[String]>) {
        self.partitions = Partitions::new(columns, schema, chosen);
    }

    /// Adds a finished output.
    pub(crate) fn add_output(&mut self, path: Option<&Path>, written: Option<&WriteSummary>) {
        let size = match (written, path) {
            (Some(written), _) => {
                self.columns.add_output(written);
                self.changes.add_output(written);
                Some(written.bytes)
            }
            (None, Some(path)) => {
                let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file);
                metadata.map(|metadata| metadata.len())
            }
            (None, None) => None,
        };
        if let Some(size) = size {
            *self.bytes_after.get_or_insert(0) += size;
        }
    }

    /// Sets the paths of several outputs.
    pub(crate) fn set_outputs(&mut self, paths: &[PathBuf]) {
        if let [first, .., last] = paths {
            self.output = format!("{} to {} ({})", first.display(), last.display(), plural(paths.len() as u64, "file"));
        }
        self.outputs = paths.iter().map(|path| path.display().to_string()).collect();
    }

    /// Prints text to standard error, or JSON to standard output.
    pub(crate) fn report(&self, args: &ReportArgs) -> Result<()> {
        if args.quiet {
            return Ok(());
        }
        if args.json {
            let mut target = Target::stdout()?;
            writeln!(target, "{}", self.json()).map_err(|error| Failure::writing(target.name(), &error))?;
            return target.finish();
        }
        let (table, partitions) = (self.columns.table(Terminal::stderr()), self.partitions.lines());
        let changes: String =
            self.changes.lines().iter().map(|line| format!("{}\n", printable(line.clone()))).collect();
        let text = format!("{table}{partitions}{changes}{}\n", self.line(self.start.elapsed()));
        // A closed standard error does not make the command fail.
        let _ = io::stderr().write_all(text.as_bytes());
        Ok(())
    }

    fn line(&self, elapsed: Duration) -> String {
        let mut line = format!("{}: {}", self.output, plural(self.rows, "row"));
        match (self.bytes_before, self.bytes_after) {
            (Some(before), Some(after)) => {
                line.push_str(&format!(", {} before, {} after", bytes(before), bytes(after)));
                if let Some(share) = percent(after, before) {
                    line.push_str(&format!(" ({share})"));
                }
            }
            (None, Some(after)) => line.push_str(&format!(", {}", bytes(after))),
            _ => {}
        }
        format!("{line}, {:.1} s", elapsed.as_secs_f64())
    }

    fn json(&self) -> Value {
        let mut summary = json!({
            "output": self.output,
            "rows": self.rows,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
            "seconds": self.start.elapsed().as_secs_f64(),
        });
        if let Some(summary) = summary.as_object_mut() {
            if let Some(columns) = self.columns.json() {
                summary.insert("columns".to_owned(), columns);
                summary.insert("changes".to_owned(), json!(self.changes.lines()));
            }
            if let Some(partitions) = self.partitions.json() {
                summary.insert("partition_columns".to_owned(), partitions);
            }
            if !self.outputs.is_empty() {
                summary.remove("output");
                summary.insert("outputs".to_owned(), json!(self.outputs));
            }
        }
        summary
    }
}

/// One number as a percentage of another: `25 %`.
fn percent(part: u64, whole: u64) -> Option<String> {
    (whole > 0).then(|| format!("{:.0} %", part as f64 * 100.0 / whole as f64))
}

/// Refuses `--json` if the data goes to standard output.
pub(crate) fn check(args: &ReportArgs, output: Option<&Path>) -> Result<()> {
    if args.json && output.is_none() {
        return Err(Failure::Usage("--json writes to standard output, like the data; add -o FILE".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_compared_where_they_are_known() {
        let mut summary = Summary::new(Some(Path::new("out.parquet")));
        summary.rows = 1000;
        let second = Duration::from_secs(1);
        assert_eq!(summary.line(second), "out.parquet: 1,000 rows, 1.0 s");
        summary.bytes_after = Some(1 << 20);
        assert_eq!(summary.line(second), "out.parquet: 1,000 rows, 1.00 MiB, 1.0 s");
        summary.bytes_before = Some(4 << 20);
        assert_eq!(summary.line(second), "out.parquet: 1,000 rows, 4.00 MiB before, 1.00 MiB after (25 %), 1.0 s");
    }
}
