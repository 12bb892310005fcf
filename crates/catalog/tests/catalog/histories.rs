//! Random histories: files are added, changed, removed and truncated under a catalog, and its answers are compared with scans without it.
//! `LATH_CASES` sets the number of histories, `LATH_SEED` repeats a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use lath_catalog::{AddOptions, Catalog};
use lath_testkit::Seeded;

use crate::files::{listed, rows, selected, write};

/// A file that never changes, so that there is always a partition column.
const KEPT: &str = "year=2024/kept.parquet";

/// All ids are below it.
const IDS: i64 = 2000;

#[test]
fn answers_are_those_of_scans_without_a_catalog() {
    let cases: usize = std::env::var("LATH_CASES").map_or(12, |text| text.parse().unwrap());
    let mut random = Seeded::new("answers_are_those_of_scans_without_a_catalog");
    for _ in 0..cases {
        History::new(&mut random).run(&mut random);
    }
}

struct History {
    folder: tempfile::TempDir,
    catalog: Catalog,
    /// The bytes of files that the catalog has read.
    recorded: BTreeMap<PathBuf, Vec<u8>>,
}

impl History {
    fn new(random: &mut Seeded) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join(KEPT), &rows(&ids(random)), random.bool(), random.usize(1..100));
        (0..random.usize(1..12)).for_each(|_| put_file(folder.path(), random));
        let catalog = Catalog::create(folder.path().join(Catalog::FILE_NAME)).unwrap();
        let options = match random.usize(..3) {
            0 => AddOptions::new(),
            1 => AddOptions::new().key(["id"]).key(["id", "price"]),
            _ => AddOptions::new().key(["name"]).filter_budget_bytes(1 << random.usize(5..12)),
        };
        catalog.add([folder.path()], &options).unwrap();
        let recorded = files(folder.path());
        Self { folder, catalog, recorded }
    }

    fn run(&mut self, random: &mut Seeded) {
        for _ in 0..random.usize(2..8) {
            for _ in 0..random.usize(1..5) {
                self.change(random);
            }
            self.compare_before_refresh(random);
            if random.bool() {
                self.catalog.refresh_stale().unwrap();
                // The catalog has read some of the files; the test does not know which.
            }
            self.catalog.refresh().unwrap();
            self.recorded = files(self.folder.path());
            (0..12).for_each(|_| self.compare(&predicate(random)));
            assert_eq!(self.catalog.file_count().unwrap(), self.recorded.len() as u64);
        }
    }

    fn change(&self, random: &mut Seeded) {
        let is_free = |path: &PathBuf| !path.ends_with(KEPT);
        let paths: Vec<PathBuf> = files(self.folder.path()).into_keys().filter(is_free).collect();
        match (random.usize(..5), paths.is_empty()) {
            (0 | 1, _) | (_, true) => put_file(self.folder.path(), random),
            (2, _) => fs::remove_file(&paths[random.usize(..paths.len())]).unwrap(),
            (3, _) => {
                // Replaced in place.
                let path = &paths[random.usize(..paths.len())];
                let other = self.folder.path().join("other");
                write(&other, &rows(&ids(random)), random.bool(), random.usize(1..100));
                fs::write(path, fs::read(&other).unwrap()).unwrap();
                fs::remove_file(other).unwrap();
            }
            _ => {
                let path = &paths[random.usize(..paths.len())];
                let bytes = fs::read(path).unwrap();
                // It is repaired soon, or no scan of all files would succeed.
                let len = if random.u8(..4) == 0 { random.usize(..bytes.len()) } else { bytes.len() };
                fs::write(path, &bytes[..len]).unwrap();
            }
        }
    }

    /// After a refresh, answers are the same. Errors are too, because no unreadable file is ruled out.
    fn compare(&self, predicate: &str) {
        let expected = listed(self.folder.path(), predicate);
        let actual = selected(&self.catalog, predicate);
        match (&expected, &actual) {
            (Ok(expected), Ok(actual)) => assert_eq!(actual, expected, "{predicate}"),
            (Err(_), Err(_)) => {}
            _ => panic!("{predicate}: {expected:?} without a catalog, {actual:?} with it"),
        }
    }

    /// Before a refresh, every row that is found exists, and no row of an unchanged file is missing.
    fn compare_before_refresh(&self, random: &mut Seeded) {
        let now = files(self.folder.path());
        for _ in 0..6 {
            let predicate = predicate(random);
            let (Ok(expected), Ok(actual)) =
                (listed(self.folder.path(), &predicate), selected(&self.catalog, &predicate))
            else {
                continue;
            };
            let actual: BTreeSet<&String> = actual.iter().collect();
            let all: BTreeSet<&String> = expected.iter().collect();
            assert!(actual.is_subset(&all), "{predicate}: {actual:?} of {all:?}");
            for (path, bytes) in &self.recorded {
                if now.get(path) != Some(bytes) {
                    continue;
                }
                // The name of the file in the rows.
                let name = format!("{:?}", path.to_str().unwrap());
                let name = name.trim_matches('"');
                let missing: Vec<_> = all.iter().filter(|row| row.contains(name) && !actual.contains(**row)).collect();
                assert!(missing.is_empty(), "{predicate}: {missing:?}");
            }
        }
    }
}

fn ids(random: &mut Seeded) -> Vec<i64> {
    let start = random.i64(0..IDS);
    let is_sorted = random.bool();
    (0..random.i64(0..80)).map(|row| if is_sorted { (start + row) % IDS } else { random.i64(0..IDS) }).collect()
}

fn put_file(folder: &Path, random: &mut Seeded) {
    let directory = ["", "year=2025", "year=2026", "deep/er"][random.usize(..4)];
    let path = folder.join(directory).join(format!("{}.parquet", random.u8(..20)));
    let (ids, with_filters, row_group_rows) = (ids(random), random.bool(), random.usize(1..100));
    write(&path, &rows(&ids), with_filters, row_group_rows);
}

fn predicate(random: &mut Seeded) -> String {
    let id = random.i64(-10..IDS + 10);
    match random.usize(..9) {
        0 => format!("id = {id}"),
        1 => format!("id IN ({id}, {}, {})", id + 1, random.i64(0..IDS)),
        2 => format!("id BETWEEN {id} AND {}", id + random.i64(0..50)),
        3 => format!("name = 'customer number {id}'"),
        4 => format!("price = {}", id as f64 / 4.0),
        5 => format!("id = {id} AND price = {}", id as f64 / 4.0),
        6 => format!("id < {} OR name = 'customer number {id}'", id / 50),
        7 => format!("NOT (id > {id}) AND price IS NULL"),
        _ => format!("price >= {} AND name IS NOT NULL", id as f64 / 4.0),
    }
}

/// The Parquet files below a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}
