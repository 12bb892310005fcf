//! Disks that fail: the operation returns an error, the store continues or reports that it is poisoned, and nothing
//! committed is lost.

use std::sync::Arc;

use crate::history::{Version, assert_same, assert_sound, change_often, durability};
use fastrand::Rng;
use lath_store::{Durability, Error, Options, SimulatedStorage, Store};
use lath_testkit::Seeded;

/// A store on a failing disk, and its expected contents.
struct Subject {
    storage: SimulatedStorage,
    versions: Vec<Arc<Version>>,
    /// The last commit that is certainly durable, and the last that certainly survives the process.
    synced: usize,
    written: usize,
    /// The contents after commits whose sync failed: they may be present or not.
    doubtful: Vec<Arc<Version>>,
}

#[derive(Debug, Default)]
struct Tally {
    failed: usize,
    went_on: usize,
    poisoned: usize,
    full: usize,
}

fn open(storage: &SimulatedStorage) -> Result<Store, Error> {
    Options::new().background_checkpoints(false).log_limit_bytes(1 << 12).open_storage(Arc::new(storage.clone()))
}

impl Subject {
    fn new() -> Self {
        let storage = SimulatedStorage::new(1 << 24).unwrap();
        Self { storage, versions: vec![Arc::default()], synced: 0, written: 0, doubtful: Vec::new() }
    }

    fn last(&self) -> Arc<Version> {
        Arc::clone(&self.versions[self.versions.len() - 1])
    }

    fn settle(&mut self, is_synced: bool) {
        self.written = self.versions.len() - 1;
        if is_synced {
            self.synced = self.written;
        }
    }

    /// Makes a commit, and returns its error.
    fn commit(&mut self, store: &Store, random: &mut Rng) -> Result<(), Error> {
        let last = self.last();
        let mut version = Version::clone(&last);
        let mut transaction = store.begin()?;
        change_often(random, &mut transaction, &mut version, &last, || ())?;
        let durability = durability(random);
        let result = transaction.commit_with(durability);
        let there = store.snapshot().unwrap().sequence() as usize;
        match result {
            Ok(()) if there == self.versions.len() => {
                self.versions.push(Arc::new(version));
                if durability != Durability::Off {
                    self.settle(durability == Durability::Sync);
                }
                Ok(())
            }
            Ok(()) => {
                assert_eq!(version, *last, "a commit that changed something was taken for none");
                Ok(())
            }
            Err(error) => {
                // The commit became visible, and then could not be made durable.
                if there == self.versions.len() {
                    self.doubtful.push(Arc::new(version));
                }
                Err(error)
            }
        }
    }

    /// Checks after an error that the store has its contents, and continues unless it is poisoned.
    fn check_after_error(&mut self, store: &Store, error: &Error, tally: &mut Tally, what: &str) -> bool {
        tally.failed += 1;
        let is_poisoned = matches!(store.begin().map(drop), Err(Error::Poisoned));
        if let Error::Io { source, .. } = error
            && source.kind() == std::io::ErrorKind::StorageFull
        {
            tally.full += 1;
        }
        assert!(matches!(error, Error::Io { .. } | Error::Poisoned), "{what}: {error}");
        let snapshot = store.snapshot().unwrap();
        match self.doubtful.last() {
            Some(version) => {
                assert!(is_poisoned, "{what}: a commit that is not durable is visible, and the store goes on");
                assert_same(&snapshot, version, what);
            }
            None => assert_same(&snapshot, &self.last(), what),
        }
        if is_poisoned {
            tally.poisoned += 1;
        } else {
            tally.went_on += 1;
            assert_sound(store, what);
        }
        !is_poisoned
    }

    /// Checks that the store on the disk has a commit that is not older than expected.
    fn check_opened(&mut self, store: &Store, at_least: usize, what: &str) {
        let snapshot = store.snapshot().unwrap();
        let number = snapshot.sequence() as usize;
        assert!(number >= at_least, "{what}: commit {at_least} is lost, there is {number}");
        self.versions.append(&mut self.doubtful);
        assert!(number < self.versions.len(), "{what}: there is no commit {number} yet");
        assert_same(&snapshot, &self.versions[number], what);
        assert_sound(store, what);
        self.versions.truncate(number + 1);
        self.synced = self.synced.min(number);
        self.written = self.written.min(number);
    }
}

fn run(random: &mut Rng, tally: &mut Tally) {
    let mut subject = Subject::new();
    let mut store = open(&subject.storage).unwrap();
    for step in 0..60 {
        if random.u8(..6) == 0 {
            match random.u8(..5) {
                0 | 1 => subject.storage.fail_write_after(random.u64(..4), random.u8(..4) == 0),
                2 => subject.storage.fail_sync_after(random.u64(..4), random.u8(..4) == 0),
                // A limit so small that the data area or the log soon needs more.
                _ => subject.storage.limit_bytes(random.u64(..400_000)),
            }
        }
        let result = match random.u8(..16) {
            0 | 1 => store.checkpoint().map(|()| subject.settle(true)),
            2 => store.sync().map(|()| subject.settle(true)),
            3 => store.compact().map(|_| subject.settle(true)),
            _ => subject.commit(&store, random),
        };
        let what = format!("step {step}");
        let goes_on = match &result {
            Ok(()) => random.u8(..30) > 0,
            Err(error) => subject.check_after_error(&store, error, tally, &what),
        };
        if goes_on {
            if result.is_err() {
                subject.storage.clear_faults();
            }
            continue;
        }
        // Close the store on a disk that may still fail; then the process ends, or the power fails as well. The power
        // always fails after a failed sync: until the machine restarts, the system returns bytes that it has given up
        // writing.
        drop(store);
        subject.storage.clear_faults();
        let loses_power = random.bool() || subject.storage.has_failed_sync();
        let storage = if loses_power { subject.storage.crash(random) } else { subject.storage.kill(false) };
        subject.storage = storage.unwrap();
        let at_least = if loses_power { subject.synced } else { subject.written };
        store = open(&subject.storage).unwrap_or_else(|error| panic!("{what}: {error}"));
        subject.check_opened(
            &store,
            at_least,
            &format!("{what}, opened again after the {} ended", if loses_power { "power" } else { "process" }),
        );
    }
}

#[test]
fn disk_failures_lose_no_commit() {
    let mut random = Seeded::new("no failure of the disk loses a commit");
    let mut tally = Tally::default();
    let histories = if std::env::var_os("LATH_FULL").is_some() { 20_000 } else { 400 };
    for _ in 0..histories {
        run(&mut random, &mut tally);
    }
    println!("{tally:?}");
    let Tally { failed, went_on, poisoned, full } = tally;
    assert!(failed > histories && went_on > 50 && poisoned > 50 && full > 50, "too few failures to prove anything");
}

/// Opening a store on a disk that fails is an error, and once the disk works again nothing is lost.
#[test]
fn opening_fails_and_succeeds_with_the_disk() {
    let mut random = Seeded::new("opening fails with the disk");
    let mut failures = 0;
    for _ in 0..100 {
        let mut subject = Subject::new();
        let store = open(&subject.storage).unwrap();
        for _ in 0..random.usize(1..10) {
            subject.commit(&store, &mut random).unwrap();
        }
        let image = if random.bool() { subject.storage.kill(false) } else { subject.storage.crash(&mut random) };
        subject.storage = image.unwrap();
        for after in 0.. {
            let image = subject.storage.kill(false).unwrap();
            if random.bool() {
                image.fail_sync_after(after, true);
            } else {
                image.fail_write_after(after, true);
            }
            match open(&image) {
                Err(error) => {
                    assert!(matches!(error, Error::Io { .. } | Error::Poisoned), "{error}");
                    failures += 1;
                    image.clear_faults();
                    let at_least = subject.synced;
                    let image = image.crash(&mut random).unwrap();
                    let mut subject = Subject {
                        storage: image.clone(),
                        versions: subject.versions.clone(),
                        doubtful: Vec::new(),
                        ..subject
                    };
                    let store = open(&image).unwrap();
                    subject.check_opened(&store, at_least, "opened again");
                }
                Ok(_) => break,
            }
        }
    }
    assert!(failures > 20, "opening failed {failures} times only");
}
