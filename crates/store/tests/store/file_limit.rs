//! A limit of the length of files (`ulimit -f`), whose signal ends a process that writes past it: such a write is an error, nothing
//! that was committed is lost, and the store can be used further.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};

use lath_store::{Durability, Error, Options, Store};
use lath_testkit::say;

use crate::history::assert_sound;

const PATH: &str = "LATH_TEST_LIMIT_PATH";
const TASK: &str = "LATH_TEST_LIMIT_TASK";

fn options() -> Options {
    Options::new().capacity_bytes(1 << 30).busy_timeout(Options::USUAL_BUSY_TIMEOUT)
}

fn put(store: &Store, number: u64, durability: Durability) -> lath_store::Result<()> {
    let mut transaction = store.begin()?;
    transaction.tree("data")?.put(&number.to_be_bytes(), &[7; 30_000])?;
    transaction.commit_with(durability)
}

fn count(store: &Store) -> u64 {
    let snapshot = store.snapshot().unwrap();
    snapshot.tree("data").unwrap().map_or(0, |tree| tree.len().unwrap())
}

/// Not a test: the program of the processes with limited files.
#[test]
fn child() {
    let (Ok(path), Ok(task)) = (std::env::var(PATH), std::env::var(TASK)) else { return };
    let durability = if task.contains("sync") { Durability::Sync } else { Durability::Deferred };
    let store = options().open(&path).unwrap();
    let (mut number, error) = (0..).find_map(|number| Some((number, put(&store, number, durability).err()?))).unwrap();
    let Error::Io { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), ErrorKind::FileTooLarge, "{error}");
    assert_eq!(count(&store), number, "the commit that failed is undone");
    // Shorter files have room again.
    store.checkpoint().unwrap();
    let mut transaction = store.begin().unwrap();
    assert!(transaction.tree("data").unwrap().remove(&0_u64.to_be_bytes()).unwrap());
    transaction.commit_with(durability).unwrap();
    number -= 1;
    assert_eq!(count(&store), number);
    assert_sound(&store, "at the limit");
    say(&format!("has {number}"));
    if task.contains("abort") {
        std::process::abort();
    }
    drop(store);
    assert_eq!(count(&options().open(&path).unwrap()), number, "it is opened again under the limit");
}

fn run_limited(path: &Path, task: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c 0; ulimit -f 16000 && exec \"$@\"", "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["file_limit::child", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(PATH, path).env(TASK, task).output().unwrap()
}

#[test]
fn file_that_may_not_become_longer_is_an_error() {
    for task in ["deferred", "sync", "deferred abort", "sync abort"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let output = run_limited(&path, task);
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || task.contains("abort"), "{task}: {}: {text}{errors}", output.status);
        let has = text.lines().find_map(|line| line.split_once("has ")?.1.parse::<u64>().ok());
        let has = has.unwrap_or_else(|| panic!("{task}: {}: {text}{errors}", output.status));
        assert!(has > 10, "{task}");
        let store = options().open(&path).unwrap();
        assert_eq!(count(&store), has, "{task}");
        assert_sound(&store, task);
        put(&store, 1 << 40, Durability::Sync).unwrap();
    }
}
