//! The file with the sequences of a database. It is replaced as a whole, so that it has its old or its new contents after a crash.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{CommittedChanges, Sequence, SequenceOptions};
use crate::error::{Error, Result};
use crate::file::sync_folder;
use crate::records::SEQUENCES_FILE;

const PARTIAL: &str = ".sequences.json.partial";

const FORMAT: u64 = 1;

type Contents = (BTreeMap<String, Sequence>, Option<CommittedChanges>);

/// Reads the file, which may have changes of a transaction too; nothing if it does not exist.
pub(super) fn load(folder: &Path) -> Result<Contents> {
    let path = folder.join(SEQUENCES_FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let parsed = serde_json::from_slice(&text).ok().and_then(|value: Value| parse(&value));
    parsed.ok_or_else(|| Error::corrupt(format!("{} is not a list of sequences", path.display())))
}

/// Replaces the file. Numbers that are reserved are not given again by another process, unless `gives_back`.
///
/// `changes` are the changes of a transaction that is about to commit.
pub(super) fn store(
    folder: &Path,
    sequences: &BTreeMap<String, Sequence>,
    changes: Option<&CommittedChanges>,
    gives_back: bool,
) -> Result<()> {
    let mut file = json!({"format": FORMAT, "sequences": to_json(sequences, gives_back)});
    if let Some(CommittedChanges { number, created, dropped }) = changes {
        file["change"] = json!({"number": number, "create": to_json(created, true), "drop": dropped});
    }
    let text = format!("{file:#}\n");
    let (partial, path) = (folder.join(PARTIAL), folder.join(SEQUENCES_FILE));
    let written = fs::File::create(&partial).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&partial, &path)).map_err(Error::io("write", &path))?;
    sync_folder(folder)
}

fn to_json(sequences: &BTreeMap<String, Sequence>, gives_back: bool) -> Map<String, Value> {
    let sequences = sequences.iter().map(|(name, Sequence { options, next, reserved })| {
        let next = match gives_back {
            true => *next,
            false => skip(options, *next, *reserved),
        };
        let SequenceOptions { start, increment, min, max, cycle } = options;
        let sequence =
            json!({"start": start, "increment": increment, "min": min, "max": max, "cycle": cycle, "next": next});
        (name.clone(), sequence)
    });
    sequences.collect()
}

/// The number that comes `count` numbers later.
fn skip(options: &SequenceOptions, next: Option<i64>, count: u64) -> Option<i64> {
    (0..count).try_fold(next?, |number, _| options.after(number))
}

fn parse(value: &Value) -> Option<Contents> {
    if value.get("format")?.as_u64()? != FORMAT {
        return None;
    }
    let changes = match value.get("change") {
        None => None,
        Some(change) => Some(CommittedChanges {
            number: change.get("number")?.as_u64()?,
            created: parse_sequences(change.get("create")?)?,
            dropped: change
                .get("drop")?
                .as_array()?
                .iter()
                .map(|name| Some(name.as_str()?.to_owned()))
                .collect::<Option<_>>()?,
        }),
    };
    Some((parse_sequences(value.get("sequences")?)?, changes))
}

fn parse_sequences(value: &Value) -> Option<BTreeMap<String, Sequence>> {
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
    value.as_object()?.iter().map(sequence).collect()
}
