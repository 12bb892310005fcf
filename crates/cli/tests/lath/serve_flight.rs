//! The server of Arrow Flight SQL that `serve` is, until a signal comes.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::interrupt::is_ignored;
use crate::invocation::{command, lath, start_server};

#[test]
fn a_database_is_served_by_flight_until_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let shop = folder.path().join("shop");
    let shop = shop.to_str().unwrap();
    let (mut child, address) = start_server(&mut command(["serve", "--flight", "0", shop]), "grpc", "Arrow Flight SQL");
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
