//! Versions, partitions and time.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use lath_lake::{At, LakeOptions};
use lath_parquet::{Dataset, FolderFormat, Predicate, column};
use serde_json::json;

use crate::delta_table::{Table, field, in_partition, metadata, protocol, remove, rows};

#[test]
fn each_version_has_the_files_that_were_added_and_not_removed() {
    let table = Table::new(&[]);
    let (one, two, three) = (
        table.file("one.parquet", &[(1, "a"), (2, "b")]),
        table.file("two.parquet", &[(3, "c")]),
        table.file("three.parquet", &[(4, "d")]),
    );
    table.file("foreign.parquet", &[(9, "never")]);
    table.commit(1, &[json!({ "commitInfo": { "operation": "WRITE" } }), one.clone(), two]);
    table.commit(2, &[remove(&one), three]);
    // Added again, after it was removed, even by the same commit.
    table.commit(3, &[remove(&one), one]);

    assert_eq!(table.rows(Some(0)).unwrap(), [""; 0]);
    assert_eq!(table.rows(Some(1)).unwrap(), ["1 a", "2 b", "3 c"]);
    assert_eq!(table.rows(Some(2)).unwrap(), ["3 c", "4 d"]);
    assert_eq!(table.rows(None).unwrap(), ["1 a", "2 b", "3 c", "4 d"]);
    let lake = table.open(None).unwrap();
    assert_eq!((lake.version(), lake.format()), (3, FolderFormat::DeltaLake));
    assert_eq!(lake.dataset().scan().count().unwrap(), 4);
    assert!(table.rows(Some(4)).unwrap_err().to_string().contains("the latest version is 3"));
}

#[test]
fn a_file_is_the_same_under_all_its_paths() {
    let table = Table::new(&[]);
    let folder = table.path().to_str().unwrap().to_owned();
    let paths = [
        ("a b#.parquet", "a%20b%23.parquet", format!("file:{folder}/a%20b%23.parquet")),
        ("c.parquet", "c.parquet", format!("file://{folder}/c.parquet")),
        ("d.parquet", "%64.parquet", format!("{folder}/d.parquet")),
        ("e.parquet", "e.parquet", "%65.parquet".to_owned()),
    ];
    let (mut adds, mut removes) = (Vec::new(), Vec::new());
    for (id, (name, path, other)) in (1..).zip(&paths) {
        let mut add = table.file(name, &[(id, "x")]);
        add["add"]["path"] = json!(path);
        adds.push(add);
        removes.push(json!({ "remove": { "path": other, "deletionTimestamp": 1, "dataChange": true } }));
    }
    table.commit(1, &adds);
    assert_eq!(table.rows(None).unwrap(), ["1 x", "2 x", "3 x", "4 x"]);
    // Added again by another path: still one file.
    let mut again = adds[1].clone();
    again["add"]["path"] = json!(paths[1].2);
    table.commit(2, &[again]);
    assert_eq!(table.rows(None).unwrap(), ["1 x", "2 x", "3 x", "4 x"]);
    table.commit(3, &removes);
    assert_eq!(table.rows(None).unwrap(), [""; 0]);
}

#[test]
fn actions_may_span_lines_and_the_first_metadata_may_lack_columns() {
    let table = Table::empty();
    let fields = [field("id", json!("long")), field("text", json!("string"))];
    let with_columns = metadata(&fields, &[], json!({}));
    let mut without = with_columns.clone();
    without["metaData"].as_object_mut().unwrap().remove("schemaString");
    table.commit(0, &[protocol(1, None), without]);
    assert!(table.error().contains("the table has no schema"), "{}", table.error());
    let add = table.file("one.parquet", &[(1, "a")]);
    let text = [&with_columns, &add].map(|action| serde_json::to_string_pretty(action).unwrap()).join("\n");
    fs::write(table.log(&format!("{:020}.json", 1)), &text).unwrap();
    assert_eq!(table.rows(None).unwrap(), ["1 a"]);
    fs::write(table.log(&format!("{:020}.json", 1)), &text[..text.len() - 2]).unwrap();
    assert!(table.error().contains("expected actions of Delta Lake"), "{}", table.error());
}

#[test]
fn partition_columns_have_their_place_and_type_and_rule_out_files() {
    let table = Table::empty();
    let fields = [field("day", json!("date")), field("id", json!("long")), field("text", json!("string"))];
    table.commit(0, &[protocol(1, None), metadata(&fields, &["day", "text"], json!({}))]);
    let ids = |name: &str, id: i64| {
        let add = table.file(name, &[(id, "the log's value counts")]);
        (name.to_owned(), add)
    };
    let (_, one) = ids("day=2024-02-29/text=a%2Fb/one.parquet", 1);
    let (_, two) = ids("two.parquet", 2);
    let (_, three) = ids("three.parquet", 3);
    let mut one = in_partition(one, json!({ "day": "2024-02-29", "text": "a/b" }));
    // Paths are URIs: the names of the folders have percent signs.
    one["add"]["path"] = json!("day=2024-02-29/text=a%252Fb/one.parquet");
    let two = in_partition(two, json!({ "day": null, "text": "" }));
    let three = in_partition(three, json!({ "day": "0001-01-01", "text": "ä" }));
    table.commit(1, &[one, two, three]);

    assert_eq!(table.rows(None).unwrap(), ["- 2 -", "0001-01-01 3 ä", "2024-02-29 1 a/b"]);
    let lake = table.open(None).unwrap();
    let found = |condition| rows(lake.dataset().scan().filter(condition).unwrap()).unwrap();
    assert_eq!(found("day = DATE '2024-02-29'"), ["2024-02-29 1 a/b"]);
    assert_eq!(found("text IS NULL"), ["- 2 -"]);
    assert_eq!(found("text > 'b' AND id = 3"), ["0001-01-01 3 ä"]);
    assert_eq!(rows(lake.dataset().scan().select(["text", "id"])).unwrap(), ["- 2", "a/b 1", "ä 3"]);
    assert_eq!(lake.dataset().scan().predicate(column("day").is_not_null()).count().unwrap(), 2);
}

#[test]
fn statistics_of_the_log_rule_files_out_before_they_are_opened() {
    let table = Table::new(&[]);
    let add = |name: &str, id: i64, stats: serde_json::Value| {
        let mut add = table.file(name, &[(id, "x"), (id + 1, "y")]);
        add["add"]["stats"] = stats.to_string().into();
        add
    };
    let stats = |low: i64, high: i64| json!({ "numRecords": 2, "minValues": { "id": low }, "maxValues": { "id": high }, "nullCount": { "id": 0, "text": 0 } });
    table.commit(
        1,
        &[
            add("low.parquet", 1, stats(1, 2)),
            add("high.parquet", 8, stats(8, 9)),
            table.file("unknown.parquet", &[(5, "z")]),
        ],
    );
    table.commit(2, &[add("damaged.parquet", 6, json!("{"))]);
    fs::remove_file(table.path().join("low.parquet")).unwrap();
    let lake = table.open(None).unwrap();
    let found = |condition| lake.dataset().scan().filter(condition).unwrap().count();
    // The file that is gone has no such row.
    assert_eq!(found("id > 2").unwrap(), 5);
    assert_eq!(found("id = 5 OR text IS NULL").unwrap(), 1);
    assert!(found("id >= 2").is_err());
}

#[test]
fn files_that_a_condition_rules_out_are_not_listed() {
    let table = Table::new(&["text"]);
    let mut adds = Vec::new();
    for file in 0..20 {
        let (first, text) = (10 * file, ["a", "b", ""][file as usize % 3]);
        let add = table.file(&format!("{file:02}.parquet"), &[(first, ""), (first + 9, "")]);
        let mut add = in_partition(add, json!({ "text": text }));
        if file % 5 != 4 {
            let statistics = json!({ "numRecords": 2, "minValues": { "id": first }, "maxValues": { "id": first + 9 } });
            add["add"]["stats"] = json!(statistics.to_string());
        }
        adds.push(add);
    }
    table.commit(1, &adds[..10]);
    table.commit(2, &adds[10..]);
    table.commit(3, &[remove(&adds[7])]);
    let open = |condition: &str| {
        let options = LakeOptions::new().filter(Predicate::parse(condition).unwrap());
        lath_lake::open(table.path().to_str().unwrap(), &options).unwrap()
    };
    // Four files without statistics may have any row.
    for (condition, files) in [
        ("id = 35", 5),
        ("id >= 60 AND id < 80", 5),
        ("id = 1000", 4),
        ("text = 'a'", 7),
        ("text = 'a' AND id = 35", 2),
        ("text IS NULL", 6),
        ("text = 'c'", 0),
        ("text LIKE 'a%' OR id = 190", 10),
        ("NOT id < 0", 19),
        ("absent = 1", 19),
    ] {
        let few = open(condition);
        assert_eq!(few.dataset().files().len(), files, "{condition}");
        let read = |dataset: &Dataset| {
            let found = dataset.scan().filter(condition).and_then(rows);
            found.map_err(|error| error.to_string())
        };
        assert_eq!(read(few.dataset()), read(table.open(None).unwrap().dataset()), "{condition}");
    }
}

#[test]
fn a_time_means_the_latest_version_that_is_not_younger() {
    let table = Table::new(&[]);
    for version in 1..4 {
        let add = table.file(&format!("{version}.parquet"), &[(version, "x")]);
        table.commit(version as u64, &[add]);
    }
    // Version 2 is as old as version 1 by its file, and therefore a millisecond younger.
    for (version, millis) in [(0, 1_000), (1, 2_000), (2, 2_000), (3, 5_000)] {
        let file = File::options().write(true).open(table.log(&format!("{version:020}.json"))).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(millis)).unwrap();
    }
    let at = |millis: i64| {
        table.open(Some(At::Time(millis * 1000))).map(|lake| lake.version()).map_err(|error| error.to_string())
    };
    assert_eq!(at(1_000), Ok(0));
    assert_eq!(at(1_999), Ok(0));
    assert_eq!(at(2_000), Ok(1));
    assert_eq!(at(2_001), Ok(2));
    assert_eq!(at(4_999), Ok(2));
    assert_eq!(at(9_999_999), Ok(3));
    assert!(at(999).unwrap_err().contains("no version at that time"));
}

#[test]
fn recorded_times_of_commits_count_from_where_they_begin() {
    let table = Table::new(&[]);
    let configuration = json!({
        "delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": "3000"
    });
    table.commit(1, &[table.file("1.parquet", &[(1, "x")])]);
    let fields = [field("id", json!("long")), field("text", json!("string"))];
    let info = |time: i64| json!({ "commitInfo": { "inCommitTimestamp": time } });
    table.commit(2, &[info(3_000), metadata(&fields, &[], configuration)]);
    table.commit(3, &[info(4_000), table.file("3.parquet", &[(3, "x")])]);
    for (version, millis) in [(0, 1_000), (1, 2_000), (2, 999_000), (3, 999_000)] {
        let file = File::options().write(true).open(table.log(&format!("{version:020}.json"))).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(millis)).unwrap();
    }
    let at = |millis: i64| table.open(Some(At::Time(millis * 1000))).unwrap().version();
    assert_eq!([1_500, 2_999, 3_000, 3_999, 4_000, 9_999].map(at), [0, 1, 2, 2, 3, 3]);
}

#[test]
fn a_folder_of_plain_files_is_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().to_str().unwrap();
    assert!(lath_lake::find(location, &Default::default()).unwrap().is_none());
    assert!(lath_lake::open(location, &Default::default()).unwrap_err().to_string().contains("is not a table"));
    assert!(lath_lake::find("no such folder", &Default::default()).unwrap().is_none());
    assert!(lath_lake::find("ftp://host/table", &Default::default()).unwrap().is_none());
    assert!(lath_lake::find("https://host/table/", &Default::default()).unwrap().is_none());
    let named = Table::new(&[]).open(Some(At::Name("audit".to_owned()))).unwrap_err().to_string();
    assert!(named.contains("no branches and tags"), "{named}");
}
