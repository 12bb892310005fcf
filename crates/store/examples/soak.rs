//! One writer and twelve readers on one store for a number of seconds. Every snapshot must add up.
//!
//! `cargo run --release -p lath-store --features poison --example soak -- 60`
//!
//! Money moves between accounts, so its sum is constant. Every commit adds itself to a journal, so the journal's length
//! is the number of the commit; an index maps balances to accounts. Readers add up their snapshot, wait, and add it up
//! again. With the feature `poison`, the writer overwrites the nodes it frees, so that a reader of freed nodes fails.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lath_store::{Durability, Options, Snapshot, Store, Transaction, Tree};

const READERS: usize = 12;
const ACCOUNTS: u32 = 3_000;
const BALANCE: u64 = 1_000;
const KEPT: [&str; 2] = ["kept", "kept too"];

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A balance, and bytes that show whether the value is intact. Their lengths put some values into leaves and others
/// into value nodes.
fn account_value(account: u32, balance: u64) -> Vec<u8> {
    let mut value = balance.to_be_bytes().to_vec();
    value.resize(8 + (balance as usize * 7 + account as usize) % 400, balance as u8);
    value
}

fn parse_balance(account: u32, value: &[u8]) -> Outcome<u64> {
    let balance = u64::from_be_bytes(*value.first_chunk().ok_or("a balance is cut off")?);
    if value != account_value(account, balance) {
        return Err(format!("account {account} has a value that nobody wrote").into());
    }
    Ok(balance)
}

fn index_key(account: u32, balance: u64) -> Vec<u8> {
    [&balance.to_be_bytes()[..], &account.to_be_bytes()].concat()
}

fn tree<'a>(snapshot: &'a Snapshot, name: &str) -> Outcome<Tree<'a>> {
    Ok(snapshot.tree(name)?.ok_or_else(|| format!("there is no tree {name}"))?)
}

/// Adds up the accounts of a commit, and returns a number that identifies the commit.
fn add_up(snapshot: &Snapshot) -> Outcome<u64> {
    let (accounts, index) = (tree(snapshot, "accounts")?, tree(snapshot, "index")?);
    let (mut sum, mut count) = (0, 0);
    let mut cursor = accounts.cursor();
    while cursor.next()? {
        let key = cursor.key().and_then(|key| key.as_array()).ok_or("an account's key is not of four bytes")?;
        let account = u32::from_be_bytes(*key);
        let balance = parse_balance(account, cursor.value()?.unwrap_or_default())?;
        if account % 16 == 0 && !index.contains_key(&index_key(account, balance))? {
            return Err(format!("account {account} is not in the index under {balance}").into());
        }
        sum += balance;
        count += 1;
    }
    if (sum, count) != (u64::from(ACCOUNTS) * BALANCE, ACCOUNTS) {
        return Err(format!("{count} accounts have {sum} together").into());
    }
    if (accounts.len()?, index.len()?) != (count.into(), count.into()) {
        return Err(format!("trees of {count} keys say that they have {} and {}", accounts.len()?, index.len()?).into());
    }
    let journal = tree(snapshot, "journal")?;
    let last = journal.last()?.ok_or("the journal is empty")?;
    if journal.len()? != snapshot.sequence() || last.0 != snapshot.sequence().to_be_bytes() {
        return Err(format!("commit {} has {} journal entries", snapshot.sequence(), journal.len()?).into());
    }
    Ok(snapshot.sequence())
}

fn read(store: &Store, is_over: &AtomicBool, seed: u64) -> Outcome<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut count, mut newest) = (0, 0);
    while !is_over.load(Ordering::Relaxed) {
        let snapshot = store.snapshot()?;
        let sequence = add_up(&snapshot)?;
        if sequence < newest {
            return Err(format!("commit {sequence} was seen after commit {newest}").into());
        }
        newest = sequence;
        if random.u8(..4) == 0 {
            std::thread::sleep(Duration::from_millis(random.u64(..200)));
            if add_up(&snapshot)? != sequence {
                return Err("a snapshot has changed".into());
            }
        }
        for name in snapshot.snapshot_names()? {
            add_up(&snapshot.snapshot(&name)?.ok_or("a named snapshot is gone")?)?;
        }
        count += 1;
    }
    Ok(count)
}

/// Moves money a few times.
fn transfer(transaction: &mut Transaction, random: &mut fastrand::Rng) -> Outcome<()> {
    for _ in 0..random.u32(1..20) {
        let (from, to) = (random.u32(..ACCOUNTS), random.u32(..ACCOUNTS));
        let mut accounts = transaction.tree("accounts")?;
        let mut balance = |account: u32| -> Outcome<u64> {
            let value = accounts.get(&account.to_be_bytes())?.ok_or("an account is gone")?;
            parse_balance(account, value)
        };
        let old = [(from, balance(from)?), (to, balance(to)?)];
        let amount = random.u64(..=old[0].1);
        if from == to {
            continue;
        }
        let new = [(from, old[0].1 - amount), (to, old[1].1 + amount)];
        for (account, balance) in new {
            accounts.put(&account.to_be_bytes(), &account_value(account, balance))?;
        }
        let mut index = transaction.tree("index")?;
        for (account, balance) in old {
            index.remove(&index_key(account, balance))?;
        }
        for (account, balance) in new {
            index.put(&index_key(account, balance), b"")?;
        }
    }
    Ok(())
}

fn write_once(store: &Store, random: &mut fastrand::Rng) -> Outcome<()> {
    let sequence = store.snapshot()?.sequence() + 1;
    let mut transaction = store.begin()?;
    transfer(&mut transaction, random)?;
    if random.u8(..8) == 0 {
        let savepoint = transaction.savepoint()?;
        transfer(&mut transaction, random)?;
        transaction.tree("accounts")?.remove_range(&100_u32.to_be_bytes(), None)?;
        transaction.drop_tree("index")?;
        transaction.rollback(&savepoint)?;
    }
    if random.u8(..32) == 0 {
        transaction.abort();
        return Ok(());
    }
    let name = KEPT[usize::from(random.bool())];
    if random.u8(..64) == 0 && !transaction.drop_snapshot(name)? {
        transaction.keep_snapshot(name)?;
    }
    transaction.tree("journal")?.put(&sequence.to_be_bytes(), &vec![sequence as u8; random.usize(..60)])?;
    let durability = match random.u8(..64) {
        0 => Durability::Sync,
        1..=3 => Durability::Off,
        _ => Durability::Deferred,
    };
    Ok(transaction.commit_with(durability)?)
}

fn fill(store: &Store) -> Outcome<()> {
    let mut transaction = store.begin()?;
    for account in 0..ACCOUNTS {
        transaction.tree("accounts")?.put(&account.to_be_bytes(), &account_value(account, BALANCE))?;
    }
    for account in 0..ACCOUNTS {
        transaction.tree("index")?.put(&index_key(account, BALANCE), b"")?;
    }
    transaction.tree("journal")?.put(&1_u64.to_be_bytes(), b"")?;
    Ok(transaction.commit()?)
}

fn main() -> Outcome<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(60), |text| text.parse())?;
    let seed = fastrand::u64(..);
    println!("seed {seed}, {seconds} seconds");
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store");
    // A log this short causes a checkpoint every few thousand commits.
    let options = Options::new().capacity_bytes(8 << 30).log_limit_bytes(4 << 20);
    let store = options.open(&path)?;
    fill(&store)?;

    let (is_over, snapshots) = (AtomicBool::new(false), AtomicU64::new(0));
    let begin = Instant::now();
    let commits = std::thread::scope(|scope| -> Outcome<u64> {
        let (store, is_over, snapshots) = (&store, &is_over, &snapshots);
        let readers: Vec<_> = (0..READERS as u64)
            .map(|reader| {
                scope.spawn(move || {
                    let outcome = read(store, is_over, seed ^ reader);
                    is_over.store(true, Ordering::Relaxed);
                    snapshots.fetch_add(*outcome.as_ref().unwrap_or(&0), Ordering::Relaxed);
                    outcome
                })
            })
            .collect();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut written = Ok(());
        while written.is_ok() && begin.elapsed() < Duration::from_secs(seconds) && !is_over.load(Ordering::Relaxed) {
            written = write_once(store, &mut random);
        }
        is_over.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().map_err(|_| "a reader panicked")??;
        }
        written?;
        add_up(&store.snapshot()?)
    })?;
    drop(store);
    let sequence = add_up(&options.open(&path)?.snapshot()?)?;
    if sequence != commits {
        return Err(format!("commit {commits} was the last, and commit {sequence} is found").into());
    }
    let bytes = std::fs::metadata(&path)?.len();
    let snapshots = snapshots.into_inner();
    println!("{commits} commits, {snapshots} snapshots added up, {} KiB of data", bytes >> 10);
    if snapshots < READERS as u64 {
        return Err("some reader did not get to add up anything".into());
    }
    Ok(())
}
