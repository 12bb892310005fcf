//! A table in moto's S3, if the variable LATH_MOTO_SERVER names its program. `.ci/run tests` installs it.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use lath_lake::{At, LakeOptions, find, open};
use lath_parquet::DatasetOptions;
use lath_testkit::s3::{Bucket, S3Server};
use lath_testkit::server::Server;
use serde_json::json;

use crate::delta_table::{
    Table, field, in_partition, metadata, protocol, remove, rows, vector_bytes, vector_file, with_vector, z85,
};

/// The variable that tells the testing process the server's port.
const PORT: &str = "LATH_TEST_S3_PORT";

/// Copies a folder to the bucket.
fn upload(bucket: Bucket, folder: &Path, key: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        // The server decodes the paths of requests once.
        let name = entry.file_name().into_string().unwrap().replace('%', "%25").replace(' ', "%20");
        match entry.file_type().unwrap().is_dir() {
            true => upload(bucket, &entry.path(), &format!("{key}/{name}")),
            false => bucket.put(&format!("{key}/{name}"), &fs::read(entry.path()).unwrap()),
        }
    }
}

/// Starts the server, and runs the test below in a child process, which finds the server in its environment.
#[test]
fn tables_in_buckets_are_read() {
    let Some(moto) = S3Server::start() else { return };
    let status = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "object_store::within_the_environment_of_a_bucket", "--nocapture"])
        .envs(moto.bucket().environment())
        .env(PORT, moto.bucket().port().to_string())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

#[test]
#[ignore = "run by tables_in_buckets_are_read"]
fn within_the_environment_of_a_bucket() {
    let port = env::var(PORT).expect("the process that started this one sets it").parse().unwrap();
    let bucket = Bucket::at(port);
    let table = Table::empty();
    let fields = [field("id", json!("long")), field("text", json!("string"))];
    let features = protocol(3, Some(&["deletionVectors"]));
    table.commit(0, &[features, metadata(&fields, &["text"], json!({}))]);
    let mut one =
        in_partition(table.file("text=a%2Fb c/one.parquet", &[(1, ""), (2, ""), (3, "")]), json!({ "text": "a/b c" }));
    one["add"]["path"] = json!("text=a%252Fb%20c/one.parquet");
    let two = in_partition(table.file("two.parquet", &[(4, "")]), json!({ "text": null }));
    table.commit(1, &[one.clone(), two.clone()]);
    let vector = vector_bytes(&[1]);
    let (bytes, offsets) = vector_file(std::slice::from_ref(&vector));
    fs::write(table.path().join("deletion_vector_00000000-0000-0000-0000-000000000000.bin"), bytes).unwrap();
    let described = json!({
        "storageType": "u", "pathOrInlineDv": z85(&[0; 16]), "offset": offsets[0], "sizeInBytes": vector.len(), "cardinality": 1
    });
    table.commit(2, &[remove(&one), with_vector(one, &described)]);
    // Many small commits are requested at the same time.
    for version in 3..30 {
        table.commit(version, &[remove(&two), two.clone()]);
    }
    upload(bucket, table.path(), "lake/t");

    let read = |at: Option<At>| {
        let options = at.into_iter().fold(LakeOptions::new(), LakeOptions::at);
        let lake = open("s3://lath/lake/t", &options)?;
        rows(lake.dataset().scan()).map(|rows| (lake.version(), rows))
    };
    let text = |rows: &[&str]| rows.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(read(None).unwrap(), (29, text(&["1 a/b c", "3 a/b c", "4 -"])));
    assert_eq!(read(Some(At::Version(1))).unwrap(), (1, text(&["1 a/b c", "2 a/b c", "3 a/b c", "4 -"])));
    assert_eq!(read(Some(At::Time(i64::MAX / 2))).unwrap().0, 29);
    assert!(read(Some(At::Time(0))).unwrap_err().to_string().contains("no version at that time"));
    assert_eq!(open("s3://lath/lake/t/", &LakeOptions::new()).unwrap().dataset().scan().count().unwrap(), 3);
    assert!(find("s3://lath/lake", &LakeOptions::new()).unwrap().is_none());
    assert!(find("s3://lath/lake/t/two.parquet", &LakeOptions::new()).unwrap().is_none());
    // A folder that contains a table is not read as plain files.
    let above = lath_parquet::Dataset::open(["s3://lath/lake"], DatasetOptions::new()).unwrap_err().to_string();
    assert!(above.contains("a table of Delta Lake"), "{above}");
}

/// Serves a table as S3 does, without moto, and counts the requests of a child process.
#[test]
fn a_log_is_listed_once() {
    let table = Table::new(&[]);
    table.commit(1, &[table.file("one.parquet", &[(1, "a"), (2, "b")])]);
    let mut files = Vec::new();
    let mut contents = String::new();
    for entry in fs::read_dir(table.path().join("_delta_log")).unwrap() {
        let entry = entry.unwrap();
        let bytes = fs::read(entry.path()).unwrap();
        let key = format!("lake/t/_delta_log/{}", entry.file_name().into_string().unwrap());
        contents += &format!(
            "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"1\"</ETag><Size>{}</Size></Contents>",
            bytes.len()
        );
        files.push((format!("lath/{key}"), bytes.into()));
    }
    let listing = format!("<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>");
    files.push(("lath?list-type=2&prefix=lake%2Ft%2F_delta_log%2F".to_owned(), listing.into()));
    let server = Server::of(files);
    let status = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "object_store::opens_a_table_of_a_bucket", "--nocapture"])
        .env("AWS_ENDPOINT_URL", server.url("").trim_end_matches('/'))
        .envs([("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_REGION", "us-east-1")])
        .env("AWS_ALLOW_HTTP", "true")
        .status()
        .unwrap();
    let requests: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert!(status.success(), "{status} after {requests:?}");
    let listed = requests.iter().filter(|path| path.contains("list-type")).count();
    assert_eq!(listed, 1, "{requests:?}");
    assert!(requests.iter().all(|path| !path.contains("_last_checkpoint")), "{requests:?}");
}

#[test]
#[ignore = "run by a_log_is_listed_once"]
fn opens_a_table_of_a_bucket() {
    let lake = find("s3://lath/lake/t", &LakeOptions::new()).unwrap().unwrap();
    assert_eq!((lake.version(), lake.dataset().files().len()), (1, 1));
}
