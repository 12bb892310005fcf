//! Histories of nested trees on a disk that loses power. Every image opens as the last synced commit or as a later one.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;
use lath_store::{Durability, Options, SimulatedStorage, Store};

use super::model::{Contents, assert_same, assert_sound, change};
use crate::history::durability;
use crate::model::seeds;

/// The expected state of a store at a loss of power.
struct ExpectedState {
    random: Rng,
    /// The contents after each commit.
    versions: Vec<Contents>,
    /// The contents after the running commit.
    next: Option<Contents>,
    /// The last commit that is certainly durable.
    synced: usize,
    images: usize,
    has_failed: bool,
}

#[derive(Clone)]
struct Witness(Arc<Mutex<ExpectedState>>);

impl Witness {
    fn known(&self) -> MutexGuard<'_, ExpectedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Simulates a loss of power at some moments, and checks the resulting image.
    fn moment(&self, storage: &SimulatedStorage, what: &str) {
        let mut known = self.known();
        if known.has_failed || known.random.u8(..4) != 0 {
            return;
        }
        known.images += 1;
        let image = storage.crash(&mut known.random).unwrap();
        let known = &mut *known;
        // The store is in the middle of an operation, and must not be unwound through.
        let inspected = catch_unwind(AssertUnwindSafe(|| inspect(&image, known, what)));
        known.has_failed = inspected.is_err();
    }
}

fn options() -> Options {
    Options::new().background_checkpoints(false)
}

fn inspect(image: &SimulatedStorage, known: &mut ExpectedState, what: &str) {
    let store = options().open_storage(Arc::new(image.clone())).unwrap_or_else(|error| panic!("{what}: {error}"));
    let number = compare(&store, known, what);
    if known.random.u8(..4) == 0 {
        let version = known.versions.get(number).or(known.next.as_ref()).unwrap();
        go_on_from(image, store, version.clone(), known.random.fork(), what);
    } else {
        // Skip the checkpoint of closing.
        image.fail_sync_after(0, true);
    }
}

/// Returns the version that the store has.
fn compare(store: &Store, known: &ExpectedState, what: &str) -> usize {
    let snapshot = store.snapshot().unwrap();
    let number = snapshot.sequence() as usize;
    assert!(number >= known.synced, "{what}: commit {} is lost, there is {number}", known.synced);
    let version = known.versions.get(number).or_else(|| known.next.as_ref().filter(|_| number == known.versions.len()));
    let version = version.unwrap_or_else(|| panic!("{what}: there is no commit {number} yet"));
    assert_same(&snapshot, version, what);
    assert_sound(store, what);
    number
}

/// Commits to a recovered store, and opens it once more.
fn go_on_from(image: &SimulatedStorage, store: Store, mut contents: Contents, mut random: Rng, what: &str) {
    for _ in 0..3 {
        let mut transaction = store.begin().unwrap();
        (0..4).for_each(|_| change(&mut random, &mut transaction, &mut contents));
        transaction.commit_with(Durability::Sync).unwrap();
    }
    assert_sound(&store, what);
    drop(store);
    let store = options().open_storage(Arc::new(image.clone())).unwrap();
    assert_same(&store.snapshot().unwrap(), &contents, what);
    assert_sound(&store, what);
    image.fail_sync_after(0, true);
}

fn run(seed: u64) -> usize {
    let mut random = Rng::with_seed(seed);
    let storage = SimulatedStorage::new(1 << 25).unwrap();
    let (versions, next) = (vec![Contents::default()], None);
    let expected = ExpectedState { random: random.fork(), versions, next, synced: 0, images: 0, has_failed: false };
    let witness = Witness(Arc::new(Mutex::new(expected)));
    let watching = witness.clone();
    storage.watch(move |storage, moment| watching.moment(storage, &format!("seed {seed} at {moment:?}")));
    let options = options().log_limit_bytes(1 << 12);
    let store = options.open_storage(Arc::new(storage.clone())).unwrap();
    for _ in 0..40 {
        match random.u8(..12) {
            0 => store.checkpoint().unwrap(),
            1 => {
                let step = |_: &lath_store::CompactionProgress| {
                    storage.sample();
                    witness.moment(&storage, "a step of a compaction");
                    ControlFlow::Continue(())
                };
                store.compact_with(step).unwrap();
            }
            _ => {
                commit(&mut random, &store, &storage, &witness);
                assert!(!witness.known().has_failed, "an image was not what it had to be");
                continue;
            }
        }
        let mut known = witness.known();
        known.synced = known.versions.len() - 1;
        assert!(!known.has_failed, "an image was not what it had to be");
    }
    storage.unwatch();
    witness.known().images
}

fn commit(random: &mut Rng, store: &Store, storage: &SimulatedStorage, witness: &Witness) {
    let mut contents = witness.known().versions.last().unwrap().clone();
    let mut transaction = store.begin().unwrap();
    for _ in 0..random.usize(..12) {
        change(random, &mut transaction, &mut contents);
        storage.sample();
        witness.moment(storage, "a change");
    }
    witness.known().next = Some(contents);
    let durability = durability(random);
    transaction.commit_with(durability).unwrap();
    let number = store.snapshot().unwrap().sequence() as usize;
    let mut known = witness.known();
    let next = known.next.take().unwrap();
    if number == known.versions.len() {
        known.versions.push(next);
        if durability == Durability::Sync {
            known.synced = number;
        }
    }
}

#[test]
fn every_crash_recovers_last_synced_or_later_commit() {
    let images: usize = seeds(12).map(run).sum();
    println!("{images} images");
    assert!(images > 300, "{images} images are few");
}
