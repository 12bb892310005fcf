//! Queries on workers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::files::{numbered, write};
use crate::interrupt::is_ignored;
use crate::invocation::{command, lath};

/// A worker that ends with the test.
struct Worker {
    child: Child,
    address: String,
}

impl Worker {
    fn start(folder: &Path, token: Option<&str>) -> Self {
        let mut command = command(["worker", "--listen", "0", "--threads", "1", "--allow", folder.to_str().unwrap()]);
        token.map(|token| command.env("LATH_CLUSTER_TOKEN", token));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split(' ').next().unwrap().to_owned();
        assert!(address.starts_with("127.0.0.1:") && line.contains("answers with 1 thread,"), "{line}");
        Self { child, address }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs a query on workers, however small it is, and returns the exit code, output and messages.
fn sql(cluster: &str, token: Option<&str>, query: &str) -> (i32, String, String) {
    let mut command = command(["sql", "--format", "csv", "--cluster", cluster, query]);
    command.env("LATH_CLUSTER_MIN_BYTES", "0");
    token.map(|token| command.env("LATH_CLUSTER_TOKEN", token));
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_query_runs_on_workers() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.parquet");
    write(&rows, &numbered(0..1000), 100);
    let query = format!("SELECT count(*) AS n, sum(id) AS s FROM '{}' WHERE id % 3 = 1", rows.display());
    let mut workers = [Worker::start(folder.path(), Some("s3cret")), Worker::start(folder.path(), Some("s3cret"))];
    let both = format!("{},{}", workers[0].address, workers[1].address);
    assert_eq!(sql(&both, Some("s3cret"), &query), (0, "n,s\n333,166167\n".to_owned(), String::new()));
    let (code, plan, _) = sql(&both, Some("s3cret"), &format!("EXPLAIN ANALYZE {query}"));
    assert!(code == 0 && plan.contains("ClusterExec"), "{plan}");
    for token in [None, Some("secret")] {
        let (code, out, message) = sql(&both, token, &query);
        assert!(code != 0 && out.is_empty() && message.contains("token"), "{code} {out} {message}");
    }
    // The first ends by a signal, and the query runs on the other one.
    let [first, _] = &mut workers;
    if !is_ignored(2) {
        assert!(Command::new("kill").args(["-INT", &first.child.id().to_string()]).status().unwrap().success());
        first.child.wait().unwrap();
        assert_eq!(sql(&both, Some("s3cret"), &query).1, "n,s\n333,166167\n");
    }
}

#[test]
fn workers_can_be_part_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.parquet");
    write(&rows, &numbered(0..1000), 100);
    let query = format!("EXPLAIN ANALYZE SELECT count(*) FROM '{}'", rows.display());
    for (cluster, expected) in [("local:2", true), ("", false)] {
        let (code, plan, message) = sql(cluster, None, &query.replace("count(*)", "max(id % 5)"));
        assert_eq!((code, plan.contains("ClusterExec")), (0, expected), "{cluster}: {plan}{message}");
    }
}

#[test]
fn what_cannot_be_a_worker_or_a_cluster_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, "\n").unwrap();
    let pem = empty.to_str().unwrap();
    for (args, code, message) in [
        (vec!["worker"], 2, "--allow"),
        (vec!["worker", "--allow", "/no/such/folder"], 2, "/no/such/folder"),
        (vec!["worker", "--allow", here, "--allow-write", here], 2, "expected the URL of a folder in an object store"),
        (vec!["worker", "--allow", here, "--allow-write", "http://host/"], 2, "--allow-write http://host/"),
        (vec!["worker", "--allow", here, "--listen", "here"], 2, "is not an address"),
        (vec!["worker", "--allow", here, "--listen", "0.0.0.0:0"], 2, "LATH_CLUSTER_TOKEN"),
        (vec!["worker", "--allow", here, "--token-file", pem], 2, "a token is one line"),
        (vec!["worker", "--allow", here, "--tls-certificate", pem], 2, "--tls-key"),
        (vec!["worker", "--allow", here, "--tls-certificate", pem, "--tls-key", pem], 2, "BEGIN CERTIFICATE"),
        (vec!["worker", "--allow", here, "--cluster-ca", pem], 2, "BEGIN CERTIFICATE"),
        (vec!["sql", "--cluster", "https://here:1", "--cluster-ca", pem, "SELECT 1"], 2, "BEGIN CERTIFICATE"),
        (vec!["sql", "--cluster", "https://here", "SELECT 1"], 2, "https://HOST:PORT"),
        (vec!["sql", "--cluster", "local:0", "SELECT 1"], 2, "local:4"),
        (vec!["sql", "--cluster", "local:x", "SELECT 1"], 2, "local:4"),
        (vec!["sql", "--cluster", "here", "SELECT 1"], 2, "HOST:PORT"),
    ] {
        let run = lath(&args);
        assert!(run.code == code && run.stderr.contains(message), "{args:?}: {} {}", run.code, run.stderr);
    }
}
