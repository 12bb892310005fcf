//! Files that fail: the operation returns an error, nothing acknowledged is lost, and after the fault the table
//! continues, at once or after it is reopened.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fastrand::Rng;
use lath_table::{Error, Table};
use lath_testkit::Seeded;

use crate::disk::{Call, Disk, Fault, fast_folder};
use crate::history::{OFF, Step, Version, assert_intact, assert_no_orphans, options, step};

#[derive(Debug, Default)]
struct FaultCounts {
    faults: usize,
    /// Operations that succeeded although a call had failed: its work is done later, or by the next opening.
    unharmed: usize,
    /// Errors after which the same handle continued, rather than only the next opening.
    went_on: usize,
    opened_again: usize,
    /// Errors of operations whose change is there nevertheless.
    done_anyway: usize,
    failed_calls: BTreeMap<Call, usize>,
    failed_operations: BTreeMap<String, usize>,
}

/// Returns whether an error is the injected one, or reports an earlier failure.
fn is_of_the_fault(error: &Error, code: i32) -> bool {
    matches!(error, Error::Store { source: lath_store::Error::Poisoned })
        || error.to_string().contains(&format!("(os error {code})"))
}

/// A table with failing files, and its expected contents.
pub(crate) struct Subject {
    table: Option<Table>,
    path: PathBuf,
    /// The first is the version found if nothing more is written; later ones may be found as well.
    versions: Vec<Version>,
}

/// The outcome of an operation under a fault.
pub(crate) struct FaultOutcome {
    pub(crate) has_failed: bool,
    pub(crate) went_on: bool,
    done_anyway: bool,
    operation: String,
}

impl Subject {
    pub(crate) fn new(path: PathBuf) -> Self {
        let version = Version::default();
        let table = Table::create(&path, &version.contents.schema(), &["id"], options()).unwrap();
        Self { table: Some(table), path, versions: vec![version] }
    }

    fn last(&self) -> &Version {
        &self.versions[self.versions.len() - 1]
    }

    /// Records that an operation led to this version, and whether everything is durable then.
    fn go_on(&mut self, what: &str, next: Version, is_durable: bool) {
        if is_durable || (next != *self.last() && what != OFF) {
            self.versions.clear();
        }
        if self.versions.last() != Some(&next) {
            self.versions.push(next);
        }
    }

    /// Runs one operation that may fail with this error of the system until `mend` is called, which returns whether
    /// there was a reason to fail.
    pub(crate) fn meet(&mut self, code: i32, random: &mut Rng, mend: impl FnOnce() -> bool) -> FaultOutcome {
        let last = self.last().clone();
        let Step { what: operation, next, result } = step(&mut self.table, &last, &options(), random);
        let may_fail = mend();
        let what = format!("{operation}, of which a call failed by {code}");
        let mut allowed = vec![next.clone()];
        if let Err(error) = &result {
            assert!(may_fail, "{operation}, of which no call failed: {error}");
            assert!(is_of_the_fault(error, code), "{what}: {error}");
            allowed.push(last.clone());
        }
        // Commits that were only in memory are lost with the handle if closing it fails.
        if operation == "reopen" {
            allowed.extend(self.versions.iter().cloned());
        }
        // The handle shows a complete commit, even if it cannot write any more.
        if let Some(open) = &self.table {
            assert_in(&allowed, open, &what);
        }
        let went_on = self.table.as_ref().is_some_and(|open| open.begin().is_ok());
        if !went_on {
            drop(self.table.take());
            allowed.extend(self.versions.iter().cloned());
            let opened = Table::open(&self.path, options());
            self.table = Some(opened.unwrap_or_else(|error| panic!("{what}, opened again: {error}")));
        }
        let there = assert_in(&allowed, self.table.as_ref().unwrap(), &what);
        let done_anyway = result.is_err() && there == next && next != last;
        self.go_on(&operation, there, *result.as_ref().unwrap_or(&false));
        FaultOutcome { has_failed: result.is_err(), went_on, done_anyway, operation }
    }

    /// Runs one operation without faults.
    pub(crate) fn step(&mut self, random: &mut Rng) {
        let last = self.last().clone();
        let Step { what, next, result } = step(&mut self.table, &last, &options(), random);
        let is_durable = result.unwrap_or_else(|error| panic!("{what}, when the fault was over: {error}"));
        self.go_on(&what, next, is_durable);
    }

    /// Checks that the table has its expected contents, also when it is reopened, and no other files.
    pub(crate) fn end(self, what: &str) {
        let last = self.last().clone();
        let open = self.table.unwrap();
        assert_in(std::slice::from_ref(&last), &open, what);
        drop(open);
        let table = Table::open(&self.path, options()).unwrap();
        assert_intact(&table, what);
        assert_in(&[last], &table, &format!("{what}, opened again"));
        assert_no_orphans(&table, &self.path, what);
    }
}

fn assert_in(allowed: &[Version], table: &Table, what: &str) -> Version {
    let there = Version::of(table, what);
    assert!(allowed.contains(&there), "{what}: {there:?}, and not one of {allowed:?}");
    there
}

/// Runs a history in which most operations meet a fault.
fn run(random: &mut Rng, steps: usize, found: &mut FaultCounts) {
    let home = fast_folder();
    let mut subject = Subject::new(home.path().join("table"));
    let disk = Disk::watch_calls(&subject.path);
    for _ in 0..steps {
        let most = if random.bool() { 3 } else { 12 };
        let code = [libc::EIO, libc::ENOSPC][random.usize(..2)];
        disk.fail(Fault { after: random.usize(..most), code, permanently: random.bool() });
        let mut failed = Vec::new();
        let met = subject.meet(code, random, || {
            failed = disk.mend();
            !failed.is_empty()
        });
        found.add(&met, &failed);
        if random.u8(..4) == 0 {
            subject.step(random);
        }
    }
    subject.end("the end");
}

impl FaultCounts {
    fn add(&mut self, met: &FaultOutcome, failed: &[Call]) {
        if failed.is_empty() {
            return;
        }
        self.faults += 1;
        failed.iter().for_each(|call| *self.failed_calls.entry(*call).or_default() += 1);
        self.unharmed += usize::from(!met.has_failed);
        if met.has_failed {
            *self.failed_operations.entry(met.operation.clone()).or_default() += 1;
        }
        *(if met.went_on { &mut self.went_on } else { &mut self.opened_again }) += 1;
        self.done_anyway += usize::from(met.done_anyway);
    }
}

#[test]
fn a_call_that_fails_is_an_error_and_loses_nothing() {
    let histories = if std::env::var_os("LATH_FULL").is_some() { 2000 } else { 40 };
    let mut random = Seeded::new("a call that fails is an error and loses nothing");
    let mut found = FaultCounts::default();
    let calls = [Call::Create, Call::Write, Call::SetLen, Call::Sync, Call::SyncFolder, Call::Rename, Call::Remove];
    let has_all = |found: &FaultCounts| calls.iter().all(|call| found.failed_calls.contains_key(call));
    // Some calls are rare, so none of a kind may have failed yet by chance.
    for history in 0..10 * histories {
        if history >= histories && has_all(&found) {
            break;
        }
        let steps = 10 + random.usize(..50);
        run(&mut random, steps, &mut found);
    }
    println!("{found:?}");
    assert!(has_all(&found), "{found:?}");
    assert!(found.went_on > 0 && found.opened_again > 0 && found.done_anyway > 0, "{found:?}");
}
