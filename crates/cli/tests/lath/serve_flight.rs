//! The server of Arrow Flight SQL that `serve` is, until a signal comes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use crate::interrupt::is_ignored;
use crate::invocation::{command, lath};

/// Starts a server at a free port, and returns its address.
fn start(server: &mut Command) -> (Child, String) {
    let mut child = server.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("grpc://").and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    assert!(line.contains("Arrow Flight SQL"), "{line}");
    (child, address)
}

#[test]
fn a_database_is_served_by_flight_until_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let shop = folder.path().join("shop");
    let shop = shop.to_str().unwrap();
    let (mut child, address) = start(&mut command(["serve", "--flight", "0", shop]));
    // A connection that stays open holds up no stop.
    let connection = TcpStream::connect(&address).unwrap();
    if is_ignored(2) {
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    drop(connection);
    // The database was created, and is closed.
    lath(["sql", "--database", shop, "CREATE TABLE t (id BIGINT PRIMARY KEY)"]).text(0);
}

#[test]
fn what_cannot_be_served_by_flight_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let shop = folder.path().join("shop");
    let shop = shop.to_str().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "s3cret\n").unwrap();
    let (token, nothing) = (token.to_str().unwrap(), folder.path().join("nothing"));
    let nothing = nothing.to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--flight", "0.0.0.0:0"], 2, "LATH_SERVE_TOKEN"),
        (&["--flight", "0.0.0.0:0", "--no-token"], 2, "--no-token is for --iceberg"),
        (&["--flight", "here"], 2, "is not an address"),
        (&["--flight", &taken], 4, "cannot listen"),
        (&["--flight", "0", "--iceberg", "0"], 2, "cannot be used with"),
        (&[], 2, "required"),
        (
            &["--flight", "0", "--tls-certificate", token, "--tls-key", token],
            2,
            "the server's certificate cannot be read",
        ),
        (&["--flight", "0", "--token-file", nothing], 4, "nothing"),
        (&["--iceberg", "0", "--memory", "1GiB"], 2, "--threads and --memory are for --flight"),
    ];
    for (options, code, message) in cases {
        let run = lath(["serve"].into_iter().chain(options.iter().copied()).chain([shop]));
        assert!(run.code == code && run.stderr.contains(message), "{options:?}: {} {}", run.code, run.stderr);
    }
}
