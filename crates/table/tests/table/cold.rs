//! Tables whose files are in a bucket of moto's S3, if the variable LATH_MOTO_SERVER names its program. `.ci/run tests` installs it.
//!
//! Each test below runs in a separate process, which finds the server in its environment.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lath_parquet::Runtime;
use lath_table::{Database, Error, Problem, PublishOptions, Table, TableOptions};
use lath_testkit::s3::{Bucket, S3Server};

/// The variable that tells a process the server's port.
const PORT: &str = "LATH_TEST_S3_PORT";

/// The variable that tells a process a folder.
const FOLDER: &str = "LATH_TEST_FOLDER";

fn run(bucket: Bucket, test: &str, folder: &Path) {
    let status = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", &format!("cold::{test}"), "--nocapture"])
        .envs(bucket.environment())
        .env(PORT, bucket.port().to_string())
        .env(FOLDER, folder)
        .status()
        .unwrap();
    assert!(status.success(), "{test}: {status}");
}

fn bucket() -> Bucket {
    Bucket::at(env::var(PORT).expect("the process that started this one sets it").parse().unwrap())
}

fn folder() -> std::path::PathBuf {
    env::var_os(FOLDER).expect("the process that started this one sets it").into()
}

/// The keys below a prefix.
fn keys(prefix: &str) -> BTreeSet<String> {
    let (status, body) = bucket().send("GET", &format!("lath?list-type=2&prefix={prefix}/"), b"");
    assert_eq!(status, 200);
    let body = String::from_utf8(body).unwrap();
    body.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().unwrap().to_owned()).collect()
}

/// The keys of Parquet files below a prefix.
fn data_keys(prefix: &str) -> BTreeSet<String> {
    keys(prefix).into_iter().filter(|key| key.ends_with(".pq")).collect()
}

fn options() -> TableOptions {
    TableOptions::new().background(false).bulk_rows(1 << 20)
}

fn rows(ids: std::ops::Range<i64>, text: &str) -> RecordBatch {
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(ids.clone().map(|id| format!("{text} {id}"))));
    RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef), ("text", texts)])
        .unwrap()
}

fn texts(batches: impl IntoIterator<Item = lath_table::Result<RecordBatch>>) -> Vec<(i64, String)> {
    let rows_of = |batch: lath_table::Result<RecordBatch>| {
        let batch = batch.unwrap();
        let ids = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        let texts: Vec<String> = match batch.column(1).as_string_view_opt() {
            Some(texts) => texts.iter().map(|text| text.unwrap().to_owned()).collect(),
            None => batch.column(1).as_string::<i32>().iter().map(|text| text.unwrap().to_owned()).collect(),
        };
        ids.into_iter().zip(texts).collect::<Vec<_>>()
    };
    let mut rows: Vec<(i64, String)> = batches.into_iter().flat_map(rows_of).collect();
    rows.sort_unstable();
    rows
}

fn expected(ids: std::ops::Range<i64>, text: &str) -> Vec<(i64, String)> {
    ids.map(|id| (id, format!("{text} {id}"))).collect()
}

/// The keys of the objects that the newest commit has.
fn named(table: &Table, prefix: &str) -> BTreeSet<String> {
    let statistics = table.snapshot().unwrap().statistics().unwrap();
    statistics.files.iter().map(|file| format!("{prefix}/{}", file.name)).collect()
}

#[test]
fn tables_in_buckets_do_as_local_ones() {
    let Some(moto) = S3Server::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    for test in [
        "objects_are_what_commits_name",
        "a_prefix_belongs_to_one_table",
        "dropped_tables_leave_nothing",
        "histories_match_maps",
        "published_tables_are_in_the_bucket",
        "logs_of_delta_lake_are_in_the_bucket",
        "killed_writers_lose_nothing",
        "objects_of_a_killed_flush_are_collected",
        "a_table_is_left_for_later",
    ] {
        run(moto.bucket(), test, folder.path());
    }
    assert_eq!(moto.bucket().unfinished_uploads(), 0);
    let bucket = moto.bucket();
    drop(moto);
    run(bucket, "without_a_server_what_is_local_is_read", folder.path());
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn objects_are_what_commits_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let url = "s3://lath/objects/";
    let table = Table::create(&path, &rows(0..0, "").schema(), &["id"], options().cold_files(url)).unwrap();
    table.upsert(&rows(0..5000, "one")).unwrap();
    assert_eq!(data_keys("objects").len(), 0);
    assert_eq!(table.flush().unwrap().files, 1);
    table.upsert(&rows(4000..6000, "two")).unwrap();
    table.delete((0..10).collect::<Vec<i64>>()).unwrap();
    table.flush().unwrap();
    assert_eq!(data_keys("objects"), named(&table, "objects"));
    assert!(!path.join("_data").exists());
    let now = [expected(10..4000, "one"), expected(4000..6000, "two")].concat();
    assert_eq!(texts(table.scan().unwrap().build().unwrap()), now);
    assert_eq!(texts(table.get(4500).unwrap().map(Ok)), expected(4500..4501, "two"));
    assert!(table.get(5).unwrap().is_none());

    // A named snapshot and a reader keep what they need.
    table.keep_snapshot("before").unwrap();
    let before = data_keys("objects");
    table.upsert(&rows(0..6000, "three")).unwrap();
    table.flush().unwrap();
    table.compact().unwrap();
    table.vacuum().unwrap();
    assert!(data_keys("objects").is_superset(&before));
    let old = table.snapshot_named("before").unwrap();
    assert_eq!(texts(old.scan().build().unwrap()), now);
    table.drop_snapshot("before").unwrap();
    table.vacuum().unwrap();
    assert!(data_keys("objects").is_superset(&before), "a reader has them");
    drop(old);
    let removed = table.vacuum().unwrap();
    assert_eq!((removed, data_keys("objects")), (before.len(), named(&table, "objects")));

    // An object that a crash between upload and commit leaves is found by listing; objects of others are not touched.
    let orphan = "objects/_data/0000000099-00000000000000ab.pq";
    let foreign = ["objects/_data/other.pq", "objects/notes.txt", "objects-2/_data/0000000099-00000000000000ab.pq"];
    for key in foreign.into_iter().chain([orphan]) {
        bucket().put(key, b"x");
    }
    let problems = table.check().unwrap().problems;
    assert!(matches!(&problems[..], [Problem::Orphan { name }] if orphan.ends_with(name)), "{problems:?}");
    drop(table);
    let table = Table::open(&path, options()).unwrap();
    assert!(bucket().get(orphan).is_some(), "opening sends no request");
    assert_eq!(table.vacuum().unwrap(), 1);
    assert!(bucket().get(orphan).is_none() && foreign.iter().all(|key| bucket().get(key).is_some()));
    assert!(table.check().unwrap().is_intact());

    // A backup has the files.
    let copy = folder.path().join("copy");
    assert_eq!(table.backup(&copy).unwrap().links, 0);
    let copy = Table::open(&copy, options()).unwrap();
    assert_eq!(texts(copy.scan().unwrap().build().unwrap()), expected(0..6000, "three"));
    copy.upsert(&rows(0..10, "four")).unwrap();
    copy.flush().unwrap();
    copy.compact().unwrap();
    copy.vacuum().unwrap();
    assert!(copy.check().unwrap().is_intact() && copy.folder().join("_data").is_dir());
    assert_eq!(data_keys("objects"), {
        let mut keys = named(&table, "objects");
        keys.insert("objects/_data/other.pq".to_owned());
        keys
    });
    assert_eq!(texts(table.scan().unwrap().build().unwrap()), expected(0..6000, "three"));

    // A replaced object is an error, and never other rows.
    let key = named(&table, "objects").into_iter().next().unwrap();
    let mut bytes = bucket().get(&key).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    bucket().put(&key, &bytes);
    drop((table, copy));
    // With nothing in memory.
    let table = Table::open(&path, options().disk_cache_bytes(0).runtime(&Runtime::builder().build())).unwrap();
    let error = table.scan().unwrap().build().and_then(Iterator::collect::<Result<Vec<_>, _>>);
    assert!(matches!(error, Err(Error::Parquet { .. })), "{error:?}");
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn a_prefix_belongs_to_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let create =
        |name: &str, url: &str| Table::create(path(name), &rows(0..0, "").schema(), &["id"], options().cold_files(url));
    let table = create("one", "s3://lath/owner").unwrap();
    table.upsert(&rows(0..100, "one")).unwrap();
    table.flush().unwrap();
    let error = create("two", "s3://lath/owner/").unwrap_err();
    assert!(matches!(error, Error::ForeignFiles { .. }) && error.to_string().contains("another URL"), "{error}");
    for (url, what) in [
        ("owner", "not a URL"),
        ("http://127.0.0.1:1/a", "a web server"),
        ("s3://lath//a", "empty"),
        ("s3://lath/a*", "pattern"),
    ] {
        let error = create("three", url).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
    drop(table);
    // The first of two copies that writes excludes the other.
    let copied = path("copied");
    fs::create_dir(&copied).unwrap();
    for entry in fs::read_dir(path("one")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copied.join(entry.file_name())).unwrap();
        }
    }
    let copy = Table::open(&copied, options()).unwrap();
    copy.upsert(&rows(0..100, "copy")).unwrap();
    copy.flush().unwrap();
    let table = Table::open(path("one"), options()).unwrap();
    assert_eq!(texts(table.scan().unwrap().build().unwrap()), expected(0..100, "one"));
    table.upsert(&rows(0..100, "late")).unwrap();
    for _ in 0..2 {
        let error = table.flush().unwrap_err();
        assert!(matches!(error, Error::ForeignFiles { .. }), "{error}");
    }
    assert_eq!(texts(table.scan().unwrap().build().unwrap()), expected(0..100, "late"));
    copy.vacuum().unwrap();
    assert_eq!(texts(copy.scan().unwrap().build().unwrap()), expected(0..100, "copy"));
    // Another opening of the copy goes on.
    drop(copy);
    let copy = Table::open(&copied, options()).unwrap();
    copy.upsert(&rows(0..100, "again")).unwrap();
    copy.flush().unwrap();
    assert_eq!(texts(copy.scan().unwrap().build().unwrap()), expected(0..100, "again"));
    assert!(copy.remove_objects().unwrap() > 0);
    assert_eq!(keys("owner").len(), 0);
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn dropped_tables_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    let database = Database::create(&path, options().cold_files("s3://lath/database")).unwrap();
    let schema = rows(0..0, "").schema();
    for name in ["one", "two"] {
        let table = database.create_table(name, &schema, &["id"]).unwrap();
        table.upsert(&rows(0..1000, name)).unwrap();
        table.flush().unwrap();
        table.publish(PublishOptions::new()).unwrap();
    }
    drop(database);
    // Without the URL, new tables are local, and others stay where they are.
    let database = Database::open(&path, options()).unwrap();
    let three = database.create_table("three", &schema, &["id"]).unwrap();
    three.upsert(&rows(0..10, "three")).unwrap();
    three.flush().unwrap();
    assert!(three.folder().join("_data").is_dir());
    database.keep_snapshot("kept").unwrap();
    database.drop_table("one").unwrap();
    let old = database.snapshot().unwrap().snapshot_named("kept").unwrap();
    assert_eq!(texts(old.table("one").unwrap().scan().build().unwrap()), expected(0..1000, "one"));
    drop(old);
    let copy = folder.path().join("copy");
    database.backup(&copy).unwrap();
    database.drop_snapshot("kept").unwrap();
    database.vacuum().unwrap();
    assert_eq!(keys("database/table-000001").len(), 0);
    assert!(!keys("database/table-000002").is_empty());
    assert_eq!(texts(database.table("two").unwrap().scan().unwrap().build().unwrap()), expected(0..1000, "two"));
    database.drop_table("two").unwrap();
    assert_eq!(keys("database").len(), 0);
    // The copy needs nothing of that.
    let copy = Database::open(&copy, options()).unwrap();
    assert_eq!(texts(copy.table("two").unwrap().scan().unwrap().build().unwrap()), expected(0..1000, "two"));
    let old = copy.snapshot().unwrap().snapshot_named("kept").unwrap();
    assert_eq!(texts(old.table("one").unwrap().scan().build().unwrap()), expected(0..1000, "one"));
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn histories_match_maps() {
    let cases = env::var("LATH_CASES").map_or(3, |cases| cases.parse().unwrap());
    crate::model::compare_below("s3://lath/histories", cases);
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn killed_writers_lose_nothing() {
    let kills = if env::var_os("LATH_FULL").is_some() { 200 } else { 12 };
    crate::kill::kill_writers(kills, 100..1500, Some("s3://lath/killed"));
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn objects_of_a_killed_flush_are_collected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "cold::a_flush_of_many_files"])
        .env(FOLDER, &path)
        .spawn()
        .unwrap();
    while data_keys("flush").len() < 3 {
        assert!(child.try_wait().unwrap().is_none(), "it has ended before");
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let table = Table::open(&path, options()).unwrap();
    let left = data_keys("flush");
    assert!(left.len() >= 3 && named(&table, "flush").is_empty(), "the flush was committed");
    assert_eq!(texts(table.scan().unwrap().build().unwrap()), expected(0..50_000, "hot"));
    let problems = table.check().unwrap().problems;
    assert!(problems.iter().all(|problem| matches!(problem, Problem::Orphan { .. })), "{problems:?}");
    assert_eq!(problems.len(), left.len());
    assert_eq!((table.vacuum().unwrap(), data_keys("flush").len()), (left.len(), 0));
    table.flush().unwrap();
    assert!(table.check().unwrap().is_intact());
    assert_eq!(texts(table.scan().unwrap().build().unwrap()), expected(0..50_000, "hot"));
}

#[test]
#[ignore = "run by objects_of_a_killed_flush_are_collected"]
fn a_flush_of_many_files() {
    let options = options().file_rows(100).cold_files("s3://lath/flush");
    let table = Table::create(folder(), &rows(0..0, "").schema(), &["id"], options).unwrap();
    table.upsert(&rows(0..50_000, "hot")).unwrap();
    table.flush().unwrap();
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn published_tables_are_in_the_bucket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let url = "s3://lath/published";
    let table = Table::create(&path, &rows(0..0, "").schema(), &["id"], options().cold_files(url)).unwrap();
    table.upsert(&rows(0..1000, "one")).unwrap();
    let published = table.publish(PublishOptions::new().keep(Duration::ZERO)).unwrap();
    assert_eq!(published.metadata, Path::new("s3://lath/published/metadata/v1.metadata.json"));
    assert_eq!(bucket().get("published/metadata/version-hint.text").unwrap(), b"1");
    let metadata = String::from_utf8(bucket().get("published/metadata/v1.metadata.json").unwrap()).unwrap();
    assert!(metadata.contains("\"location\":\"s3://lath/published\""), "{metadata}");
    assert!(!path.join("metadata").exists());
    for round in 2..5_i64 {
        table.delete([round]).unwrap();
        table.flush().unwrap();
        assert_eq!(bucket().get("published/metadata/version-hint.text").unwrap(), round.to_string().as_bytes());
    }
    // Metadata of snapshots that are no longer kept is removed: the newest two files stay.
    let metadata: Vec<String> = keys("published/metadata").into_iter().filter(|key| key.ends_with(".json")).collect();
    assert_eq!(metadata, ["published/metadata/v3.metadata.json", "published/metadata/v4.metadata.json"]);
    // Another program has written.
    bucket().put("published/metadata/v5.metadata.json", metadata[1].as_bytes());
    table.delete([100_i64]).unwrap();
    assert!(table.flush().is_err());
    assert_eq!(bucket().get("published/metadata/v5.metadata.json").unwrap(), metadata[1].as_bytes());
    assert_eq!(bucket().send("DELETE", "lath/published/metadata/v5.metadata.json", b"").0, 204);
    table.publish_now().unwrap();
    assert_eq!(bucket().get("published/metadata/version-hint.text").unwrap(), b"5");
    table.stop_publishing().unwrap();
    assert_eq!(keys("published/metadata").len(), 0);
    assert_eq!(table.publish(PublishOptions::new()).unwrap().rows, 996);
    assert_eq!(bucket().get("published/metadata/version-hint.text").unwrap(), b"1");
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn logs_of_delta_lake_are_in_the_bucket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let url = "s3://lath/delta";
    let table = Table::create(&path, &rows(0..0, "").schema(), &["id"], options().cold_files(url)).unwrap();
    table.upsert(&rows(0..1000, "one")).unwrap();
    let publish = PublishOptions::new().iceberg(false).delta(true).keep(Duration::ZERO);
    let published = table.publish(publish).unwrap();
    let commit = |version: u64| format!("delta/_delta_log/{version:020}.json");
    assert_eq!(published.metadata, Path::new(&format!("s3://lath/{}", commit(0))));
    assert!(!path.join("_delta_log").exists() && !path.join("_vectors").exists());
    // Commits before the checkpoint, and vectors that no version has, are removed.
    for round in 1..36_i64 {
        table.delete([round]).unwrap();
        table.flush().unwrap();
    }
    let log = keys("delta/_delta_log");
    let checkpoint = format!("delta/_delta_log/{:020}.checkpoint.parquet", 32);
    assert!(log.contains(&checkpoint) && log.contains("delta/_delta_log/_last_checkpoint"), "{log:?}");
    assert!(log.contains(&commit(35)) && !log.contains(&commit(36)), "{log:?}");
    assert!(keys("delta/_vectors").len() < 36 && !keys("delta/_vectors").is_empty());
    let newest = String::from_utf8(bucket().get(&commit(35)).unwrap()).unwrap();
    assert!(newest.contains("\"cardinality\":35") && newest.contains("\"path\":\"_data/"), "{newest}");
    assert_eq!(table.publication().unwrap().unwrap().metadata, Path::new(&format!("s3://lath/{}", commit(35))));
    // Another program has written.
    bucket().put(&commit(36), b"{\"commitInfo\":{}}");
    table.delete([100_i64]).unwrap();
    let error = table.flush().unwrap_err();
    assert!(matches!(error, Error::ForeignMetadata { .. }), "{error}");
    assert_eq!(bucket().get(&commit(36)).unwrap(), b"{\"commitInfo\":{}}");
    assert_eq!(bucket().send("DELETE", &format!("lath/{}", commit(36)), b"").0, 204);
    table.publish_now().unwrap();
    table.stop_publishing().unwrap();
    assert_eq!((keys("delta/_delta_log").len(), keys("delta/_vectors").len()), (0, 0));
    assert_eq!(texts(table.scan().unwrap().build().unwrap()).len(), 964);
    table.publish(publish.iceberg(true)).unwrap();
    assert!(table.remove_objects().unwrap() > 0);
    assert_eq!(keys("delta").len(), 0);
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn a_table_is_left_for_later() {
    let table = Table::create(
        folder().join("later"),
        &rows(0..0, "").schema(),
        &["id"],
        options().cold_files("s3://lath/later"),
    )
    .unwrap();
    table.upsert(&rows(0..20_000, "cold")).unwrap();
    table.flush().unwrap();
    table.upsert(&rows(20_000..20_100, "hot")).unwrap();
    drop(table);
    // Reads the rows into the cache on the disk.
    let table = Table::open_read_only(folder().join("later"), options()).unwrap();
    assert_eq!(table.count().unwrap(), 20_100);
    assert_eq!(texts(table.get(7).unwrap().map(Ok)), expected(7..8, "cold"));
}

#[test]
#[ignore = "run by tables_in_buckets_do_as_local_ones"]
fn without_a_server_what_is_local_is_read() {
    let path = folder().join("later");
    let table = Table::open(&path, options()).unwrap();
    // The store has these.
    assert_eq!(texts(table.get(20_050).unwrap().map(Ok)), expected(20_050..20_051, "hot"));
    assert_eq!(table.count().unwrap(), 20_100);
    table.upsert(&rows(0..1, "new")).unwrap();
    // The cache has this.
    assert_eq!(texts(table.get(7).unwrap().map(Ok)), expected(7..8, "cold"));
    drop(table);
    // With nothing in memory.
    let table = Table::open(&path, options().disk_cache_bytes(0).runtime(&Runtime::builder().build())).unwrap();
    assert_eq!(texts(table.get(0).unwrap().map(Ok)), expected(0..1, "new"));
    let error = table.get(7).unwrap_err().to_string();
    assert!(error.contains("s3://lath/later/_data/"), "{error}");
    let error = table.flush().unwrap_err().to_string();
    assert!(error.contains("s3://lath/later/_data"), "{error}");
    assert_eq!(texts(table.get(0).unwrap().map(Ok)), expected(0..1, "new"));
}
