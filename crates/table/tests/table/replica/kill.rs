//! Processes that are killed: the writer of a source, its follower, and both. The copy always has a commit of the source, and goes on.
//!
//! `LATH_FULL=1` kills three hundred processes instead of fourteen.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lath_table::{Database, Durability, HistoryRetention, Replica, Table, TableOptions};
use lath_testkit::{Seeded, lines_until_killed, say};

use super::contents::{assert_copied, batch, check, options};

const SOURCE: &str = "LATH_TEST_FOLLOW_SOURCE";
const COPY: &str = "LATH_TEST_FOLLOW_COPY";
const ROLE: &str = "LATH_TEST_FOLLOW_ROLE";

/// Each commit adds 1 to a row and takes 1 from another one of two tables, so the sum over both is 0.
fn write(database: &Database) -> ! {
    let tables = ["left", "right"].map(|name| database.table(name).unwrap());
    let last =
        |table: &Table| table.get(-1).unwrap().map_or(0, |row| row.column(1).as_primitive::<Int64Type>().value(0));
    let mut number = last(&tables[0]);
    let mut random = fastrand::Rng::new();
    loop {
        number += 1;
        let mut transaction = database.begin().unwrap();
        for (name, by) in [("left", 1), ("right", -1)] {
            let rows = transaction.table(name).unwrap();
            let id = random.i64(0..300);
            let found = rows.get_many([id]).unwrap();
            let values = found.rows().column(1).as_primitive::<Int64Type>().values().to_vec();
            let value = values.first().copied().unwrap_or_default();
            rows.upsert(&batch(&[(id, value + by), (-1, number)])).unwrap();
        }
        transaction.commit().unwrap();
        match random.u8(..60) {
            0 => drop(tables[0].flush().unwrap()),
            1 => drop(tables[1].flush().unwrap()),
            2 => drop(tables[0].compact().unwrap()),
            3 => drop(database.vacuum().unwrap()),
            4 => drop(database.drop_snapshot("kept")),
            5 => drop(database.keep_snapshot("kept")),
            _ => {}
        }
        say(&format!("commit {number}"));
    }
}

/// Not a test: the program of the children.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let path = |name: &str| std::path::PathBuf::from(std::env::var_os(name).unwrap());
    match role.as_str() {
        "write" => write(&Database::open(path(SOURCE), options()).unwrap()),
        _ => {
            let options = TableOptions::new().background(false).wait(Duration::from_secs(20));
            let mut replica = Replica::open(path(SOURCE), path(COPY), options).unwrap();
            replica.follow(|_| ControlFlow::Continue(())).unwrap();
        }
    }
}

fn environment<'p>(role: &'p str, source: &'p Path, copy: &'p Path) -> [(&'static str, &'p OsStr); 3] {
    [(ROLE, OsStr::new(role)), (SOURCE, source.as_os_str()), (COPY, copy.as_os_str())]
}

fn start(role: &str, source: &Path, copy: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["replica::kill::child", "--exact", "--nocapture", "--test-threads=1"])
        .envs(environment(role, source, copy))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Asserts that a folder has one commit of both tables.
fn assert_whole(folder: &Path) -> i64 {
    let database = Database::open_read_only(folder, options().wait(Duration::from_secs(20))).unwrap();
    let snapshot = database.snapshot().unwrap();
    let mut sums = Vec::new();
    for name in ["left", "right"] {
        let (mut sum, mut number) = (0, 0);
        for rows in snapshot.table(name).unwrap().scan().build().unwrap() {
            let rows = rows.unwrap();
            let [ids, values] = [0, 1].map(|at| rows.column(at).as_primitive::<Int64Type>().values().to_vec());
            for (id, value) in ids.into_iter().zip(values) {
                if id == -1 { number = value } else { sum += value }
            }
        }
        sums.push((sum, number));
    }
    let [left, right] = sums[..] else { panic!("two tables") };
    assert_eq!((left.0 + right.0, left.1), (0, right.1), "a part of a commit");
    assert_eq!(left.0, left.1, "commits are missing or were applied twice");
    left.1
}

fn create(source: &Path, keeps_history: bool) {
    let database = Database::create(source, options().durability(Durability::Sync)).unwrap();
    for name in ["left", "right"] {
        database.create_table(name, &batch(&[]).schema(), &["id"]).unwrap();
    }
    if keeps_history {
        database.keep_history(HistoryRetention::new().commits(50)).unwrap();
    }
}

#[test]
fn killed_writers_and_followers_leave_whole_commits() {
    let mut random = Seeded::new("the copy has whole commits of a source whose writer and follower are killed");
    let kills = if std::env::var_os("LATH_FULL").is_some() { 150 } else { 7 };
    for keeps_history in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
        create(&source, keeps_history);
        Replica::open(&source, &copy, options()).unwrap().catch_up().unwrap();
        for round in 0..kills {
            let delay = Duration::from_millis(random.u64(30..500));
            let (written, mut follower) = if random.bool() {
                // The follower goes on after the writer.
                let follower = start("follow", &source, &copy);
                (lines_until_killed("replica::kill::child", &environment("write", &source, &copy), delay), follower)
            } else {
                let follower = start("follow", &source, &copy);
                let writer = start("write", &source, &copy);
                sleep(delay);
                (Vec::new(), kill_first(follower, writer))
            };
            if random.bool() {
                sleep(Duration::from_millis(random.u64(0..200)));
            }
            follower.kill().unwrap();
            follower.wait().unwrap();
            assert_whole(&copy);
            let committed = written.iter().filter_map(|line| line.strip_prefix("commit ")?.parse::<i64>().ok()).max();
            let there = assert_whole(&source);
            assert!(committed.is_none_or(|committed| committed <= there), "round {round}");
            let mut replica = Replica::open(&source, &copy, options().wait(Duration::from_secs(20))).unwrap();
            let result = replica.catch_up().unwrap();
            drop(replica);
            println!("round {round}: {result:?}");
            assert_eq!(assert_whole(&copy), there);
            // The source as a writer finds it has the log's commits, too.
            drop(Database::open(&source, options()).unwrap());
            Replica::open(&source, &copy, options()).unwrap().catch_up().unwrap();
            assert_copied(&source, &copy);
        }
        Replica::promote(&copy, options()).unwrap();
        // A promoted copy keeps what it commits when it is killed.
        let lines = lines_until_killed(
            "replica::kill::child",
            &environment("write", &copy, &source),
            Duration::from_millis(400),
        );
        let committed = lines.iter().filter_map(|line| line.strip_prefix("commit ")?.parse::<i64>().ok()).max();
        assert!(committed.is_none_or(|committed| committed <= assert_whole(&copy)));
        drop(Database::open(&copy, options()).unwrap());
        check(&copy);
    }
}

/// Kills the first process, and then the second one; returns the first one.
fn kill_first(mut follower: Child, mut writer: Child) -> Child {
    follower.kill().unwrap();
    sleep(Duration::from_millis(20));
    writer.kill().unwrap();
    writer.wait().unwrap();
    follower
}
