//! Damage anywhere in the files of a catalog: every answer is right, or an error.
//!
//! No checksum can detect a log that was cut off: it looks as if the power had failed before the rest was written. The newest changes may
//! then be missing, each as a whole.

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use lath_catalog::{AddOptions, Catalog};
use lath_testkit::damage_a_file;

use crate::files::{listed, rows, selected, write};

/// Mutations that every run tries. `LATH_CASES` sets another number, `LATH_SEED` another seed.
const CASES: u64 = 60;

const FOLDERS: [&str; 3] = ["a", "b", "c"];

/// The answers of a catalog: the number of files, and the rows found for each condition.
type Answers = (u64, Vec<Vec<String>>);

fn conditions() -> Vec<String> {
    let mut conditions: Vec<String> = [3, 140, 250, 377, 512, 733, 1100].map(|id| format!("id = {id}")).to_vec();
    conditions.extend(
        ["price = 35", "id BETWEEN 130 AND 170", "name = 'customer number 251'", "price IS NULL", "id < 0"]
            .map(str::to_owned),
    );
    conditions
}

/// Folders of files, their catalog, and its answers after each change; the first is empty.
fn build(folder: &Path, is_closed: bool) -> Vec<Answers> {
    let mut versions: Vec<Answers> = vec![(0, vec![Vec::new(); conditions().len()])];
    let path = folder.join("live.catalog");
    let catalog = Catalog::create(&path).unwrap();
    for (at, name) in (0_i64..).zip(FOLDERS) {
        for file in 0..4_i64 {
            let first = at * 400 + file * 100;
            let ids: Vec<i64> = (first..first + 130).map(|id| id * 7 % 1201).collect();
            write(&folder.join(name).join(format!("{file}.parquet")), &rows(&ids), file % 2 == 0, 40);
        }
        catalog.add([folder.join(name)], &AddOptions::new().key(["id"])).unwrap();
        let (mut files, mut found) = versions.last().unwrap().clone();
        files += 4;
        for (rows, condition) in found.iter_mut().zip(conditions()) {
            rows.extend(listed(&folder.join(name), &condition).unwrap());
        }
        versions.push((files, found));
    }
    let copy = |folder: &Path| {
        for path in catalog_files(&path) {
            fs::copy(&path, folder.join(file_name(&path))).unwrap();
        }
    };
    fs::create_dir(folder.join("whole")).unwrap();
    if is_closed {
        drop(catalog);
        copy(&folder.join("whole"));
        return versions.split_off(versions.len() - 1);
    }
    copy(&folder.join("whole"));
    versions
}

fn file_name(path: &Path) -> &std::ffi::OsStr {
    path.file_name().unwrap()
}

/// The files of a catalog, except its lock file.
fn catalog_files(catalog: &Path) -> Vec<PathBuf> {
    let named = |suffix: &str| PathBuf::from(format!("{}{suffix}", catalog.display()));
    ["", "-log0", "-log1"].map(named).into_iter().filter(|path| path.exists()).collect()
}

/// Counts the answers that are errors. All others must be the answers of one version of the catalog.
fn wrong_answers(catalog: &Catalog, versions: &[Answers]) -> (usize, Vec<String>) {
    let mut errors = 0;
    let mut wrong: Vec<Vec<String>> = vec![Vec::new(); versions.len()];
    match catalog.file_count() {
        Err(_) => errors += 1,
        Ok(count) => {
            for (version, wrong) in versions.iter().zip(&mut wrong) {
                if count != version.0 {
                    wrong.push(format!("{count} files"));
                }
            }
        }
    }
    for (at, condition) in conditions().iter().enumerate() {
        match selected(catalog, condition) {
            Err(_) => errors += 1,
            Ok(found) => {
                for (version, wrong) in versions.iter().zip(&mut wrong) {
                    if found != version.1[at] {
                        wrong.push(format!("{condition}: {} rows", found.len()));
                    }
                }
            }
        }
    }
    (errors, wrong.into_iter().min_by_key(Vec::len).unwrap_or_default())
}

#[test]
fn every_answer_of_a_damaged_catalog_is_right_or_an_error() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (count, seed) = (number("LATH_CASES", CASES), number("LATH_SEED", 0x00ca_7a10));
    println!("seed {seed}");
    let (mut refused, mut errors, mut all_right) = (0, 0, 0);
    let mut failures = Vec::new();
    for is_closed in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let versions = build(folder.path(), is_closed);
        for number in 0..count / 2 {
            let mut random = Rng::with_seed(seed + number * 2 + u64::from(is_closed));
            // In the folder of the intact catalog, because names of files are relative to it.
            let damaged = folder.path().join(format!("damaged{number}.catalog"));
            for path in catalog_files(&folder.path().join("whole/live.catalog")) {
                let suffix = file_name(&path).to_str().unwrap().strip_prefix("live.catalog").unwrap().to_owned();
                fs::copy(&path, format!("{}{suffix}", damaged.display())).unwrap();
            }
            let what = damage_a_file(&catalog_files(&damaged), &mut random);
            let opened = if number % 2 == 0 { Catalog::open_read_only(&damaged) } else { Catalog::open(&damaged) };
            match opened {
                Err(_) => refused += 1,
                Ok(catalog) => {
                    // Only damage to the log can lose changes.
                    let versions = if what.contains("-log") { &versions[..] } else { &versions[versions.len() - 1..] };
                    let (error_count, wrong) = wrong_answers(&catalog, versions);
                    errors += error_count;
                    all_right += usize::from(error_count == 0 && wrong.is_empty());
                    if !wrong.is_empty() {
                        failures.push(format!("{what} (closed: {is_closed}, {number}): {wrong:?}"));
                    }
                }
            }
            catalog_files(&damaged).iter().for_each(|path| fs::remove_file(path).unwrap());
        }
    }
    println!(
        "{count} mutations: {refused} refused when opened, {errors} errors of answers, {all_right} without an error"
    );
    assert!(failures.is_empty(), "{} of {count} give wrong answers:\n{}", failures.len(), failures.join("\n"));
}
