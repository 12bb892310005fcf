//! Measures the time to find one key in very many files with a catalog.
//!
//! `cargo run --release -p lath-catalog --example many-files -- make FOLDER FILES` writes files over which all keys are spread, and
//! their catalog; `… -- find FOLDER` looks keys up in it. The first figure of `find` includes opening the catalog.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use lath_catalog::{AddOptions, Catalog};
use lath_parquet::{DatasetOptions, FooterCache, Predicate};
use lath_writer::{ParquetWriter, WriteOptions};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};

/// Rows of each file.
const ROWS: i64 = 20;

/// Files of a directory.
const DIRECTORY_FILES: i64 = 10_000;

/// Spreads keys over the files, so that bounds rule out nothing.
fn key(number: i64) -> i64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed())
}

fn make(folder: &Path, files: i64) -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    for file in 0..files {
        let directory = folder.join((file / DIRECTORY_FILES).to_string());
        if file % DIRECTORY_FILES == 0 {
            std::fs::create_dir_all(&directory)?;
        }
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| key(file * ROWS + row))));
        let batch = RecordBatch::try_from_iter([("id", keys)])?;
        let mut bytes = Vec::new();
        let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), WriteOptions::default())?;
        writer.write(&batch)?;
        writer.finish()?;
        std::fs::write(directory.join(format!("{file}.parquet")), bytes)?;
    }
    println!("{files} files written in {:?}", started.elapsed());
    let started = Instant::now();
    let changes = Catalog::create(folder.join(Catalog::FILE_NAME))?.add([folder], &AddOptions::new().key(["id"]))?;
    println!("{} files added in {:?}", changes.added, started.elapsed());
    Ok(())
}

fn find(folder: &Path) -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    let catalog = Catalog::open_read_only(folder.join(Catalog::FILE_NAME))?;
    let rows = catalog.file_count()? as i64 * ROWS;
    println!("opened in {:?}", started.elapsed());
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..40i64 {
        let is_there = round % 2 == 0;
        let number = if is_there { (round * 7919) % rows } else { rows + round };
        let before = if round == 0 { started } else { Instant::now() };
        let predicate = Predicate::parse(&format!("id = {}", key(number)))?;
        let options = DatasetOptions::new().footer_cache(FooterCache::new(0));
        let files = catalog.select(&predicate, &options)?;
        let opened = files.files().len();
        let selected = before.elapsed();
        let found = files.scan().count()?;
        let elapsed = before.elapsed();
        assert_eq!(found, u64::from(is_there), "a key is in one file or in none");
        if round == 0 {
            println!("first: {elapsed:?}, files chosen after {selected:?}: {opened} of {}", rows / ROWS);
        }
        times[usize::from(is_there)].push(elapsed);
    }
    for (name, mut times) in ["miss", "hit"].into_iter().zip(times) {
        times.sort_unstable();
        println!("{name}: median {:?}, maximum {:?}", times[times.len() / 2], times[times.len() - 1]);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["make", folder, files] => make(Path::new(folder), files.parse()?),
        ["find", folder] => find(Path::new(folder)),
        _ => Err("arguments: make FOLDER FILES, or find FOLDER".into()),
    }
}
