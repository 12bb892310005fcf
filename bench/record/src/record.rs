//! The record of a run, which is printed as it grows, and saved as one Markdown file in `bench/records/`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::machine;

pub struct Record {
    text: String,
    path: PathBuf,
}

impl Record {
    /// `part` names the measured part: `all`, `kernels`, `lineitem`, …
    pub fn start(part: &str, quick: bool) -> Record {
        let stamp = machine::command_output("date", &["-u", "+%Y-%m-%d-%H%M"]);
        let name = format!("{stamp}-{}-{part}{}.md", machine::short_name(), if quick { "-quick" } else { "" });
        let mut record = Record {
            text: String::new(),
            path: Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("records").join(name),
        };
        record.line(&format!("# Benchmark record, {stamp} UTC: {part}{}", if quick { " (quick)" } else { "" }));
        record.line("");
        for line in machine::describe() {
            record.line(&format!("- {line}"));
        }
        record
    }

    pub fn line(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
        // Saved as it grows, so that an interrupted run leaves what it measured.
        fs::create_dir_all(self.path.parent().expect("a record lies in a folder")).expect("records are writable");
        fs::write(&self.path, &self.text).expect("records are writable");
    }

    pub fn heading(&mut self, heading: &str) {
        self.line(&format!("\n## {heading}\n"));
    }

    /// A table whose first column contains names.
    pub fn table(&mut self, head: &[String], rows: &[Vec<String>]) {
        self.line(&format!("| {} |", head.join(" | ")));
        self.line(&format!("|{}", " --- |".repeat(head.len())));
        for row in rows {
            self.line(&format!("| {} |", row.join(" | ")));
        }
        self.line("");
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A ratio and whether it reaches its goal: `2.31 × (goal 2.0: reached)`.
pub fn against_goal(ratio: f64, goal: f64) -> String {
    let verdict = if ratio >= goal { "reached" } else { "**missed**" };
    format!("{ratio:.2} × (goal {goal}: {verdict})")
}
