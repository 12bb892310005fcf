//! Workers that use TLS.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use lath_cluster::{Cluster, ClusterOptions, RunningWorker, WorkerOptions, WorkerServer};
use lath_sql::{BlockingSession, Session};
use tempfile::TempDir;

use crate::tpch::{with_tables, write_tables};
use crate::{alone, rows, text};

/// Rows go from workers to workers before they come to the coordinator.
const QUERY: &str = "SELECT o_orderpriority, l_linenumber, count(*), sum(l_quantity) FROM lineitem JOIN orders ON l_orderkey = o_orderkey
    GROUP BY o_orderpriority, l_linenumber";

const CONFIGURATION: &str = "
[req]
distinguished_name = name
prompt = no
[name]
CN = lath
[authority]
basicConstraints = critical, CA:TRUE
[worker]
basicConstraints = critical, CA:FALSE
subjectAltName = IP:127.0.0.1, IP:::1
[stranger]
basicConstraints = critical, CA:FALSE
subjectAltName = DNS:elsewhere
";

/// Two authorities, and certificates that the first one has signed, made by the command `openssl`.
struct Certificates(TempDir);

impl Certificates {
    fn new() -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        fs::write(made.path("configuration"), CONFIGURATION).unwrap();
        for authority in ["authority", "other"] {
            made.openssl(&format!(
                "req -x509 -config configuration -extensions authority -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes
                 -days 2 -subj /CN={authority} -keyout {authority}.key -out {authority}.pem"
            ));
        }
        for worker in ["worker", "stranger"] {
            made.openssl(&format!(
                "req -new -config configuration -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {worker}.key -out request"
            ));
            made.openssl(&format!(
                "x509 -req -in request -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile configuration
                 -extensions {worker} -out {worker}.pem"
            ));
        }
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn openssl(&self, arguments: &str) {
        let run =
            Command::new("openssl").args(arguments.split_whitespace()).current_dir(self.0.path()).output().unwrap();
        assert!(run.status.success(), "{arguments}: {}", String::from_utf8_lossy(&run.stderr));
    }

    /// A worker with a certificate, that trusts an authority.
    fn worker(&self, folder: &Path, name: &str, authority: &str) -> (RunningWorker, String) {
        let options = WorkerOptions::new().allow(folder.to_str().unwrap()).threads(1).authorities(self.read(authority));
        let options = options.tls(self.read(&format!("{name}.pem")), self.read(&format!("{name}.key")));
        started(options)
    }
}

fn started(options: WorkerOptions) -> (RunningWorker, String) {
    let server = WorkerServer::bind("127.0.0.1:0", options).unwrap();
    let address = format!("https://{}", server.address());
    (server.start(), address)
}

fn session(addresses: &[&str], authority: Option<Vec<u8>>, folder: &Path) -> BlockingSession {
    let options = authority.into_iter().fold(ClusterOptions::new().min_bytes(0), ClusterOptions::authorities);
    let cluster = Cluster::new(addresses, options).unwrap();
    let session = BlockingSession::new(cluster.extend(Session::builder()).build().unwrap()).unwrap();
    with_tables(session, folder)
}

#[test]
fn workers_answer_by_tls() {
    let (made, folder) = (Certificates::new(), tempfile::tempdir().unwrap());
    write_tables(folder.path());
    let one = with_tables(alone(), folder.path());
    let (first, second) =
        (made.worker(folder.path(), "worker", "authority.pem"), made.worker(folder.path(), "worker", "authority.pem"));
    let addresses = [first.1.as_str(), second.1.as_str()];
    assert_eq!(text(&session(&addresses, Some(made.read("authority.pem")), folder.path()), QUERY), text(&one, QUERY));
    // The coordinator does not know the authority, and then calls a worker without TLS.
    let error = |addresses: &[&str], authority: Option<&str>| {
        let session = session(addresses, authority.map(|name| made.read(name)), folder.path());
        rows(&session, QUERY).unwrap_err().to_string()
    };
    let found = error(&addresses, Some("other.pem"));
    assert!(found.contains("UnknownIssuer") && found.contains("--cluster-ca"), "{found}");
    let found = error(&[addresses[0].trim_start_matches("https://")], None);
    assert!(found.contains("write https:// before its address"), "{found}");
    for (worker, _) in [first, second] {
        worker.stop().unwrap();
    }
}

#[test]
fn certificates_of_workers_are_checked() {
    let (made, folder) = (Certificates::new(), tempfile::tempdir().unwrap());
    write_tables(folder.path());
    let plain = started(WorkerOptions::new().allow(folder.path().to_str().unwrap()).threads(1));
    let stranger = made.worker(folder.path(), "stranger", "authority.pem");
    let own = made.worker(folder.path(), "authority", "authority.pem");
    for ((_, address), expected) in [(&plain, "without TLS"), (&stranger, "not valid for name"), (&own, "CA:FALSE")] {
        let session = session(&[address], Some(made.read("authority.pem")), folder.path());
        let error = rows(&session, QUERY).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    // A worker that does not know the authority of the others says so, and the query is not tried again.
    let (first, second) =
        (made.worker(folder.path(), "worker", "authority.pem"), made.worker(folder.path(), "worker", "other.pem"));
    let session = session(&[&first.1, &second.1], Some(made.read("authority.pem")), folder.path());
    let error = rows(&session, QUERY).unwrap_err().to_string();
    assert!(error.contains("UnknownIssuer") && error.contains("--cluster-ca"), "{error}");
    for (worker, _) in [plain, stranger, own, first, second] {
        worker.stop().unwrap();
    }
}

#[test]
fn a_silent_client_holds_up_no_other() {
    let (made, folder) = (Certificates::new(), tempfile::tempdir().unwrap());
    write_tables(folder.path());
    let (worker, address) = made.worker(folder.path(), "worker", "authority.pem");
    let silent: Vec<TcpStream> =
        (0..20).map(|_| TcpStream::connect(address.trim_start_matches("https://")).unwrap()).collect();
    let started = Instant::now();
    let session = session(&[&address], Some(made.read("authority.pem")), folder.path());
    assert_eq!(rows(&session, "SELECT count(*) FROM lineitem WHERE l_quantity < 10").unwrap().len(), 1);
    assert!(started.elapsed() < Duration::from_secs(60));
    drop(silent);
    worker.stop().unwrap();
}

#[test]
fn certificates_and_keys_that_cannot_be_used_are_errors() {
    let made = Certificates::new();
    for (certificate, key, expected) in [
        ("worker.pem", "stranger.key", "certificate and key cannot be used"),
        ("worker.key", "worker.key", "certificate cannot be read"),
        ("worker.pem", "worker.pem", "key cannot be read"),
        ("configuration", "worker.key", "BEGIN CERTIFICATE"),
    ] {
        let options = WorkerOptions::new().tls(made.read(certificate), made.read(key));
        let error = WorkerServer::bind("127.0.0.1:0", options).unwrap_err().to_string();
        assert!(error.contains(expected), "{certificate} {key}: {error}");
    }
    let options = ClusterOptions::new().authorities(made.read("worker.key"));
    let error = Cluster::new(["https://127.0.0.1:9301"], options).unwrap_err().to_string();
    assert!(error.contains("authority's certificate"), "{error}");
}
