//! Writing objects to moto's S3. The oracle is the local file that the same command writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use lath_testkit::s3::{Bucket, S3Server};

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
    let mut child = command(["rewrite", "--in-place", "s3://lath/changed.parquet", "--codec", "uncompressed"])
        .envs(bucket.environment())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while bucket.unfinished_uploads() == 0 {
        assert!(child.try_wait().unwrap().is_none());
        sleep(Duration::from_millis(5));
    }
    bucket.put("changed.parquet", b"other");
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() != Some(0) && errors.contains("has been replaced"), "{errors}");
    assert_eq!(bucket.get("changed.parquet").unwrap(), b"other");
    assert_eq!(bucket.unfinished_uploads(), 0);
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
    let split = |target: &str| {
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
        child.envs(bucket.environment()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for signal in ["TERM", "KILL"] {
        let mut child = split("s3://lath/killed/part.parquet");
        while bucket.unfinished_uploads() < 2 {
            assert!(child.try_wait().unwrap().is_none());
            sleep(Duration::from_millis(5));
        }
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
    let mut child = split("s3://lath/lost/part.parquet");
    let first = loop {
        let begun = uploads(bucket);
        if begun.len() == 3 {
            break begun.into_iter().find(|(key, _)| key.contains("00000")).unwrap();
        }
        assert!(child.try_wait().unwrap().is_none());
        sleep(Duration::from_millis(5));
    };
    bucket.send("DELETE", &format!("lath/{}?uploadId={}", first.0, first.1), b"");
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
