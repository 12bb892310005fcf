//! Random histories on a disk that loses power. Every state of the folder opens as the last synced commit or as a later
//! one, in full, with exactly the Parquet files of that commit.
//!
//! `LATH_FULL=1` takes three hundred thousand images instead of ten thousand, `LATH_IMAGES` sets the number.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use fastrand::Rng;
use lath_table::{Error, Table};
use lath_testkit::Seeded;

use crate::disk::{Call, Disk, Image, fast_folder};
use crate::history::{Step, Version, assert_intact, assert_no_orphans, options, step};

/// Statistics of the images.
#[derive(Debug, Default)]
struct ImageCounts {
    images: usize,
    /// The number of images taken while an image was opened.
    nested: usize,
    /// Images without a table, because its creation had not ended.
    no_table: usize,
    /// Images with a later commit than the last acknowledged one.
    later: usize,
    /// Images with files that do not belong to the table.
    with_orphans: usize,
    by_operation: BTreeMap<String, usize>,
}

/// The allowed states of a table after a loss of power.
struct AllowedVersions<'v> {
    versions: &'v [Version],
    /// The table has at least this version; `None` if the table need not exist.
    at_least: Option<usize>,
}

impl AllowedVersions<'_> {
    /// Finds the version of the table.
    fn find(&self, table: &Table, what: &str) -> usize {
        let found = Version::of(table, what);
        let first = self.at_least.unwrap_or(0);
        let at = self.versions[first..].iter().position(|version| *version == found);
        let is_lost = || self.versions.iter().rposition(|version| *version == found);
        first + at.unwrap_or_else(|| panic!("{what}: no commit since {first}, but {:?}: {found:?}", is_lost()))
    }
}

/// Opens an image, compares it, and continues from there.
fn inspect(image: &Image, allowed: &AllowedVersions<'_>, random: &mut Rng, found: &mut ImageCounts, is_nested: bool) {
    let home = fast_folder();
    let path = home.path().join("table");
    image.write(&path);
    let what = format!("image {}, {}", found.images, image.what);
    let disk = (!is_nested && random.u8(..16) == 0).then(|| Disk::watch(&path));
    if let Some(disk) = &disk {
        disk.take_images(4, random.u64(..));
    }
    let parquet_files = image.files.keys().filter(|name| name.starts_with("_data/") && name.contains(".pq")).count();
    let table = match Table::open(&path, options()) {
        Ok(table) => table,
        Err(Error::NoTable { .. }) if allowed.at_least.is_none() => {
            found.no_table += 1;
            // Create it once more.
            let created = Table::create(&path, &Version::default().contents.schema(), &["id"], options());
            assert!(Version::of(&created.unwrap(), &what) == Version::default(), "{what}");
            return;
        }
        Err(error) => panic!("{what}: {error}"),
    };
    let files = assert_intact(&table, &what);
    found.with_orphans += usize::from(files < parquet_files);
    let at = allowed.find(&table, &what);
    found.later += usize::from(allowed.at_least.is_some_and(|least| at > least));
    if let Some(disk) = disk {
        let images = disk.images();
        drop(disk);
        for image in images {
            found.nested += 1;
            found.images += 1;
            let image = Image { what: format!("{what}, then {} while it is opened", image.what), ..image };
            // The version that was found is durable.
            let allowed = AllowedVersions { at_least: Some(at), versions: allowed.versions };
            inspect(&image, &allowed, random, found, true);
        }
    }
    let mut table = Some(table);
    let mut version = allowed.versions[at].clone();
    let mut what = what;
    for _ in 0..if random.u8(..4) == 0 { 3 } else { 1 } {
        let Step { what: then, next, result } = step(&mut table, &version, &options(), random);
        what = format!("{what}, then {then}");
        result.unwrap_or_else(|error| panic!("{what}: {error}"));
        version = next;
    }
    let table = table.unwrap();
    let reached = Version::of(&table, &what);
    assert!(reached == version, "{what}: {reached:?} and not {version:?}");
    assert_no_orphans(&table, &path, &what);
}

/// Runs a history of `steps` operations.
fn run(random: &mut Rng, steps: usize, found: &mut ImageCounts) {
    let home = fast_folder();
    let path = home.path().join("table");
    std::fs::create_dir(&path).unwrap();
    let disk = Disk::watch(&path);
    disk.take_images(8, random.u64(..));
    let mut version = Version::default();
    let mut table = Some(Table::create(&path, &version.contents.schema(), &["id"], options()).unwrap());
    let mut versions = vec![version.clone()];
    let images = disk.images();
    look(&images, None, &versions, random, found, "create");
    disk.take_images(2, random.u64(..));
    let mut at_least = 0;
    for _ in 0..steps {
        let Step { what, next, result } = step(&mut table, &version, &options(), random);
        let is_durable = result.unwrap_or_else(|error| panic!("{what}: {error}"));
        if next != version {
            versions.push(next.clone());
        }
        version = next;
        let mut images = disk.images();
        // The last image belongs to the time after.
        let after = images
            .split_off(images.iter().rposition(|image| !image.what.starts_with("the end")).map_or(0, |at| at + 1));
        look(&images, Some(at_least), &versions, random, found, &what);
        if is_durable {
            at_least = versions.len() - 1;
        }
        look(&after, Some(at_least), &versions, random, found, &what);
    }
    let calls = disk.calls();
    for call in [Call::Create, Call::Write, Call::Sync, Call::SyncFolder] {
        assert!(calls.contains_key(&call), "{call:?} was not seen: {calls:?}");
    }
    assert!(Version::of(table.as_ref().unwrap(), "the end") == version);
}

fn look(
    images: &[Image],
    at_least: Option<usize>,
    versions: &[Version],
    random: &mut Rng,
    found: &mut ImageCounts,
    what: &str,
) {
    for image in images {
        found.images += 1;
        *found.by_operation.entry(what.to_owned()).or_default() += 1;
        let image = Image { what: format!("{} of {what}", image.what), ..image.clone() };
        inspect(&image, &AllowedVersions { versions, at_least }, random, found, false);
    }
}

impl ImageCounts {
    fn add(&mut self, other: Self) {
        self.images += other.images;
        self.nested += other.nested;
        self.no_table += other.no_table;
        self.later += other.later;
        self.with_orphans += other.with_orphans;
        for (what, count) in other.by_operation {
            *self.by_operation.entry(what).or_default() += count;
        }
    }
}

/// The number of images and of threads.
fn images_and_threads() -> (usize, usize) {
    if let Ok(count) = std::env::var("LATH_IMAGES") {
        return (count.parse().unwrap(), 1);
    }
    (if std::env::var_os("LATH_FULL").is_some() { 300_000 } else { 10_000 }, 2)
}

#[test]
fn every_power_loss_recovers_last_synced_or_later_commit() {
    let random = Seeded::new("every loss of power leaves a commit of the table");
    let (seed, start) = (random.seed(), Instant::now());
    let (images, threads) = images_and_threads();
    let (random, found) = (Mutex::new(random), Mutex::new(ImageCounts::default()));
    let work = || {
        while found.lock().unwrap().images < images {
            let history = random.lock().unwrap().u64(..);
            let mut random = Rng::with_seed(history);
            let steps = 10 + random.usize(..60);
            let mut of_history = ImageCounts::default();
            let ended = catch_unwind(AssertUnwindSafe(|| run(&mut random, steps, &mut of_history)));
            if let Err(panic) = ended {
                // The other thread ends too.
                found.lock().unwrap().images = images;
                resume_unwind(panic);
            }
            found.lock().unwrap().add(of_history);
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
    let found = found.into_inner().unwrap();
    println!("{found:?}");
    println!("{} images in {:.1?}, seed {seed}", found.images, start.elapsed());
    assert!(found.later > 0 && found.with_orphans > 0 && found.no_table > 0, "{found:?}");
}
