//! Objects in moto's S3, if the variable LATH_MOTO_SERVER names its program. `.ci/run tests` installs it.

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lath_parquet::{Dataset, DatasetOptions, Error, FooterCache};

use super::{expected, open, options, parquet, rows, table};

/// The variable that tells the testing process the server's port.
const PORT: &str = "LATH_TEST_S3_PORT";

const SIGNATURE: &str =
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// moto's server, which ends when it is dropped.
struct Moto {
    process: Child,
    port: u16,
}

/// The bucket `lath` of a server.
struct Bucket {
    port: u16,
}

impl Moto {
    /// Starts the server and creates the bucket `lath`; `None` if there is no server to start.
    fn start() -> Option<Self> {
        let Some(program) = env::var_os("LATH_MOTO_SERVER") else {
            eprintln!("SKIPPED: no S3 server to test with; `.ci/run stores` installs one and sets LATH_MOTO_SERVER");
            return None;
        };
        let port = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let process = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("LATH_MOTO_SERVER names a program that runs");
        let moto = Self { process, port };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(120), "moto does not answer");
            sleep(Duration::from_millis(100));
        }
        assert_eq!(Bucket { port }.send("PUT", "lath", b""), 200);
        Some(moto)
    }
}

impl Bucket {
    /// The status of the response to a request. moto requires a signature to replace an object, but does not verify it.
    fn send(&self, method: &str, path: &str, body: &[u8]) -> u16 {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!(
            "{method} /{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: {SIGNATURE}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        connection.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
    }

    fn put(&self, key: &str, bytes: &Bytes) {
        assert_eq!(self.send("PUT", &format!("lath/{key}"), bytes), 200, "{key}");
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        // A process that has ended already need not be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn names(dataset: &Dataset) -> Vec<&str> {
    dataset.files().iter().map(|file| file.location().strip_prefix("s3://lath/").unwrap()).collect()
}

/// Starts the server, and runs the test below in a child process, which finds the server in its environment.
#[test]
fn buckets_are_listed_and_read() {
    let Some(moto) = Moto::start() else { return };
    let status = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "s3::within_the_environment_of_a_bucket", "--nocapture"])
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", moto.port))
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-east-1")
        .env(PORT, moto.port.to_string())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

#[test]
#[ignore = "run by buckets_are_listed_and_read"]
fn within_the_environment_of_a_bucket() {
    let port = env::var(PORT).expect("the process that started this one sets it").parse().unwrap();
    let moto = Bucket { port };
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
