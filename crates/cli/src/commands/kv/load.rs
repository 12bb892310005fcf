//! `kv load`: entries from CSV and JSON lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use lath_store::Durability;
use serde_json::Value;

use super::bytes_format::parse_bytes;
use super::{open, store_failure, tree_path};
use crate::args::{EntryFileFormat, LoadArgs};
use crate::console::quantity::plural;
use crate::failure::{Failure, Outcome, Result};

pub(super) fn run(args: &LoadArgs) -> Result<Outcome> {
    let place = tree_path(&args.tree.tree, &args.tree.path, args.tree.keys)?;
    let store = open(&args.tree.store, true)?;
    let mut count = 0u64;
    let mut batch: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let flush = |batch: &mut Vec<(Vec<u8>, Vec<u8>)>| -> Result<()> {
        let mut transaction = store.begin().map_err(store_failure)?;
        let mut tree = transaction.tree_at(&place).map_err(store_failure)?;
        for (key, value) in batch.drain(..) {
            tree.put(&key, &value).map_err(store_failure)?;
        }
        // One sync at the end makes all of them durable.
        transaction.commit_with(Durability::Deferred).map_err(store_failure)
    };
    for path in &args.files {
        let form = match args.format {
            Some(form) => form,
            None => entry_format(path)?,
        };
        let name = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
        let input: Box<dyn Read> = if path == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(path).map_err(|error| Failure::reaching(path, &error))?)
        };
        each_entry(input, form, &name, &mut |key, value| {
            batch.push((parse_bytes(key, args.tree.keys, "key")?, parse_bytes(value, args.tree.values, "value")?));
            count += 1;
            if batch.len() < args.batch as usize { Ok(()) } else { flush(&mut batch) }
        })?;
    }
    flush(&mut batch)?;
    store.sync().map_err(store_failure)?;
    eprintln!("{} put", plural(count, "entry").replace("entrys", "entries"));
    Ok(Outcome::Done)
}

pub(super) fn entry_format(path: &Path) -> Result<EntryFileFormat> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(EntryFileFormat::Csv),
        Some("jsonl" | "ndjson" | "json") => Ok(EntryFileFormat::Jsonl),
        _ => Err(Failure::Usage(format!(
            "{}: the format cannot be told from the name; add --format csv or jsonl",
            path.display()
        ))),
    }
}

fn each_entry(
    input: Box<dyn Read>,
    form: EntryFileFormat,
    name: &str,
    put: &mut dyn FnMut(&str, &str) -> Result<()>,
) -> Result<()> {
    match form {
        EntryFileFormat::Csv => {
            let mut reader = csv::Reader::from_reader(BufReader::new(input));
            let wrong = |error: csv::Error| Failure::Corrupt(format!("{name}: cannot be read as CSV: {error}"));
            let header = reader.headers().map_err(wrong)?;
            let column = |wanted: &str| {
                let found = header.iter().position(|column| column.trim() == wanted);
                found.ok_or_else(|| {
                    Failure::Usage(format!("{name}: there is no column {wanted:?}; the header must have key and value"))
                })
            };
            let (key, value) = (column("key")?, column("value")?);
            let mut record = csv::StringRecord::new();
            while reader.read_record(&mut record).map_err(wrong)? {
                put(record.get(key).unwrap_or_default(), record.get(value).unwrap_or_default())?;
            }
        }
        EntryFileFormat::Jsonl => {
            for (number, line) in BufReader::new(input).lines().enumerate() {
                let line = line.map_err(|error| Failure::Io(format!("{name}: cannot read: {error}")))?;
                if line.trim().is_empty() {
                    continue;
                }
                let place = || format!("{name}, line {}", number + 1);
                let object: Value = serde_json::from_str(&line)
                    .map_err(|error| Failure::Corrupt(format!("{}: not JSON: {error}", place())))?;
                lath_json::check_names(line.as_bytes(), number as u64 + 1)
                    .map_err(|error| Failure::Corrupt(format!("{name}: {error}")))?;
                let member = |wanted: &str| {
                    object[wanted].as_str().ok_or_else(|| {
                        Failure::Usage(format!("{}: expected an object whose {wanted:?} is a string", place()))
                    })
                };
                put(member("key")?, member("value")?)?;
            }
        }
    }
    Ok(())
}
