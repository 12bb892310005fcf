//! A store that several processes have open, some of which are killed.
#![cfg(unix)]
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use lath_store::{Durability, Options, Snapshot, Store};

const KEYS: u64 = 300;

/// The value of a key in every commit of a round.
fn value(round: u64, key: u64) -> Vec<u8> {
    let len = (key * 7 + round) % 90;
    [round.to_be_bytes().as_slice(), &vec![key as u8; len as usize]].concat()
}

fn commit(store: &Store, round: u64) {
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("rounds").unwrap();
    for key in 0..KEYS {
        tree.upsert(&key.to_be_bytes(), &value(round, key)).unwrap();
    }
    transaction.commit().unwrap();
}

/// Checks all keys of a snapshot, and returns its round.
fn read_round(snapshot: &Snapshot) -> u64 {
    let tree = snapshot.tree("rounds").unwrap().unwrap();
    let first = tree.get(&0_u64.to_be_bytes()).unwrap().unwrap();
    let round = u64::from_be_bytes(*first.first_chunk().unwrap());
    for key in 0..KEYS {
        assert_eq!(tree.get(&key.to_be_bytes()).unwrap().unwrap(), value(round, key), "key {key} of round {round}");
    }
    assert_eq!(tree.len().unwrap(), KEYS);
    round
}

fn options() -> Options {
    // The log is short, so that there are checkpoints too.
    Options::new().durability(Durability::Deferred).log_limit_bytes(1 << 20)
}

/// Runs a test of this file in another process, which finds the store's path in its environment.
fn start(test: &str, path: &Path) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("processes::{test}"), "--nocapture"])
        .env("LATH_PROCESS_STORE", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

/// Waits until the other process reports that it has reached a round, or passed it.
fn wait_for(lines: &mut Lines<BufReader<ChildStdout>>, round: u64) {
    for line in lines {
        let line = line.unwrap();
        if line.strip_prefix("round ").is_some_and(|found| found.parse::<u64>().unwrap() >= round) {
            return;
        }
    }
    unreachable!("the other process has ended");
}

fn say(round: u64) {
    // Start a new line, whatever the test harness has written before.
    println!("\nround {round}");
    std::io::stdout().flush().unwrap();
}

/// Ends the reading thread, even if a test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn readers_keep_snapshots_when_writer_is_killed_and_replaced() {
    if let Some(path) = std::env::var_os("LATH_PROCESS_STORE") {
        let store = options().open(path).unwrap();
        for round in 1..1_000_000 {
            commit(&store, round);
            say(round);
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut least = 0;
    let mut reader: Option<Store> = None;
    let mut held: Vec<(u64, Snapshot)> = Vec::new();
    for _ in 0..3 {
        let name = "readers_keep_snapshots_when_writer_is_killed_and_replaced";
        let (mut writer, mut lines) = start(name, &path);
        wait_for(&mut lines, 5);
        let reader = reader.get_or_insert_with(|| options().read_only(true).open(&path).unwrap());
        let snapshot = reader.snapshot().unwrap();
        held.push((read_round(&snapshot), snapshot));
        wait_for(&mut lines, 25);
        writer.kill().unwrap();
        writer.wait().unwrap();
        // There is no writer, and the last commit of the killed one is there.
        let snapshot = reader.snapshot().unwrap();
        let last = read_round(&snapshot);
        assert!(last >= 25);
        held.push((last, snapshot));

        // Drop the newer snapshot; the others outlive many commits, whose space is reused again and again. All the
        // while, when the next writer opens and when it closes, others read.
        held.truncate(held.len() - 1);
        let is_over = AtomicBool::new(false);
        let recovered = std::thread::scope(|scope| {
            let _end = End(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    read_round(&reader.snapshot().unwrap());
                }
            });
            let store = options().open(&path).unwrap();
            let recovered = read_round(&store.snapshot().unwrap());
            assert!(recovered >= last, "{recovered} after {last}");
            for round in 1000..1040 {
                commit(&store, round);
                assert_eq!(read_round(&reader.snapshot().unwrap()), round);
                for (round, snapshot) in &held {
                    assert_eq!(read_round(snapshot), *round);
                }
            }
            let report = store.check().unwrap();
            assert!(report.is_sound(), "{report:?}");
            drop(store);
            recovered
        });
        least = least.max(recovered);
    }
    assert!(least >= 25);
}

#[test]
fn killed_reader_holds_no_space() {
    if let Some(path) = std::env::var_os("LATH_PROCESS_STORE") {
        let store = options().read_only(true).open(path).unwrap();
        let snapshot = store.snapshot().unwrap();
        say(read_round(&snapshot));
        // Wait until this process is killed, or the parent ends.
        std::io::stdin().read_line(&mut String::new()).unwrap();
        return;
    }
    /// The number of nodes that a check finds, after the second commit and after hundreds.
    fn nodes(with_reader: bool) -> [u64; 2] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        // Without checkpoints, only readers hold older commits.
        let store = options().background_checkpoints(false).open(&path).unwrap();
        let nodes = || {
            let report = store.check().unwrap();
            assert!(report.is_sound(), "{report:?}");
            report.nodes
        };
        commit(&store, 1);
        let reader = with_reader.then(|| start("killed_reader_holds_no_space", &path));
        let reader = reader.map(|(reader, mut lines)| {
            wait_for(&mut lines, 1);
            reader
        });
        commit(&store, 2);
        let of_few = nodes();
        if let Some(mut reader) = reader {
            reader.kill().unwrap();
            reader.wait().unwrap();
        }
        // The writer checks which readers are alive every few hundred commits.
        for round in 3..600 {
            commit(&store, round);
        }
        [of_few, nodes()]
    }
    let (without, with) = (nodes(false), nodes(true));
    assert!(with[0] > without[0], "{with:?} {without:?}");
    assert_eq!(with[1], without[1]);
}

#[test]
fn readers_continue_while_file_shrinks_and_grows() {
    const NAME: &str = "readers_continue_while_file_shrinks_and_grows";
    const LAST: u64 = 1 << 40;
    if let Some(path) = std::env::var_os("LATH_PROCESS_STORE") {
        let store = options().read_only(true).open(path).unwrap();
        let mut held: Vec<(u64, Snapshot)> = Vec::new();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (store, is_over) = (&store, &is_over);
            let _end = End(is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    read_round(&store.snapshot().unwrap());
                }
            });
            for turn in 0_u64.. {
                let snapshot = store.snapshot().unwrap();
                let round = read_round(&snapshot);
                if turn % 100 == 0 {
                    held.push((round, snapshot));
                    say(round);
                }
                for (round, snapshot) in &held {
                    assert_eq!(read_round(snapshot), *round);
                }
                if held.len() > 3 {
                    held.remove(0);
                }
                if round == LAST {
                    return;
                }
            }
        });
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = options().open(&path).unwrap();
    commit(&store, 1);
    let (mut reader, mut lines) = start(NAME, &path);
    wait_for(&mut lines, 1);
    let (mut shorter, mut round) = (0, 1_u64);
    while shorter < 40 {
        let mut transaction = store.begin().unwrap();
        let mut tree = transaction.tree("much").unwrap();
        for key in 0..3000 + round % 7 * 1000 {
            tree.put(&key.to_be_bytes(), &[7; 300]).unwrap();
        }
        transaction.commit().unwrap();
        round += 1;
        commit(&store, round);
        let mut transaction = store.begin().unwrap();
        transaction.drop_tree("much").unwrap();
        transaction.commit().unwrap();
        let done = store.compact().unwrap();
        shorter += u64::from(done.after_bytes + (1 << 20) <= done.before_bytes);
        assert!(round < 4000, "the file got shorter only {shorter} times");
        assert!(reader.try_wait().unwrap().is_none(), "the reader has ended");
        if round % 10 == 0 {
            let report = store.check().unwrap();
            assert!(report.is_sound(), "{report:?}");
        }
    }
    commit(&store, LAST);
    assert!(reader.wait().unwrap().success());
}
