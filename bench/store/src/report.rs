//! All work with all engines, in turns, each piece in a process of its own, and the tables of what came of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lath_bench_record::record::Record;
use serde_json::Value;

use crate::child::Task;
use crate::engines;
use crate::keys::Kind;

/// What is to be run.
pub struct Options {
    pub keys: u64,
    pub rounds: u64,
    pub engines: Vec<String>,
    /// Where the stores lie while they are measured.
    pub folder: PathBuf,
}

impl Options {
    /// # Errors
    /// A sentence on the option that is not understood.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/store");
        let mut options = Options {
            keys: 20_000_000,
            rounds: 20,
            engines: engines::NAMES.iter().map(|&name| name.to_owned()).collect(),
            folder: default,
        };
        for argument in arguments {
            let (name, text) = argument.split_once('=').unwrap_or((argument, ""));
            match name {
                "--quick" => options.keys = 1_000_000,
                "--keys" => options.keys = text.parse().map_err(|_| format!("--keys={text} is no number"))?,
                "--folder" => options.folder = PathBuf::from(text),
                "--engines" => {
                    options.engines = text.split(',').map(str::to_owned).collect();
                    if let Some(unknown) = options.engines.iter().find(|name| !engines::NAMES.contains(&name.as_str()))
                    {
                        return Err(format!("there is no engine {unknown}; there are {}", engines::NAMES.join(", ")));
                    }
                }
                _ => return Err(format!("{argument} is not understood")),
            }
        }
        if options.keys < 10_000 {
            return Err("fewer than 10,000 keys say nothing".to_owned());
        }
        Ok(options)
    }
}

/// A figure of the tables: a row, and the value each engine has in it.
struct Row {
    name: String,
    cells: Vec<String>,
}

/// What Lath is to reach with 20 million keys, by the row's name and, for loading, the kind of keys.
const GOALS: [(&str, &str, &str); 16] = [
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
    ("", "2 readers", "≥ 2.4 M; ≥ 450 K"),
    ("", "12 readers", "≥ 3 M; ≥ 120 K"),
    ("", "1 committers, batches of 512", "≥ 1,000"),
    ("", "1 committers, batches of 1", "≥ 8,500"),
    ("", "8 committers, batches of 1", "≥ 25,000"),
    ("", "open and get", "≤ 3"),
];

const INSERTS: &str = "inserts/s, round 1 / middle / last";

pub fn run(record: &mut Record, options: &Options) {
    record.line(&format!("- engines: {}", versions(&options.engines)));
    record.line(&format!("- keys: {}, in {} rounds, 512 a transaction", options.keys, options.rounds));
    load_and_read(record, options);
    beside(record, options);
    durable(record, options);
    opening(record, options);
    let _ = fs::remove_dir_all(&options.folder);
}

fn versions(engines: &[String]) -> String {
    let package = |name: &str| match name {
        "LMDB" => "heed".to_owned(),
        "Lath" => "lath-store".to_owned(),
        name => name.to_lowercase(),
    };
    let version = |name: &String| {
        format!("{name} ({} {})", package(name), lath_bench_record::machine::locked_version(&package(name)))
    };
    engines.iter().map(version).collect::<Vec<_>>().join(", ")
}

fn load_and_read(record: &mut Record, options: &Options) {
    for kind in Kind::ALL {
        record.heading(&format!("Loading {} {} keys, and reading them", options.keys, kind.name()));
        let mut rows = Vec::new();
        for engine in &options.engines {
            let folder = fresh(options, engine);
            let load = child(options, engine, kind, &folder, Task::Load { rounds: options.rounds });
            let read = child(
                options,
                engine,
                kind,
                &folder,
                Task::Read { calls: (options.keys / 4).clamp(100_000, 2_000_000) },
            );
            add(
                &mut rows,
                INSERTS,
                load.as_ref().map(|load| {
                    let rate = |index: usize| thousands(load["rates"][index].as_f64());
                    let last = options.rounds as usize - 1;
                    format!("{} / {} / {}", rate(0), rate(last / 2), rate(last))
                }),
            );
            add(&mut rows, "commits of the last round, µs: p50 / p99 / max", load.as_ref().map(micros));
            add(&mut rows, "close, s", figure(&load, "close_seconds", |seconds| format!("{seconds:.2}")));
            add(&mut rows, "files, MiB", figure(&load, "bytes", mebibytes));
            add(&mut rows, "peak memory of loading, MiB", figure(&load, "peak_bytes", mebibytes));
            add(
                &mut rows,
                "open after close, ms",
                figure(&read, "open_seconds", |seconds| format!("{:.1}", seconds * 1e3)),
            );
            for (name, key) in
                [("gets/s, known keys", "known"), ("gets/s, absent keys", "absent"), ("lower_bound/s", "lower_bound")]
            {
                add(&mut rows, name, figure(&read, key, |rate| thousands(Some(rate))));
            }
            add(&mut rows, "ordered scan, keys/s", figure(&read, "scan", |rate| format!("{:.1} M", rate / 1e6)));
            add(
                &mut rows,
                "count of 1/20 of all keys, µs",
                figure(&read, "count_seconds", |seconds| format!("{:.1}", seconds * 1e6)),
            );
            add(&mut rows, "peak memory of reading, MiB", figure(&read, "peak_bytes", mebibytes));
        }
        table(record, options, kind.name(), rows);
    }
}

fn beside(record: &mut Record, options: &Options) {
    record.heading("Readers beside a writer, random keys: gets/s, inserts/s");
    let seconds = if options.keys < 5_000_000 { 3.0 } else { 10.0 };
    let mut rows = Vec::new();
    for engine in &options.engines {
        for readers in [2, 12] {
            let folder = fresh(options, engine);
            let loaded = child(options, engine, Kind::Random, &folder, Task::Load { rounds: 1 });
            let task = Task::Beside { readers, seconds };
            let answer = loaded.and_then(|_| child(options, engine, Kind::Random, &folder, task));
            let cell = answer.map(|answer| {
                format!("{}; {}", thousands(answer["gets"].as_f64()), thousands(answer["inserts"].as_f64()))
            });
            add(&mut rows, &format!("{readers} readers"), cell);
        }
    }
    table(record, options, "", rows);
}

fn durable(record: &mut Record, options: &Options) {
    record.heading("Durable commits/s, and µs: p50 / p99 / max");
    let mut rows = Vec::new();
    for engine in &options.engines {
        for (batch, committers) in [(512, 1), (1, 1), (1, 8)] {
            let folder = fresh(options, engine);
            let loaded = child(options, engine, Kind::Random, &folder, Task::Load { rounds: 1 });
            let task = Task::Durable { batch, committers, seconds: 3.0 };
            let answer = loaded.and_then(|_| child(options, engine, Kind::Random, &folder, task));
            let cell = answer
                .map(|answer| format!("{:.0}; {}", answer["commits"].as_f64().unwrap_or(f64::NAN), micros(&answer)));
            add(&mut rows, &format!("{committers} committers, batches of {batch}"), cell);
        }
    }
    table(record, options, "", rows);
}

fn opening(record: &mut Record, options: &Options) {
    let commits = options.keys / 20;
    record.heading(&format!("Open after a kill, {commits} commits of one entry after the open before: seconds"));
    let mut rows = Vec::new();
    for engine in &options.engines {
        let folder = fresh(options, engine);
        let answer = kill(engine, commits, &folder)
            .then(|| run_child(engine, Kind::Random, commits, &folder, Task::Open))
            .flatten();
        let cell = answer.map(|answer| {
            let lost = if answer["is_complete"] == true { "" } else { " (commits lost)" };
            format!("{:.3}{lost}", answer["seconds"].as_f64().unwrap_or(f64::NAN))
        });
        add(&mut rows, "open and get", cell);
    }
    table(record, options, "", rows);
}

/// Starts a child, waits until it has committed everything, and kills it.
fn kill(engine: &str, keys: u64, folder: &Path) -> bool {
    let mut child = command(engine, Kind::Random, keys, folder, Task::UntilKilled).spawn().expect("the child starts");
    let mut line = String::new();
    let said = BufReader::new(child.stdout.take().expect("its output is a pipe")).read_line(&mut line);
    child.kill().expect("our own child can be killed");
    child.wait().expect("our own child can be waited for");
    said.is_ok() && line.trim() == "committed"
}

fn child(options: &Options, engine: &str, kind: Kind, folder: &Path, task: Task) -> Option<Value> {
    run_child(engine, kind, options.keys, folder, task)
}

fn run_child(engine: &str, kind: Kind, keys: u64, folder: &Path, task: Task) -> Option<Value> {
    eprintln!("{engine}: {} keys, {task:?}", kind.name());
    let output = command(engine, kind, keys, folder, task).output().expect("the child starts");
    if !output.status.success() {
        eprintln!("{engine} failed: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(serde_json::from_slice(&output.stdout).expect("the child prints a line of JSON"))
}

fn command(engine: &str, kind: Kind, keys: u64, folder: &Path, task: Task) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.arg("child").arg(engine).arg(kind.name()).arg(keys.to_string()).arg(folder).args(task.arguments());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// An empty folder.
fn fresh(options: &Options, engine: &str) -> PathBuf {
    let folder = options.folder.join(engine);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for stores can be made");
    folder
}

fn add(rows: &mut Vec<Row>, name: &str, cell: Option<String>) {
    let cell = cell.unwrap_or_else(|| "failed".to_owned());
    match rows.iter_mut().find(|row| row.name == name) {
        Some(row) => row.cells.push(cell),
        None => rows.push(Row { name: name.to_owned(), cells: vec![cell] }),
    }
}

fn table(record: &mut Record, options: &Options, kind: &str, rows: Vec<Row>) {
    let mut head = vec!["figure".to_owned()];
    head.extend(options.engines.iter().cloned());
    head.push("Lath's goal at 20 M keys".to_owned());
    let goal_of = |name: &str| {
        let goal = GOALS.iter().find(|(of, row, _)| (*of, *row) == (kind, name));
        goal.map_or_else(|| "–".to_owned(), |(.., goal)| (*goal).to_owned())
    };
    let row = |row: Row| {
        let goal = goal_of(&row.name);
        std::iter::once(row.name).chain(row.cells).chain([goal]).collect()
    };
    let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
    record.table(&head, &rows);
}

fn figure(answer: &Option<Value>, key: &str, text: impl Fn(f64) -> String) -> Option<String> {
    answer.as_ref()?[key].as_f64().map(text)
}

fn micros(answer: &Value) -> String {
    let at = |index: usize| answer["commit_micros"][index].as_f64().unwrap_or(f64::NAN);
    format!("{:.0} / {:.0} / {:.0}", at(0), at(1), at(2))
}

fn thousands(rate: Option<f64>) -> String {
    match rate {
        Some(rate) if rate >= 1e6 => format!("{:.2} M", rate / 1e6),
        Some(rate) => format!("{:.0} K", rate / 1e3),
        None => "–".to_owned(),
    }
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.0}", bytes / (1 << 20) as f64)
}
