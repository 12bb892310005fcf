//! A full file system: an operation returns an error, nothing acknowledged is lost, and with room again the table
//! continues.
//!
//! The test starts itself as the root of a new mount namespace, in which it mounts a small file system in memory. If
//! that is not allowed, it says so and does nothing.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use lath_testkit::Seeded;

use crate::faults::Subject;

const FOLDER: &str = "LATH_TEST_TABLE_FULL_DISK";

/// The free space when an operation begins.
const LEFT_BYTES: [u64; 6] = [0, 0, 0, 4096, 8192, 20_000];

/// Fills the disk up to about `left` bytes.
fn fill(ballast: &Path, left: u64) {
    let mut file = fs::File::create(ballast).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let len = file.metadata().unwrap().len();
    file.set_len(len.saturating_sub(left)).unwrap();
}

fn run(folder: &Path) {
    let mut random = Seeded::new("a full disk is an error of a table and loses nothing");
    let ballast = folder.join("ballast");
    let (mut failed, mut opened_again) = (0, 0);
    for round in 0..12 {
        let path = folder.join(format!("table {round}"));
        let mut subject = Subject::new(path.clone());
        for _ in 0..4 {
            (0..random.usize(1..10)).for_each(|_| subject.step(&mut random));
            for _ in 0..random.usize(1..12) {
                fill(&ballast, LEFT_BYTES[random.usize(..LEFT_BYTES.len())]);
                let met = subject.meet(libc::ENOSPC, &mut random, || {
                    fs::remove_file(&ballast).unwrap();
                    true
                });
                failed += usize::from(met.has_failed);
                opened_again += usize::from(!met.went_on);
            }
        }
        subject.end(&format!("round {round}"));
        fs::remove_dir_all(&path).unwrap();
    }
    println!("{failed} operations failed, and the table was opened again after {opened_again} of them");
    assert!(failed > 5, "{failed}");
}

#[test]
fn a_full_disk_is_an_error_of_a_table_and_loses_nothing() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return run(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=4m none "$0" || exit 77; exec "$@""#;
    let child = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "full_disk::a_full_disk_is_an_error_of_a_table_and_loses_nothing", "--nocapture"])
        .env(FOLDER, folder.path())
        .status();
    match child {
        Ok(status) if status.success() => {}
        Ok(status) if ![Some(1), Some(77)].contains(&status.code()) => panic!("on a full disk: {status}"),
        outcome => eprintln!("NOT RUN: this machine lets nobody mount a small file system ({outcome:?})"),
    }
}
