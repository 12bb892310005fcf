//! Runs all work with all engines in turn, each piece in a separate process, and prints the tables of results.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lath_bench_record::record::Record;
use serde_json::Value;

use crate::child::Task;
use crate::keys::Kind;
use crate::options::Options;
use crate::table::{
    self, BESIDE, DURABLE, INSERTS, OPENING, REMOVAL, REMOVED, Rows, Table, commits, figure, mebibytes, micros,
    thousands,
};

/// The seconds of counting durable commits.
const DURABLE_SECONDS: f64 = 5.0;

/// The number of passes in which each engine reads its data, in turn with the others: the speed of a shared host
/// changes within minutes.
const READ_PASSES: usize = 3;

/// Batches and committers of durable commits.
const DURABLE_LOADS: [(u64, usize); 3] = [(512, 1), (1, 1), (1, 8)];

/// Bytes in Lath's log for a commit of one entry, and for each further one: the disk alone is measured with as many.
const LOGGED_BYTES: (u64, u64) = (61, 20);

/// The run with one number of keys.
struct Run<'a> {
    options: &'a Options,
    keys: u64,
    record: &'a mut Record,
    tables: Vec<Table>,
}

pub fn run(record: &mut Record, options: &Options) {
    record.line(&format!("- engines: {}", versions(&options.engines)));
    record.line(&format!("- rounds of loading: {}, 512 entries a transaction", options.rounds));
    record.line(&format!("- reading: median of {READ_PASSES} passes in turns, and the best of them"));
    let mut tables = Vec::new();
    for &keys in &options.sizes {
        let mut run = Run { options, keys, record, tables: Vec::new() };
        run.load_and_read(Kind::Random);
        let mut present = vec![keys; options.engines.len()];
        run.beside(&mut present);
        run.durable(&mut present);
        run.load_and_read(Kind::Sequential);
        run.load_and_read(Kind::Strings);
        run.remove();
        run.opening();
        tables.append(&mut run.tables);
    }
    if options.sizes.len() > 1 {
        table::print_growth(record, &options.engines, &options.sizes, &tables);
    }
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

impl Run<'_> {
    /// Leaves the stores in place.
    fn load_and_read(&mut self, kind: Kind) {
        let calls = (self.keys / 4).clamp(100_000, 500_000);
        self.heading(&format!("Loading {} {} keys, and reading them", self.keys, kind.name()));
        let mut rows = Rows::default();
        for engine in &self.options.engines {
            let folder = self.fresh(engine);
            let load = run_child(engine, kind, self.keys, &folder, Task::Load { rounds: self.options.rounds });
            add_load(&mut rows, load.as_ref(), self.options.rounds);
        }
        let mut reads = vec![Vec::new(); self.options.engines.len()];
        for _ in 0..READ_PASSES {
            for (engine, reads) in self.options.engines.iter().zip(&mut reads) {
                reads.extend(run_child(engine, kind, self.keys, &self.folder(engine), Task::Read { calls }));
            }
        }
        for reads in &reads {
            add_reads(&mut rows, reads);
        }
        self.print(rows, &self.options.engines, kind.name());
    }

    fn beside(&mut self, present: &mut [u64]) {
        self.heading("Readers beside a writer, random keys: gets/s; inserts/s");
        let seconds = if self.keys < 5_000_000 { 3.0 } else { 10.0 };
        let mut rows = Rows::default();
        for readers in [2, 12] {
            for (engine, present) in self.options.engines.iter().zip(&mut *present) {
                let answer = self.continued(engine, present, Task::Beside { readers, seconds });
                let cell = answer.map(|answer| {
                    format!("{}; {}", thousands(answer["gets"].as_f64()), thousands(answer["inserts"].as_f64()))
                });
                rows.add(&format!("{readers} readers"), cell);
            }
        }
        self.print(rows, &self.options.engines, BESIDE);
    }

    fn durable(&mut self, present: &mut [u64]) {
        let what = "whatever an engine does in the background goes on beside them";
        self.heading(&format!("Durable commits/s; µs: p50 / p99 / max; {what}"));
        let mut rows = Rows::default();
        for (batch, committers) in DURABLE_LOADS {
            for (engine, present) in self.options.engines.iter().zip(&mut *present) {
                let task = Task::Durable { batch, committers, seconds: DURABLE_SECONDS };
                rows.add(&durable_name(batch, committers), self.continued(engine, present, task).as_ref().map(commits));
            }
            // At best, committers share each sync among all of them.
            let bytes = (LOGGED_BYTES.0 + LOGGED_BYTES.1 * (batch - 1)) * committers as u64;
            let folder = self.fresh("disk");
            let answer = run_command(disk(&folder, bytes), &format!("disk: {bytes} bytes a sync"));
            let cell = answer.map(|answer| {
                let syncs = answer["commits"].as_f64().unwrap_or(f64::NAN);
                format!("{:.0}; {}", syncs * committers as f64, micros(&answer))
            });
            rows.add(&durable_name(batch, committers), cell);
        }
        let mut columns = self.options.engines.clone();
        columns.push("the disk itself".to_owned());
        self.print(rows, &columns, DURABLE);
    }

    /// Removes half of the entries of the stores that the last loading has left.
    fn remove(&mut self) {
        self.heading("Remove a range of half of all keys, strings");
        let mut rows = Rows::default();
        for engine in &self.options.engines {
            let answer = run_child(engine, Kind::Strings, self.keys, &self.folder(engine), Task::Remove);
            let millis = |seconds: f64| format!("{:.3}", seconds * 1e3);
            rows.add(REMOVED, figure(answer.as_ref(), "seconds", millis));
            rows.add("close, after a scan, ms", figure(answer.as_ref(), "close_seconds", millis));
        }
        self.print(rows, &self.options.engines, REMOVAL);
    }

    fn opening(&mut self) {
        let commits = self.keys / 20;
        self.heading(&format!("Open after a kill, {commits} commits of one entry after the open before: seconds"));
        let mut rows = Rows::default();
        for engine in &self.options.engines {
            let folder = self.fresh(engine);
            let answer = kill(engine, commits, &folder)
                .then(|| run_child(engine, Kind::Random, commits, &folder, Task::Open))
                .flatten();
            let cell = answer.map(|answer| {
                let lost = if answer["is_complete"] == true { "" } else { " (commits lost)" };
                format!("{:.3}{lost}", answer["seconds"].as_f64().unwrap_or(f64::NAN))
            });
            rows.add("open and get", cell);
        }
        self.print(rows, &self.options.engines, OPENING);
    }

    fn heading(&mut self, text: &str) {
        self.record.heading(text);
    }

    fn print(&mut self, rows: Rows, columns: &[String], section: &'static str) {
        self.tables.push(rows.print(self.record, columns, section, self.keys));
    }

    /// A task that continues with the store of random keys, `present` of which exist before and after.
    fn continued(&self, engine: &str, present: &mut u64, task: Task) -> Option<Value> {
        let answer = run_child(engine, Kind::Random, *present, &self.folder(engine), task)?;
        *present = answer["keys"].as_u64()?;
        Some(answer)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.options.folder.join(name)
    }

    /// An empty folder.
    fn fresh(&self, name: &str) -> PathBuf {
        let folder = self.folder(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the folder for stores can be made");
        folder
    }
}

fn add_load(rows: &mut Rows, load: Option<&Value>, rounds: u64) {
    let rates = load.map(|load| {
        let rate = |index: usize| thousands(load["rates"][index].as_f64());
        let last = rounds as usize - 1;
        format!("{} / {} / {}", rate(0), rate(last / 2), rate(last))
    });
    rows.add(INSERTS, rates);
    rows.add("commits of the last round, µs: p50 / p99 / max", load.map(micros));
    rows.add("close, s", figure(load, "close_seconds", |seconds| format!("{seconds:.2}")));
    rows.add("files, MiB", figure(load, "bytes", mebibytes));
    rows.add("peak memory of loading, MiB", figure(load, "peak_bytes", mebibytes));
}

/// The median of the passes and, in parentheses, the best.
fn add_reads(rows: &mut Rows, reads: &[Value]) {
    let mut add = |name: &str, key: &str, is_rate: bool, text: &dyn Fn(f64) -> String| {
        let mut figures: Vec<f64> = reads.iter().filter_map(|read| read[key].as_f64()).collect();
        figures.sort_unstable_by(f64::total_cmp);
        let best = if is_rate { figures.last() } else { figures.first() };
        let median = figures.get(figures.len() / 2);
        rows.add(name, median.zip(best).map(|(median, best)| format!("{} ({})", text(*median), text(*best))));
    };
    add("open after close, ms", "open_seconds", false, &|seconds| format!("{:.1}", seconds * 1e3));
    for (name, key) in [
        ("gets/s, known keys", "known"),
        ("gets/s, absent keys", "absent"),
        ("gets/s, known keys, 64 in a call", "together"),
        ("lower_bound/s", "lower_bound"),
    ] {
        add(name, key, true, &|rate| thousands(Some(rate)));
    }
    add("ordered scan, keys/s", "scan", true, &|rate| format!("{:.1} M", rate / 1e6));
    add("count of 1/20 of all keys, µs", "count_seconds", false, &|seconds| format!("{:.1}", seconds * 1e6));
    rows.add("peak memory of reading, MiB", figure(reads.first(), "peak_bytes", mebibytes));
}

fn durable_name(batch: u64, committers: usize) -> String {
    format!("{committers} committer{}, batches of {batch}", if committers == 1 { "" } else { "s" })
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

fn run_child(engine: &str, kind: Kind, keys: u64, folder: &Path, task: Task) -> Option<Value> {
    run_command(command(engine, kind, keys, folder, task), &format!("{engine}: {} keys, {task:?}", kind.name()))
}

fn run_command(mut command: Command, what: &str) -> Option<Value> {
    eprintln!("{what}");
    let output = command.output().expect("the child starts");
    if !output.status.success() {
        eprintln!("failed: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(serde_json::from_slice(&output.stdout).expect("the child prints a line of JSON"))
}

fn command(engine: &str, kind: Kind, keys: u64, folder: &Path, task: Task) -> Command {
    let mut command = own();
    command.arg("child").arg(engine).arg(kind.name()).arg(keys.to_string()).arg(folder).args(task.arguments());
    command
}

fn disk(folder: &Path, bytes: u64) -> Command {
    let mut command = own();
    command.arg("disk").arg(folder).arg(bytes.to_string()).arg(DURABLE_SECONDS.to_string());
    command
}

fn own() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
