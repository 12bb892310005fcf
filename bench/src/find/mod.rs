//! Finds rows: a few by key out of many files, and a selective scan of one large file, both against peers; and measures
//! what filters, row groups and requests cost Lath.

mod engines;
mod keep_all;
mod needles;
mod pushdown;
mod row_groups;
mod shipmodes;
mod stored;
mod turns;

pub use engines::{needles as answer_needles, shipmodes as answer_shipmodes};

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::files::race::{Options, has_python, python};
use crate::record::Record;

/// An engine that finds rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Engine {
    /// Inside this program.
    Lath,
    /// `peers/python/find.py`, with its name for the engine.
    Python(&'static str),
}

impl Engine {
    const PEERS: [Engine; 3] = [Engine::Python("duckdb"), Engine::Python("polars"), Engine::Python("datafusion")];

    /// The engines to measure, Lath first.
    fn chosen(options: &Options) -> Vec<Engine> {
        let lath = options.lath.then_some(Engine::Lath);
        let peers = Engine::PEERS.into_iter().filter(|_| options.peers);
        lath.into_iter().chain(peers).filter(|engine| engine.is_there()).collect()
    }

    fn label(self) -> &'static str {
        match self {
            Engine::Lath => "Lath",
            Engine::Python(name) => name,
        }
    }

    fn is_there(self) -> bool {
        self == Engine::Lath || has_python()
    }

    /// The command of its process, without the work.
    fn command(self) -> Command {
        match self {
            Engine::Lath => {
                let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
                command.arg("find");
                command
            }
            Engine::Python(name) => {
                let mut command = python("find.py");
                command.arg(name);
                command
            }
        }
    }
}

/// The output of a process: a figure for each query.
#[derive(Clone, Debug)]
struct Answers {
    answers: Vec<u64>,
    seconds: Vec<f64>,
    cpu_seconds: Vec<f64>,
}

impl Answers {
    /// Runs `command` with `input`. `None`, and a message, if it fails.
    fn of(engine: Engine, mut command: Command, input: &str) -> Option<Answers> {
        use std::io::Write;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("engine starts");
        child.stdin.take().expect("standard input is a pipe").write_all(input.as_bytes()).expect("engine reads");
        let output = child.wait_with_output().expect("engine ends");
        if !output.status.success() {
            eprintln!("{} failed: {}", engine.label(), String::from_utf8_lossy(&output.stderr));
            return None;
        }
        let report: Value = serde_json::from_slice(&output.stdout).expect("engine prints a line of JSON");
        let numbers = |key: &str| -> Vec<f64> {
            report[key].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
        };
        Some(Answers {
            answers: report["answers"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect(),
            seconds: numbers("seconds"),
            cpu_seconds: numbers("cpu_seconds"),
        })
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Formats whether a figure is no larger than its goal.
fn at_most(ratio: f64, goal: f64) -> String {
    let verdict = if ratio <= goal { "reached" } else { "**missed**" };
    format!("{ratio:.3} × (goal {goal}: {verdict})")
}

pub fn run(record: &mut Record, options: &Options) {
    needles::run(record, options);
    if options.wants("shipmodes") {
        shipmodes::run(record, options);
    }
    type Part = (&'static str, fn(&mut Record, &Options));
    let alone: [Part; 4] = [
        ("keep all", keep_all::run),
        ("pushdown", pushdown::run),
        ("row groups", row_groups::run),
        ("stored", stored::run),
    ];
    for (_, part) in alone.into_iter().filter(|(name, _)| options.lath && options.wants(name)) {
        part(record, options);
    }
}
