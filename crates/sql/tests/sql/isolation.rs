//! Isolation of transactions, judged by their histories alone.
//!
//! Each key has a list, to which transactions append unique numbers and which they read. The lists give the order of all versions of a key, so
//! that what each transaction has seen says which ones came before and after it. An order of all transactions exists, and with it
//! serializability, exactly if these relations have no cycle; the relation that one transaction had ended before another began is among them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_cast::cast;
use arrow_schema::DataType;
use lath_sql::{BlockingSession, Session};
use lath_testkit::{Seeded, seed};

const KEYS: u64 = 4;

/// The operations of a committed transaction.
#[derive(Debug, Clone, Default)]
struct TransactionRecord {
    /// By the clock of all transactions: before BEGIN, and after COMMIT.
    begun: u64,
    ended: u64,
    /// Lists as they were read before the transaction appended to them.
    reads: Vec<(u64, Vec<u64>)>,
    appends: Vec<(u64, u64)>,
}

#[derive(Debug, Default)]
struct History {
    clock: AtomicU64,
    next: AtomicU64,
    done: Mutex<Vec<TransactionRecord>>,
}

impl History {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

fn open(folder: &Path) -> BlockingSession {
    let builder = Session::builder().database(folder).database_wait(Duration::from_secs(300));
    BlockingSession::new(builder.build().unwrap()).unwrap()
}

fn run(session: &BlockingSession, text: &str) {
    session.run(text).unwrap().for_each(|batch| drop(batch.unwrap()));
}

fn list(session: &BlockingSession, key: u64) -> Vec<u64> {
    let rows = session.run(&format!("SELECT items FROM lists WHERE id = {key}")).unwrap();
    let mut lists = Vec::new();
    for batch in rows {
        let column = cast(batch.unwrap().column(0), &DataType::Utf8).unwrap();
        let texts = column.as_string::<i32>();
        lists.extend((0..texts.len()).map(|at| texts.value(at).to_owned()));
    }
    assert_eq!(lists.len(), 1, "key {key}");
    lists[0].split(',').filter(|item| !item.is_empty()).map(|item| item.parse().unwrap()).collect()
}

/// Runs a transaction and returns what it has done, if it committed.
fn transact(
    session: &BlockingSession,
    random: &mut Seeded,
    history: &History,
    only_reads: bool,
) -> Option<TransactionRecord> {
    let mut done = TransactionRecord { begun: history.tick(), ..TransactionRecord::default() };
    run(session, if only_reads { "BEGIN READ ONLY" } else { "BEGIN" });
    let mut own: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut savepoint = None;
    for _ in 0..random.u8(1..6) {
        let key = random.u64(..KEYS);
        if only_reads || random.bool() {
            let mut items = list(session, key);
            let appended = own.get(&key).cloned().unwrap_or_default();
            assert!(items.ends_with(&appended), "{items:?} lacks the transaction's own {appended:?}");
            items.truncate(items.len() - appended.len());
            done.reads.push((key, items));
            continue;
        }
        match random.u8(..6) {
            0 if savepoint.is_none() => {
                run(session, "SAVEPOINT here");
                savepoint = Some((own.clone(), done.appends.len()));
            }
            1 if savepoint.is_some() => {
                run(session, "ROLLBACK TO here");
                let (before, count) = savepoint.clone().unwrap();
                own = before;
                done.appends.truncate(count);
            }
            _ => {
                let item = history.next.fetch_add(1, Ordering::SeqCst);
                run(session, &format!("UPDATE lists SET items = items || '{item},' WHERE id = {key}"));
                own.entry(key).or_default().push(item);
                done.appends.push((key, item));
            }
        }
    }
    if random.u8(..6) == 0 {
        run(session, "ROLLBACK");
        return None;
    }
    run(session, "COMMIT");
    done.ended = history.tick();
    Some(done)
}

/// The transactions that must come after each one.
fn followers(done: &[TransactionRecord], lists: &BTreeMap<u64, Vec<u64>>) -> Vec<BTreeSet<usize>> {
    let mut after = vec![BTreeSet::new(); done.len()];
    let mut writers = BTreeMap::new();
    for (number, transaction) in done.iter().enumerate() {
        writers.extend(transaction.appends.iter().map(|&(_, item)| (item, number)));
    }
    let mut order = |first: usize, second: usize| {
        if first != second {
            after[first].insert(second);
        }
    };
    for items in lists.values() {
        for item in items {
            assert!(writers.contains_key(item), "{item} is of a transaction that did not commit");
        }
        items.windows(2).for_each(|pair| order(writers[&pair[0]], writers[&pair[1]]));
    }
    for (number, transaction) in done.iter().enumerate() {
        for (key, seen) in &transaction.reads {
            let all = &lists[key];
            assert!(all.starts_with(seen), "transaction {number} has read {seen:?} of {all:?}");
            if let Some(last) = seen.last() {
                order(writers[last], number);
            }
            if let Some(next) = all.get(seen.len()) {
                order(number, writers[next]);
            }
        }
        for (other, later) in done.iter().enumerate() {
            if transaction.ended < later.begun {
                order(number, other);
            }
        }
    }
    after
}

/// Transactions that come before themselves, if there are any: what is left when those without predecessors are removed again and again.
fn cycle(after: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut before = vec![0; after.len()];
    after.iter().flatten().for_each(|&later| before[later] += 1);
    let mut free: Vec<usize> = (0..after.len()).filter(|&number| before[number] == 0).collect();
    let mut left: BTreeSet<usize> = (0..after.len()).collect();
    while let Some(number) = free.pop() {
        left.remove(&number);
        for &later in &after[number] {
            before[later] -= 1;
            if before[later] == 0 {
                free.push(later);
            }
        }
    }
    left.into_iter().collect()
}

#[test]
fn histories_of_concurrent_sessions_are_serializable() {
    let folder = tempfile::tempdir().unwrap();
    let setup = open(folder.path());
    run(&setup, "CREATE TABLE lists (id BIGINT PRIMARY KEY, items VARCHAR NOT NULL)");
    run(&setup, &format!("INSERT INTO lists SELECT value, '' FROM generate_series(0, {})", KEYS - 1));
    drop(setup);
    let history = History::default();
    std::thread::scope(|scope| {
        for thread in 0..6_u64 {
            let (history, folder) = (&history, folder.path());
            scope.spawn(move || {
                let mut random = Seeded::with_seed("isolation", seed().wrapping_add(thread));
                let session = open(folder);
                for round in 0..25 {
                    if let Some(done) = transact(&session, &mut random, history, thread % 3 == 2) {
                        history.done.lock().unwrap().push(done);
                    }
                    match (thread, round % 8) {
                        (0, 3) => run(&session, "CALL flush('lists')"),
                        (1, 5) => run(&session, "CALL compact('lists')"),
                        _ => {}
                    }
                }
            });
        }
    });
    let session = open(folder.path());
    let lists: BTreeMap<u64, Vec<u64>> = (0..KEYS).map(|key| (key, list(&session, key))).collect();
    let done = history.done.into_inner().unwrap();
    assert!(lists.values().map(Vec::len).sum::<usize>() > 50, "{lists:?}");
    assert_eq!(cycle(&followers(&done, &lists)), Vec::<usize>::new(), "{done:?} {lists:?}");
}

#[test]
fn a_history_that_no_order_explains_has_a_cycle() {
    let done = |begun, reads: &[(u64, &[u64])], appends: &[(u64, u64)]| TransactionRecord {
        begun,
        ended: begun + 10,
        reads: reads.iter().map(|(key, items)| (*key, items.to_vec())).collect(),
        appends: appends.to_vec(),
    };
    let lists = BTreeMap::from([(0, vec![1, 2]), (1, vec![3])]);
    // Each reads what the other is about to change.
    let skewed = [done(0, &[(0, &[1])], &[(1, 3)]), done(1, &[(1, &[])], &[(0, 2)]), done(2, &[], &[(0, 1)])];
    assert_eq!(cycle(&followers(&skewed, &lists)), [0, 1]);
    // One reads an older state than a transaction that had ended before has left.
    let stale = [done(0, &[], &[(0, 1), (0, 2), (1, 3)]), done(20, &[(0, &[1])], &[])];
    assert_eq!(cycle(&followers(&stale, &lists)), [0, 1]);
    let right = [done(0, &[], &[(0, 1), (0, 2), (1, 3)]), done(5, &[(0, &[])], &[]), done(6, &[(1, &[3])], &[])];
    assert_eq!(cycle(&followers(&right, &lists)), Vec::<usize>::new());
}
