//! The catalog of Iceberg that `serve` is, until a signal comes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::files::{numbered, write};
use crate::interrupt::is_ignored;
use crate::invocation::{command, lath};

/// A database with a published table.
fn shop(folder: &Path) -> String {
    let (rows, shop) = (folder.join("rows.parquet"), folder.join("shop"));
    write(&rows, &numbered(0..10), 10);
    let (rows, shop) = (rows.to_str().unwrap(), shop.to_str().unwrap());
    lath(["table", "create", shop, "--table", "items", "--key", "id", rows]).text(0);
    lath(["table", "publish", shop, "--table", "items", "--as", "iceberg"]).text(0);
    shop.to_owned()
}

/// Starts a server at a free port, and returns its address.
fn start(server: &mut Command) -> (Child, String) {
    let mut child = server.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("http://").and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    assert!(line.contains("1 published table of "), "{line}");
    (child, address)
}

fn get(address: &str, path: &str, header: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{header}\r\n").unwrap();
    let mut text = String::new();
    connection.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_database_is_served_until_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    let (mut child, address) = start(&mut command(["serve", "--iceberg", "0", &shop]));
    let answer = get(&address, "/v1/namespaces/public/tables/items", "");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("v1.metadata.json"), "{answer}");
    // Another process publishes meanwhile.
    lath(["table", "publish", &shop, "--table", "items", "--now"]).text(0);
    assert!(get(&address, "/v1/namespaces/public/tables", "").contains("items"));
    if is_ignored(2) {
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
}

#[test]
fn the_token_is_in_the_environment_or_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    let file = folder.path().join("token");
    fs::write(&file, "s3cret\n").unwrap();
    let mut by_variable = command(["serve", "--iceberg", "127.0.0.1:0", &shop]);
    by_variable.env("LATH_SERVE_TOKEN", "s3cret");
    // Without a token, this address is refused.
    let by_file = command(["serve", "--iceberg", "0.0.0.0:0", &shop, "--token-file", file.to_str().unwrap()]);
    for mut server in [by_variable, by_file] {
        let (mut child, address) = start(&mut server);
        assert!(get(&address, "/v1/config", "").starts_with("HTTP/1.1 401"));
        assert!(get(&address, "/v1/config", "Authorization: Bearer s3cret\r\n").starts_with("HTTP/1.1 200"));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn what_cannot_be_served_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    let empty = folder.path().join("empty");
    fs::write(&empty, "\n").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let here = folder.path().to_str().unwrap();
    for (address, database, more, code, message) in [
        ("0", here, None, 2, "is not a database"),
        ("here", shop.as_str(), None, 2, "is not an address"),
        ("0.0.0.0:0", &shop, None, 2, "LATH_SERVE_TOKEN"),
        ("0", &shop, empty.to_str(), 2, "a token is one line"),
        ("0", &shop, Some("/nowhere/token"), 4, "/nowhere/token"),
        (&taken, &shop, None, 4, "cannot listen"),
    ] {
        let token = more.map(|file| ["--token-file", file]);
        let run = lath(["serve", "--iceberg", address, database].into_iter().chain(token.into_iter().flatten()));
        assert!(run.code == code && run.stderr.contains(message), "{address} {database}: {} {}", run.code, run.stderr);
    }
}
