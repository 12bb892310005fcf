//! Random histories on a disk that loses power. Every state that it leaves opens as the last synced commit or as a
//! later one, in full.
//!
//! `LATH_FULL=1` checks a million images instead of ten thousand, `LATH_IMAGES` sets the number.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::history::{Version, assert_same, assert_sound, change_often, change_optimistically, durability};
use fastrand::Rng;
use lath_store::{Durability, Options, SimulatedStorage, Snapshot, Store};
use lath_testkit::Seeded;

/// The maximum length of a store in these tests.
const CAPACITY_BYTES: u64 = 1 << 24;

/// No handle keeps the lock for longer than a check of many images takes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(600);

/// The expected state of a store at a loss of power.
#[derive(Default)]
struct ExpectedState {
    random: Rng,
    /// The contents after each commit.
    versions: Vec<Arc<Version>>,
    /// The contents after the running commit.
    next: Option<Arc<Version>>,
    /// The last commit that is certainly durable, and the last that certainly survives the end of the process.
    synced: usize,
    written: usize,
    images: usize,
    /// One in this many moments becomes an image.
    rarity: u32,
    /// Whether an image differed from the expected state.
    has_failed: bool,
}

impl ExpectedState {
    fn last(&self) -> Arc<Version> {
        Arc::clone(&self.versions[self.versions.len() - 1])
    }
}

#[derive(Clone)]
struct Witness(Arc<Mutex<ExpectedState>>);

impl Witness {
    fn new(seed: u64, rarity: u32) -> Self {
        let versions = vec![Arc::new(Version::default())];
        Self(Arc::new(Mutex::new(ExpectedState {
            random: Rng::with_seed(seed),
            versions,
            rarity,
            ..ExpectedState::default()
        })))
    }

    fn known(&self) -> MutexGuard<'_, ExpectedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Simulates a loss of power at some moments, and checks the resulting image.
    fn moment(&self, storage: &SimulatedStorage, what: &str) {
        let mut known = self.known();
        let rarity = known.rarity;
        if known.has_failed || known.random.u32(..rarity) != 0 {
            return;
        }
        known.images += 1;
        let is_kill = known.random.u8(..6) == 0;
        let image = if is_kill {
            storage.kill(known.random.bool()).unwrap()
        } else {
            storage.crash(&mut known.random).unwrap()
        };
        let at_least = if is_kill { known.written } else { known.synced };
        let what = format!("{} at {what}, image {}", if is_kill { "kill" } else { "crash" }, known.images);
        // Unsynced writes of a killed process may still be lost after the next process has continued from them.
        let goes_on = known.random.u8(..if is_kill { 2 } else { 8 }) == 0;
        // The store is in the middle of an operation, and must not be unwound through.
        let inspected = catch_unwind(AssertUnwindSafe(|| inspect(&image, &mut known, at_least, &what, goes_on)));
        known.has_failed = inspected.is_err();
    }

    fn check(&self) {
        assert!(!self.known().has_failed, "an image was not what it had to be");
    }
}

fn options() -> Options {
    Options::new().background_checkpoints(false)
}

fn open(storage: &SimulatedStorage, options: &Options, what: &str) -> Store {
    options.open_storage(Arc::new(storage.clone())).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Opens an image, compares it with the expected version, and continues from there if `goes_on`.
fn inspect(image: &SimulatedStorage, known: &mut ExpectedState, at_least: usize, what: &str, goes_on: bool) {
    let store = open(image, &options(), what);
    let number = compare(&store, known, at_least, what);
    assert_sound(&store, what);
    if goes_on {
        go_on_from(image, store, known, number, what);
    } else {
        // Skip the checkpoint of closing, which takes most of the time for an image.
        image.fail_sync_after(0, true);
    }
}

/// Returns the version that the store has, which is at least the one given.
fn compare(store: &Store, known: &ExpectedState, at_least: usize, what: &str) -> usize {
    let snapshot = store.snapshot().unwrap();
    let number = snapshot.sequence() as usize;
    assert!(number >= at_least, "{what}: commit {at_least} is lost, there is {number}");
    let version = known.versions.get(number).or_else(|| known.next.as_ref().filter(|_| number == known.versions.len()));
    let version = version.unwrap_or_else(|| panic!("{what}: there is no commit {number} yet"));
    assert_same(&snapshot, version, &format!("{what}, commit {number}"));
    number
}

/// Commits to a recovered store, and simulates another loss of power.
fn go_on_from(image: &SimulatedStorage, store: Store, known: &mut ExpectedState, number: usize, what: &str) {
    let what = format!("{what}, gone on from");
    let then =
        if number < known.versions.len() { Arc::clone(&known.versions[number]) } else { known.next.clone().unwrap() };
    let mut versions = known.versions[..number].to_vec();
    versions.push(then);
    let mut after = ExpectedState { random: known.random.fork(), versions, ..ExpectedState::default() };
    for _ in 0..1 + known.random.usize(..3) {
        let last = after.last();
        let mut version = Version::clone(&last);
        let mut transaction = store.begin().unwrap();
        change_often(&mut after.random, &mut transaction, &mut version, &last, || ()).unwrap();
        transaction.commit_with(Durability::Sync).unwrap();
        let now = store.snapshot().unwrap().sequence() as usize;
        // A commit that changes nothing syncs nothing, and the state after a kill may never have been synced.
        if now == after.versions.len() {
            after.versions.push(Arc::new(version));
            after.synced = now;
        }
        assert_eq!(now + 1, after.versions.len());
        if after.random.u8(..3) == 0 {
            store.checkpoint().unwrap();
            after.synced = now;
        }
    }
    if known.random.bool() {
        let again = image.crash(&mut known.random).unwrap();
        let store = open(&again, &options(), &what);
        compare(&store, &after, after.synced, &what);
        assert_sound(&store, &what);
        again.fail_sync_after(0, true);
        image.fail_sync_after(0, true);
    } else {
        drop(store);
        let store = open(image, &options(), &what);
        compare(&store, &after, after.synced, &what);
        assert_sound(&store, &what);
    }
}

/// Runs a history of this many commits, and returns the number of images.
/// Each commit is made through one of `handles`, which pass the writer lock to each other like processes.
fn run(random: &mut Rng, commits: usize, in_background: bool, handles: usize) -> usize {
    let storage = SimulatedStorage::new(CAPACITY_BYTES).unwrap();
    let witness = Witness::new(random.u64(..), 3);
    let watching = witness.clone();
    storage.watch(move |storage, moment| watching.moment(storage, &format!("{moment:?}")));
    let options = options().background_checkpoints(in_background).log_limit_bytes(1 << 12);
    let options = if handles > 1 { options.busy_timeout(BUSY_TIMEOUT) } else { options };
    let open_all = |what: &str| -> Vec<Store> { (0..handles).map(|_| open(&storage, &options, what)).collect() };
    let mut stores = open_all("a new store");
    let mut held: Vec<(Snapshot, Arc<Version>)> = Vec::new();
    for _ in 0..commits {
        let at = if handles > 1 { random.usize(..handles) } else { 0 };
        let store = &stores[at];
        match random.u8(..32) {
            0..=2 if !in_background => {
                store.checkpoint().unwrap();
                settle(&witness, true);
            }
            3 => {
                store.sync().unwrap();
                settle(&witness, true);
            }
            4 if held.is_empty() => {
                // The last handle closes the store.
                drop(stores);
                settle(&witness, true);
                stores = open_all("a store that was closed");
            }
            5 | 6 => held.push((store.snapshot().unwrap(), witness.known().last())),
            7..=9 if !held.is_empty() => {
                let (snapshot, version) = held.swap_remove(random.usize(..held.len()));
                assert_same(&snapshot, &version, "a snapshot held for long");
            }
            10 => {
                let step = |_: &lath_store::CompactionProgress| {
                    storage.sample();
                    witness.moment(&storage, "a step of a compaction");
                    ControlFlow::Continue(())
                };
                store.compact_with(step).unwrap();
                // Compaction begins with a checkpoint.
                settle(&witness, true);
            }
            11 if handles > 1 => stores[at] = open(&storage, &options, "a store that another handle has open"),
            _ => commit(random, store, &storage, &witness),
        }
        witness.check();
    }
    storage.unwatch();
    drop(held);
    let known = witness.known();
    compare(&stores[0], &known, known.versions.len() - 1, "the end");
    let images = known.images;
    // A check waits for a running checkpoint, which may be about to lock the expected state.
    drop(known);
    stores.iter().for_each(|store| assert_sound(store, "the end"));
    images
}

fn settle(witness: &Witness, is_synced: bool) {
    let mut known = witness.known();
    known.written = known.versions.len() - 1;
    if is_synced {
        known.synced = known.written;
    }
}

fn commit(random: &mut Rng, store: &Store, storage: &SimulatedStorage, witness: &Witness) {
    let last = witness.known().last();
    let mut version = Version::clone(&last);
    let durability = durability(random);
    if random.u8(..4) == 0 {
        let mut transaction = store.begin_optimistic().unwrap();
        change_optimistically(random, &mut transaction, &mut version).unwrap();
        witness.known().next = Some(Arc::new(version));
        transaction.commit_with(durability).unwrap();
    } else {
        let mut transaction = store.begin().unwrap();
        change_often(random, &mut transaction, &mut version, &last, || {
            storage.sample();
            witness.moment(storage, "a change");
        })
        .unwrap();
        if random.u8(..16) == 0 {
            return transaction.abort();
        }
        witness.known().next = Some(Arc::new(version));
        transaction.commit_with(durability).unwrap();
    }
    let number = store.snapshot().unwrap().sequence() as usize;
    let mut known = witness.known();
    let next = known.next.take().unwrap();
    if number < known.versions.len() {
        assert_eq!(number + 1, known.versions.len());
        assert_eq!(next, known.last(), "a commit that changed something was taken for none");
        // A commit that changes nothing makes nothing durable either.
        return;
    }
    known.versions.push(next);
    drop(known);
    if durability != Durability::Off {
        settle(witness, durability == Durability::Sync);
    }
}

fn image_count() -> usize {
    if let Ok(count) = std::env::var("LATH_IMAGES") {
        return count.parse().unwrap();
    }
    if std::env::var_os("LATH_FULL").is_some() { 1_000_000 } else { 10_000 }
}

#[test]
fn every_crash_recovers_last_synced_or_later_commit() {
    let mut random = Seeded::new("every crash opens as a commit");
    let (mut images, start) = (0, Instant::now());
    while images < image_count() {
        let commits = 5 + random.usize(..60);
        let in_background = random.u8(..4) == 0;
        let handles = 1 + random.usize(..4).saturating_sub(2);
        images += run(&mut random, commits, in_background, handles);
    }
    println!("{images} images in {:.1?}, seed {}", start.elapsed(), random.seed());
}
