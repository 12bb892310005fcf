//! Engines, each in a separate process that answers one query after the other.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// An engine that answers queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// The example `answer` of `lath-sql`.
    Lath,
    /// `peers/python/sql.py`, with its name for the engine.
    Peer(&'static str),
}

impl Engine {
    pub const ALL: [Engine; 5] = [
        Engine::Lath,
        Engine::Peer("datafusion"),
        Engine::Peer("datafusion-pushdown"),
        Engine::Peer("duckdb"),
        Engine::Peer("polars"),
    ];

    pub fn label(self) -> &'static str {
        match self {
            Engine::Lath => "Lath",
            Engine::Peer(name) => name,
        }
    }

    pub fn is_datafusion(self) -> bool {
        self.label().starts_with("datafusion")
    }
}

/// The folder `bench`.
pub fn bench() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a folder").to_owned()
}

/// A program of the workspace, which was built before.
pub fn program(name: &str) -> PathBuf {
    let folder = std::env::var_os("LATH_RELEASE").expect("LATH_RELEASE is the folder of what was built; use bench/run");
    PathBuf::from(folder).join(name)
}

/// The process of an engine.
pub struct Running {
    pub engine: Engine,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The result of a query, and its times.
#[derive(Clone, Debug)]
pub struct Answer {
    pub seconds: f64,
    /// Processor time of all threads of the process.
    pub cpu_seconds: f64,
    pub rows: String,
}

impl Running {
    pub fn start(engine: Engine, threads: usize, tables: &[(&str, PathBuf)]) -> Running {
        let mut command = match engine {
            Engine::Lath => Command::new(program("examples/answer")),
            Engine::Peer(name) => {
                let python = bench().join("peers/python");
                let mut command = Command::new(python.join(".venv/bin/python"));
                command.arg(python.join("sql.py")).arg(name);
                command
            }
        };
        command.arg(threads.to_string());
        command.args(tables.iter().map(|(name, path)| format!("{name}={}", path.display())));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the engine starts");
        let input = child.stdin.take().expect("standard input is a pipe");
        let output = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        Running { engine, child, input, output }
    }

    /// # Errors
    /// The engine's message for a query that it cannot answer.
    pub fn answer(&mut self, query: &str) -> Result<Answer, String> {
        let line = query.split_whitespace().collect::<Vec<_>>().join(" ");
        let before = self.cpu_nanoseconds();
        writeln!(self.input, "{line}").map_err(|error| error.to_string())?;
        let mut reply = String::new();
        self.output.read_line(&mut reply).map_err(|error| error.to_string())?;
        let cpu = self.cpu_nanoseconds().saturating_sub(before);
        let reply: Value = serde_json::from_str(&reply).map_err(|_| "the engine has ended".to_owned())?;
        match (reply["seconds"].as_f64(), reply["rows"].as_str()) {
            (Some(seconds), Some(rows)) => Ok(Answer { seconds, cpu_seconds: cpu as f64 / 1e9, rows: rows.to_owned() }),
            _ => Err(reply["error"].as_str().unwrap_or("no answer").to_owned()),
        }
    }

    /// The processor time of all threads of the process.
    fn cpu_nanoseconds(&self) -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let used = |thread: fs::DirEntry| {
            let statistics = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            statistics.split_whitespace().next()?.parse::<u64>().ok()
        };
        threads.filter_map(used).sum()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
