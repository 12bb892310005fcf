//! The catalog of Iceberg that `serve` is, until a signal comes.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use crate::files::{numbered, write};
use crate::interrupt::is_ignored;
use crate::invocation::{command, lath, start_server};

/// A database with a published table.
fn shop(folder: &Path) -> String {
    let (rows, shop) = (folder.join("rows.parquet"), folder.join("shop"));
    write(&rows, &numbered(0..10), 10);
    let (rows, shop) = (rows.to_str().unwrap(), shop.to_str().unwrap());
    lath(["table", "create", shop, "--table", "items", "--key", "id", rows]).text(0);
    lath(["table", "publish", shop, "--table", "items", "--as", "iceberg"]).text(0);
    shop.to_owned()
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
    let (mut child, address) =
        start_server(&mut command(["serve", "--iceberg", "0", &shop]), "http", "1 published table of ");
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
        let (mut child, address) = start_server(&mut server, "http", "1 published table of ");
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

#[cfg(all(feature = "lake", feature = "object-store", feature = "sql"))]
#[test]
fn tables_of_a_catalog_are_read_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    let mut server = command(["serve", "--iceberg", "0", &shop]);
    let (mut child, address) = start_server(server.env("LATH_SERVE_TOKEN", "s3cret"), "http", "1 published table of ");
    let run = |args: &[&str], uri: &str, token: &str| {
        let mut reader = command(args.iter().chain(&["--format", "csv"]));
        reader.env("LATH_REST_TOKEN", token).env("LATH_REST_URI", uri).env_remove("LATH_REST_CREDENTIAL");
        let output = reader.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let uri = format!("http://{address}");
    let reads = |args: &[&str]| {
        let (code, rows, message) = run(args, &uri, "s3cret");
        assert_eq!(code, 0, "{args:?}: {message}");
        rows
    };
    let table = format!("rest://{address}/public/items");
    assert_eq!(reads(&["find", &table, "--where", "id = 3"]), "id,name\n3,\n");
    assert_eq!(reads(&["find", "rest:///public/items", "--where", "id > 8"]), "id,name\n9,name 9\n");
    let sql = |text: &str| reads(&["sql", text]);
    assert_eq!(sql(&format!("SELECT sum(id) AS s FROM '{table}'")), "s\n45\n");
    assert_eq!(sql(&format!("SELECT count(*) AS n FROM iceberg('{table}', branch => 'main')")), "n\n10\n");
    assert_eq!(
        sql(&format!(
            "ATTACH 'rest://{address}' AS lake; SELECT a.id FROM lake.public.items AS a JOIN lake.public.items AS b ON a.id = b.id + 8 ORDER BY a.id"
        )),
        "id\n8\n9\n"
    );
    assert_eq!(
        sql(&format!(
            "ATTACH 'rest://{address}' AS lake; SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'lake' AND table_schema = 'public'"
        )),
        "table_schema,table_name\npublic,items\n"
    );
    assert_eq!(
        sql(&format!(
            "CREATE EXTERNAL TABLE t STORED AS ICEBERG LOCATION '{table}' OPTIONS (branch 'main'); SELECT max(id) AS m FROM t WHERE id < 7"
        )),
        "m\n6\n"
    );
    let attached = format!("ATTACH 'rest://{address}' AS lake; ");
    let shown = "table_catalog,table_schema,table_name,table_type\nlake,public,items,BASE TABLE\n";
    assert_eq!(sql(&format!("{attached}SHOW TABLES FROM lake")), shown);
    assert_eq!(
        sql(&format!("ATTACH DATABASE IF NOT EXISTS '{uri}/v1/' AS Lake (TYPE iceberg); SHOW TABLES IN LAKE.public")),
        shown
    );
    assert!(sql(&format!("{attached}SHOW ALL TABLES")).contains("lake,public,items,BASE TABLE\n"));
    assert_eq!(
        sql(&format!("{attached}SELECT schema_name FROM information_schema.schemata WHERE catalog_name = 'lake'")),
        "schema_name\npublic\n"
    );
    assert_eq!(
        sql(&format!("{attached}DETACH lake; DETACH IF EXISTS lake; {attached}COPY lake.public.items TO '/dev/null' STORED AS CSV; EXPLAIN SELECT 1; SELECT max(id) AS m FROM lake.public.items"))
            .lines()
            .last(),
        Some("9")
    );
    for (args, uri, token, code, part) in [
        (["head", table.as_str()].as_slice(), uri.as_str(), "wrong", 4, "LATH_REST_TOKEN"),
        (&["head", &table], "https://lake.example", "s3cret", 4, "answers 401"),
        (&["head", &table], "", "s3cret", 2, "LATH_REST_URI"),
        (&["head", &format!("rest://{address}/public/nothing")], &uri, "s3cret", 2, "Table does not exist"),
        (&["head", &format!("rest://{address}/a.b/items")], &uri, "s3cret", 2, "Namespace does not exist"),
        (&["head", &format!("rest://{address}/items")], &uri, "s3cret", 2, "name a table of the catalog"),
        (&["head", "rest://127.0.0.1:1/public/items"], &uri, "", 4, "127.0.0.1:1"),
        (&["sql", &format!("{attached}SELECT * FROM lake.public.nothing")], &uri, "s3cret", 2, "Table does not exist"),
        (&["sql", &format!("{attached}SELECT * FROM lake.other.items")], &uri, "s3cret", 2, "Namespace does not exist"),
        (&["sql", &format!("{attached}{attached}")], &uri, "s3cret", 2, "already"),
        (
            &["sql", &format!("{attached}INSERT INTO lake.public.items VALUES (77, 'x')")],
            &uri,
            "s3cret",
            2,
            "only read",
        ),
        (&["sql", &format!("{attached}DELETE FROM lake.public.items")], &uri, "s3cret", 2, "only read"),
        (&["sql", &format!("{attached}CREATE TABLE lake.public.t AS SELECT 1 AS a")], &uri, "s3cret", 2, "only read"),
        (&["sql", &format!("{attached}CREATE VIEW lake.public.v AS SELECT 1 AS a")], &uri, "s3cret", 2, "only read"),
        (&["sql", &format!("{attached}DROP TABLE lake.public.items")], &uri, "s3cret", 2, "only read"),
        (&["sql", &format!("{attached}SELECT * FROM lake.items")], &uri, "s3cret", 2, "lake.NAMESPACE.items"),
        (&["sql", &format!("{attached}SELECT * FROM lake.public.\"Items\"")], &uri, "s3cret", 2, "there is \"items\""),
        (&["sql", &format!("{attached}SELECT * FROM lake.\"Public\".items")], &uri, "s3cret", 2, "there is \"public\""),
        (&["sql", &format!("{attached}SELECT * FROM lake.a.b.items")], &uri, "s3cret", 2, "a%1Fb"),
        (&["sql", &format!("{attached}SHOW TABLES FROM lake.nothing")], &uri, "s3cret", 2, "Namespace does not exist"),
        (
            &["sql", &format!("{attached}DETACH lake; SELECT * FROM lake.public.items")],
            &uri,
            "s3cret",
            2,
            "ATTACH 'rest://HOST' AS lake",
        ),
        (&["sql", "DETACH lake"], &uri, "s3cret", 2, "no attached catalog"),
        (&["sql", "SHOW TABLES FROM lake"], &uri, "s3cret", 2, "no catalog or schema lake"),
        (&["sql", &attached], &uri, "wrong", 4, "answers 401"),
        (&["sql", "ATTACH 'shop.db' AS shop"], &uri, "s3cret", 2, "REST catalog"),
    ] {
        let (found, _, message) = run(args, uri, token);
        let is_safe = !message.contains("s3cret") && !message.contains("wrong");
        assert!(found == code && message.contains(part) && is_safe, "{args:?} {uri} {token}: {found}, {message}");
    }
    assert_eq!(sql(&format!("SELECT count(*) AS n FROM '{table}'")), "n\n10\n");
    child.kill().unwrap();
    child.wait().unwrap();
}
