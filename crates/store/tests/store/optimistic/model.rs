//! Random histories of several open transactions. The result is as if the transactions had run one after the other, in the order of
//! their commits.
//!
//! `LATH_FULL=1` runs a hundred times as many.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use lath_store::{Durability, Error, Isolation, OptimisticTransaction, Options, SimulatedStorage, Store};
use lath_testkit::Seeded;

use super::operation::{ModelRunner, Operation, Runner, TREES, Write, changed_keys, operation};
use super::read::{Answer, Read, is_within};
use crate::history::{Trees, assert_same_trees, assert_sound};

/// A transaction that runs, and a model of its view.
struct Open {
    transaction: OptimisticTransaction,
    isolation: Isolation,
    only_writes: bool,
    runner: Runner,
    /// The state at its snapshot, and with its changes.
    snapshot: Trees,
    seen: ModelRunner,
    done: Vec<(Operation, Answer)>,
}

impl Open {
    fn begin(random: &mut Rng, store: &Store, newest: &Trees) -> Self {
        let isolation = if random.u8(..3) == 0 { Isolation::Snapshot } else { Isolation::Serializable };
        Self {
            transaction: store.begin_optimistic_with(isolation).unwrap(),
            isolation,
            only_writes: random.u8(..4) == 0,
            runner: Runner::default(),
            snapshot: newest.clone(),
            seen: ModelRunner::new(newest.clone()),
            done: Vec::new(),
        }
    }

    fn step(&mut self, random: &mut Rng, what: &str) {
        let operation = operation(random, self.only_writes);
        let answer = self.runner.run(&mut self.transaction, &operation);
        assert_eq!(answer, self.seen.run(&operation), "{what}: {operation:?} after {:?}", self.done);
        self.done.push((operation, answer));
    }

    /// Whether it has changed this key, even if it has undone that.
    fn overwrites(&self, tree: &str, key: &[u8]) -> bool {
        self.done.iter().any(|(operation, answer)| match operation {
            Operation::Insert { tree: other, key: inserted, .. } => {
                *other == tree && inserted == key && *answer == Answer::Flag(true)
            }
            Operation::Write { tree: other, write } if *other == tree => match write {
                Write::Put(put, _) => put == key,
                Write::Remove(removed) => removed == key,
                Write::RemoveRange(range) => is_within(key, range),
                Write::RemovePrefix(prefix) => key.starts_with(prefix),
                Write::Drop => true,
            },
            _ => false,
        })
    }

    /// Whether no change is left, so that it commits as of its snapshot.
    fn is_read_only(&self) -> bool {
        let (mut changes, mut savepoints) = (0, Vec::new());
        for (operation, answer) in &self.done {
            match operation {
                Operation::Write { write: Write::RemoveRange((low, Some(high))), .. } if high <= low => {}
                Operation::Write { .. } => changes += 1,
                Operation::Insert { .. } => changes += usize::from(*answer == Answer::Flag(true)),
                Operation::Savepoint => savepoints.push(changes),
                Operation::Rollback => changes = savepoints.last().copied().unwrap_or(changes),
                Operation::Release => drop(savepoints.pop()),
                Operation::Read { .. } | Operation::Names => {}
            }
        }
        changes == 0 && self.seen.trees.keys().eq(self.snapshot.keys())
    }
}

#[derive(Default, Debug)]
struct Counts {
    commits: usize,
    conflicts: usize,
    read_only: usize,
}

/// Commits, and changes the newest state of the model if there is no conflict.
fn commit(open: Open, newest: &mut Trees, counts: &mut Counts, durability: Durability, what: &str) {
    let is_serializable = open.isolation == Isolation::Serializable;
    let mut replayed = ModelRunner::new(newest.clone());
    let answers: Vec<Answer> = open.done.iter().map(|(operation, _)| replayed.run(operation)).collect();
    let is_same = open.done.iter().zip(&answers).all(|((_, answer), replayed)| answer == replayed);
    let overwritten: Vec<(String, Vec<u8>)> = TREES
        .iter()
        .flat_map(|tree| changed_keys(&open.snapshot, newest, tree).into_iter().map(|key| ((*tree).to_owned(), key)))
        .filter(|(tree, key)| open.overwrites(tree, key))
        .collect();
    let is_read_only = open.is_read_only();
    let has_rollback = open.done.iter().any(|(operation, _)| matches!(operation, Operation::Rollback));
    let Open { transaction, only_writes, snapshot, done, .. } = open;
    let history = || format!("{what}: {done:#?}");
    match transaction.commit_with(durability) {
        Ok(()) if is_read_only => counts.read_only += 1,
        Ok(()) if is_serializable => {
            assert!(is_same, "{}: another transaction has changed what it has read: {answers:#?}", history());
            *newest = replayed.trees;
            counts.commits += 1;
        }
        Ok(()) => {
            let is_lost = !has_rollback && !overwritten.is_empty();
            assert!(!is_lost, "{}: others have changed what it has changed: {overwritten:?}", history());
            *newest = merge(&done, newest);
            counts.commits += 1;
        }
        Err(Error::Conflict { tree, key }) => {
            assert!(!(only_writes && is_serializable), "{}: it has read nothing", history());
            assert!(!is_read_only, "{}: it has changed nothing", history());
            match key {
                Some(key) => {
                    let is_changed = changed_keys(&snapshot, newest, &tree).contains(&key);
                    assert!(is_changed, "{}: {key:?} of {tree} is as it was", history());
                    let is_own = is_serializable || overwritten.contains(&(tree, key));
                    assert!(is_own, "{}: it has not changed the key", history());
                }
                None => {
                    let is_changed = snapshot.contains_key(&tree) != newest.contains_key(&tree);
                    assert!(is_changed, "{}: {tree} is as it was", history());
                }
            }
            counts.conflicts += 1;
        }
        Err(error) => panic!("{}: {error}", history()),
    }
}

/// The changes of a transaction applied to another state than it has read: an insert is a put if it has found the key missing.
fn merge(done: &[(Operation, Answer)], newest: &Trees) -> Trees {
    let mut merged = ModelRunner::new(newest.clone());
    for (operation, answer) in done {
        let as_write = match operation {
            Operation::Insert { tree, key, value } if *answer == Answer::Flag(true) => {
                Operation::Write { tree, write: Write::Put(key.clone(), value.clone()) }
            }
            Operation::Insert { tree, .. } => Operation::Read { tree, read: Read::IsEmpty, creates: true },
            other => other.clone(),
        };
        merged.run(&as_write);
    }
    merged.trees
}

fn run(random: &mut Rng, handles: usize, steps: usize, counts: &mut Counts, what: &str) {
    let storage = SimulatedStorage::new(1 << 26).unwrap();
    let options = Options::new().background_checkpoints(false).durability(Durability::Deferred);
    let options = if handles > 1 { options.busy_timeout(Duration::from_secs(600)) } else { options };
    let stores: Vec<Store> = (0..handles).map(|_| options.open_storage(Arc::new(storage.clone())).unwrap()).collect();
    let (mut newest, mut open) = (Trees::new(), Vec::<Open>::new());
    for step in 0..steps {
        let what = format!("{what}, step {step}");
        let store = &stores[random.usize(..handles)];
        match random.u8(..30) {
            0..=4 if open.len() < 5 => open.push(Open::begin(random, store, &newest)),
            5..=7 if !open.is_empty() => {
                let ended = open.swap_remove(random.usize(..open.len()));
                let durability = [Durability::Sync, Durability::Deferred, Durability::Off][random.usize(..3)];
                commit(ended, &mut newest, counts, durability, &what);
                assert_same_trees(&store.snapshot().unwrap(), &newest, &what);
            }
            8 if !open.is_empty() => drop(open.swap_remove(random.usize(..open.len()))),
            9 => {
                // An ordinary transaction in between.
                let mut transaction = store.begin().unwrap();
                let mut model = ModelRunner::new(newest.clone());
                let operation = operation(random, true);
                if let Operation::Write { tree, write } = &operation {
                    match write {
                        Write::Drop => drop(transaction.drop_tree(tree).unwrap()),
                        Write::Put(key, value) => transaction.tree(tree).unwrap().put(key, value).unwrap(),
                        Write::Remove(key) => drop(transaction.tree(tree).unwrap().remove(key).unwrap()),
                        Write::RemoveRange((low, high)) => {
                            transaction.tree(tree).unwrap().remove_range(low, high.as_deref()).unwrap();
                        }
                        Write::RemovePrefix(prefix) => {
                            transaction.tree(tree).unwrap().remove_prefix(prefix).unwrap();
                        }
                    }
                    model.run(&operation);
                }
                transaction.commit().unwrap();
                newest = model.trees;
            }
            10 if random.u8(..4) == 0 => store.checkpoint().unwrap(),
            11 if random.u8(..8) == 0 => drop(store.compact().unwrap()),
            _ if !open.is_empty() => {
                let at = random.usize(..open.len());
                open[at].step(random, &what);
            }
            _ => {}
        }
    }
    drop(open);
    stores.iter().for_each(|store| assert_sound(store, what));
    assert_same_trees(&stores[0].snapshot().unwrap(), &newest, what);
}

#[test]
fn committed_transactions_are_as_if_run_one_after_the_other() {
    let histories = if std::env::var_os("LATH_FULL").is_some() { 6000 } else { 60 };
    let mut random = Seeded::new("optimistic transactions are serializable");
    let mut counts = Counts::default();
    for history in 0..histories {
        let handles = 1 + usize::from(history % 4 == 3);
        let what = format!("seed {}, history {history}", random.seed());
        run(&mut random, handles, 800, &mut counts, &what);
    }
    println!("{counts:?}");
    // Both happen often.
    assert!(counts.commits > 20 * histories && counts.conflicts > 5 * histories && counts.read_only > histories / 4);
}
