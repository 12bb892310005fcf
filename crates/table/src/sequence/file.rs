//! The file with the sequences of a database. It is replaced as a whole, so that it has its old or its new contents after a crash.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Sequence, SequenceOptions};
use crate::error::{Error, Result};
use crate::file::sync_folder;
use crate::records::SEQUENCES_FILE;

const PARTIAL: &str = ".sequences.json.partial";

const FORMAT: u64 = 1;

/// Reads the file; none if it does not exist.
pub(super) fn load(folder: &Path) -> Result<BTreeMap<String, Sequence>> {
    let path = folder.join(SEQUENCES_FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let parsed = serde_json::from_slice(&text).ok().and_then(|value: Value| parse(&value));
    parsed.ok_or_else(|| Error::corrupt(format!("{} is not a list of sequences", path.display())))
}

/// Replaces the file. Numbers that are reserved are not given again by another process, unless `gives_back`.
pub(super) fn store(folder: &Path, sequences: &BTreeMap<String, Sequence>, gives_back: bool) -> Result<()> {
    let all: Map<String, Value> = sequences
        .iter()
        .map(|(name, Sequence { options, next, reserved })| {
            let next = match gives_back {
                true => *next,
                false => skip(options, *next, *reserved),
            };
            let SequenceOptions { start, increment, min, max, cycle } = options;
            let sequence =
                json!({"start": start, "increment": increment, "min": min, "max": max, "cycle": cycle, "next": next});
            (name.clone(), sequence)
        })
        .collect();
    let text = format!("{:#}\n", json!({"format": FORMAT, "sequences": all}));
    let (partial, path) = (folder.join(PARTIAL), folder.join(SEQUENCES_FILE));
    let written = fs::File::create(&partial).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&partial, &path)).map_err(Error::io("write", &path))?;
    sync_folder(folder)
}

/// The number that comes `count` numbers later.
fn skip(options: &SequenceOptions, next: Option<i64>, count: u64) -> Option<i64> {
    (0..count).try_fold(next?, |number, _| options.after(number))
}

fn parse(value: &Value) -> Option<BTreeMap<String, Sequence>> {
    if value.get("format")?.as_u64()? != FORMAT {
        return None;
    }
    let sequence = |(name, value): (&String, &Value)| {
        let number = |key: &str| value.get(key)?.as_i64();
        let options = SequenceOptions {
            start: number("start")?,
            increment: number("increment")?,
            min: number("min")?,
            max: number("max")?,
            cycle: value.get("cycle")?.as_bool()?,
        };
        let next = match value.get("next")? {
            Value::Null => None,
            next => Some(next.as_i64()?),
        };
        options.check().ok()?;
        Some((name.clone(), Sequence { options, next, reserved: 0 }))
    };
    value.get("sequences")?.as_object()?.iter().map(sequence).collect()
}
