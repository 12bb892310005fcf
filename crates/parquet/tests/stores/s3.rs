//! Objects in moto's S3, if the variable LATH_MOTO_SERVER names its program. `.ci/run tests` installs it.

use std::env;
use std::process::Command;

use bytes::Bytes;
use lath_parquet::{Dataset, DatasetOptions, Error, FooterCache};
use lath_testkit::s3::{Bucket, S3Server};

use super::{expected, open, options, parquet, rows, table};

/// The variable that tells the testing process the server's port.
const PORT: &str = "LATH_TEST_S3_PORT";

fn names(dataset: &Dataset) -> Vec<&str> {
    dataset.files().iter().map(|file| file.location().strip_prefix("s3://lath/").unwrap()).collect()
}

/// Starts the server, and runs the test below in a child process, which finds the server in its environment.
#[test]
fn buckets_are_listed_and_read() {
    let Some(moto) = S3Server::start() else { return };
    let status = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "s3::within_the_environment_of_a_bucket", "--nocapture"])
        .envs(moto.bucket().environment())
        .env(PORT, moto.bucket().port().to_string())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

#[test]
#[ignore = "run by buckets_are_listed_and_read"]
fn within_the_environment_of_a_bucket() {
    let port = env::var(PORT).expect("the process that started this one sets it").parse().unwrap();
    let moto = Bucket::at(port);
    let files: Vec<Bytes> = (0..4).map(|at| parquet(&table(at * 100, 30_000))).collect();
    moto.put("t/year=2025/a.parquet", &files[0]);
    moto.put("t/year=2026/b.parquet", &files[1]);
    moto.put("t/year=2026/deep/er.parquet", &files[2]);
    moto.put("t/_temporary/x.parquet", &files[3]);
    moto.put("t/readme.txt", &Bytes::from_static(b"no Parquet"));
    moto.put("t.parquet", &files[3]);
    moto.put("odd/a%2520b%20c", &files[3]);

    // A directory, with or without a trailing slash: one request for the list, and none to open except the read of the
    // end.
    let all = ["t/year=2025/a.parquet", "t/year=2026/b.parquet", "t/year=2026/deep/er.parquet"];
    for url in ["s3://lath/t", "s3://lath/t/"] {
        let dataset = open(url).unwrap();
        assert_eq!(names(&dataset), all);
        assert_eq!(dataset.partitions()[0].field().name(), "year");
        assert_eq!(dataset.files()[1].size(), Some(files[1].len() as u64));
        for (file, bytes) in dataset.files().iter().zip(&files) {
            assert_eq!(rows(&file.open().unwrap()).unwrap(), expected(bytes));
        }
    }
    assert_eq!(names(&open("s3://lath/t/*/*.parquet").unwrap()), all[..2]);
    assert_eq!(names(&open("s3://lath/t/year=202[6-9]/**/*.parquet").unwrap()), all[1..]);
    assert_eq!(names(&open("s3://lath").unwrap()), [&all[..], &["t.parquet"]].concat());
    assert_eq!(
        names(&open("s3a://lath/t.parquet").map(|_| open("s3://lath/t.parquet").unwrap()).unwrap()),
        ["t.parquet"]
    );
    // Keys are used as written, whatever their names end in.
    assert_eq!(open("s3://lath/odd/a%20b c").unwrap().files()[0].open().unwrap().row_count(), 30_000);

    // So are those with characters of globs, before others that match.
    for (key, file) in
        [("g/s%2A.parquet", 0), ("g/sales.parquet", 1), ("g/a%5B1%5D.parquet", 2), ("g/d%5B1%5D/x.parquet", 3)]
    {
        moto.put(key, &files[file]);
    }
    for (url, expected) in [
        ("s3://lath/g/s*.parquet", &["g/s*.parquet"][..]),
        ("s3://lath/g/s*s.parquet", &["g/sales.parquet"]),
        ("s3://lath/g/a[1].parquet", &["g/a[1].parquet"]),
        ("s3://lath/g/d[1]", &["g/d[1]/x.parquet"]),
        ("s3://lath/g/d[1]/", &["g/d[1]/x.parquet"]),
        ("s3://lath/g/d[1]/*.parquet", &[]),
        ("s3://lath/g/d[[]1[]]/*.parquet", &["g/d[1]/x.parquet"]),
    ] {
        let found = open(url);
        assert_eq!(found.as_ref().map_or(Vec::new(), names), expected, "{url}");
    }

    for (url, expected) in [
        ("s3://lath/missing.parquet", "there is no such object"),
        ("s3://lath/nothing/", "no *.parquet object below this"),
        ("s3://lath/z*.parquet", "no object has a matching name"),
        ("s3://absent-bucket/a.parquet", "absent-bucket"),
        ("s3://lath/t/readme.txt", "t/readme.txt"),
    ] {
        let error = open(url).unwrap_err().to_string();
        assert!(error.contains(expected), "{url}: {error}");
    }
    assert!(matches!(open("s3:///a.parquet"), Err(Error::Invalid { .. })));

    // An object found by a listing is opened without another request, and not confused with its replacement.
    let cache = FooterCache::new(64 << 20);
    let shared = || DatasetOptions::new().footer_cache(cache.clone());
    let dataset = Dataset::open(["s3://lath/t/"], shared()).unwrap();
    dataset.files().iter().for_each(|file| assert!(file.open().is_ok()));
    assert_eq!(cache.len(), 3);
    moto.put("t/year=2025/a.parquet", &files[3]);
    let again = Dataset::open(["s3://lath/t/"], shared()).unwrap();
    assert_eq!(rows(&again.files()[0].open().unwrap()).unwrap(), expected(&files[3]));
    let error = dataset.files()[0].open().unwrap_err();
    assert!(error.to_string().contains("replaced"), "{error}");

    // More objects than one response lists.
    let small = parquet(&table(0, 3));
    for at in 0..1_010 {
        moto.put(&format!("many/{at:04}.parquet"), &small);
    }
    let many = Dataset::open(["s3://lath/many"], options().union_schemas(true)).unwrap();
    assert_eq!(many.files().len(), 1_010);
    assert_eq!(many.files()[1_009].location(), "s3://lath/many/1009.parquet");
    assert_eq!(many.schema().fields().len(), 2);
}
