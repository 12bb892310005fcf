//! Finds the newest metadata file of a table.

use lath_iceberg::TableMetadata;
use lath_parquet::{Error, Result};

use super::located;
use crate::storage::{Entry, Folder};

const METADATA_FOLDER: &str = "metadata";
const HINT: &str = "version-hint.text";

/// The ends of the names of metadata files.
const ENDS: [&str; 2] = [".metadata.json", ".metadata.json.gz"];

/// The name of the table's newest metadata file, below its folder.
///
/// `version-hint.text` says which file was the newest; later versions of the same names come after it. Without it, the file with
/// the highest version is the newest.
///
/// `listed` has the files of the folder of metadata, if they are known.
pub(crate) fn newest(folder: &Folder, listed: Option<Vec<Entry>>) -> Result<String> {
    let listed = listed.map_or_else(|| folder.list(METADATA_FOLDER), Ok)?;
    let names: Vec<String> = listed.into_iter().map(|entry| entry.name).collect();
    let hint = match names.iter().any(|name| name == HINT) {
        true => {
            let bytes = folder.read(&folder.location(&format!("{METADATA_FOLDER}/{HINT}"))?)?;
            Some(String::from_utf8_lossy(&bytes).trim().to_owned())
        }
        false => None,
    };
    let mut versions: Vec<(u64, &String)> = names.iter().filter_map(|name| Some((version(name)?, name))).collect();
    versions.sort_unstable();
    let chosen = match hint {
        Some(hint) => hinted(&hint, &versions).ok_or_else(|| {
            let place = folder.location(METADATA_FOLDER).unwrap_or_default();
            Error::corrupt(format!("{place}: {HINT} says {hint:?}, and there is no metadata file of that version"))
        })?,
        None => {
            let place = folder.location(METADATA_FOLDER)?;
            let Some(&(newest, name)) = versions.last() else {
                return Err(Error::invalid(format!("{place} has no metadata file of an Iceberg table")));
            };
            // A writer that failed may have left one of them.
            let others: Vec<&str> =
                versions.iter().filter(|(version, _)| *version == newest).map(|(_, name)| name.as_str()).collect();
            if others.len() > 1 {
                return Err(Error::invalid(format!(
                    "{place} has several metadata files of version {newest}: {}; name the one of the table's catalog",
                    others.join(", ")
                )));
            }
            name
        }
    };
    Ok(format!("{METADATA_FOLDER}/{chosen}"))
}

/// The metadata in a file.
pub(super) fn read(folder: &Folder, location: &str) -> Result<TableMetadata> {
    TableMetadata::from_bytes(&folder.read(location)?).map_err(|error| located(error, location))
}

/// Whether a location has the name of a metadata file: one with a version, or any in a folder of metadata. Others may be JSON of any kind.
pub(crate) fn is_metadata_file(location: &str) -> bool {
    let (folder, name) = location.rsplit_once('/').unwrap_or(("", location));
    let is_within = folder.rsplit('/').next() == Some(METADATA_FOLDER);
    version(name).is_some() || (is_within && ENDS.iter().any(|end| name.ends_with(end)))
}

/// The file that the hint means, or a later one of the same naming.
fn hinted<'n>(hint: &str, versions: &[(u64, &'n String)]) -> Option<&'n String> {
    let Ok(mut number) = hint.trim_start_matches('v').parse::<u64>() else {
        // Some writers write a name, or its part before the end.
        let is_it = |name: &&String| {
            name.as_str() == hint || name.strip_prefix(hint).is_some_and(|end| end == ".metadata.json")
        };
        return versions.iter().map(|(_, name)| *name).find(is_it);
    };
    let of = |number: u64| {
        let mut named = versions.iter().filter(|(version, name)| *version == number && name.starts_with('v'));
        named.next().map(|(_, name)| *name)
    };
    let mut found = of(number).or_else(|| {
        let mut same = versions.iter().filter(|(version, _)| *version == number);
        same.next().map(|(_, name)| *name)
    })?;
    while let Some(later) = number.checked_add(1).and_then(of) {
        (found, number) = (later, number + 1);
    }
    Some(found)
}

/// The version in a name: `v7.metadata.json`, `00007-….metadata.json`, or the same compressed.
fn version(name: &str) -> Option<u64> {
    let stem = ENDS.iter().find_map(|end| name.strip_suffix(end))?;
    let stem = stem.strip_suffix(".gz").unwrap_or(stem);
    match stem.strip_prefix('v') {
        Some(digits) => digits.parse().ok(),
        None => stem.split('-').next()?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_names() {
        for (name, expected) in [
            ("v7.metadata.json", Some(7)),
            ("v7.gz.metadata.json", Some(7)),
            ("v7.metadata.json.gz", Some(7)),
            ("00012-2ba0cb4e-7c2f-4e3c-8ff2-0b1c3ab8c0a1.metadata.json", Some(12)),
            ("00012-2ba0cb4e-7c2f-4e3c-8ff2-0b1c3ab8c0a1.gz.metadata.json", Some(12)),
            ("snap-7.avro", None),
            ("version-hint.text", None),
            ("x.metadata.json", None),
        ] {
            assert_eq!(version(name), expected, "{name}");
            assert_eq!(is_metadata_file(&format!("s3://lake/t/other/{name}")), expected.is_some(), "{name}");
        }
        assert!(is_metadata_file("t/metadata/final.metadata.json"));
        assert!(!is_metadata_file("t/metadata/final.json"));
    }

    #[test]
    fn the_hint_or_a_later_version_is_the_newest() {
        let names = [
            "v1.metadata.json",
            "v2.gz.metadata.json",
            "v3.metadata.json",
            "00005-a.metadata.json",
            "v9.metadata.json",
        ];
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let versions: Vec<(u64, &String)> = names.iter().map(|name| (version(name).unwrap(), name)).collect();
        let found = |hint: &str| hinted(hint, &versions).map(String::as_str);
        assert_eq!(found("1"), Some("v3.metadata.json"));
        assert_eq!(found("v9"), Some("v9.metadata.json"));
        assert_eq!(found("4"), None);
        assert_eq!(found("5"), Some("00005-a.metadata.json"));
        assert_eq!(found("00005-a.metadata.json"), Some("00005-a.metadata.json"));
        assert_eq!(found("00005-a"), Some("00005-a.metadata.json"));
        assert_eq!(found("nonsense"), None);
    }
}
