//! A copy on a full disk: a round returns an error, the copy stays whole, and the follower goes on once there is room.
//!
//! The test starts itself as the root of a new mount namespace, in which it mounts a small file system in memory. If that is not allowed, it
//! says so and does nothing.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use lath_table::{HistoryRetention, Replica, Table};

use super::contents::{assert_copied, batch, check, options};

const FOLDER: &str = "LATH_TEST_FOLLOW_FULL_DISK";

/// Fills the disk up to about `left` bytes.
fn fill(ballast: &Path, left: u64) {
    let mut file = fs::File::create(ballast).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let len = file.metadata().unwrap().len();
    file.set_len(len.saturating_sub(left)).unwrap();
}

fn run(small: &Path) {
    let mut random = fastrand::Rng::with_seed(lath_testkit::seed());
    let folder = tempfile::tempdir().unwrap();
    let (source, copy, ballast) = (folder.path().join("source"), small.join("copy"), small.join("ballast"));
    let table = Table::create(&source, &batch(&[]).schema(), &["id"], options()).unwrap();
    table.keep_history(HistoryRetention::new().commits(5)).unwrap();
    let mut failed = 0;
    let mut replica = None;
    for round in 0..30 {
        for _ in 0..random.usize(1..6) {
            let rows: Vec<(i64, i64)> =
                (0..random.i64(1..400)).map(|_| (random.i64(0..3000), random.i64(..))).collect();
            table.upsert(&batch(&rows)).unwrap();
        }
        match random.u8(..4) {
            0 => drop(table.flush().unwrap()),
            1 => drop(table.compact().unwrap()),
            2 => drop(table.vacuum().unwrap()),
            _ => {}
        }
        fill(&ballast, [0, 0, 4096, 16_384, 65_536][random.usize(..5)]);
        let opened = replica.take().map_or_else(|| Replica::open(&source, &copy, options()), Ok);
        let caught_up = opened.and_then(|mut open| {
            let result = open.catch_up();
            // The same follower goes on, or another one.
            replica = random.bool().then_some(open);
            result
        });
        failed += usize::from(caught_up.is_err());
        println!("round {round}: {caught_up:?}");
        fs::remove_file(&ballast).unwrap();
        if caught_up.is_err() && copy.exists() {
            check(&copy);
        }
        let mut open = replica.take().unwrap_or_else(|| Replica::open(&source, &copy, options()).unwrap());
        open.catch_up().unwrap();
        assert_copied(&source, &copy);
        replica = random.bool().then_some(open);
    }
    assert!(failed > 3, "{failed}");
}

#[test]
fn full_disk_is_an_error_of_a_round_and_the_next_one_goes_on() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return run(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=6m none "$0" || exit 77; exec "$@""#;
    let child = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "replica::full_disk::full_disk_is_an_error_of_a_round_and_the_next_one_goes_on",
            "--nocapture",
        ])
        .env(FOLDER, folder.path())
        .status();
    match child {
        Ok(status) if status.success() => {}
        Ok(status) if status.code() != Some(77) && status.code() != Some(1) => panic!("{status}"),
        other => println!("skipped, as no file system can be mounted here: {other:?}"),
    }
}
