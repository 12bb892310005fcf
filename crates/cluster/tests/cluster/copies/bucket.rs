//! The objects of a test, and workers that may write them.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lath_cluster::{WorkerOptions, WorkerServer};
use lath_sql::BlockingSession;
use lath_testkit::s3::Bucket;

use super::PORT;
use crate::{Workers, alone, register, rows};

/// A table of numbers, text, dates and decimals, with nulls in all but one column, as small files.
pub(crate) const TABLE: &str = "SELECT value AS id, value % 5 AS n,
    CASE WHEN value % 7 = 0 THEN NULL ELSE value % 4 END AS p,
    CASE value % 12 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'a/b' WHEN 3 THEN '01' WHEN 4 THEN '__HIVE_DEFAULT_PARTITION__'
        WHEN 5 THEN 'x=y&z' WHEN 6 THEN '100%' WHEN 7 THEN 'Zürich' WHEN 8 THEN '2026-01-01' WHEN 9 THEN '?#*[+]' WHEN 10 THEN ' '
        ELSE 'plain' END AS s,
    CASE WHEN value % 11 = 0 THEN NULL ELSE value % 3 = 0 END AS b,
    CASE WHEN value % 13 = 0 THEN NULL ELSE arrow_cast(20000 + value % 6, 'Date32') END AS d,
    (value % 9)::decimal(10, 2) / 4 AS c, value * 1.5 AS price, 'text ' || (value * 7919 % 1000) AS t
    FROM generate_series(1, 4000)";

/// The server's bucket, without the proxy.
pub(crate) fn bucket() -> Bucket {
    Bucket::at(env::var(PORT).expect("the process that started this one sets it").parse().unwrap())
}

/// Writes the table `t` into a folder.
pub(crate) fn write_table(folder: &Path) {
    let path = folder.join("t.parquet");
    rows(&alone(), &format!("COPY ({TABLE}) TO '{}' (row_group_rows 200)", path.display())).unwrap();
}

/// A session that has the table `t`.
pub(crate) fn with_table(session: BlockingSession, folder: &Path) -> BlockingSession {
    register(&session, "t", folder);
    session
}

impl Workers {
    /// Workers of two threads that may read a folder, and write below URLs.
    pub(crate) fn start_writing(count: usize, folder: &Path, urls: &[&str]) -> Self {
        let (mut running, mut addresses) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let options = WorkerOptions::new().allow(folder.to_str().unwrap()).threads(2);
            let options = urls.iter().copied().fold(options, WorkerOptions::allow_write);
            let server = WorkerServer::bind("127.0.0.1:0", options).unwrap();
            addresses.push(server.address().to_string());
            running.push(server.start());
        }
        Self { running, addresses }
    }
}

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object {
    pub(crate) url: String,
    pub(crate) bytes: Vec<u8>,
    /// Whether it was put together of parts, as the small objects of workers are, too.
    pub(crate) has_parts: bool,
}

/// The objects below a folder of the bucket, by the directories in it. Each has one at most.
pub(crate) fn objects(folder: &str) -> BTreeMap<String, Object> {
    let mut found = BTreeMap::new();
    for (directory, object) in list(folder) {
        let other = found.insert(directory.clone(), object);
        assert_eq!(other, None, "{directory} has two objects");
    }
    found
}

/// The objects below a folder of the bucket, with their directories in it.
pub(crate) fn list(folder: &str) -> Vec<(String, Object)> {
    let (status, listing) = bucket().send("GET", &format!("lath?list-type=2&prefix={folder}/"), b"");
    assert_eq!(status, 200);
    let listing = String::from_utf8(listing).unwrap();
    let value = |entry: &str, name: &str| {
        let start = entry.split_once(&format!("<{name}>")).unwrap().1;
        start.split_once(&format!("</{name}>")).unwrap().0.to_owned()
    };
    let mut found = Vec::new();
    for entry in listing.split("<Contents>").skip(1) {
        let key = value(entry, "Key").replace("&amp;", "&");
        let (directory, name) = key.strip_prefix(&format!("{folder}/")).unwrap().rsplit_once('/').unwrap();
        assert!(name.starts_with("part-"), "{key}");
        let encoded: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let object = Object {
            url: format!("s3://lath/{key}"),
            bytes: bucket().get(&encoded).unwrap(),
            has_parts: value(entry, "ETag").contains('-'),
        };
        found.push((directory.to_owned(), object));
    }
    found
}

/// The number of uploads below a folder that were neither completed nor aborted.
pub(crate) fn unfinished(folder: &str) -> usize {
    let (status, body) = bucket().send("GET", &format!("lath?uploads&prefix={folder}/"), b"");
    assert_eq!(status, 200);
    String::from_utf8(body).unwrap().matches("<UploadId>").count()
}

/// Waits until no upload below a folder is left: workers delete what they sent when they find that a statement has ended.
pub(crate) fn assert_nothing_stays(folder: &str) {
    assert_eq!(objects(folder).len(), 0, "{folder}");
    let started = Instant::now();
    while unfinished(folder) > 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "{folder}: {} uploads stay", unfinished(folder));
        sleep(Duration::from_millis(50));
    }
    assert_eq!(objects(folder).len(), 0, "{folder}");
}
