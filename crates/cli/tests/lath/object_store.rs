//! Writing objects to moto's S3. The oracle is the local file that the same command writes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use lath_testkit::s3::{Bucket, Proxy, S3Server, Treatment};

use crate::files::{broken, numbered, write};
use crate::invocation::{BINARY, command};

/// Runs the binary; returns its exit code and what it wrote to standard error.
fn run(bucket: Bucket, args: &[&str]) -> (i32, String) {
    let output = command(args).envs(bucket.environment()).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

#[track_caller]
fn succeed(bucket: Bucket, args: &[&str]) {
    let (code, errors) = run(bucket, args);
    assert_eq!(code, 0, "{args:?}: {errors}");
}

/// Starts `COPY` of rows without an end, and waits until a part of them was sent.
fn copy_forever(bucket: Bucket, url: &str) -> Child {
    let text = format!(
        "COPY (SELECT value, md5(value::varchar) AS text FROM generate_series(1, 1000000000000)) TO '{url}' (codec uncompressed)"
    );
    let child = Command::new(BINARY)
        .args(["sql", &text])
        .envs(bucket.environment())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while bucket.unfinished_uploads() == 0 {
        sleep(Duration::from_millis(50));
    }
    child
}

#[test]
fn objects_are_written_whole_or_not_at_all() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let input = path("input.parquet");
    write(input.as_ref(), &numbered(0..5000), 1000);
    let many = path("many.parquet");
    write(many.as_ref(), &numbered(0..1_500_000), 500_000);

    // Every command that writes a file; the last two are objects of several parts.
    let select = format!("COPY (SELECT * FROM '{input}' ORDER BY 1 DESC) TO 'TARGET'");
    let commands: [(&str, &[&str]); 9] = [
        ("convert.csv", &["convert", &input, "-o", "TARGET"]),
        ("convert.jsonl", &["convert", &input, "-o", "TARGET"]),
        ("convert.arrow", &["convert", &input, "-o", "TARGET"]),
        ("find.parquet", &["find", &input, "--where", "id < 100", "-o", "TARGET"]),
        ("rewrite.parquet", &["rewrite", &input, "-o", "TARGET"]),
        ("merge.parquet", &["merge", &input, &input, "-o", "TARGET"]),
        ("below/a folder/copy.parquet", &["sql", &select]),
        ("many.csv", &["convert", &many, "-o", "TARGET"]),
        ("many.parquet", &["rewrite", &many, "--codec", "uncompressed", "--encoding", "plain", "-o", "TARGET"]),
    ];
    fs::create_dir_all(path("local/below/a folder")).unwrap();
    for (name, args) in commands {
        let local = path(&format!("local/{name}"));
        let of = |target: &str| args.iter().map(|arg| arg.replace("TARGET", target)).collect::<Vec<_>>();
        for target in [&local, &format!("s3://lath/{name}")] {
            let args = of(target);
            succeed(bucket, &args.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let expected = fs::read(&local).unwrap();
        if name.starts_with("many") {
            assert!(expected.len() > 9 << 20, "{name}: {}", expected.len());
        }
        assert!(bucket.get(&name.replace(' ', "%20")).unwrap() == expected, "{name}");
    }
    assert_eq!(bucket.unfinished_uploads(), 0);

    // COPY replaces nothing unless it is told to.
    bucket.put("kept.csv", b"kept");
    let copy = |options: &str| format!("COPY (SELECT 1 AS one) TO 's3://lath/kept.csv' {options}");
    let (code, errors) = run(bucket, &["sql", &copy("")]);
    assert_ne!(code, 0);
    assert!(errors.contains("exists") || errors.contains("already"), "{errors}");
    assert_eq!(bucket.get("kept.csv").unwrap(), b"kept");
    succeed(bucket, &["sql", &copy("(overwrite true)")]);
    assert_eq!(bucket.get("kept.csv").unwrap(), b"one\n1\n");

    // A command that fails leaves the previous object.
    let damaged = path("damaged.parquet");
    fs::write(&damaged, broken(input.as_ref())).unwrap();
    let (code, _) = run(bucket, &["convert", &damaged, "-o", "s3://lath/kept.csv", "--force"]);
    assert_ne!(code, 0);
    assert_eq!(bucket.get("kept.csv").unwrap(), b"one\n1\n");
    let (code, errors) = run(bucket, &["convert", &input, "-o", "s3://nowhere/x.csv"]);
    assert_ne!(code, 0);
    assert!(errors.contains("s3://nowhere/x.csv"), "{errors}");

    // Neither does a command, and no folder is made of the URL.
    bucket.put("kept.parquet", b"kept");
    for (args, part) in [
        (&["rewrite", &input, "-o", "s3://lath/kept.parquet"][..], "--force"),
        (&["convert", "s3://lath/rewrite.parquet", "-o", "s3://lath/rewrite.parquet", "--force"], "is an input too"),
        (&["convert", &input, "-o", "http://127.0.0.1/x.csv"], "web servers"),
    ] {
        let (code, errors) = run(bucket, args);
        assert!(code == 2 && errors.contains(part), "{args:?}: {code}, {errors}");
    }
    assert_eq!(bucket.get("kept.parquet").unwrap(), b"kept");
    succeed(bucket, &["rewrite", &input, "-o", "s3://lath/kept.parquet", "--force"]);
    assert!(bucket.get("kept.parquet").unwrap() == bucket.get("rewrite.parquet").unwrap());
    assert!(!fs::exists("s3:").unwrap());
    assert_eq!(bucket.unfinished_uploads(), 0);

    // A signal removes what was sent; nothing can do so after SIGKILL, and no object is seen then either.
    for (signal, left) in [("TERM", 0), ("KILL", 1)] {
        let mut child = copy_forever(bucket, "s3://lath/endless.parquet");
        assert!(
            Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap().success()
        );
        assert!(!child.wait().unwrap().success());
        assert_eq!(bucket.get("endless.parquet"), None, "{signal}");
        assert_eq!(bucket.unfinished_uploads(), left, "{signal}");
    }
}

#[test]
fn urls_and_settings_with_mistakes_are_errors() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("rows.csv");
    fs::write(&csv, "a,b\n1,2\n").unwrap();
    let csv = csv.to_str().unwrap();
    for (url, exit, part) in [
        ("s3://lath//x.csv", 2, "one slash too many"),
        ("s3://lath/a//x.csv", 2, "empty path segment"),
        ("s3://lath/a/../x.csv", 2, ".."),
        ("s3://lath/.csv/", 2, "--format"),
        ("ftp://lath/x.csv", 2, "expected a URL that begins with s3://"),
        ("s3:///x.csv", 2, "the bucket is missing"),
        ("s3://nowhere/x.csv", 4, "bucket"),
    ] {
        let (code, errors) = run(bucket, &["convert", csv, "-o", url]);
        assert!(code == exit && errors.contains(part), "{url} {code}: {errors}");
        let (code, errors) = run(bucket, &["convert", csv, "-o", url, "--force"]);
        assert!(code == exit && errors.contains(part), "{url} {code}: {errors}");
    }
    assert!(objects(bucket, "").is_empty());
    bucket.put("x.parquet", &fs::read(csv).unwrap());
    let (code, errors) = run(bucket, &["count", "s3://lath//x.parquet"]);
    assert!(code != 0 && errors.contains("one slash too many"), "{code}: {errors}");

    let with = |variable: &str, value: &str| {
        let mut child = command(["convert", csv, "-o", "s3://lath/x.csv"]);
        let output = child.envs(bucket.environment()).env(variable, value).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, errors) = with("AWS_ENDPOINT_URL", &format!("127.0.0.1:{}", bucket.port()));
    assert!(code == 2 && errors.contains("AWS_ENDPOINT_URL is 127.0.0.1"), "{code}: {errors}");
    let (code, errors) = with("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
    assert!(code == 4 && errors.contains("onnection refused") && !errors.contains("--force"), "{code}: {errors}");
}

/// The objects below a prefix, by the rest of their keys.
fn objects(bucket: Bucket, prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let (status, body) = bucket.send("GET", &format!("lath?list-type=2&prefix={prefix}"), b"");
    assert_eq!(status, 200);
    let text = String::from_utf8(body).unwrap();
    let keys = text.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().unwrap());
    keys.map(|key| (key[prefix.len()..].to_owned(), bucket.get(&key.replace('%', "%25").replace(' ', "%20")).unwrap()))
        .collect()
}

/// The files below a folder, by their paths.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// Keys and IDs of the uploads that are neither complete nor aborted.
fn uploads(bucket: Bucket) -> Vec<(String, String)> {
    let (status, body) = bucket.send("GET", "lath?uploads", b"");
    assert_eq!(status, 200);
    let text = String::from_utf8(body).unwrap();
    let value = |part: &str, name: &str| {
        let rest = part.split(&format!("<{name}>")).nth(1).unwrap();
        rest.split('<').next().unwrap().to_owned()
    };
    text.split("<Upload>").skip(1).map(|part| (value(part, "Key"), value(part, "UploadId"))).collect()
}

#[test]
fn objects_are_replaced_in_the_version_that_was_read() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let rewritten = ["--where", "id >= 1000", "--codec", "uncompressed", "--encoding", "plain"];
    for (name, rows) in [("small", 5_000), ("large", 1_500_000)] {
        let local = path(&format!("{name}.parquet"));
        write(local.as_ref(), &numbered(0..rows), 500_000);
        bucket.put(&format!("in/{name}.parquet"), &fs::read(&local).unwrap());
        // The small one is rewritten twice.
        for _ in 0..if name == "small" { 2 } else { 1 } {
            succeed(bucket, &[&["rewrite", "--in-place", &local][..], &rewritten].concat());
        }
    }
    // One by its name, which takes a request for its version; then all of a folder.
    for location in ["s3://lath/in/small.parquet", "s3://lath/in/"] {
        succeed(bucket, &[&["rewrite", "--in-place", location][..], &rewritten].concat());
    }
    for name in ["small", "large"] {
        let expected = fs::read(path(&format!("{name}.parquet"))).unwrap();
        assert!(bucket.get(&format!("in/{name}.parquet")).unwrap() == expected, "{name}");
    }
    let (code, errors) = run(bucket, &["rewrite", "--in-place", "s3://lath/in/none.parquet"]);
    assert!(code == 4 && errors.contains("no such object"), "{code}: {errors}");

    // Another program replaces the object while it is rewritten.
    let text = "COPY (SELECT value AS id, md5(value::varchar) AS text FROM generate_series(1, 1000000)) TO 's3://lath/changed.parquet'";
    succeed(bucket, &["sql", text]);
    let gate = Proxy::hold(bucket, "PUT", "partNumber=");
    let child = command(["rewrite", "--in-place", "s3://lath/changed.parquet", "--codec", "uncompressed"])
        .envs(gate.bucket().environment())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    gate.wait();
    bucket.put("changed.parquet", b"other");
    gate.open();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() != Some(0) && errors.contains("has been replaced"), "{errors}");
    assert_eq!(bucket.get("changed.parquet").unwrap(), b"other");
    assert_eq!(bucket.unfinished_uploads(), 0);
}

#[test]
fn faults_of_a_server_harm_no_object() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (small, large) = (path("small.parquet"), path("large.parquet"));
    write(small.as_ref(), &numbered(0..5000), 1000);
    write(large.as_ref(), &numbered(0..1_500_000), 500_000);
    let written = |input: &str, target: &str| {
        ["rewrite", input, "--codec", "uncompressed", "--encoding", "plain", "-o", target].map(str::to_owned).to_vec()
    };
    let copies = [&small, &large].map(|input| {
        let copy = format!("{input}.copy");
        succeed(bucket, &written(input, &copy).iter().map(String::as_str).collect::<Vec<_>>());
        fs::read(copy).unwrap()
    });
    // An object of one request; one of parts, whose faults concern the begin, a part and the end; and one that replaces another.
    let cases = [
        ("small", "PUT /lath/small"),
        ("large", "POST /lath/large?uploads"),
        ("large", "PUT /lath/large?partNumber=1"),
        ("large", "PUT /lath/large?partNumber=2"),
        ("large", "POST /lath/large?uploadId="),
        ("in-place", "PUT /lath/in-place"),
    ];
    let treatments =
        [Treatment::Slow, Treatment::LoseAnswer, Treatment::FailAfterwards, Treatment::Throttle, Treatment::Reset];
    for (name, request) in cases {
        for treatment in treatments {
            let count = AtomicUsize::new(0);
            let proxy = Proxy::new(bucket, move |line| {
                let line = line.replace(".parquet", "");
                // Twice, and then the server has recovered.
                let is_bad = line.starts_with(request) && count.fetch_add(1, Ordering::Relaxed) < 2;
                if is_bad { treatment } else { Treatment::Pass }
            });
            let url = format!("s3://lath/{name}.parquet");
            let args = match name {
                "small" => written(&small, &url),
                "large" => written(&large, &url),
                _ => {
                    bucket.put("in-place.parquet", &fs::read(&small).unwrap());
                    ["rewrite", "--in-place", &url, "--codec", "uncompressed", "--encoding", "plain"]
                        .map(str::to_owned)
                        .to_vec()
                }
            };
            let (code, errors) = run(proxy.bucket(), &args.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(code, 0, "{request}, {treatment:?}: {errors}");
            let found = bucket.get(&format!("{name}.parquet")).unwrap();
            assert!(found == copies[usize::from(name == "large")], "{request}, {treatment:?}");
            // An upload whose number was lost stays until `lath uploads --abort`.
            let is_lost =
                request.ends_with("?uploads") && matches!(treatment, Treatment::LoseAnswer | Treatment::FailAfterwards);
            let left = uploads(bucket);
            assert_eq!(left.len(), if is_lost { 2 } else { 0 }, "{request}, {treatment:?}");
            for (key, id) in left {
                bucket.send("DELETE", &format!("lath/{key}?uploadId={id}"), b"");
            }
            bucket.send("DELETE", &format!("lath/{name}.parquet"), b"");
        }
    }
}

#[test]
fn several_objects_appear_together() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let input = path("input.parquet");
    write(input.as_ref(), &numbered(0..5000), 1000);

    succeed(bucket, &["split", &input, "--rows", "700", "-o", &path("split/")]);
    succeed(bucket, &["split", &input, "--rows", "700", "-o", "s3://lath/split/"]);
    assert_eq!(objects(bucket, "split/").len(), 8);
    assert!(objects(bucket, "split/") == files(&folder.path().join("split")));
    let (code, errors) = run(bucket, &["split", &input, "--rows", "700", "-o", "s3://lath/split/"]);
    assert!(code == 2 && errors.contains("--force"), "{errors}");
    succeed(bucket, &["gen", "tpch", "--sf", "0.001", "-o", "s3://lath/tpch"]);
    assert_eq!(objects(bucket, "tpch/").len(), 8);

    // Names are the same but for the random part; threads choose the order of rows.
    let copy = |target: &str| {
        format!(
            "COPY (SELECT id, id % 7 AS seven, 'a b/' || (id % 2) AS two FROM '{input}') TO '{target}' PARTITIONED BY (seven, two)"
        )
    };
    succeed(bucket, &["sql", &copy(&path("copied"))]);
    succeed(bucket, &["sql", &copy("s3://lath/copied")]);
    let folders = |found: BTreeMap<String, Vec<u8>>| {
        found.into_keys().map(|name| name.rsplit_once('/').unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    let (listed, local) = (objects(bucket, "copied/"), files(&folder.path().join("copied")));
    assert_eq!(listed.len(), 14);
    assert!(folders(listed) == folders(local));
    let (code, errors) = run(bucket, &["sql", &copy("s3://lath/copied")]);
    assert!(code == 2 && errors.contains("has objects"), "{code}: {errors}");
    succeed(
        bucket,
        &[
            "sql",
            &format!("COPY (SELECT id, 1 AS one FROM '{input}' WHERE id < 0) TO 's3://lath/none' PARTITIONED BY (id)"),
        ],
    );

    // An external table whose first rows come by INSERT.
    let run_sql = |text: &str| {
        let output = command(["sql", text, "--format", "csv"]).envs(bucket.environment()).output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let create = "CREATE EXTERNAL TABLE t (id BIGINT, day DATE) STORED AS PARQUET PARTITIONED BY (day) LOCATION 's3://lath/table/'";
    let insert = "INSERT INTO t SELECT id, DATE '2026-01-01' + CAST(id % 3 AS INT) FROM";
    let count = "SELECT count(*) AS rows, sum(id) AS ids, count(DISTINCT day) AS days FROM t";
    let rows = |place: &str| run_sql(&format!("SELECT seven, two, id FROM '{place}' ORDER BY id"));
    assert_eq!(rows("s3://lath/copied"), rows(&path("copied")));
    let answer = run_sql(&format!("{create}; {insert} '{input}'; {insert} '{input}'; {count}"));
    assert!(answer.ends_with("rows,ids,days\n10000,24995000,3\n"), "{answer}");
    assert_eq!(objects(bucket, "table/").len(), 6);
    assert_eq!(bucket.unfinished_uploads(), 0);

    // A failing statement and a signal leave nothing.
    let (code, _) =
        run(bucket, &["sql", &format!("{create}; INSERT INTO t SELECT 1 / (id - 4000), '2026-01-01' FROM '{input}'")]);
    assert_ne!(code, 0);
    assert_eq!(objects(bucket, "table/").len(), 6);
    let text = "COPY (SELECT value, md5(value::varchar) AS text FROM generate_series(1, 1500000)) TO 'TARGET' (codec uncompressed)";
    let many = path("many.parquet");
    succeed(bucket, &["sql", &text.replace("TARGET", &many)]);
    let split = |target: &str, gate: &Proxy| {
        let mut child = command([
            "split",
            &many,
            "--rows",
            "500000",
            "--codec",
            "uncompressed",
            "--encoding",
            "plain",
            "-o",
            target,
        ]);
        let child = child.envs(gate.bucket().environment()).stderr(Stdio::piped()).spawn().unwrap();
        gate.wait();
        child
    };
    for signal in ["TERM", "KILL"] {
        let gate = Proxy::hold(bucket, "PUT", "partNumber=");
        let mut child = split("s3://lath/killed/part.parquet", &gate);
        assert_eq!(objects(bucket, "killed/").len(), 0);
        assert!(
            Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap().success()
        );
        assert!(!child.wait().unwrap().success());
        assert_eq!(objects(bucket, "killed/").len(), 0, "{signal}");
        assert_eq!(bucket.unfinished_uploads() > 0, signal == "KILL");
        for (key, id) in uploads(bucket) {
            bucket.send("DELETE", &format!("lath/{key}?uploadId={id}"), b"");
        }
    }

    // One of them cannot be completed, so none stays.
    let gate = Proxy::hold(bucket, "POST", "uploadId=");
    let child = split("s3://lath/lost/part.parquet", &gate);
    let begun = uploads(bucket);
    assert_eq!(begun.len(), 3);
    let first = begun.into_iter().find(|(key, _)| key.contains("00000")).unwrap();
    bucket.send("DELETE", &format!("lath/{}?uploadId={}", first.0, first.1), b"");
    gate.open();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(4) && errors.contains("deleted again"), "{:?} {errors}", output.status);
    assert_eq!(objects(bucket, "lost/").len(), 0);
    assert_eq!(bucket.unfinished_uploads(), 0);
}

#[test]
fn nothing_is_written_into_tables_of_other_formats() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input.parquet");
    write(&input, &numbered(0..100), 100);
    let input = input.to_str().unwrap();
    bucket.put("lake/delta/_delta_log/00000000000000000000.json", b"{}");
    for manifest in 0..20 {
        bucket.put(&format!("lake/iceberg/metadata/snap-{manifest}.avro"), b"");
    }
    bucket.put("lake/iceberg/metadata/v1.metadata.json", b"{}");
    let copy = |target: &str| format!("COPY (SELECT id, 1 AS one FROM '{input}') TO '{target}'");
    let partitioned = |target: &str| format!("{} PARTITIONED BY (id)", copy(target));
    let insert = "CREATE EXTERNAL TABLE t (id BIGINT) STORED AS PARQUET LOCATION 's3://lath/lake/delta/id=7'; INSERT INTO t VALUES (1)";
    let copies = [
        copy("s3://lath/lake/delta/x.parquet"),
        copy("s3://lath/lake/iceberg/data/a=1/x.csv"),
        partitioned("s3://lath/lake/delta"),
    ];
    let mut commands: Vec<Vec<&str>> = copies.iter().map(|text| vec!["sql", text.as_str()]).collect();
    commands.push(vec!["sql", insert]);
    commands.push(vec!["convert", input, "-o", "s3://lath/lake/delta/day=1/x.csv"]);
    commands.push(vec!["split", input, "--rows", "10", "-o", "s3://lath/lake/iceberg/data/"]);
    for args in commands {
        let (code, errors) = run(bucket, &args);
        assert!(code == 2 && errors.contains("would not belong to it"), "{args:?}: {code}, {errors}");
    }
    assert_eq!(objects(bucket, "lake/delta/").len(), 1);
    assert_eq!(objects(bucket, "lake/iceberg/data/").len(), 0);
    // Beside them is no matter.
    succeed(bucket, &["convert", input, "-o", "s3://lath/lake/x.csv"]);
    succeed(bucket, &["convert", input, "-o", "s3://lath/lake/other/data/x.csv"]);
}

/// Runs the binary; returns its exit code and what it wrote to standard output and error.
fn answer(bucket: Bucket, args: &[&str]) -> (i32, String, String) {
    let output = command(args).envs(bucket.environment()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn unfinished_uploads_are_listed_and_aborted() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let (code, text, _) = answer(bucket, &["uploads", "s3://lath"]);
    assert!(code == 1 && text.is_empty(), "{code}: {text}");
    // As they are written in the path of a request.
    for key in ["data/a.parquet", "data/b%20c%2Bd%25/%C3%A9.parquet", "data.parquet", "data2/x", "other"] {
        assert_eq!(bucket.send("POST", &format!("lath/{key}?uploads"), b"").0, 200, "{key}");
    }
    let listed = |url: &str| {
        let (code, text, errors) = answer(bucket, &["uploads", url, "--json"]);
        assert!(code == i32::from(text.is_empty()), "{url}: {code}, {errors}");
        let mut urls: Vec<String> = text
            .lines()
            .map(|line| {
                let object: serde_json::Value = serde_json::from_str(line).unwrap();
                // moto says of all that they were begun in 2010.
                assert!(object["age_seconds"].as_u64().unwrap() > 10 * 365 * 86_400);
                assert_eq!(object["aborted"], false);
                object["url"].as_str().unwrap().to_owned()
            })
            .collect();
        urls.sort();
        urls
    };
    // A folder is not the beginning of other names.
    let folder = ["s3://lath/data/a.parquet", "s3://lath/data/b c+d%/é.parquet"];
    assert_eq!(listed("s3://lath/data"), folder);
    assert_eq!(listed("s3://lath/data/"), folder);
    assert_eq!(listed("s3://lath/data.parquet"), ["s3://lath/data.parquet"]);
    assert_eq!(listed("s3://lath/dat"), [""; 0]);
    assert_eq!(listed("s3://lath/").len(), 5);

    // Nothing is removed without a word, and nothing that is too young.
    let (code, _, errors) = answer(bucket, &["uploads", "s3://lath/", "--abort"]);
    assert!(code == 2 && errors.contains("--older-than"), "{code}: {errors}");
    let (code, ..) = answer(bucket, &["uploads", "s3://lath/", "--abort", "--older-than", "36500d"]);
    assert_eq!((code, uploads(bucket).len()), (1, 5));
    let (code, text, errors) = answer(bucket, &["uploads", "s3://lath/data", "--abort", "--older-than", "1d"]);
    assert!(code == 0 && text.lines().count() == 2 && errors.contains("2 uploads aborted"), "{code}: {text}, {errors}");
    let left: Vec<String> = uploads(bucket).into_iter().map(|(key, _)| key).collect();
    assert!(left.len() == 3 && !left.iter().any(|key| key.starts_with("data/")), "{left:?}");

    for (args, exit, part) in [
        (&["uploads", "s3://nowhere/x"][..], 4, "NoSuchBucket"),
        (&["uploads", "gs://bucket/x"], 2, "S3"),
        (&["uploads", "https://host/x"], 2, "S3"),
        (&["uploads", "folder"], 2, "not the URL of a bucket"),
        (&["uploads", "s3://"], 2, "bucket is missing"),
        (&["uploads", "s3://lath/", "--older-than", "1"], 2, "12h"),
    ] {
        let mut child = command(args);
        // Google's is not asked for credentials.
        let output = child.envs(bucket.environment()).env("GOOGLE_SKIP_SIGNATURE", "true").output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(exit) && errors.contains(part), "{args:?}: {errors}");
    }
}

/// The answer of S3 to a request that is not allowed.
const DENIED: &str = "<Error><Code>AccessDenied</Code></Error>";

/// A server whose answers depend on the first line of a request alone; its port, and these lines. Requests have to be signed.
fn serve(answer: impl Fn(&str) -> (&'static str, String) + Send + 'static) -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut input = BufReader::new(connection.try_clone().unwrap());
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                // A connection that a client leaves ends so, too.
                let _ = input.read_line(&mut line);
                match line.trim_end() {
                    "" => break,
                    line => head.push(line.to_owned()),
                }
            }
            if head.is_empty() {
                // A connection that the client did not need.
                continue;
            }
            let value = |name: &str| {
                let mut lines = head.iter().filter_map(|line| line.split_once(": "));
                lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
            };
            let len = value("content-length").map_or(0, |len| len.parse().unwrap());
            input.read_exact(&mut vec![0; len]).unwrap();
            assert!(value("authorization").unwrap().starts_with("AWS4-HMAC-SHA256"));
            let (status, body) = answer(&head[0]);
            sender.send(head[0].clone()).unwrap();
            let length = body.len();
            let _ = write!(
                connection,
                "HTTP/1.1 {status}\r\nETag: \"1\"\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    (port, requests)
}

#[test]
fn credentials_that_may_only_write_write() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("rows.csv");
    fs::write(&csv, "a,b\n1,2\n").unwrap();
    let csv = csv.to_str().unwrap();
    let (port, requests) = serve(|line| match line {
        line if line.starts_with("PUT /lath/x.csv ") => ("200 OK", String::new()),
        _ => ("403 Forbidden", DENIED.to_owned()),
    });
    let bucket = Bucket::at(port);
    let (code, _, errors) = answer(bucket, &["convert", csv, "-o", "s3://lath/x.csv"]);
    assert!(code == 4 && errors.contains("--force writes without looking"), "{code}: {errors}");
    let (code, _, errors) = answer(bucket, &["convert", csv, "-o", "s3://lath/x.csv", "--force"]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(requests.try_iter().filter(|line| line.starts_with("PUT")).count(), 1);
    let (code, _, errors) = answer(bucket, &["convert", csv, "-o", "s3://lath/y.csv", "--force"]);
    assert!(code == 4 && errors.contains("access is denied (AccessDenied); set AWS_"), "{code}: {errors}");
}

/// A server that has two pages of uploads, with encoded keys as Amazon sends them, and takes one of three orders to abort them.
#[test]
fn uploads_are_listed_page_by_page() {
    let page = |truncated: bool, uploads: &[(&str, &str)], markers: &str| {
        let uploads: String = uploads
            .iter()
            .map(|(key, id)| format!("<Upload><Key>{key}</Key><UploadId>{id}</UploadId><Initiator><ID>me</ID></Initiator><Owner><ID>me</ID></Owner><StorageClass>STANDARD</StorageClass><Initiated>2026-01-02T03:04:05.000Z</Initiated></Upload>"))
            .collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListMultipartUploadsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>lath</Bucket><KeyMarker/><EncodingType>url</EncodingType>{markers}<IsTruncated>{truncated}</IsTruncated>{uploads}</ListMultipartUploadsResult>"
        )
    };
    let markers = "<NextKeyMarker>d%2Fa%2Bb+c</NextKeyMarker><NextUploadIdMarker>id/1</NextUploadIdMarker>";
    let first = page(true, &[("d%2Fa%2Bb+c", "id/1")], markers);
    let second = page(false, &[("d%2Fgone", "id2"), ("d%2Fkept", "id3")], "");
    let (port, requests) = serve(move |line| match line {
        line if line.starts_with("GET") && line.contains("key-marker") => ("200 OK", second.clone()),
        line if line.starts_with("GET") => ("200 OK", first.clone()),
        line if line.contains("/d/gone?") => {
            ("404 Not Found", "<Error><Code>NoSuchUpload</Code><Message>none</Message></Error>".to_owned())
        }
        line if line.contains("/d/kept?") => ("403 Forbidden", DENIED.to_owned()),
        _ => ("204 No Content", String::new()),
    });
    let (code, text, errors) =
        answer(Bucket::at(port), &["uploads", "s3://lath/d", "--json", "--abort", "--older-than", "1s"]);
    assert!(code == 4 && errors.contains("s3://lath/d/kept: AccessDenied"), "{code}: {errors}");
    let aborted: Vec<(String, bool)> = text
        .lines()
        .map(|line| {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(object["begun_micros"], 1_767_323_045_000_000_i64);
            (object["url"].as_str().unwrap().to_owned(), object["aborted"].as_bool().unwrap())
        })
        .collect();
    let url = |name: &str| format!("s3://lath/d/{name}");
    assert_eq!(aborted, [(url("a+b c"), true), (url("gone"), false), (url("kept"), false)]);
    assert_eq!(
        requests.try_iter().collect::<Vec<_>>(),
        [
            "GET /lath/?uploads&encoding-type=url&prefix=d HTTP/1.1",
            "GET /lath/?uploads&encoding-type=url&prefix=d&key-marker=d%2Fa%2Bb%20c&upload-id-marker=id%2F1 HTTP/1.1",
            "DELETE /lath/d/a%2Bb%20c?uploadId=id%2F1 HTTP/1.1",
            "DELETE /lath/d/gone?uploadId=id2 HTTP/1.1",
            "DELETE /lath/d/kept?uploadId=id3 HTTP/1.1",
        ]
    );
}

#[test]
fn catalogs_are_kept_in_a_bucket() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let local = folder.path().join("local.catalog");
    let lath = |args: &[&str]| {
        let output = command(args).envs(bucket.environment()).env("XDG_CACHE_HOME", &cache).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    };
    let succeed = |args: &[&str]| {
        let (code, text, errors) = lath(args);
        assert_eq!(code, 0, "{args:?}: {errors}");
        text
    };
    let put = |number: i64| {
        let path = folder.path().join("file.parquet");
        write(&path, &numbered(number * 1000..(number + 1) * 1000), 500);
        bucket.put(&format!("trips/{number}.parquet"), &fs::read(&path).unwrap());
    };
    let copies = || {
        let entries = fs::read_dir(cache.join("lath/catalogs")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with("-lock")).collect::<Vec<_>>()
    };
    (0..3).for_each(put);
    let (remote, local) = ("s3://lath/a b/trips.catalog", local.to_str().unwrap());

    // A local catalog is the oracle.
    let (code, _, errors) = lath(&["find", "--catalog", remote, "--where", "id = 1"]);
    assert!(code == 4 && errors.contains("there is no catalog"), "{code}: {errors}");
    for catalog in [remote, local] {
        let added = succeed(&["catalog", "add", "s3://lath/trips/", "--catalog", catalog, "--key", "id"]);
        assert!(added.ends_with("3 added, 0 updated, 0 removed, 0 unchanged\n"), "{added}");
    }
    assert_eq!(bucket.unfinished_uploads(), 0);
    let compare = |kept: usize| {
        for rest in [
            &["find", "--where", "id = 2500", "--catalog"][..],
            &["count", "--where", "id >= 700", "--catalog"],
            &["find", "--where", "id in (1, 1001, 3001)", "--file-name", "file", "--catalog"],
            &["sql", "SELECT count(*) AS n, sum(id) AS ids FROM files", "--catalog"],
            &["catalog", "list"],
            &["catalog", "stats"],
        ] {
            let of = |catalog| succeed(&[rest, &[catalog]].concat());
            assert_eq!(of(remote), of(local), "{rest:?}");
        }
        let sql = |catalog: &str| succeed(&["sql", &format!("SELECT max(id) AS id FROM read_catalog('{catalog}')")]);
        assert_eq!(sql(remote), sql(local));
        assert!(succeed(&["catalog", "check", remote]).ends_with(&format!("sound: {kept} files\n")));
        assert_eq!(copies().len(), 1);
    };
    compare(3);
    let before = copies();
    compare(3);
    assert_eq!(copies(), before);

    // A refresh finds the new file, and the copy of the older version goes.
    put(3);
    for catalog in [remote, local] {
        let refreshed = succeed(&["catalog", "refresh", catalog]);
        assert!(refreshed.ends_with("1 added, 0 updated, 0 removed, 3 unchanged\n"), "{refreshed}");
    }
    compare(4);
    assert_ne!(copies(), before);
    let unchanged = bucket.get("a%20b/trips.catalog").unwrap();
    succeed(&["catalog", "refresh", remote]);
    assert!(bucket.get("a%20b/trips.catalog").unwrap() == unchanged);

    // The object is the file of a local catalog.
    fs::write(local, &unchanged).unwrap();
    assert_eq!(succeed(&["catalog", "list", local]), succeed(&["catalog", "list", remote]));

    let (code, _, errors) = lath(&["catalog", "add", folder.path().to_str().unwrap(), "--catalog", remote]);
    assert!(code == 2 && errors.contains("files of stores alone"), "{code}: {errors}");
    let (code, _, errors) = lath(&["catalog", "add", "s3://lath/trips/", "--catalog", "http://127.0.0.1/x"]);
    assert!(code == 2 && errors.contains("web servers"), "{code}: {errors}");
    bucket.put("other", b"no catalog, and longer than the header of a store would be");
    let (code, _, errors) = lath(&["find", "--catalog", "s3://lath/other", "--where", "id = 1"]);
    assert!(code == 3 && errors.contains("s3://lath/other"), "{code}: {errors}");

    // Eight programs add a file each: the catalog has the files of the programs that succeeded.
    (10..18).for_each(put);
    let race = "s3://lath/race.catalog";
    succeed(&["catalog", "add", "s3://lath/trips/0.parquet", "--catalog", race]);
    let children: Vec<(i64, Child)> = (10..18)
        .map(|number| {
            let mut child =
                command(["catalog", "add", &format!("s3://lath/trips/{number}.parquet"), "--catalog", race]);
            child.envs(bucket.environment()).env("XDG_CACHE_HOME", &cache);
            (number, child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
        })
        .collect();
    let mut expected = vec!["s3://lath/trips/0.parquet".to_owned()];
    for (number, child) in children {
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(0) => expected.push(format!("s3://lath/trips/{number}.parquet")),
            code => {
                let errors = String::from_utf8(output.stderr).unwrap();
                assert!(code == Some(4) && errors.contains("another program has changed"), "{code:?}: {errors}");
            }
        }
    }
    expected.sort();
    let listed = succeed(&["catalog", "list", race]);
    let mut listed: Vec<&str> = listed.lines().map(|line| line.rsplit_once('\t').unwrap().1).collect();
    listed.sort_unstable();
    assert_eq!(listed, expected);
    assert!(expected.len() > 1);
}

#[test]
fn backups_of_tables_are_kept_in_a_bucket() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let input = path("input.parquet");
    write(input.as_ref(), &numbered(0..5000), 1000);
    let run = |args: &[&str]| answer(bucket, args);
    let succeed = |args: &[&str]| {
        let (code, text, errors) = answer(bucket, args);
        assert_eq!(code, 0, "{args:?}: {errors}");
        text
    };

    // Files with deleted rows, rows of the store, and a snapshot that needs files which the table no longer has.
    let shop = path("shop");
    succeed(&["table", "create", &shop, &input, "--key", "id"]);
    succeed(&["table", "delete", &shop, "--where", "id >= 3000"]);
    succeed(&["table", "snapshot", &shop, "monday"]);
    succeed(&["table", "compact", &shop]);
    succeed(&["table", "delete", &shop, "--where", "id < 100"]);
    let url = "s3://lath/backups/a b/monday/";
    succeed(&["table", "backup", &shop, url]);
    let listed = objects(bucket, "backups/");
    assert!(listed.len() > 2 && listed.contains_key("a b/monday/_lath_backup"), "{:?}", listed.keys());
    let (code, _, errors) = run(&["table", "backup", &shop, url]);
    assert!(code == 2 && errors.contains("has a backup already"), "{code}: {errors}");
    assert!(objects(bucket, "backups/") == listed);
    assert!(succeed(&["table", "check", url]).contains("intact"));

    let restored = path("below/restored");
    succeed(&["table", "backup", url, &restored]);
    assert!(succeed(&["table", "check", &restored]).contains("intact"));
    for rest in [&[][..], &["--at", "monday"]] {
        let scan = |table: &str| succeed(&[&["table", "scan", table][..], rest].concat());
        assert_eq!(scan(&shop), scan(&restored));
    }
    succeed(&["table", "upsert", &restored, &input]);
    assert_eq!(succeed(&["table", "count", &restored]), "5000\n");
    let (code, _, errors) = run(&["table", "backup", url, &restored]);
    assert!(code == 2 && errors.contains("empty"), "{code}: {errors}");

    // Several tables.
    let database = path("database");
    succeed(&[
        "sql",
        "--database",
        &database,
        "CREATE TABLE a (id BIGINT PRIMARY KEY); INSERT INTO a VALUES (1), (2); CREATE TABLE b (id BIGINT PRIMARY KEY)",
    ]);
    succeed(&["table", "backup", &database, "s3://lath/backups/database"]);
    succeed(&["table", "backup", "s3://lath/backups/database", &path("database2")]);
    assert_eq!(succeed(&["table", "count", &path("database2"), "--table", "a"]), "2\n");
    assert_eq!(succeed(&["table", "count", &path("database2"), "--table", "b"]), "0\n");

    // Damage is found, and nothing of it is restored.
    let list = String::from_utf8(bucket.get("backups/a%20b/monday/_lath_backup").unwrap()).unwrap();
    let object = listed.keys().find(|key| key.ends_with(".pq")).unwrap();
    let key = format!("backups/{}", object.replace(' ', "%20"));
    let mut bytes = bucket.get(&key).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    bucket.put(&key, &bytes);
    let check_fails = |part: &str, exit: i32| {
        let (code, text, errors) = run(&["table", "check", url]);
        assert!(code == exit && format!("{text}{errors}").contains(part), "{code}: {text}, {errors}");
        let (code, _, errors) = run(&["table", "backup", url, &path("damaged")]);
        assert!(code > 2 && errors.contains(part), "{code}: {errors}");
        assert!(!fs::exists(path("damaged")).unwrap());
    };
    check_fails("is not as the backup wrote it", 3);
    bucket.send("DELETE", &format!("lath/{key}"), b"");
    check_fails("no such object", 3);
    for (from, to, part) in [
        ("\"name\": \"", "\"name\": \"../", "damaged"),
        ("\"name\": \"", "\"name\": \"/", "damaged"),
        ("\"lath_backup\": 1", "\"lath_backup\": 2", "newer version"),
        ("{", "", "damaged"),
    ] {
        bucket.put("backups/a%20b/monday/_lath_backup", list.replace(from, to).as_bytes());
        check_fails(part, 3);
    }
    bucket.send("DELETE", "lath/backups/a%20b/monday/_lath_backup", b"");
    check_fails("there is no backup", 4);
    for (from, to, part) in [(url, "s3://lath/other", "one of the two"), (&*shop, "https://127.0.0.1/x", "web servers")]
    {
        let (code, _, errors) = run(&["table", "backup", from, to]);
        assert!(code == 2 && errors.contains(part), "{from} {to} {code}: {errors}");
    }

    // A signal leaves nothing, and neither does SIGKILL leave a backup.
    let many = path("many.parquet");
    write(many.as_ref(), &numbered(0..1_500_000), 100_000);
    succeed(&["table", "create", &path("large"), &many, "--key", "id"]);
    for signal in ["TERM", "KILL"] {
        let prefix = format!("killed/{signal}/");
        let gate = Proxy::hold(bucket, "PUT", ".pq");
        let mut child = command(["table", "backup", &path("large"), &format!("s3://lath/{prefix}")])
            .envs(gate.bucket().environment())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        gate.wait();
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        if signal == "TERM" {
            // The process stops when the request is answered, and not before its thread for signals has run.
            sleep(Duration::from_millis(500));
            gate.open();
        }
        assert!(!child.wait().unwrap().success());
        let (left, uploads) = (objects(bucket, &prefix), uploads(bucket));
        assert!(!left.contains_key("_lath_backup"));
        assert!(signal == "KILL" || (left.is_empty() && uploads.is_empty()), "{:?}", left.keys());
        for (key, id) in uploads {
            bucket.send("DELETE", &format!("lath/{key}?uploadId={id}"), b"");
        }
    }
    // A killed process cannot remove its copy of the store.
    let scratch = fs::read_dir(folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with(".lath-backup-"));
    assert!(scratch.count() <= 1);
}

#[test]
fn backups_of_stores_are_kept_in_a_bucket() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let run = |args: &[&str]| answer(bucket, args);
    let succeed = |args: &[&str]| {
        let (code, text, errors) = answer(bucket, args);
        assert_eq!(code, 0, "{args:?}: {errors}");
        text
    };
    // More than a part.
    let rows: String = (0..200_000).map(|row| format!("key{row},{row:060}\n")).collect();
    fs::write(path("rows.csv"), format!("key,value\n{rows}")).unwrap();
    let store = path("store.lath");
    succeed(&["kv", "load", &store, &path("rows.csv")]);
    let url = "s3://lath/stores/a store.lath";
    succeed(&["kv", "backup", &store, url]);
    let written = bucket.get("stores/a%20store.lath").unwrap();
    assert!(written.len() > 9 << 20, "{}", written.len());
    let (code, _, errors) = run(&["kv", "backup", &store, url]);
    assert!(code == 2 && errors.contains("exists"), "{code}: {errors}");
    assert!(succeed(&["kv", "check", url]).contains("intact: 200000 keys"));

    let restored = path("restored.lath");
    succeed(&["kv", "backup", url, &restored]);
    let dump = |store: &str| succeed(&["kv", "dump", store]);
    assert!(dump(&store) == dump(&restored));
    let (code, _, errors) = run(&["kv", "backup", url, &restored]);
    assert!(code == 2 && errors.contains("exists"), "{code}: {errors}");

    let mut damaged = written;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    bucket.put("stores/damaged.lath", &damaged);
    bucket.put("stores/other", b"no store");
    for name in ["damaged.lath", "other", "none"] {
        let url = format!("s3://lath/stores/{name}");
        for args in [&["kv", "check", &url][..], &["kv", "backup", &url, &path("new.lath")]] {
            let (code, text, errors) = run(args);
            let expected = if name == "none" { 4 } else { 3 };
            assert!(code == expected && !format!("{text}{errors}").is_empty(), "{args:?} {code}: {text}, {errors}");
        }
        assert!(!fs::exists(path("new.lath")).unwrap());
    }
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_str().unwrap().starts_with(".lath-backup-")), "{names:?}");
}

#[test]
fn tables_and_stores_are_not_made_at_urls() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("rows.csv");
    fs::write(&csv, "key,value\na,b\n").unwrap();
    let csv = csv.to_str().unwrap();
    fs::create_dir_all(folder.path().join("s3:/bucket")).unwrap();
    for args in [
        &["table", "create", "s3://bucket/t", csv, "--key", "key"][..],
        &["table", "create", "gs://bucket/t", "--table", "a", csv, "--key", "key"],
        &["sql", "--database", "s3://bucket/db", "SELECT 1"],
        &["kv", "put", "s3://bucket/x.lath", "a", "b"],
        &["kv", "load", "s3://bucket/x.lath", csv],
    ] {
        let output = command(args).current_dir(folder.path()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && errors.contains("this machine"), "{args:?}: {errors}");
    }
    assert!(files(&folder.path().join("s3:")).is_empty());
    assert!(!fs::exists(folder.path().join("gs:")).unwrap());
}

/// The keys below a prefix.
fn keys(bucket: Bucket, prefix: &str) -> Vec<String> {
    let (status, body) = bucket.send("GET", &format!("lath?list-type=2&prefix={prefix}"), b"");
    assert_eq!(status, 200);
    let body = String::from_utf8(body).unwrap();
    body.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().unwrap().to_owned()).collect()
}

#[test]
fn tables_have_their_files_in_a_bucket() {
    let Some(server) = S3Server::start() else { return };
    let bucket = server.bucket();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let succeed = |args: &[&str]| {
        let (code, text, errors) = answer(bucket, args);
        assert_eq!(code, 0, "{args:?}: {errors}");
        text
    };
    let fail = |args: &[&str], expected: &str| {
        let (code, text, errors) = answer(bucket, args);
        assert!(code > 1 && errors.contains(expected), "{args:?}: {code}: {text}, {errors}");
    };
    let shop = path("shop");
    let sql = |text: &str| succeed(&["sql", "--database", &shop, "--format", "csv", text]);
    sql("CREATE TABLE near (id BIGINT PRIMARY KEY)");
    sql("CREATE TABLE far (PRIMARY KEY (id)) WITH (cold = 's3://lath/a shop') CLUSTER BY (text) \
         AS SELECT value AS id, 't' || value AS text FROM generate_series(1, 1000)");
    sql("CALL flush('far')");
    sql("INSERT INTO near VALUES (1)");
    sql("CALL flush('near')");
    let data: Vec<String> = keys(bucket, "a%20shop/").into_iter().filter(|key| key.ends_with(".pq")).collect();
    assert!(!data.is_empty() && data.iter().all(|key| key.starts_with("a shop/table-000002/_data/")), "{data:?}");
    assert_eq!(sql("SELECT count(*) AS n, sum(id) AS s FROM far JOIN near USING (id) WHERE text = 't1'"), "n,s\n1,1\n");
    assert_eq!(sql("SELECT count(*) AS n, sum(id) AS s FROM far"), "n,s\n1000,500500\n");
    // A query whose rows are refused leaves no object once a table is dropped.
    let text = "CREATE TABLE twice (PRIMARY KEY (id)) WITH (cold = 's3://lath/twice') AS \
                SELECT value % 99999 AS id FROM generate_series(1, 100000)";
    fail(&["sql", "--database", &shop, text], "");
    sql("DROP TABLE IF EXISTS twice");
    sql("DROP TABLE far");
    assert_eq!(keys(bucket, "a%20shop"), Vec::<String>::new());
    assert_eq!(keys(bucket, "twice"), Vec::<String>::new());
    assert_eq!(sql("SELECT count(*) AS n FROM near"), "n\n1\n");

    // A folder that a refused creation has made is gone.
    let csv = path("rows.csv");
    fs::write(&csv, "id,text\n1,a\n2,b\n").unwrap();
    let (one, two) = (path("one"), path("two"));
    succeed(&["table", "create", &one, "--key", "id", "--cold", "s3://lath/own", &csv]);
    fail(&["table", "create", &two, "--key", "id", "--cold", "s3://lath/own", &csv], "another URL");
    for url in ["s3://lath/100%25", "s3://lath/a#b", "lath/own", "http://127.0.0.1:1/a"] {
        fail(&["table", "create", &two, "--key", "id", "--cold", url, &csv], url);
    }
    let output = command(["table", "create", &two, "--key", "id", "--cold", "s3://none/two", &csv])
        .envs(bucket.environment())
        .output()
        .unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("none"), "{output:?}");
    assert!(!fs::exists(&two).unwrap());
    assert!(succeed(&["table", "scan", &one, "--format", "csv"]).contains("1,a"));

    // A deleted object is an error, and the check names it.
    succeed(&["table", "compact", &one]);
    let data = keys(bucket, "own/_data/").into_iter().find(|key| key.ends_with(".pq")).unwrap();
    assert_eq!(bucket.send("DELETE", &format!("lath/{data}"), b"").0, 204);
    fs::remove_dir_all(folder.path().join("one/_cache")).unwrap();
    for args in [
        &["table", "scan", &one][..],
        &["table", "get", &one, "1"],
        &["table", "check", &one],
        &["table", "backup", &one, &path("copy")],
    ] {
        let (code, text, errors) = answer(bucket, args);
        let name = data.rsplit('/').next().unwrap();
        assert!(code > 1 && format!("{text}{errors}").contains(name), "{args:?} {code}: {text}, {errors}");
    }
    // No table; the next backup to this folder starts over.
    assert!(!fs::exists(path("copy/_table.lath")).unwrap());
}
