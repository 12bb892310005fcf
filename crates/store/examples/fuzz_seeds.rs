//! Writes the seeds of the fuzz targets `store_operations` and `store_open` into the folder given as the argument.
//!
//! The operations are the same each time. Stores have random identities, so their seeds change with every run.

use std::error::Error;
use std::fs;
use std::path::Path;

use lath_store::{Durability, Options, Store};

const UNIT: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: fuzz_seeds FOLDER")?;
    let folder = Path::new(&folder);
    for target in ["store_operations", "store_open"] {
        fs::create_dir_all(folder.join(target))?;
    }
    for (name, seed) in operations() {
        fs::write(folder.join("store_operations").join(name), seed)?;
    }
    for (name, make, repairs) in STORES {
        let temporary = tempfile::tempdir()?;
        let path = temporary.path().join("store");
        let store = make(&path)?;
        // Copy the store while it is open, in the state that a killed process leaves.
        let files = ["", "-log0", "-log1"].map(|suffix| fs::read(temporary.path().join(format!("store{suffix}"))));
        drop(store);
        let [data, log0, log1] = files;
        fs::write(folder.join("store_open").join(name), store_seed(*repairs, &data?, &[log0?, log1?]))?;
    }
    Ok(())
}

/// Sequences in which one kind of step is more frequent than others. The bytes after a step are random.
fn operations() -> Vec<(&'static str, Vec<u8>)> {
    let steps: [(&str, &[u8]); 6] = [
        ("transactions", &[7, 8, 9]),
        ("snapshots", &[0, 0, 1, 7, 8]),
        ("checkpoints", &[2, 3, 7, 8]),
        ("reopenings", &[4, 7, 8]),
        ("kills", &[5, 2, 7, 8]),
        ("power-losses", &[6, 2, 7, 8, 9, 10]),
    ];
    let seeds = steps.into_iter().enumerate().map(|(number, (name, steps))| {
        let mut random = fastrand::Rng::with_seed(number as u64);
        let mut seed = Vec::new();
        for _ in 0..12 {
            seed.push(steps[random.usize(..steps.len())]);
            seed.extend((0..random.usize(..120)).map(|_| random.u8(..)));
        }
        (name, seed)
    });
    seeds.collect()
}

type Make = fn(&Path) -> lath_store::Result<Option<Store>>;

/// Stores, with the checksums that the target repairs after it has changed them.
const STORES: &[(&str, Make, u8)] = &[
    ("closed", closed, 1),
    ("closed-free-map", closed, 3),
    ("closed-as-it-is", closed, 0),
    ("killed", killed, 5),
    ("killed-as-it-is", killed, 0),
    ("empty", empty, 1),
];

fn empty(path: &Path) -> lath_store::Result<Option<Store>> {
    Store::open(path).map(Some)
}

fn fill(store: &Store, count: u32) -> lath_store::Result<()> {
    let mut transaction = store.begin()?;
    let mut numbers = transaction.tree("numbers")?;
    for number in 0..count {
        numbers.upsert(&(number * 3).to_be_bytes(), &number.to_le_bytes())?;
    }
    let mut words = transaction.tree("words")?;
    for number in 0..count / 10 {
        words.upsert(format!("with a beginning/{number}").as_bytes(), &vec![7; 20 * number as usize])?;
    }
    words.upsert(&[b'k'; 900], b"long")?;
    words.upsert(&[b'k'; 901], b"longer")?;
    transaction.commit()
}

fn closed(path: &Path) -> lath_store::Result<Option<Store>> {
    let store = Store::open(path)?;
    fill(&store, 70)?;
    let mut transaction = store.begin()?;
    transaction.keep_snapshot("kept")?;
    transaction.tree("numbers")?.remove_range(&100_u32.to_be_bytes(), Some(&200_u32.to_be_bytes()))?;
    transaction.commit()?;
    Ok(None)
}

fn killed(path: &Path) -> lath_store::Result<Option<Store>> {
    let store = Options::new().background_checkpoints(false).durability(Durability::Deferred).open(path)?;
    fill(&store, 60)?;
    store.checkpoint()?;
    for round in 0..3_u8 {
        let mut transaction = store.begin()?;
        transaction.keep_snapshot(&format!("kept {round}"))?;
        let mut numbers = transaction.tree("numbers")?;
        numbers.upsert(b"a key", &[round; 40])?;
        numbers.remove(&(3 * u32::from(round)).to_be_bytes())?;
        numbers.remove_range(&[0, 0, 0, 30 * round], Some(&[0, 0, 0, 30 * round + 20]))?;
        transaction.drop_tree(if round == 1 { "words" } else { "none" })?;
        transaction.commit()?;
    }
    Ok(Some(store))
}

/// Encodes a store for the target: the non-zero parts of the data file, in pieces.
fn store_seed(repairs: u8, data: &[u8], logs: &[Vec<u8>; 2]) -> Vec<u8> {
    let logs = logs.each_ref().map(|log| {
        let len = log.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        &log[..len]
    });
    let mut seed = vec![repairs];
    seed.extend(((data.len() >> 10) as u16).to_le_bytes());
    logs.iter().for_each(|log| seed.extend((log.len() as u16).to_le_bytes()));
    logs.iter().for_each(|log| seed.extend_from_slice(log));
    let is_zero = |unit: usize| data[unit * UNIT..][..UNIT].iter().all(|byte| *byte == 0);
    let units = data.len() / UNIT;
    let mut unit = 0;
    while unit < units {
        let end = (unit..units).find(|unit| is_zero(*unit)).unwrap_or(units).min(unit + 1000);
        if end > unit {
            seed.extend((unit as u16).to_le_bytes());
            seed.extend((((end - unit) * UNIT) as u16).to_le_bytes());
            seed.extend_from_slice(&data[unit * UNIT..end * UNIT]);
        }
        unit = end.max(unit + 1);
    }
    seed
}
