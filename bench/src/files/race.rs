//! Runs contestants side by side: round after round, each in a separate process, so that a slow period of the machine
//! affects all of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::readers::{Library, Reader, Way};

/// A program that repeats the measured work and prints its times as a line of JSON.
pub trait Contestant: Clone {
    /// The name in the tables. Ways of one contestant share a name, and the best of them counts.
    fn label(&self) -> String;

    fn is_lath(&self) -> bool;

    /// The command that starts its process.
    fn command(&self, path: &Path, threads: usize, repetitions: usize) -> Command;

    /// Returns whether it is installed.
    fn is_there(&self) -> bool;
}

/// One way to read a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Runner {
    /// Inside this program.
    Own(Reader),
    /// `peers/python/decode.py`, with its name for the reader.
    Python(&'static str),
    /// `peers/go`.
    Go,
}

impl Contestant for Runner {
    fn label(&self) -> String {
        match self {
            Runner::Own(reader) => {
                let library = match reader.library {
                    Library::Lath => "Lath",
                    Library::Parquet => "parquet (Rust)",
                };
                let mapped = if reader.way.mapped { ", mapped" } else { "" };
                format!("{library}, {}{mapped}", if reader.way.views { "views" } else { "offsets" })
            }
            Runner::Python(name) => name.split('-').next().unwrap_or(name).to_owned(),
            Runner::Go => "parquet-go".to_owned(),
        }
    }

    fn is_lath(&self) -> bool {
        matches!(self, Runner::Own(Reader { library: Library::Lath, .. }))
    }

    fn command(&self, path: &Path, threads: usize, repetitions: usize) -> Command {
        let mut command = match self {
            Runner::Own(reader) => {
                let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
                command.args(["decode", &reader.to_string()]);
                command
            }
            Runner::Python(name) => {
                let mut command = python("decode.py");
                command.arg(name);
                command
            }
            Runner::Go => {
                let mut command = Command::new(peers().join("go/peer"));
                command.arg("decode");
                command
            }
        };
        command.arg(path).arg(threads.to_string()).arg(repetitions.to_string()).stdout(Stdio::piped());
        command
    }

    fn is_there(&self) -> bool {
        match self {
            Runner::Own(_) => true,
            Runner::Python(_) => has_python(),
            Runner::Go => peers().join("go/peer").exists(),
        }
    }
}

/// The folder of the peers that are not crates.
fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// A script of `peers/python`, in its virtual environment.
pub fn python(script: &str) -> Command {
    let folder = peers().join("python");
    let mut command = Command::new(folder.join(".venv/bin/python"));
    command.arg(folder.join(script));
    command
}

/// Returns whether that environment exists.
pub fn has_python() -> bool {
    peers().join("python/.venv/made-from").exists()
}

/// The times of a contestant over all rounds.
#[derive(Clone, Debug)]
pub struct Outcome<C = Runner> {
    pub runner: C,
    pub rows: u64,
    seconds: Vec<f64>,
    cpu_seconds: Vec<f64>,
}

impl<C> Outcome<C> {
    pub fn best(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The minimum processor time of all threads: the cost of a reader even on a busy machine.
    pub fn best_cpu(&self) -> f64 {
        self.cpu_seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn median(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
}

/// Options: what to measure, and how often.
#[derive(Clone, Debug)]
pub struct Options {
    pub quick: bool,
    pub lath: bool,
    pub peers: bool,
    only: Option<String>,
    threads: Option<usize>,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Options {
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        let value = |key: &str| arguments.iter().find_map(|argument| argument.strip_prefix(key));
        Options {
            quick: has("--quick"),
            lath: !has("--peers-only"),
            peers: !has("--lath-only"),
            only: value("--only=").map(str::to_owned),
            threads: value("--threads=").and_then(|threads| threads.parse().ok()),
        }
    }

    /// Returns whether the part with this name is to be measured.
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }

    pub fn wants_threads(&self, threads: usize) -> bool {
        self.threads.is_none_or(|only| only == threads)
    }

    pub fn runners(&self) -> Vec<Runner> {
        let mut runners = Vec::new();
        if self.lath {
            for reader in own(Library::Lath, self.quick) {
                let way = |mapped| Way { mapped, ..reader.way };
                runners.extend([false, true].map(|mapped| Runner::Own(Reader { way: way(mapped), ..reader })));
            }
        }
        if self.peers {
            runners.extend(reading_peers(self.quick));
        }
        runners
    }

    fn rounds(&self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    fn repetitions(&self) -> usize {
        if self.quick { 3 } else { 4 }
    }
}

/// Runs every contestant on one file. After the first round only the best way of each label continues.
pub fn race<C: Contestant>(runners: &[C], path: &Path, threads: usize, options: &Options) -> Vec<Outcome<C>> {
    let mut outcomes: Vec<Outcome<C>> = Vec::new();
    for runner in runners.iter().filter(|runner| runner.is_there()) {
        if let Some(outcome) = run(runner, path, threads, options.repetitions()) {
            outcomes.push(outcome);
        }
    }
    let mut kept: Vec<Outcome<C>> = Vec::new();
    for outcome in outcomes {
        match kept.iter_mut().find(|other| other.runner.label() == outcome.runner.label()) {
            Some(other) if outcome.best() < other.best() => *other = outcome,
            Some(_) => {}
            None => kept.push(outcome),
        }
    }
    for _ in 1..options.rounds() {
        for outcome in &mut kept {
            if let Some(more) = run(&outcome.runner, path, threads, options.repetitions()) {
                outcome.seconds.extend(more.seconds);
                outcome.cpu_seconds.extend(more.cpu_seconds);
            }
        }
    }
    kept
}

fn run<C: Contestant>(runner: &C, path: &Path, threads: usize, repetitions: usize) -> Option<Outcome<C>> {
    let output = runner.command(path, threads, repetitions).stderr(Stdio::piped()).output().expect("contestant starts");
    if !output.status.success() {
        eprintln!("{} failed on {}: {}", runner.label(), path.display(), String::from_utf8_lossy(&output.stderr));
        return None;
    }
    let report: Value = serde_json::from_slice(&output.stdout).expect("contestant prints a line of JSON");
    let numbers =
        |key: &str| -> Vec<f64> { report[key].as_array().into_iter().flatten().filter_map(Value::as_f64).collect() };
    Some(Outcome {
        runner: runner.clone(),
        rows: report["rows"].as_u64().unwrap_or(0),
        seconds: numbers("seconds"),
        cpu_seconds: numbers("cpu_seconds"),
    })
}

/// Every peer, in all suitable ways; only in the usual way if `quick`.
fn reading_peers(quick: bool) -> Vec<Runner> {
    let mut runners: Vec<Runner> = own(Library::Parquet, quick).map(Runner::Own).collect();
    if !quick {
        runners.extend(["pyarrow-16k", "pyarrow-1m", "pyarrow-mapped"].map(Runner::Python));
    }
    runners.extend(["pyarrow", "duckdb", "polars"].map(Runner::Python));
    runners.push(Runner::Go);
    runners
}

fn own(library: Library, quick: bool) -> impl Iterator<Item = Reader> {
    let batch_rows: &[usize] = if quick { &[8_192] } else { &[1_024, 8_192, 65_536] };
    let ways = move |views| batch_rows.iter().map(move |&batch_rows| Way { views, batch_rows, mapped: false });
    [true, false].into_iter().flat_map(ways).map(move |way| Reader { library, way })
}
