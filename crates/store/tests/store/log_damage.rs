//! A log with damage in its middle, from a user's point of view.

use std::fs;
use std::path::{Path, PathBuf};

use lath_store::{Error, Options, Store, repair};

const COMMITS: u32 = 30;

/// A copy of a store that was killed after thirty commits, each of which was acknowledged before the next began. If
/// `checkpoints`, the last ten come after a checkpoint.
fn killed(folder: &Path, checkpoints: bool) -> PathBuf {
    let path = folder.join("live");
    let store = Options::new().background_checkpoints(false).open(&path).unwrap();
    for number in 1..=COMMITS {
        let mut transaction = store.begin().unwrap();
        transaction.tree("numbers").unwrap().upsert(&number.to_be_bytes(), &[number as u8; 50]).unwrap();
        transaction.commit().unwrap();
        if checkpoints && number == 20 {
            store.checkpoint().unwrap();
        }
    }
    let copy = folder.join("killed");
    for suffix in ["", "-log0", "-log1"] {
        fs::copy(folder.join(format!("live{suffix}")), folder.join(format!("killed{suffix}"))).unwrap();
    }
    drop(store);
    copy
}

fn log_path(path: &Path, index: u8) -> PathBuf {
    PathBuf::from(format!("{}-log{index}", path.display()))
}

/// The offset of a commit's record in a log.
fn record_start(log: &[u8], commit: u64) -> usize {
    let at = log.windows(8).position(|bytes| bytes == commit.to_le_bytes()).unwrap();
    at - 16
}

fn last_commit(path: &Path) -> u64 {
    Options::new().create(false).open(path).unwrap().snapshot().unwrap().sequence()
}

#[test]
fn unreadable_acknowledged_commits_are_an_error_until_repair() {
    for checkpoints in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = killed(folder.path(), checkpoints);
        let log = log_path(&path, checkpoints.into());
        let mut bytes = fs::read(&log).unwrap();
        let at = record_start(&bytes, 25);
        bytes[at + 60] ^= 4;
        fs::write(&log, &bytes).unwrap();
        for options in [Options::new(), Options::new().read_only(true)] {
            let Err(Error::Corrupt { what, .. }) = options.open(&path) else { panic!("it opens") };
            assert!(what.contains("commits 25 to 30 are lost") && what.contains("all commits up to 24"), "{what}");
        }
        assert_eq!(fs::read(&log).unwrap(), bytes, "opening changes nothing");
        let target = folder.path().join("repaired");
        let report = repair(&path, &target).unwrap();
        assert!(report.problems.iter().any(|problem| problem.what.contains("commits 25 to 30")), "{report:?}");
        let store = Store::open(&target).unwrap();
        let snapshot = store.snapshot().unwrap();
        let keys: Vec<_> = snapshot.tree("numbers").unwrap().unwrap().iter().map(|entry| entry.unwrap().0).collect();
        assert!(keys.iter().cloned().eq((1..=24_u32).map(|number| number.to_be_bytes().to_vec())));
    }
}

#[test]
fn zeroed_sector_before_last_commit_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path(), false);
    let whole = fs::read(log_path(&path, 0)).unwrap();
    let last = record_start(&whole, COMMITS.into());
    for start in (0..last - 512).step_by(512) {
        let mut bytes = whole.clone();
        bytes[start..start + 512].fill(0);
        fs::write(log_path(&path, 0), &bytes).unwrap();
        assert!(matches!(Options::new().open(&path), Err(Error::Corrupt { .. })), "{start}");
    }
    let mut bytes = whole.clone();
    bytes[last..].fill(0);
    fs::write(log_path(&path, 0), &bytes).unwrap();
    assert_eq!(last_commit(&path), u64::from(COMMITS) - 1, "the last one may not have been acknowledged");
}
