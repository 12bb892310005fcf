//! Tables that are published as ones of Delta Lake, read as the protocol says by the reader of Parquet files alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use fastrand::Rng;
use lath_iceberg::read_deletion_vector;
use lath_parquet::{DeleteMask, ParquetFile};
use lath_table::{Error, PublishOptions, Table};
use lath_testkit::Seeded;
use serde_json::Value;

use super::{Rows, batch, create, names, options};

/// A version of the log: the version of the table that it shows, and its rows.
pub(super) type Version = (u64, Rows);

fn log_names(folder: &Path) -> (Vec<u64>, Vec<u64>) {
    let names = names(&folder.join("_delta_log"));
    let versions = |ending: &str| -> Vec<u64> {
        names.iter().filter_map(|name| name.strip_suffix(ending)?.parse().ok()).collect()
    };
    (versions(".json"), versions(".checkpoint.parquet"))
}

fn actions(folder: &Path, version: u64) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(format!("_delta_log/{version:020}.json"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The actions of a checkpoint, as JSON.
fn checkpoint_actions(folder: &Path, version: u64) -> Vec<Value> {
    let path = folder.join(format!("_delta_log/{version:020}.checkpoint.parquet"));
    let mut found = Vec::new();
    for batch in ParquetFile::open(path).unwrap().scan().build().unwrap() {
        let batch = batch.unwrap();
        let add = batch.column_by_name("add").unwrap().as_struct().clone();
        let text = |column: &str, row: usize| {
            let array = arrow_cast::cast(add.column_by_name(column).unwrap(), &DataType::Utf8).unwrap();
            array.as_string::<i32>().value(row).to_owned()
        };
        for row in (0..add.len()).filter(|row| add.is_valid(*row)) {
            let mut fields = serde_json::json!({
                "path": text("path", row),
                "stats": text("stats", row),
                "size": text("size", row).parse::<u64>().unwrap(),
            });
            let vector = add.column_by_name("deletionVector").unwrap().as_struct();
            if vector.is_valid(row) {
                let number = |column: &str| {
                    let array = arrow_cast::cast(vector.column_by_name(column).unwrap(), &DataType::Int64).unwrap();
                    array.as_primitive::<Int64Type>().value(row)
                };
                let path = arrow_cast::cast(vector.column_by_name("pathOrInlineDv").unwrap(), &DataType::Utf8).unwrap();
                fields["deletionVector"] = serde_json::json!({
                    "storageType": "u",
                    "pathOrInlineDv": path.as_string::<i32>().value(row),
                    "offset": number("offset"),
                    "sizeInBytes": number("sizeInBytes"),
                    "cardinality": number("cardinality"),
                });
            }
            found.push(serde_json::json!({ "add": fields }));
        }
    }
    found
}

/// The rows of a version of the log. Reading begins with a checkpoint if `by_checkpoint`.
fn read_version(folder: &Path, version: u64, by_checkpoint: bool) -> Version {
    let (_, checkpoints) = log_names(folder);
    let checkpoint = checkpoints.into_iter().filter(|checkpoint| *checkpoint <= version && by_checkpoint).max();
    let mut files: BTreeMap<String, Value> = BTreeMap::new();
    let mut all = checkpoint.map_or_else(Vec::new, |checkpoint| checkpoint_actions(folder, checkpoint));
    for commit in checkpoint.map_or(0, |checkpoint| checkpoint + 1)..=version {
        all.extend(actions(folder, commit));
    }
    for action in &all {
        if let Some(removed) = action.get("remove") {
            assert!(files.remove(removed["path"].as_str().unwrap()).is_some(), "a file is removed that is not there");
        }
        if let Some(added) = action.get("add") {
            let before = files.insert(added["path"].as_str().unwrap().to_owned(), added.clone());
            assert!(before.is_none(), "a file is there twice");
        }
    }
    let mut rows = Rows::new();
    for (path, add) in files {
        let path = folder.join(path);
        assert_eq!(fs::metadata(&path).unwrap().len(), add["size"].as_u64().unwrap());
        let file = ParquetFile::open(&path).unwrap();
        let stats: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        assert_eq!(stats["numRecords"].as_u64().unwrap(), file.row_count());
        let mask = match add.get("deletionVector") {
            None | Some(Value::Null) => DeleteMask::new(),
            Some(vector) => read_vector(folder, vector),
        };
        assert_eq!(stats["tightBounds"].as_bool().unwrap(), mask.is_empty());
        for batch in file.scan().deleted([(0, mask)]).build().unwrap() {
            add_rows(&mut rows, &batch.unwrap(), &stats);
        }
    }
    let info = actions(folder, version).into_iter().find_map(|action| action.get("commitInfo").cloned()).unwrap();
    (info["lath.version"].as_u64().unwrap(), rows)
}

fn add_rows(rows: &mut Rows, batch: &RecordBatch, stats: &Value) {
    let (ids, values) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<Int64Type>());
    for row in 0..batch.num_rows() {
        let value = values.is_valid(row).then(|| values.value(row));
        assert!(rows.insert(ids.value(row), value).is_none(), "key {} twice", ids.value(row));
        for (name, value) in [("id", Some(ids.value(row))), ("value", value)] {
            let bound = |which: &str| stats[which][name].as_i64().unwrap();
            assert!(value.is_none_or(|value| bound("minValues") <= value && value <= bound("maxValues")));
        }
    }
}

fn read_vector(folder: &Path, vector: &Value) -> DeleteMask {
    let (prefix, uuid) = vector["pathOrInlineDv"].as_str().unwrap().split_at("_vectors".len());
    const DIGITS: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    let digit = |digit: u8| DIGITS.find(char::from(digit)).unwrap() as u32;
    let bytes: Vec<u8> = uuid
        .as_bytes()
        .chunks(5)
        .flat_map(|five| five.iter().fold(0_u32, |value, byte| value.wrapping_mul(85) + digit(*byte)).to_be_bytes())
        .collect();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let uuid = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    let file = fs::read(folder.join(prefix).join(format!("deletion_vector_{uuid}.bin"))).unwrap();
    assert_eq!(file[0], 1);
    let (offset, len) = (vector["offset"].as_u64().unwrap() as usize, vector["sizeInBytes"].as_u64().unwrap() as usize);
    let mask = DeleteMask::from_bytes(read_deletion_vector(&file[offset..offset + len + 8]).unwrap()).unwrap();
    assert_eq!(mask.len(), vector["cardinality"].as_u64().unwrap());
    mask
}

/// The newest version of the log, if there is one, and the one before, if its commits are there.
pub(super) fn read_newest_versions(folder: &Path) -> Vec<Version> {
    let (commits, _) = log_names(folder);
    let is_whole = commits.first() == Some(&0);
    commits
        .iter()
        .rev()
        .take(2)
        .enumerate()
        .filter(|(at, _)| *at == 0 || is_whole)
        .map(|(_, version)| read_version(folder, *version, true))
        .collect()
}

fn both() -> PublishOptions {
    PublishOptions::new().delta(true)
}

/// Each version of a log is a commit, whether it is read by all commits or by a checkpoint, and checkpoints bound the log. `LATH_FULL=1` takes six
/// tables and more steps instead of three tables.
#[test]
fn versions_of_the_log_have_the_rows_of_their_commits() {
    let seeded = Seeded::new("publish delta");
    let mut random = Rng::with_seed(seeded.seed());
    let (cases, steps) = if std::env::var_os("LATH_FULL").is_some() { (6, 300) } else { (3, 240) };
    for case in 0..cases {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap().join("table");
        let mut table = create(&folder);
        let mut rows = Rows::new();
        let mut versions: BTreeMap<u64, Rows> = BTreeMap::new();
        versions.insert(table.snapshot().unwrap().version(), rows.clone());
        let keep = if case % 2 == 0 { Duration::from_secs(600) } else { Duration::ZERO };
        table.publish(both().iceberg(case % 3 > 0).keep(keep)).unwrap();
        for _ in 0..steps {
            match random.u8(..12) {
                0..=2 => {
                    let count = if random.u8(..9) == 0 { 300 } else { random.usize(1..30) };
                    let put: Rows = (0..count)
                        .map(|_| (random.i64(0..400), (random.u8(..5) > 0).then(|| random.i64(0..1000))))
                        .collect();
                    table.upsert(&batch(&put)).unwrap();
                    rows.extend(put);
                }
                3 | 4 => {
                    let keys: Vec<i64> = (0..random.usize(1..20)).map(|_| random.i64(0..400)).collect();
                    rows.retain(|key, _| !keys.contains(key));
                    table.delete(keys).unwrap();
                }
                5..=8 => drop(table.flush().unwrap()),
                9 => drop(table.compact().unwrap()),
                10 => drop(table.vacuum().unwrap()),
                _ => {
                    drop(table);
                    table = Table::open(&folder, options()).unwrap();
                }
            }
            versions.insert(table.snapshot().unwrap().version(), rows.clone());
            for (version, found) in read_newest_versions(&folder) {
                let (_, expected) = versions.range(..=version).next_back().unwrap();
                assert!(found == *expected, "case {case}, version {version}");
            }
        }
        let published = table.publish_now().unwrap();
        let newest = log_names(&folder).0.last().copied().unwrap();
        assert_eq!(read_version(&folder, newest, true).1, rows);
        assert_eq!(table.publication().unwrap().unwrap().version, published.version);
        let (commits, checkpoints) = log_names(&folder);
        assert!(!checkpoints.is_empty(), "case {case}: {newest} commits");
        if keep.is_zero() {
            assert!(commits.len() <= 66, "case {case}: {} commits of {newest}", commits.len());
            let vectors: BTreeSet<String> = names(&folder.join("_vectors"));
            assert!(vectors.len() <= 66, "{} files of vectors", vectors.len());
        } else {
            assert_eq!(commits.len() as u64, newest + 1);
            for version in 0..=newest {
                let (shown, found) = read_version(&folder, version, false);
                assert!(found == *versions.range(..=shown).next_back().unwrap().1, "case {case}, version {version}");
            }
        }
        assert!(table.check().unwrap().is_intact());
        table.stop_publishing().unwrap();
        assert!(!folder.join("_delta_log").exists() && !folder.join("_vectors").exists());
    }
}

#[test]
fn a_commit_of_another_program_is_not_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("table");
    let table = create(&folder);
    table.upsert(&batch(&Rows::from([(1, Some(1))]))).unwrap();
    table.publish(both().iceberg(false)).unwrap();
    let foreign = folder.join("_delta_log/00000000000000000001.json");
    let commit = "{\"commitInfo\":{\"timestamp\":1,\"operation\":\"DELETE\"}}\n";
    fs::write(&foreign, commit).unwrap();
    table.upsert(&batch(&Rows::from([(2, Some(2))]))).unwrap();
    let error = table.flush().unwrap_err();
    assert!(matches!(&error, Error::ForeignMetadata { path } if *path == foreign), "{error}");
    assert_eq!(fs::read_to_string(&foreign).unwrap(), commit);
    assert_eq!(table.count().unwrap(), 2);
    table.stop_publishing().unwrap();
    assert!(foreign.exists());
    fs::remove_dir_all(folder.join("_delta_log")).unwrap();
    table.publish(both().iceberg(false)).unwrap();
    assert_eq!(read_newest_versions(&folder)[0].1, Rows::from([(1, Some(1)), (2, Some(2))]));
}

#[test]
fn spark_finds_columns_without_nulls_in_the_protocol() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("table");
    let features = |version: u64| {
        let protocol = actions(&folder, version).into_iter().find_map(|action| action.get("protocol").cloned());
        protocol.map(|protocol| protocol["writerFeatures"].to_string())
    };
    let table = create(&folder);
    table.upsert(&batch(&Rows::from([(1, Some(1))]))).unwrap();
    table.publish(both().iceberg(false)).unwrap();
    let all = r#"["deletionVectors","timestampNtz","invariants"]"#;
    assert_eq!(features(0).as_deref(), Some(all));
    // A log of an older version gets it with the next commit, and later commits leave it.
    let first = folder.join("_delta_log/00000000000000000000.json");
    let older = fs::read_to_string(&first).unwrap().replace(r#","invariants""#, "");
    fs::write(&first, older).unwrap();
    for (key, expected) in [(2, Some(all)), (3, None)] {
        table.upsert(&batch(&Rows::from([(key, Some(key))]))).unwrap();
        table.flush().unwrap();
        assert_eq!(features(key as u64 - 1).as_deref(), expected);
    }
    assert_eq!(read_newest_versions(&folder)[0].1, Rows::from([(1, Some(1)), (2, Some(2)), (3, Some(3))]));
}

#[test]
fn files_with_other_columns_than_the_newest_schema_are_an_error() {
    let home = tempfile::tempdir().unwrap();
    let table = |name: &str| {
        let table = create(&home.path().join(name));
        table.upsert(&batch(&Rows::from([(1, Some(1))]))).unwrap();
        table.publish(both().iceberg(false)).unwrap();
        table
    };
    let refused = |table: &Table, expected: &str| {
        let error = table.publish_now().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let renamed = table("renamed");
    renamed.rename_column("value", "amount").unwrap();
    refused(&renamed, "column amount: files have it under another name");
    let added = table("added");
    added.add_column(&Field::new("more", DataType::Int64, true), None).unwrap();
    added.publish_now().unwrap();
    added.add_column(&Field::new("state", DataType::Int64, true), Some(7.into())).unwrap();
    refused(&added, "column state: files lack it, and Delta Lake has no defaults");
    let again = table("again");
    again.drop_column("value").unwrap();
    again.add_column(&Field::new("value", DataType::Int64, true), None).unwrap();
    refused(&again, "column value: files have another column of its name");
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("at", DataType::Time64(arrow_schema::TimeUnit::Microsecond), true),
    ]);
    let times = Table::create(home.path().join("times"), &schema, &["id"], options()).unwrap();
    let error = times.publish(both().iceberg(false)).unwrap_err().to_string();
    assert!(error.contains("column at: Delta Lake has no type for the values of Time64"), "{error}");
    assert!(times.publication().unwrap().is_none());
}
