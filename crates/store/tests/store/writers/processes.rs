//! Processes that write to one store by turns: nothing that one commits is lost or seen in part by another.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use lath_store::{Durability, Error, Options, Store};

use crate::history::assert_sound;

const PATH: &str = "LATH_TEST_WRITERS_PATH";
const TASK: &str = "LATH_TEST_WRITERS_TASK";

/// Commits by each process of a test.
const COMMITS: u64 = 150;

/// Long enough for any machine: nothing keeps the lock.
const TIMEOUT: Duration = Duration::from_secs(600);

fn options() -> Options {
    // The log is short, so that there are checkpoints too.
    Options::new().capacity_bytes(1 << 30).log_limit_bytes(1 << 15).busy_timeout(TIMEOUT)
}

/// Moves 1 from one of a hundred accounts to another, and counts the commit: three reads and four writes. Returns the
/// count.
fn transfer(store: &Store, own: &[u8], durability: Durability) -> lath_store::Result<u64> {
    let mut transaction = store.begin()?;
    let mut tree = transaction.tree("accounts")?;
    let mut add = |key: &[u8], amount: i64| {
        let old = tree.get(key)?.map_or(0, |bytes| i64::from_le_bytes(bytes[..8].try_into().unwrap()));
        let new = old + amount;
        // Values of several lengths, some of which have nodes of their own.
        let len = 8 + (new.unsigned_abs() as usize * 37) % 900;
        let value: Vec<u8> = new.to_le_bytes().into_iter().chain(std::iter::repeat(7)).take(len).collect();
        tree.put(key, &value).map(|()| new)
    };
    let count = add(b"count", 1)?;
    add(own, 1)?;
    add(&[0, (count * 31 % 100) as u8], -1)?;
    add(&[0, (count * 17 % 100) as u8], 1)?;
    transaction.commit_with(durability)?;
    Ok(count as u64)
}

fn balance(store: &Store, key: &[u8]) -> i64 {
    let snapshot = store.snapshot().unwrap();
    let Some(tree) = snapshot.tree("accounts").unwrap() else { return 0 };
    tree.get(key).unwrap().map_or(0, |bytes| i64::from_le_bytes(bytes[..8].try_into().unwrap()))
}

/// Checks that the accounts add up to nothing, and returns the number of commits.
fn audit(store: &Store) -> u64 {
    let snapshot = store.snapshot().unwrap();
    let Some(tree) = snapshot.tree("accounts").unwrap() else { return 0 };
    let amount = |bytes: &[u8]| i64::from_le_bytes(bytes[..8].try_into().unwrap());
    let accounts: i64 = tree.prefix(&[0]).map(|entry| amount(entry.unwrap().1)).sum();
    assert_eq!(accounts, 0);
    let owners: i64 = tree.prefix(b"own ").map(|entry| amount(entry.unwrap().1)).sum();
    let count = tree.get(b"count").unwrap().map_or(0, amount);
    assert_eq!(owners, count);
    count as u64
}

/// Runs the program [`child`] in another process.
pub(super) struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(super) fn start(path: &Path, task: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["writers::processes::child", "--exact", "--nocapture", "--test-threads=1"])
            .env(PATH, path)
            .env(TASK, task)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdin, lines }
    }

    /// Waits until the process says this.
    pub(super) fn expect(&mut self, line: &str) {
        // The test harness writes to the same line before the first.
        let found = self.lines.any(|found| found.unwrap().ends_with(line));
        assert!(found, "the other process has ended before it said {line}");
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    pub(super) fn end(mut self) {
        drop(self.stdin);
        // Read to the end, so that the process does not fail to write.
        self.lines.for_each(|line| drop(line.unwrap()));
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for EndProcess {
    fn drop(&mut self) {
        if let Some(mut process) = self.0.take() {
            process.signal("-CONT");
            process.child.kill().unwrap();
            process.child.wait().unwrap();
        }
    }
}

/// Ends a process that was stopped, even if a test fails.
struct EndProcess(Option<Process>);

fn hear() -> bool {
    std::io::stdin().lock().lines().next().is_some_and(|line| line.is_ok())
}

/// Not a test: the program of the other processes.
#[test]
fn child() {
    let (Ok(path), Ok(task)) = (std::env::var(PATH), std::env::var(TASK)) else { return };
    let say = lath_testkit::say;
    let own = format!("own {}", std::process::id());
    let words: Vec<&str> = task.split(' ').collect();
    match words[..] {
        // Commits by turns with the others, which begin at the same time.
        ["count", durability] => {
            let durability = if durability == "sync" { Durability::Sync } else { Durability::Deferred };
            let store = options().open(path).unwrap();
            say("open");
            hear();
            for _ in 0..COMMITS {
                transfer(&store, own.as_bytes(), durability).unwrap();
            }
            assert_eq!(balance(&store, own.as_bytes()), COMMITS as i64);
            say("done");
            hear();
        }
        // Opens the store for each commit.
        ["open", ..] => {
            for _ in 0..COMMITS / 5 {
                transfer(&options().open(&path).unwrap(), own.as_bytes(), Durability::Sync).unwrap();
            }
            say("done");
        }
        // Commits until the other process ends this one.
        ["loop", ..] => {
            let store = options().open(path).unwrap();
            for _ in 0.. {
                transfer(&store, own.as_bytes(), Durability::Sync).unwrap();
                say("commit");
            }
        }
        // Commits often, and then does nothing until it is killed.
        ["fill", commits] => {
            let store = super::replay::options().open(path).unwrap();
            for _ in 0..commits.parse().unwrap() {
                transfer(&store, own.as_bytes(), Durability::Deferred).unwrap();
            }
            say("filled");
            hear();
        }
        // Waits for the lock, which another process has.
        ["wait", ..] => {
            let store = options().open(path).unwrap();
            say("open");
            hear();
            say("waits");
            transfer(&store, own.as_bytes(), Durability::Sync).unwrap();
            say("done");
            hear();
        }
        // Has a transaction open until it is told to commit.
        ["transaction", ..] => {
            let store = options().open(path).unwrap();
            let mut transaction = store.begin().unwrap();
            transaction.tree("half").unwrap().put(b"half", &[1; 5000]).unwrap();
            say("begun");
            hear();
            transaction.commit().unwrap();
            say("done");
        }
        _ => panic!("unknown task: {task}"),
    }
}

fn run(tasks: &[&str]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut processes: Vec<Process> = tasks.iter().map(|task| Process::start(&path, task)).collect();
    for (process, task) in processes.iter_mut().zip(tasks) {
        if task.starts_with("count") {
            process.expect("open");
        }
    }
    processes.iter_mut().for_each(|process| process.tell("begin"));
    processes.iter_mut().for_each(|process| process.expect("done"));
    // They are idle, and have the store open.
    let store = options().open(&path).unwrap();
    let count = audit(&store);
    assert_sound(&store, "while others have it open");
    drop(store);
    processes.into_iter().for_each(Process::end);
    let store = Options::new().open(&path).unwrap();
    assert_sound(&store, "the end");
    assert_eq!(audit(&store), count);
    count
}

#[test]
fn commits_of_two_processes_add_up() {
    assert_eq!(run(&["count sync", "count sync"]), 2 * COMMITS);
}

#[test]
fn commits_of_three_processes_add_up() {
    assert_eq!(run(&["count deferred", "count sync", "count deferred"]), 3 * COMMITS);
}

#[test]
fn process_that_opens_store_for_each_commit_writes_beside_others() {
    assert_eq!(run(&["count deferred", "open each time"]), COMMITS + COMMITS / 5);
}

#[test]
fn process_that_never_stops_writing_lets_others_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut others = [0, 1].map(|_| Process::start(&path, "loop"));
    others.iter_mut().for_each(|other| other.expect("commit"));
    let store = options().open(&path).unwrap();
    for _ in 0..50 {
        let before = audit(&store);
        let count = transfer(&store, b"own here", Durability::Deferred).unwrap();
        assert!(count > before);
    }
    // Nor does this process starve the others.
    let before = audit(&store);
    while audit(&store) < before + 20 {
        let own = balance(&store, b"own here");
        transfer(&store, b"own here", Durability::Deferred).unwrap();
        assert!(own < 1_000_000, "the others do not get in");
    }
    for mut other in others {
        other.child.kill().unwrap();
        other.child.wait().unwrap();
        transfer(&store, b"own here", Durability::Sync).unwrap();
        assert_sound(&store, "after a kill");
    }
    audit(&store);
}

#[test]
fn killed_process_in_transaction_frees_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = options().open(&path).unwrap();
    let snapshot = store.snapshot().unwrap();
    for round in 1..6 {
        assert_eq!(transfer(&store, b"own here", Durability::Sync).unwrap(), round);
        let mut other = Process::start(&path, "transaction");
        other.expect("begun");
        assert!(matches!(store.try_begin(), Err(Error::Busy)));
        other.child.kill().unwrap();
        other.child.wait().unwrap();
    }
    assert_eq!(transfer(&store, b"own here", Durability::Sync).unwrap(), 6);
    assert!(store.snapshot().unwrap().tree("half").unwrap().is_none(), "a killed transaction leaves nothing");
    assert!(snapshot.tree("accounts").unwrap().is_none(), "a snapshot stays as it was");
    assert_sound(&store, "after kills");
}

#[test]
fn stopped_process_makes_others_busy_after_the_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = options().busy_timeout(Duration::from_millis(50)).open(&path).unwrap();
    assert_eq!(transfer(&store, b"own here", Durability::Sync).unwrap(), 1);
    let mut other = Process::start(&path, "transaction");
    other.expect("begun");
    other.signal("-STOP");
    let mut other = EndProcess(Some(other));
    let stopped = other.0.as_ref().unwrap().child.id();
    for _ in 0..2 {
        let Err(error) = transfer(&store, b"own here", Durability::Sync) else { panic!("two transactions at a time") };
        assert!(matches!(error, Error::BusyTimeout { process, .. } if process == stopped), "{error:?}");
    }
    let Err(error) = options().busy_timeout(Duration::from_millis(50)).open(&path) else { panic!("it opens") };
    assert!(matches!(error, Error::BusyTimeout { .. }), "{error:?}");
    assert_eq!(audit(&store), 1, "it is read meanwhile");
    let mut process = other.0.take().unwrap();
    process.signal("-CONT");
    process.tell("commit");
    process.expect("done");
    process.end();
    let patient = options().open(&path).unwrap();
    assert_eq!(transfer(&patient, b"own here", Durability::Sync).unwrap(), 2);
    assert!(store.snapshot().unwrap().tree("half").unwrap().is_some());
    assert_sound(&patient, "the end");
}

#[test]
fn stopped_process_that_waits_for_its_turn_lets_others_go_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let stores = [0, 1].map(|_| options().open(&path).unwrap());
    let mut other = Process::start(&path, "wait");
    other.expect("open");
    // It waits, because this process has a transaction open, and is stopped.
    let mut transaction = stores[0].begin().unwrap();
    other.tell("wait");
    other.expect("waits");
    while stores[1].try_begin().is_ok() || !is_sleeping(&other) {
        std::thread::yield_now();
    }
    other.signal("-STOP");
    let other = EndProcess(Some(other));
    transaction.tree("more").unwrap().put(b"key", b"").unwrap();
    transaction.commit().unwrap();
    for round in 0..60 {
        transfer(&stores[round % 2], b"own here", Durability::Deferred).unwrap();
    }
    assert_eq!(audit(&options().open(&path).unwrap()), 60);
    let mut other = other;
    let mut process = other.0.take().unwrap();
    process.signal("-CONT");
    process.expect("done");
    process.end();
    assert_eq!(audit(&stores[1]), 61, "it gets its turn");
    assert_sound(&stores[0], "the end");
}

/// Whether all threads of the process sleep, so that it waits for a turn.
fn is_sleeping(process: &Process) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", process.child.id())).unwrap();
    tasks.flatten().all(|task| {
        std::fs::read_to_string(task.path().join("stat"))
            .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S')))
    })
}

#[test]
fn threads_and_processes_are_waited_for_no_longer_than_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let stores = [0, 1].map(|_| options().open(&path).unwrap());
    let wait = Duration::from_millis(50);
    let transaction = stores[0].begin().unwrap();
    for store in [&stores[0], &stores[1]] {
        assert!(matches!(store.begin_within(wait), Err(Error::Busy)));
    }
    std::thread::scope(|scope| {
        // Another thread waits for longer, or begins to.
        let waits = scope.spawn(|| drop(stores[1].begin().unwrap()));
        (0..5).for_each(|_| assert!(matches!(stores[1].begin_within(wait), Err(Error::Busy))));
        let others = stores.each_ref().map(|store| {
            scope.spawn(move || {
                let mut transaction = store.begin_within(TIMEOUT).unwrap();
                transaction.tree("data").unwrap().put(b"key", b"").unwrap();
                transaction.abort();
            })
        });
        transaction.abort();
        others.into_iter().chain([waits]).for_each(|other| other.join().unwrap());
    });
    // A store that no other process may write to.
    let alone = Store::open(folder.path().join("alone")).unwrap();
    let transaction = alone.begin().unwrap();
    assert!(matches!(alone.begin_within(wait), Err(Error::Busy)));
    drop(transaction);
    drop(alone.begin_within(wait).unwrap());
}

#[test]
fn commit_of_another_process_wakes_those_that_wait_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = options().open(&path).unwrap();
    transfer(&store, b"own here", Durability::Deferred).unwrap();
    let reader = Options::new().read_only(true).open(&path).unwrap();
    assert!(reader.wait_for_commit(1, Duration::from_millis(1)).unwrap().is_none());
    let mut other = Process::start(&path, "fill 300");
    for handle in [&reader, &store] {
        for commit in 1..=300 {
            let snapshot = handle.wait_for_commit(commit, TIMEOUT).unwrap().unwrap();
            assert!(snapshot.sequence() > commit);
        }
    }
    other.expect("filled");
    other.end();
    // A view that never changes.
    drop((store, reader));
    let closed = Options::new().read_only(true).open(&path).unwrap();
    assert!(closed.wait_for_commit(301, Duration::from_millis(20)).unwrap().is_none());
}
