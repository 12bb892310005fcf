//! Keeps sensor readings in an ordered store, reads them while others are written, and finds them again after
//! reopening.
//!
//! `cargo run --release -p lath --example ordered-store -- readings.lath`

use lath::store::{Durability, Error, Item, Options, Store, TreePath};

/// Keys are ordered byte by byte: big-endian numbers are in numeric order.
fn key(sensor: u16, second: u32) -> [u8; 6] {
    let mut key = [0; 6];
    key[..2].copy_from_slice(&sensor.to_be_bytes());
    key[2..].copy_from_slice(&second.to_be_bytes());
    key
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give the name of the store to make")?;
    let store = Store::open(&path)?;

    // Trees change together, or not at all.
    let mut transaction = store.begin()?;
    transaction.tree("sensors")?.put(b"roof", &7_u16.to_be_bytes())?;
    let mut readings = transaction.tree("readings")?;
    for second in 0..1_000 {
        readings.put(&key(7, second), format!("{} degrees", second % 40).as_bytes())?;
    }
    transaction.commit()?;

    // A snapshot does not change, whatever is committed later.
    let before = store.snapshot()?;
    let mut transaction = store.begin()?;
    transaction.keep_snapshot("first thousand")?;
    let savepoint = transaction.savepoint()?;
    transaction.drop_tree("sensors")?;
    transaction.rollback(&savepoint)?;
    let removed = transaction.tree("readings")?.remove_range(&key(7, 0), Some(&key(7, 600)))?;
    transaction.commit_with(Durability::Deferred)?;
    let count = |readings: Option<lath::store::Tree<'_>>| readings.map_or(Ok(0), |readings| readings.len());
    println!(
        "{removed} removed: {} in the snapshot, {} now",
        count(before.tree("readings")?)?,
        count(store.snapshot()?.tree("readings")?)?
    );

    drop((before, store));
    // From now on, other processes may write to the store as well.
    let store = Options::new().busy_timeout(Options::USUAL_BUSY_TIMEOUT).open(&path)?;
    let snapshot = store.snapshot()?;
    let readings = snapshot.tree("readings")?.ok_or("there are no readings")?;
    println!("{} readings in the minute from 600 on", readings.count(key(7, 600)..key(7, 660))?);
    for entry in readings.range(key(7, 997)..) {
        let (key, value) = entry?;
        println!("{key:?}: {}", String::from_utf8_lossy(value));
    }
    let kept = snapshot.snapshot("first thousand")?.ok_or("the snapshot was not kept")?;
    println!("{} readings were kept under a name", count(kept.tree("readings")?)?);

    // All readings of a sensor, in the time of a few lookups.
    let mut transaction = store.begin()?;
    let removed = transaction.tree("readings")?.remove_prefix(&7_u16.to_be_bytes())?;
    transaction.commit()?;
    println!("{removed} more removed");

    // A transaction that keeps no other waiting, and runs again if another one has changed what it has read.
    let visits = store.transact(|transaction| {
        let mut sensors = transaction.tree("sensors")?;
        let visits = sensors.get(b"visits")?.map_or(0, |bytes| bytes[0]) + 1;
        sensors.put(b"visits", &[visits])?;
        Ok::<_, Error>(visits)
    })?;
    println!("visit {visits}");

    // Transactions on other trees run meanwhile.
    let mut transaction = store.begin_on(&["sensors"])?;
    transaction.tree("sensors")?.put(b"cellar", &8_u16.to_be_bytes())?;
    transaction.commit()?;
    // A tree at a key of another tree, and a copy of it, which takes no longer for a larger one.
    let mut transaction = store.begin()?;
    let mut buildings = transaction.tree("buildings")?;
    let mut office = buildings.tree_at(b"office")?;
    office.put(b"street", b"Dorset Street")?;
    office.tree_at(b"rooms")?.put(b"1", b"drawing room")?;
    let office = TreePath::new("buildings").child(b"office");
    let backup = TreePath::new("buildings").child(b"office before the move");
    transaction.copy_tree(&office, &backup)?;
    transaction.tree_at(&office)?.put(b"street", b"Manchester Square")?;
    transaction.commit()?;

    let snapshot = store.snapshot()?;
    let buildings = snapshot.tree("buildings")?.ok_or("there are no buildings")?;
    let mut cursor = buildings.cursor();
    while cursor.next()? {
        match cursor.item()? {
            Some(Item::Tree(building)) => println!("a tree of {} keys", building.len()?),
            Some(Item::Value(value)) => println!("a value of {} bytes", value.len()),
            None => {}
        }
    }
    Ok(())
}
