//! A published table on a disk that loses power: readers of Iceberg and Delta Lake find a snapshot of a commit that is still there, the table is right, it is
//! published again, and what the loss left behind is removed.
//!
//! `LATH_FULL=1` takes three thousand images instead of three hundred, `LATH_IMAGES` sets the number.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use fastrand::Rng;
use lath_parquet::Runtime;
use lath_table::{Durability, PublishOptions, Table, TableOptions};
use lath_testkit::Seeded;

use super::delta::read_newest_versions;
use super::{Rows, assert_no_leftovers, batch, read_all, read_newest};
use crate::disk::{Call, Disk, Image, fast_folder};

/// A state that a loss of power during an operation may leave.
struct Moment {
    image: Image,
    /// The table has at least this version.
    durable: u64,
    /// At least this version is published.
    published: u64,
    /// The newest version that there was.
    last: u64,
}

#[derive(Debug, Default)]
struct Counts {
    images: usize,
    /// Images in which the newest metadata file shows an earlier version than the end of the operation did.
    older: usize,
    /// Images with a newer metadata file than the hint names.
    ahead_of_hint: usize,
    /// Images with a part of a publication that no metadata names.
    with_leftovers: usize,
    /// Images of a table that was never published before.
    first: usize,
}

fn options(random: &mut Rng) -> TableOptions {
    let store = lath_store::Options::new().capacity_bytes(1 << 26).background_checkpoints(false);
    let durability = [Durability::Sync, Durability::Deferred, Durability::Off][random.usize(..3)];
    TableOptions::new()
        .background(false)
        .file_rows(40)
        .merge_files(2)
        .bulk_rows(60)
        .durability(durability)
        .store_options(store.log_limit_bytes(1 << 14))
}

fn publish_options(random: &mut Rng) -> PublishOptions {
    PublishOptions::new().delta(true).keep(Duration::from_millis([0, 3, 600_000][random.usize(..3)]))
}

/// Changes a table whose rows are `rows`.
fn change(table: &Table, rows: &mut Rows, random: &mut Rng) {
    if random.u8(..3) == 0 {
        let keys: Vec<i64> = (0..random.usize(1..20)).map(|_| random.i64(0..200)).collect();
        table.delete(keys.clone()).unwrap();
        rows.retain(|key, _| !keys.contains(key));
        return;
    }
    let count = if random.u8(..3) == 0 { 80 } else { random.usize(1..25) };
    let put: Rows = (0..count).map(|_| (random.i64(0..200), Some(random.i64(0..1000)))).collect();
    table.upsert(&batch(&put)).unwrap();
    rows.extend(put);
}

/// The rows of each version from which on they were so.
type Versions = BTreeMap<u64, Rows>;

fn rows_at(versions: &Versions, version: u64) -> &Rows {
    versions.range(..=version).next_back().unwrap().1
}

/// Runs a history at `folder`, and returns what losses of power may leave of it.
fn run(folder: &Path, random: &mut Rng, options: &TableOptions) -> (Vec<Moment>, Versions) {
    let schema = batch(&Rows::new()).schema();
    let table = Table::create(folder, &schema, &["id"], options.clone()).unwrap();
    let mut rows = Rows::new();
    let version = |table: &Table| table.snapshot().unwrap().version();
    let mut versions = Versions::from([(version(&table), rows.clone())]);
    change(&table, &mut rows, random);
    table.flush().unwrap();
    table.sync().unwrap();
    versions.insert(version(&table), rows.clone());
    let disk = Disk::watch(folder);
    disk.take_images(6, random.u64(..));
    let (mut moments, mut durable, mut published) = (Vec::new(), version(&table), 0);
    for step in 0..12 {
        let before = (durable, published);
        match random.u8(..10) {
            _ if step == 0 => published = table.publish(publish_options(random)).unwrap().version,
            0..=3 => change(&table, &mut rows, random),
            4 => drop(table.flush().unwrap()),
            5 => drop(table.compact().unwrap()),
            6 => drop(table.vacuum().unwrap()),
            7 => published = table.publish(publish_options(random)).unwrap().version,
            _ => published = table.publish_now().unwrap().version,
        }
        versions.insert(version(&table), rows.clone());
        durable = durable.max(published);
        let last = version(&table);
        for image in disk.images() {
            // The state at the end of an operation has what the operation has acknowledged.
            let (durable, published) = if image.what.starts_with("the end") { (durable, published) } else { before };
            moments.push(Moment { image, durable, published, last });
        }
    }
    let calls = disk.calls();
    for call in [Call::CreateFolder, Call::Rename, Call::SyncFolder] {
        assert!(calls.contains_key(&call), "{call:?} was not seen: {calls:?}");
    }
    (moments, versions)
}

/// Opens what a loss of power left, in the place of the table, compares it, and continues from there.
fn inspect(
    moment: &Moment,
    folder: &Path,
    versions: &Versions,
    options: &TableOptions,
    random: &mut Rng,
    counts: &mut Counts,
) {
    let what = format!("image {}, {}", counts.images, moment.image.what);
    counts.images += 1;
    fs::remove_dir_all(folder).unwrap();
    moment.image.write(folder);
    let found = read_all(folder);
    assert!(moment.published == 0 || !found.is_empty(), "{what}: the metadata is gone");
    let mut newest = 0;
    for snapshots in &found {
        for (version, rows) in snapshots {
            assert!(rows == rows_at(versions, *version), "{what}: the snapshot of version {version}");
            assert!(*version <= moment.last, "{what}");
        }
        let current = snapshots.last().unwrap().0;
        assert!(current >= moment.published, "{what}: {current} is published, and {} was", moment.published);
        newest = newest.max(current);
    }
    let delta = read_newest_versions(folder);
    for (version, rows) in &delta {
        assert!(rows == rows_at(versions, *version), "{what}: version {version} of the log");
        assert!(*version <= moment.last, "{what}");
    }
    let newest_of_log = delta.first().map_or(0, |(version, _)| *version);
    assert!(newest_of_log >= moment.published, "{what}: {newest_of_log} is in the log, and {} was", moment.published);
    counts.older += usize::from(newest < moment.last);
    counts.first += usize::from(moment.published == 0);
    counts.ahead_of_hint += usize::from(found.len() > 1);
    counts.with_leftovers += usize::from(moment.image.files.keys().any(|name| name.ends_with(".partial")));

    // Not the caches of other images, whose files had the same paths.
    let options = options.clone().runtime(&Runtime::builder().threads(1).build());
    let table = Table::open(folder, options).unwrap_or_else(|error| panic!("{what}: {error}"));
    let version = table.snapshot().unwrap().version();
    assert!(version >= moment.durable, "{what}: version {version}, and {} was durable", moment.durable);
    assert!(version >= newest, "{what}: version {version}, and {newest} is published");
    let mut rows = rows_at(versions, version).clone();
    let found: u64 = table.count().unwrap();
    assert_eq!(found, rows.len() as u64, "{what}");
    let report = table.check().unwrap();
    assert!(report.is_intact(), "{what}: {report:?}");
    // Opening has removed nothing that is published.
    for (version, rows) in read_all(folder).iter().flatten() {
        assert!(rows == rows_at(versions, *version), "{what}: the snapshot of version {version}, after opening");
    }
    table.publish(publish_options(random)).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(read_newest(folder) == rows, "{what}: published again");
    for _ in 0..random.usize(1..4) {
        change(&table, &mut rows, random);
    }
    table.compact().unwrap();
    table.publish_now().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(read_newest(folder) == rows, "{what}: published a second time");
    assert!(read_newest_versions(folder)[0].1 == rows, "{what}: published in the log a second time");
    if random.u8(..4) == 0 {
        assert_no_leftovers(&table, folder, &what);
    }
}

#[test]
fn after_a_loss_of_power_readers_find_a_commit_and_the_table_is_published_again() {
    let mut seeded = Seeded::new("publish power");
    let images = match std::env::var("LATH_IMAGES") {
        Ok(count) => count.parse().unwrap(),
        Err(_) => {
            if std::env::var_os("LATH_FULL").is_some() {
                3000
            } else {
                300
            }
        }
    };
    let mut counts = Counts::default();
    while counts.images < images {
        let mut random = Rng::with_seed(seeded.u64(..));
        let home = fast_folder();
        let folder = home.path().canonicalize().unwrap().join("table");
        let options = options(&mut random);
        let (moments, versions) = run(&folder, &mut random, &options);
        for moment in &moments {
            inspect(moment, &folder, &versions, &options, &mut random, &mut counts);
        }
    }
    println!("{counts:?}");
    let Counts { older, ahead_of_hint, with_leftovers, first, .. } = counts;
    assert!(older > 0 && ahead_of_hint > 0 && with_leftovers > 0 && first > 0, "{counts:?}");
}

/// Its files would otherwise be removed as unfinished when the table is opened, and readers would find metadata that names them.
#[test]
fn a_commit_that_was_in_memory_alone_is_durable_once_it_is_published() {
    let mut random = Seeded::new("publish power, in memory");
    for _ in 0..20 {
        let home = fast_folder();
        let folder = home.path().canonicalize().unwrap().join("table");
        let options = TableOptions::new().background(false).bulk_rows(20).durability(Durability::Off);
        let table = Table::create(&folder, &batch(&Rows::new()).schema(), &["id"], options.clone()).unwrap();
        table.publish(PublishOptions::new()).unwrap();
        let disk = Disk::watch(&folder);
        disk.take_images(1, random.u64(..));
        let rows: Rows = (0..50).map(|id| (id, Some(id))).collect();
        table.upsert(&batch(&rows)).unwrap();
        assert_eq!(table.publish_now().unwrap().rows, 50);
        let image = disk.images().pop().unwrap();
        drop((disk, table));
        fs::remove_dir_all(&folder).unwrap();
        image.write(&folder);
        assert_eq!(Table::open(&folder, options).unwrap().count().unwrap(), 50);
        assert_eq!(read_newest(&folder), rows);
    }
}
