//! After a signal, a command leaves the old files or the complete output.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::files::{numbered, write};
use crate::invocation::{BINARY, command, lath, sample};

const SIGNALS: [(&str, i32); 3] = [("INT", 2), ("TERM", 15), ("HUP", 1)];

/// The files of a folder and its subfolders, with their contents.
type Listing = BTreeMap<PathBuf, Vec<u8>>;

fn listing(folder: &Path) -> Listing {
    let read = |path: &PathBuf| if path.is_dir() { Vec::new() } else { fs::read(path).unwrap() };
    paths(folder).into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// The files of a folder and its subfolders, while a command may change them.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.flat_map(|entry| [vec![entry.path()], paths(&entry.path())].concat()).collect();
    found.sort();
    found
}

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap().success());
}

/// Whether the tests were started with this signal ignored, as background jobs are. Child processes inherit that.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & 1 << (signal - 1) != 0
}

/// The signals that the binary can be sent here.
fn signals() -> impl Iterator<Item = (&'static str, i32)> {
    SIGNALS.into_iter().filter(|&(name, number)| {
        let is_ignored = is_ignored(number);
        if is_ignored {
            eprintln!("SIG{name} is ignored here, and not tested");
        }
        !is_ignored
    })
}

fn wait(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it is still there");
        sleep(Duration::from_millis(2));
    }
}

/// A command that writes files.
struct Case {
    name: &'static str,
    /// Runs for a moment.
    short: Vec<OsString>,
    /// Writes the outputs after minutes of work.
    long: Vec<OsString>,
}

/// Commands with input, and an output folder that already has files.
struct Commands {
    _folder: TempDir,
    out: PathBuf,
    cases: Vec<Case>,
}

impl Commands {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        fs::write(out.join("other.txt"), "other").unwrap();
        // Existing files stay until they are replaced.
        fs::write(out.join("old.parquet"), "old").unwrap();
        fs::write(out.join("part-00001.parquet"), "old").unwrap();
        let inputs = ["a.parquet", "b.parquet"].map(|name| {
            let path = folder.path().join(name);
            write(&path, &numbered(0..8_000), 1_000)
        });
        let case = |name: &'static str, options: &str, output: &str| {
            let args = |copies: usize, rows: &str| {
                let mut args: Vec<OsString> = vec![name.into()];
                args.extend(options.replace("ROWS", rows).split(' ').map(OsString::from));
                if name == "find" {
                    args.extend(["--where", "id >= 0"].map(OsString::from));
                }
                if name != "gen" {
                    args.extend(inputs.iter().cycle().take(2 * copies).map(OsString::from));
                }
                args.push("-o".into());
                args.push(out.join(output).into());
                args
            };
            Case { name, short: args(1, "5000"), long: args(300, "1000000000") }
        };
        let copy = |name, target: &str| {
            let query = |rows: u64| format!("SELECT value AS id, value % 3 AS third FROM generate_series(1, {rows})");
            let target = target.replace("OUT", &out.display().to_string());
            let args = |rows| ["sql".into(), format!("COPY ({}) TO {target}", query(rows)).into()].to_vec();
            Case { name, short: args(5000), long: args(100_000_000_000) }
        };
        let cases = vec![
            copy("sql, a file", "'OUT/old.parquet' (overwrite true)"),
            case("rewrite", "--codec zstd:3 --force --quiet", "old.parquet"),
            case("convert", "--force --quiet", "converted.csv"),
            case("cat", "--format jsonl", "cat.jsonl"),
            case("find", "--format csv", "found.csv"),
            case("merge", "--sort-by id --force --quiet", "old.parquet"),
            case("split", "--rows 5000 --force --quiet", "part.parquet"),
            case("gen", "events --rows ROWS --force --quiet", "old.parquet"),
        ];
        Self { _folder: folder, out, cases }
    }

    /// Starts the long form of a command, and waits until it writes.
    fn start(&self, case: &Case, before: &Listing) -> Child {
        let mut child = spawn(&case.long);
        let start = Instant::now();
        while fs::read_dir(&self.out).unwrap().count() == before.len() {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", case.name);
            assert!(child.try_wait().unwrap().is_none(), "{} has ended: {}", case.name, complaints(&mut child));
            sleep(Duration::from_millis(1));
        }
        child
    }
}

fn spawn(args: &[OsString]) -> Child {
    command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a command, and sends it a signal as soon as `names` returns other files than before.
fn interrupt(args: &[OsString], signal: &str, names: &dyn Fn() -> Vec<PathBuf>) -> ExitStatus {
    let before = names();
    let mut child = spawn(args);
    let start = Instant::now();
    while names() == before {
        assert!(start.elapsed() < Duration::from_secs(60));
        sleep(Duration::from_micros(200));
    }
    send(&child, signal);
    wait(&mut child)
}

fn complaints(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_signal_ends_every_command_and_leaves_what_was_there() {
    let commands = Commands::new();
    let before = listing(&commands.out);
    for case in &commands.cases {
        let name = case.name;
        for (signal, number) in signals() {
            let mut child = commands.start(case, &before);
            send(&child, signal);
            let status = wait(&mut child);
            assert_eq!(status.signal(), Some(number), "{name}, {signal}: {status}");
            assert_eq!(complaints(&mut child), "", "{name}, {signal}");
            assert!(listing(&commands.out) == before, "{name}, {signal}: {:?}", listing(&commands.out).keys());
        }
    }
}

#[test]
fn at_any_moment_there_is_the_old_output_or_the_whole_new_one() {
    let seed = lath_testkit::seed();
    println!("LATH_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let rounds = if std::env::var_os("LATH_FULL").is_some() { 100 } else { 4 };
    let commands = Commands::new();
    let before = listing(&commands.out);
    for Case { name, short: args, .. } in &commands.cases {
        let start = Instant::now();
        assert_eq!(lath(args).code, 0, "{name}");
        let time = start.elapsed();
        let whole = listing(&commands.out);
        for round in 0..rounds {
            restore(&commands.out, &before);
            let (signal, number) = if round % 2 == 0 { ("KILL", 9) } else { SIGNALS[random.usize(..3)] };
            if is_ignored(number) {
                continue;
            }
            let mut child = spawn(args);
            sleep(time.mul_f64(1.1 * random.f64()));
            send(&child, signal);
            let status = wait(&mut child);
            let at = format!("{name}, round {round}, {signal}: {status}");
            assert!(status.success() || status.signal() == Some(number), "{at}");
            let mut after = listing(&commands.out);
            if number == 9 {
                // Leftovers have a temporary name, and the next run removes them.
                after.retain(|path, _| !path.to_str().unwrap().contains(".partial"));
                // Killed between the renames of the parts.
                if *name != "split" {
                    assert!(after == before || after == whole, "{at}: {:?}", after.keys());
                }
                assert_eq!(lath(args).code, 0, "{at}");
                after = listing(&commands.out);
                assert!(after == whole, "{at}, run again: {:?}", after.keys());
            }
            assert!(after == before || after == whole, "{at}: {:?}", after.keys());
        }
        restore(&commands.out, &before);
    }
}

/// Restores a folder to exactly these files.
fn restore(folder: &Path, files: &Listing) {
    fs::remove_dir_all(folder).unwrap();
    fs::create_dir(folder).unwrap();
    for (path, bytes) in files {
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_later_run_removes_what_a_killed_one_has_left() {
    let commands = Commands::new();
    let before = listing(&commands.out);
    for case in &commands.cases {
        let name = case.name;
        let mut child = commands.start(case, &before);
        send(&child, "KILL");
        wait(&mut child);
        assert!(listing(&commands.out).len() > before.len(), "{name} left nothing");
        assert_eq!(lath(&case.short).code, 0, "{name}");
        let names = paths(&commands.out);
        assert!(names.iter().all(|name| !name.to_str().unwrap().contains(".partial")), "{name}: {names:?}");
        restore(&commands.out, &before);
    }
}

#[test]
fn folders_that_were_made_for_an_output_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("new/tables");
    for (signal, number) in signals() {
        let args = ["gen", "tpch", "--sf", "0.2", "--quiet", "-o", output.to_str().unwrap()];
        let mut child = spawn(&args.map(OsString::from));
        let start = Instant::now();
        // Until the first table is finished.
        while !paths(folder.path()).iter().any(|path| path.ends_with("customer.parquet")) {
            assert!(start.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
            sleep(Duration::from_millis(1));
        }
        send(&child, signal);
        assert_eq!(wait(&mut child).signal(), Some(number));
        assert_eq!(paths(folder.path()), [] as [PathBuf; 0]);
    }
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("events.parquet");
    let script = "trap '' HUP; exec \"$0\" gen events --rows 40000 --quiet -o \"$1\"";
    let mut child = Command::new("sh").args(["-c", script, BINARY]).arg(&output).spawn().unwrap();
    let start = Instant::now();
    while fs::read_dir(folder.path()).unwrap().count() == 0 {
        assert!(start.elapsed() < Duration::from_secs(60));
        sleep(Duration::from_micros(200));
    }
    send(&child, "HUP");
    assert!(wait(&mut child).success());
    assert!(output.exists());
}

#[test]
fn a_signal_ends_a_command_that_waits_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.csv");
    let input = write(&folder.path().join("in.parquet"), &numbered(0..100_000), 10_000);
    for (signal, number) in signals() {
        // Blocks until its output is read.
        let args = ["find", input.to_str().unwrap(), "--where", "id >= 0"];
        let mut unread = command(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // Blocks until its input is written.
        let args = ["convert", "--from", "csv", "-", "-o", output.to_str().unwrap()];
        let mut unfed = command(args).stdin(Stdio::piped()).spawn().unwrap();
        unfed.stdin.as_mut().unwrap().write_all(b"id,name\n1,a\n").unwrap();
        // Until the pipe is full.
        sleep(Duration::from_millis(500));
        for child in [&mut unread, &mut unfed] {
            assert!(child.try_wait().unwrap().is_none());
            send(child, signal);
            assert_eq!(wait(child).signal(), Some(number));
        }
        assert_eq!(listing(folder.path()).len(), 1);
    }
}

#[test]
fn a_copy_of_a_store_that_is_interrupted_goes() {
    const COUNT: usize = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let [entries, store, target] = ["entries.csv", "store", "copy"].map(|name| folder.path().join(name));
    let value = "v".repeat(300);
    let mut lines = String::from("key,value\n");
    lines.extend((0..COUNT).map(|key| format!("{key},{value}\n")));
    fs::write(&entries, lines).unwrap();
    let [entries, store, target] = [&entries, &store, &target].map(|path| path.to_str().unwrap());
    assert_eq!(lath(["kv", "load", store, entries]).code, 0);
    let names = || paths(folder.path());
    let before = names();
    for (signal, number) in signals() {
        for copy in ["backup", "repair"] {
            // On a fast machine the copy may be finished before the signal comes.
            let is_interrupted = (0..20).any(|_| {
                let status = interrupt(&["kv", copy, store, target].map(OsString::from), signal, &names);
                let is_whole = fs::exists(target).unwrap();
                if is_whole {
                    assert_eq!(lath(["kv", "count", target]).text(0), format!("{COUNT}\n"));
                }
                for suffix in ["", "-log0", "-log1", "-lock"] {
                    let _ = fs::remove_file(format!("{target}{suffix}"));
                }
                assert_eq!(names(), before, "{copy}, {signal}");
                assert!(status.success() || status.signal() == Some(number), "{copy}, {signal}: {status}");
                !is_whole && !status.success()
            });
            assert!(is_interrupted, "{copy}, {signal}");
        }
    }
    assert_eq!(lath(["kv", "count", store]).text(0), format!("{COUNT}\n"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for format in ["jsonl", "csv", "parquet"] {
        let mut child = command(["cat", &sample("trips"), "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut some = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        assert!(wait(&mut child).success());
        assert_eq!(complaints(&mut child), "");
    }
}

#[test]
fn a_folder_that_cannot_be_opened_leaves_the_output_as_it_was() {
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    let [binary, input, output] = ["lath", "in.parquet", "out.csv"].map(|name| folder.path().join(name));
    fs::copy(sample("stations.parquet"), &input).unwrap();
    fs::write(&output, "old").unwrap();
    if fs::hard_link(BINARY, &binary).is_err() {
        fs::copy(BINARY, &binary).unwrap();
    }
    let mut command = Command::new(&binary);
    command.args(["cat", input.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    // Permissions do not keep root from opening anything.
    if fs::metadata(folder.path()).unwrap().uid() == 0 {
        for path in [folder.path(), &output] {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    let names = || paths(folder.path());
    let before = names();
    let set_mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    // Files can be created and renamed in it, but it cannot be read.
    set_mode(0o300);
    let run = command.output().unwrap();
    set_mode(0o700);
    let complaint = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(4), "{complaint}");
    assert!(complaint.contains("out.csv: cannot open its folder"), "{complaint}");
    assert_eq!(fs::read(&output).unwrap(), b"old");
    assert_eq!(names(), before);
}

#[test]
fn an_import_that_is_interrupted_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let [source, table, shop] = ["source", "table", "shop"].map(|name| folder.path().join(name));
    fs::create_dir(&source).unwrap();
    for at in 0..60_i64 {
        write(&source.join(format!("{at}.parquet")), &numbered(at * 2000..(at + 1) * 2000), 1000);
    }
    // Makes the database.
    let one = source.join("0.parquet");
    let [source, table, shop, one] = [&source, &table, &shop, &one].map(|path| path.to_str().unwrap());
    assert_eq!(lath(["table", "import", shop, "--table", "one", one, "--key", "id"]).code, 0);
    // The files of tables; the database has others while it is open.
    let names = || {
        let mut names = paths(folder.path());
        names.retain(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap().contains("table"));
        names
    };
    let alone = |_: &str| ["table", "import", table, source, "--key", "id"].map(OsString::from).to_vec();
    let in_database =
        |name: &str| ["table", "import", shop, "--table", name, source, "--key", "id"].map(OsString::from).to_vec();
    #[cfg(feature = "sql")]
    let sql = |name: &str| {
        let statement = format!("CALL import('{name}', '{source}', key => 'id')");
        ["sql", "--database", shop, &statement].map(OsString::from).to_vec()
    };
    type Way<'a> = &'a dyn Fn(&str) -> Vec<OsString>;
    let ways: &[Way<'_>] = &[
        &alone,
        &in_database,
        #[cfg(feature = "sql")]
        &sql,
    ];
    for (way, args) in ways.iter().enumerate() {
        for (signal, number) in signals() {
            // On a fast machine the import may be finished before the signal comes.
            let is_interrupted = (0..20).any(|trial| {
                let args = args(&format!("t_{way}_{signal}_{trial}"));
                let before = names();
                let status = interrupt(&args, signal, &names);
                assert!(status.success() || status.signal() == Some(number), "{args:?}, {signal}: {status}");
                if !status.success() {
                    assert_eq!(names(), before, "{args:?}, {signal}");
                }
                let _ = fs::remove_dir_all(table);
                !status.success()
            });
            assert!(is_interrupted, "{way}, {signal}");
        }
    }
    assert_eq!(lath(["table", "count", shop, "--table", "one"]).text(0), "2000\n");
}

#[test]
fn compaction_that_waits_for_another_process_ends_at_the_first_signal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("store");
    let store = lath_store::Store::open(&path).unwrap();
    for (name, number) in signals() {
        let mut child =
            Command::new(BINARY).args(["kv", "compact"]).arg(&path).args(["--wait", "600"]).spawn().unwrap();
        let start = Instant::now();
        while !lath_store::store_users(&path).iter().any(|user| user.process == child.id()) {
            assert!(start.elapsed() < Duration::from_secs(60), "it does not open the store");
            sleep(Duration::from_millis(2));
        }
        send(&child, name);
        assert_eq!(wait(&mut child).signal(), Some(number));
    }
    drop(store);
    assert_eq!(lath(["kv", "compact", path.to_str().unwrap()]).code, 0);
}
