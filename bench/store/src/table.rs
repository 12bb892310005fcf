//! Tables of figures: a row for each figure, a column for each engine.

use lath_bench_record::record::Record;
use serde_json::Value;

/// A figure, with the value of each engine.
pub struct Row {
    name: String,
    cells: Vec<String>,
}

/// The rows of one table while they are measured.
#[derive(Default)]
pub struct Rows(Vec<Row>);

/// A table that was printed.
pub struct Table {
    keys: u64,
    section: &'static str,
    rows: Vec<Row>,
}

/// Lath's goals with 20 million keys, by section and row.
const GOALS: [(&str, &str, &str); 17] = [
    ("random", INSERTS, "last ≥ 1.1 M"),
    ("sequential", INSERTS, "last ≥ 4 M"),
    ("strings", INSERTS, "last ≥ 800 K"),
    ("random", "files, MiB", "≤ 560"),
    ("random", "open after close, ms", "≤ 10"),
    ("random", "gets/s, known keys", "≥ 2.2 M"),
    ("random", "gets/s, absent keys", "≥ 2.8 M"),
    ("random", "lower_bound/s", "≥ 1.8 M"),
    ("random", "ordered scan, keys/s", "≥ 90 M"),
    ("random", "count of 1/20 of all keys, µs", "≤ 5"),
    (BESIDE, "2 readers", "≥ 2.4 M; ≥ 450 K"),
    (BESIDE, "12 readers", "≥ 3 M; ≥ 120 K"),
    (DURABLE, "1 committer, batches of 512", "≥ 1,000"),
    (DURABLE, "1 committer, batches of 1", "≥ 8,500"),
    (DURABLE, "8 committers, batches of 1", "≥ 25,000"),
    (REMOVAL, REMOVED, "≤ 1"),
    (OPENING, "open and get", "≤ 3"),
];

pub const INSERTS: &str = "inserts/s, round 1 / middle / last";
pub const BESIDE: &str = "readers beside a writer";
pub const DURABLE: &str = "durable commits";
pub const REMOVAL: &str = "removal of a range";
pub const REMOVED: &str = "one transaction, with its commit, ms";
pub const OPENING: &str = "open after a kill";

impl Rows {
    /// Adds an engine's value to a row; `None` if the engine has failed.
    pub fn add(&mut self, name: &str, cell: Option<String>) {
        let cell = cell.unwrap_or_else(|| "failed".to_owned());
        match self.0.iter_mut().find(|row| row.name == name) {
            Some(row) => row.cells.push(cell),
            None => self.0.push(Row { name: name.to_owned(), cells: vec![cell] }),
        }
    }

    /// Prints the table with these columns.
    pub fn print(self, record: &mut Record, columns: &[String], section: &'static str, keys: u64) -> Table {
        let mut head = vec!["figure".to_owned()];
        head.extend(columns.iter().cloned());
        head.push("Lath's goal at 20 M keys".to_owned());
        let goal_of = |name: &str| {
            let goal = GOALS.iter().find(|(of, row, _)| (*of, *row) == (section, name));
            goal.map_or_else(|| "–".to_owned(), |(.., goal)| (*goal).to_owned())
        };
        let line = |row: &Row| {
            let cells = [&row.name].into_iter().chain(&row.cells).cloned();
            cells.chain([goal_of(&row.name)]).collect()
        };
        let lines: Vec<Vec<String>> = self.0.iter().map(line).collect();
        record.table(&head, &lines);
        Table { keys, section, rows: self.0 }
    }
}

/// Prints how each figure changes with the number of keys.
pub fn print_growth(record: &mut Record, engines: &[String], sizes: &[u64], tables: &[Table]) {
    let sizes_text: Vec<String> = sizes.iter().map(|&keys| thousands(Some(keys as f64))).collect();
    record.heading(&format!("How each figure grows: {} keys", sizes_text.join(" → ")));
    let mut lines = Vec::new();
    for table in tables.iter().filter(|table| Some(&table.keys) == sizes.first()) {
        for (index, row) in table.rows.iter().enumerate() {
            let of_all_sizes = |column: usize| {
                let same = tables.iter().filter(|other| other.section == table.section);
                let cells: Vec<&str> = same.map(|other| other.rows[index].cells[column].as_str()).collect();
                cells.join(" → ")
            };
            let mut line = vec![format!("{}: {}", table.section, row.name)];
            line.extend((0..engines.len()).map(of_all_sizes));
            lines.push(line);
        }
    }
    let mut head = vec!["figure".to_owned()];
    head.extend(engines.iter().cloned());
    record.table(&head, &lines);
}

/// A figure of a child's output as text.
pub fn figure(answer: Option<&Value>, key: &str, text: impl Fn(f64) -> String) -> Option<String> {
    answer?[key].as_f64().map(text)
}

/// Commits a second, and their latencies.
pub fn commits(answer: &Value) -> String {
    format!("{:.0}; {}", answer["commits"].as_f64().unwrap_or(f64::NAN), micros(answer))
}

pub fn micros(answer: &Value) -> String {
    let at = |index: usize| answer["commit_micros"][index].as_f64().unwrap_or(f64::NAN);
    format!("{:.0} / {:.0} / {:.0}", at(0), at(1), at(2))
}

pub fn thousands(rate: Option<f64>) -> String {
    match rate {
        Some(rate) if rate >= 1e6 => format!("{:.2} M", rate / 1e6),
        Some(rate) => format!("{:.0} K", rate / 1e3),
        None => "–".to_owned(),
    }
}

pub fn mebibytes(bytes: f64) -> String {
    format!("{:.0}", bytes / (1 << 20) as f64)
}
