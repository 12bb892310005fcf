//! Random histories, each transaction of which is made through one of several handles. They pass the writer lock to each
//! other like processes, because the locks belong to open files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lath_store::{Error, MemoryStorage, Options, Store};

use crate::history::{assert_same, assert_sound};
use crate::model::{Model, length, seeds};

/// Long enough for any machine: nothing keeps the lock.
const TIMEOUT: Duration = Duration::from_secs(600);

fn options() -> Options {
    Options::new().capacity_bytes(1 << 30).busy_timeout(TIMEOUT)
}

/// Runs a history on `count` stores, which `open` opens.
fn run(seed: u64, count: usize, open: &dyn Fn() -> Store) {
    let mut model = Model::new(seed);
    // A view would keep the lock for as long as the history holds it.
    model.holds_views = false;
    let mut stores: Vec<Store> = (0..count).map(|_| open()).collect();
    for step in 0..length() {
        let at = model.random.usize(..count);
        model.transact(&stores[at]);
        model.between(&stores[at]);
        let at = model.random.usize(..count);
        assert_same(&stores[at].snapshot().unwrap(), &model.last, "what another handle has committed");
        match model.random.u8(..32) {
            0 => stores[at] = open(),
            1 => {
                model.release_all();
                stores.clear();
                stores.extend((0..count).map(|_| open()));
                assert_same(&stores[0].snapshot().unwrap(), &model.last, "after reopening all");
            }
            _ if step % 8 == 0 => assert_sound(&stores[at], &format!("step {step}")),
            _ => {}
        }
    }
    stores.truncate(1);
    model.empty(&stores[0]);
}

#[test]
fn histories_of_several_handles_in_memory_match_the_model() {
    for seed in seeds(3) {
        let storage = Arc::new(MemoryStorage::new(1 << 28).unwrap());
        let options = options().background_checkpoints(false);
        run(seed, 2, &|| options.open_storage(storage.clone()).unwrap());
    }
}

#[test]
fn histories_of_several_handles_in_files_match_the_model() {
    for (seed, count) in seeds(2).zip([2, 3]) {
        let folder = tempfile::tempdir().unwrap();
        // With background checkpoints, and a log so short that they happen.
        let options = options().log_limit_bytes(1 << 16);
        run(seed, count, &|| options.open(folder.path().join("store")).unwrap());
    }
}

/// Adds 1 to the only counter, and returns it.
fn count(store: &Store) -> lath_store::Result<u64> {
    let mut transaction = store.begin()?;
    let mut tree = transaction.tree("counter")?;
    let next = 1 + tree.get(b"")?.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    tree.put(b"", &next.to_le_bytes())?;
    transaction.commit()?;
    Ok(next)
}

#[test]
fn open_transaction_and_its_snapshot_keep_others_from_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let here = options().open(&path).unwrap();
    let there = Options::new().busy_timeout(Duration::from_millis(20)).open(&path).unwrap();
    assert_eq!(count(&here).unwrap(), 1);
    let mut transaction = here.begin().unwrap();
    assert!(matches!(there.try_begin(), Err(Error::Busy)));
    let Err(error) = there.begin() else { panic!("two transactions at a time") };
    assert!(matches!(error, Error::BusyTimeout { process, .. } if process == std::process::id()), "{error:?}");
    let what = format!("process {} has kept the store locked for more than 20ms", std::process::id());
    assert!(error.to_string().starts_with(&what), "{error}");
    transaction.tree("counter").unwrap().put(b"other", b"").unwrap();
    let view = transaction.snapshot().unwrap();
    transaction.commit().unwrap();
    assert!(matches!(there.checkpoint(), Err(Error::BusyTimeout { .. })));
    assert_eq!(count(&here).unwrap(), 2, "a view does not keep its own process from writing");
    assert_eq!(view.tree("counter").unwrap().unwrap().len().unwrap(), 2);
    drop(view);
    // A process that waits asks again and again, until the view is gone; the first waits were too short for that.
    let there = options().open(&path).unwrap();
    assert_eq!(count(&there).unwrap(), 3);
    assert_eq!(count(&here).unwrap(), 4);
    assert_sound(&there, "the end");
}

#[test]
fn store_that_is_not_shared_keeps_others_out_until_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let shared = options().open(&path).unwrap();
    assert_eq!(count(&shared).unwrap(), 1);
    // It waits until the idle handle gives the lock away.
    let alone = Options::new().wait(TIMEOUT).open(&path).unwrap();
    assert!(matches!(shared.try_begin(), Err(Error::Busy)));
    assert!(matches!(Options::new().open(&path), Err(Error::Busy)));
    let short = Duration::from_millis(20);
    assert!(matches!(Options::new().wait(short).open(&path), Err(Error::Busy)));
    let timeout = Options::new().busy_timeout(short).open(&path);
    assert!(matches!(timeout, Err(Error::BusyTimeout { process, .. }) if process == std::process::id()));
    assert_eq!(count(&alone).unwrap(), 2);
    assert_eq!(shared.snapshot().unwrap().sequence(), 2, "a shared store is read meanwhile");
    drop(alone);
    assert_eq!(count(&shared).unwrap(), 3);
    assert_sound(&shared, "the end");
}

#[test]
fn snapshot_that_outlives_its_store_keeps_no_writer_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let shared = options().open(&path).unwrap();
    assert_eq!(count(&shared).unwrap(), 1);
    let (snapshot, transaction) = (shared.snapshot().unwrap(), shared.begin().unwrap());
    drop(shared);
    assert!(matches!(Options::new().open(&path), Err(Error::Busy)), "a transaction is left");
    drop(transaction);
    let alone = Options::new().open(&path).unwrap();
    assert_eq!(count(&alone).unwrap(), 2);
    assert_eq!(snapshot.sequence(), 1);
    drop(snapshot);
    assert_eq!(count(&alone).unwrap(), 3);
    assert_sound(&alone, "the end");
}

#[test]
fn threads_of_two_handles_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let stores = [0, 1].map(|_| options().log_limit_bytes(1 << 14).open(&path).unwrap());
    std::thread::scope(|scope| {
        for store in stores.iter().flat_map(|store| [store; 3]) {
            scope.spawn(move || (0..60).for_each(|_| assert!(count(store).unwrap() > 0)));
        }
    });
    assert_eq!(count(&stores[0]).unwrap(), 361);
    stores.iter().for_each(|store| assert_sound(store, "the end"));
}

#[test]
fn log_is_shortened_while_handles_write_without_a_break() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let options = options().log_limit_bytes(1 << 12);
    let stores = [0, 1].map(|_| options.open(&path).unwrap());
    let shortened = AtomicUsize::new(0);
    let commits: u64 = std::thread::scope(|scope| {
        let writers = stores.each_ref().map(|store| {
            let shortened = &shortened;
            scope.spawn(move || {
                let (mut commits, mut last) = (0, 0);
                while shortened.load(Ordering::Relaxed) < 10 {
                    count(store).unwrap();
                    commits += 1;
                    assert!(commits < 1_000_000, "the log is not shortened");
                    if commits % 10 == 0 {
                        let now = store.stats().unwrap().log_bytes;
                        shortened.fetch_add(usize::from(now < last), Ordering::Relaxed);
                        last = now;
                    }
                }
                commits
            })
        });
        writers.map(|writer| writer.join().unwrap()).into_iter().sum()
    });
    assert_eq!(count(&stores[0]).unwrap(), commits + 1);
}

#[test]
fn uncommitted_log_of_another_handle_is_made_durable_by_sync() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let stores = [0, 1].map(|_| options().open(&path).unwrap());
    for (at, durability) in [lath_store::Durability::Deferred, lath_store::Durability::Off].into_iter().enumerate() {
        let mut transaction = stores[at].begin().unwrap();
        transaction.tree("data").unwrap().put(&[at as u8], b"").unwrap();
        transaction.commit_with(durability).unwrap();
    }
    stores[0].sync().unwrap();
    // A copy of the files is what a kill of both would leave.
    for suffix in ["", "-log0", "-log1"] {
        let name = |name: &str| folder.path().join(format!("{name}{suffix}"));
        std::fs::copy(name("store"), name("copy")).unwrap();
    }
    let copy = Options::new().open(folder.path().join("copy")).unwrap();
    assert_eq!(copy.snapshot().unwrap().tree("data").unwrap().unwrap().len().unwrap(), 2);
}
