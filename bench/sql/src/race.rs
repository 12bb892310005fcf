//! Runs one query on all engines in turn.

use std::path::PathBuf;

use crate::answers;
use crate::engine::{Engine, Running};

/// Processes with the same tables and number of threads.
pub struct Race {
    running: Vec<Running>,
    /// Answers that are not the same as the first engine's.
    differences: Vec<String>,
}

/// The minimum times of an engine, in seconds; `None` if it could not answer.
#[derive(Clone, Copy, Debug)]
pub struct Least {
    pub seconds: f64,
    pub cpu_seconds: f64,
}

pub type Times = Vec<(Engine, Option<Least>)>;

impl Race {
    pub fn start(engines: &[Engine], threads: usize, tables: &[(&str, PathBuf)]) -> Race {
        Race {
            running: engines.iter().map(|&engine| Running::start(engine, threads, tables)).collect(),
            differences: Vec::new(),
        }
    }

    /// The answers that differed so far.
    pub fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Times `query` after a first round, whose answers are compared.
    pub fn run(&mut self, name: &str, query: &str, rounds: usize) -> Times {
        let mut least: Vec<Option<Least>> = vec![None; self.running.len()];
        let mut answer: Option<(Engine, String)> = None;
        let mut fails = vec![false; self.running.len()];
        for round in 0..=rounds {
            for (at, running) in self.running.iter_mut().enumerate() {
                if fails[at] {
                    continue;
                }
                let own = match running.answer(query) {
                    Ok(own) => own,
                    Err(error) => {
                        let end = error.char_indices().nth(200).map_or(error.len(), |(end, _)| end);
                        eprintln!("{name}: {} cannot answer: {}", running.engine.label(), &error[..end]);
                        fails[at] = true;
                        continue;
                    }
                };
                if round == 0 {
                    match &answer {
                        None => answer = Some((running.engine, own.rows)),
                        Some((first, rows)) => {
                            if let Err(difference) = answers::same(rows, &own.rows) {
                                let (first, other) = (first.label(), running.engine.label());
                                self.differences.push(format!("{name}: {first} and {other}: {difference}"));
                            }
                        }
                    }
                    continue;
                }
                let before = least[at].unwrap_or(Least { seconds: f64::INFINITY, cpu_seconds: f64::INFINITY });
                least[at] = Some(Least {
                    seconds: before.seconds.min(own.seconds),
                    cpu_seconds: before.cpu_seconds.min(own.cpu_seconds),
                });
            }
        }
        self.running.iter().map(|running| running.engine).zip(least).collect()
    }
}

/// The geometric mean of an engine's times over queries that all engines of `among` answered.
pub fn geometric_mean(all: &[Times], engine: Engine, among: &[Engine], of: impl Fn(Least) -> f64) -> f64 {
    let find = |times: &Times, engine| times.iter().find(|(own, _)| *own == engine).and_then(|(_, least)| *least);
    let shared = all.iter().filter(|times| among.iter().all(|&engine| find(times, engine).is_some()));
    let logarithms: Vec<f64> = shared.filter_map(|times| find(times, engine)).map(|least| of(least).ln()).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
}

/// The minimum wall time among some engines.
pub fn least_seconds(times: &Times, is_meant: impl Fn(Engine) -> bool) -> f64 {
    let meant = times.iter().filter(|(engine, _)| is_meant(*engine));
    meant.filter_map(|(_, least)| least.map(|least| least.seconds)).fold(f64::INFINITY, f64::min)
}

/// The head of a table with a column for each engine, and two with ratios.
pub fn head() -> Vec<String> {
    let engines = Engine::ALL.map(Engine::label);
    let names = [""].into_iter().chain(engines).chain(["best DataFusion / Lath", "DuckDB / Lath"]);
    names.map(str::to_owned).collect()
}

/// Wall time and processor time in milliseconds.
pub fn cell(least: Option<Least>) -> String {
    least.map_or_else(|| "–".to_owned(), |least| format!("{:.1} / {:.1}", least.seconds * 1e3, least.cpu_seconds * 1e3))
}
