//! Writing objects to moto's S3. The oracle is the local file that the same command writes.

use std::fs;
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
    let (code, _) = run(bucket, &["convert", &damaged, "-o", "s3://lath/kept.csv"]);
    assert_ne!(code, 0);
    assert_eq!(bucket.get("kept.csv").unwrap(), b"one\n1\n");
    let (code, errors) = run(bucket, &["convert", &input, "-o", "s3://nowhere/x.csv"]);
    assert_ne!(code, 0);
    assert!(errors.contains("s3://nowhere/x.csv"), "{errors}");

    // Several files are refused, and no folder is made of the URL.
    for args in [
        &["split", &input, "--rows", "1000", "-o", "s3://lath/parts"][..],
        &["sql", &format!("COPY (SELECT * FROM '{input}') TO 's3://lath/parts' PARTITIONED BY (id)")],
    ] {
        let (code, errors) = run(bucket, args);
        assert_ne!(code, 0, "{args:?}");
        assert!(errors.contains("local folders only"), "{errors}");
    }
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
