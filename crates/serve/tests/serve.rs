//! Requests over connections, as clients send them.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lath_serve::{IcebergServer, ServeOptions};
use lath_table::{Database, PublishOptions, Table, TableOptions};
use serde_json::Value;

fn rows(ids: std::ops::Range<i64>) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    RecordBatch::try_from_iter([("id", ids)]).unwrap()
}

fn create(database: &Database, name: &str) -> Table {
    let table = database.create_table(name, &rows(0..1).schema(), &["id"]).unwrap();
    table.upsert(&rows(0..3)).unwrap();
    table
}

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

fn at_any_port() -> ServeOptions {
    ServeOptions::new("127.0.0.1:0".parse().unwrap())
}

fn serve(folder: &Path) -> IcebergServer {
    IcebergServer::start(Database::open_read_only(folder, options()).unwrap(), &at_any_port()).unwrap()
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect(&self.body)
    }

    /// Checks the status, and returns the type and the message of the error.
    fn error(&self, status: u16) -> (String, String) {
        let error = &self.json()["error"];
        assert_eq!((self.status, error["code"].as_u64()), (status, Some(u64::from(status))), "{}", self.body);
        (error["type"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
    }
}

fn request(address: SocketAddr, line: &str, headers: &str) -> Answer {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "{line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut text = String::new();
    connection.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

fn get(address: SocketAddr, path: &str) -> Answer {
    request(address, &format!("GET {path}"), "Host: localhost\r\n")
}

const TABLES: &str = "/v1/namespaces/public/tables";

#[test]
fn tables_are_found_that_were_published_after_a_start_without_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    drop(Database::create(folder.path(), options()).unwrap());
    let server = serve(folder.path());
    let names = || server.published_tables().unwrap();
    assert_eq!(names(), [] as [&str; 0]);
    let database = Database::open(folder.path(), options()).unwrap();
    create(&database, "orders").publish(PublishOptions::new()).unwrap();
    assert_eq!(names(), ["orders"]);
    drop(database);
    let database = Database::open(folder.path(), options()).unwrap();
    create(&database, "bills").publish(PublishOptions::new()).unwrap();
    drop(database);
    assert_eq!(names(), ["bills", "orders"]);
    assert_eq!(get(server.address(), &format!("{TABLES}/bills")).status, 200);
}

#[test]
fn published_tables_are_found_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("shop"), options()).unwrap();
    let orders = create(&database, "orders");
    create(&database, "drafts");
    orders.publish(PublishOptions::new()).unwrap();
    let server = serve(database.folder());
    let at = server.address();

    let config = get(at, "/v1/config?warehouse=any").json();
    assert!(config["defaults"].is_object() && config["overrides"].is_object(), "{config}");
    let endpoints = config["endpoints"].as_array().unwrap();
    assert!(
        endpoints
            .iter()
            .all(|endpoint| ["GET", "HEAD"].contains(&endpoint.as_str().unwrap().split(' ').next().unwrap()))
    );
    assert_eq!(get(at, "/v1/namespaces").body, r#"{"namespaces":[["public"]]}"#);
    assert_eq!(get(at, "/v1/namespaces?parent=public").body, r#"{"namespaces":[]}"#);
    assert_eq!(get(at, "/v1/namespaces?parent=a%1Fb").error(404).0, "NoSuchNamespaceException");
    assert_eq!(get(at, "/v1/namespaces/public").json()["namespace"], serde_json::json!(["public"]));
    assert_eq!(get(at, TABLES).body, r#"{"identifiers":[{"name":"orders","namespace":["public"]}]}"#);
    assert_eq!(server.published_tables().unwrap(), ["orders"]);

    let loaded = get(at, &format!("{TABLES}/orders"));
    let path = orders.folder().join("metadata/v1.metadata.json");
    assert_eq!(loaded.json()["metadata-location"], path.to_str().unwrap());
    assert_eq!(loaded.json()["metadata"], serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap());
    assert!(loaded.head.contains("content-type: application/json"), "{}", loaded.head);

    let head = |path: &str| request(at, &format!("HEAD {path}"), "Host: localhost\r\n");
    for (path, status) in [
        ("/v1/namespaces/public".to_owned(), 204),
        ("/v1/namespaces/other".to_owned(), 404),
        (format!("{TABLES}/orders"), 204),
        (format!("{TABLES}/drafts"), 404),
    ] {
        let answer = head(&path);
        assert_eq!((answer.status, answer.body.as_str()), (status, ""), "{path}");
    }
    let (kind, message) = get(at, &format!("{TABLES}/drafts")).error(404);
    assert!(kind == "NoSuchTableException" && message.contains("lath table publish"), "{message}");
    assert_eq!(get(at, &format!("{TABLES}/nothing")).error(404).0, "NoSuchTableException");
    assert_eq!(get(at, "/v1/namespaces/a%1Fb/tables/orders").error(404).0, "NoSuchNamespaceException");
    server.stop();
}

#[test]
fn the_newest_publication_is_loaded_and_dropped_tables_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("shop"), options()).unwrap();
    let orders = create(&database, "orders");
    let server = serve(database.folder());
    let at = server.address();
    let load = || get(at, &format!("{TABLES}/orders"));
    assert_eq!(load().error(404).0, "NoSuchTableException");
    for number in 1..4 {
        if number == 1 {
            orders.publish(PublishOptions::new()).unwrap();
        } else {
            orders.upsert(&rows(0..number)).unwrap();
            orders.publish_now().unwrap();
        }
        let location = load().json()["metadata-location"].as_str().unwrap().to_owned();
        assert!(location.ends_with(&format!("/v{number}.metadata.json")), "{location}");
    }
    orders.stop_publishing().unwrap();
    assert_eq!(load().error(404).0, "NoSuchTableException");
    orders.publish(PublishOptions::new()).unwrap();
    assert_eq!(load().status, 200);
    drop(orders);
    database.drop_table("orders").unwrap();
    assert_eq!(load().error(404).0, "NoSuchTableException");
    assert_eq!(get(at, TABLES).body, r#"{"identifiers":[]}"#);
    // A new table of the same name has other files.
    create(&database, "orders").publish(PublishOptions::new()).unwrap();
    assert!(load().json()["metadata-location"].as_str().unwrap().contains("table-000002"));
    server.stop();
}

#[test]
fn names_are_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("shop"), options()).unwrap();
    for name in ["a/b é", "c d", "e+f", "e f", "..", "v1"] {
        create(&database, name).publish(PublishOptions::new()).unwrap();
    }
    let server = serve(database.folder());
    let status = |name: &str| get(server.address(), &format!("{TABLES}/{name}")).status;
    for name in ["a%2Fb%20%C3%A9", "a%2fb+%c3%a9", "c%20d", "c+d", "e%2Bf", "e%20f", "%2E%2E", "..", "v1"] {
        assert_eq!(status(name), 200, "{name}");
    }
    for name in ["a/b", "c%2Bd", "%FF"] {
        assert_eq!(status(name), 404, "{name}");
    }
    // It means both, for one client or the other.
    assert_eq!(get(server.address(), &format!("{TABLES}/e+f")).error(400).0, "BadRequestException");
    server.stop();
}

#[test]
fn changes_and_other_paths_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("shop"), options()).unwrap();
    create(&database, "orders").publish(PublishOptions::new()).unwrap();
    let server = serve(database.folder());
    let body = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let send = |line: &str| request(server.address(), line, body);
    for line in [
        "POST /v1/namespaces",
        "DELETE /v1/namespaces/public",
        "POST /v1/namespaces/public/tables",
        "POST /v1/namespaces/public/tables/orders",
        "DELETE /v1/namespaces/public/tables/orders?purgeRequested=true",
        "POST /v1/namespaces/public/register",
        "POST /v1/namespaces/public/properties",
        "POST /v1/transactions/commit",
        "POST /v1/tables/rename",
    ] {
        let (kind, message) = send(line).error(403);
        assert!(kind == "ForbiddenException" && message.contains("read-only"), "{line}: {message}");
    }
    for line in ["OPTIONS /v1/namespaces", "GET /v1/tables/rename", "TRACE /v1/config"] {
        let answer = send(line);
        assert_eq!(answer.error(405).0, "UnsupportedOperationException", "{line}");
        assert!(answer.head.contains("allow: get, head"), "{}", answer.head);
    }
    for line in [
        "GET /",
        "GET /v1/nothing",
        "POST /v1/nothing",
        "GET /v1/namespaces/public/views",
        "GET /v1/namespaces/public/tables/orders/credentials",
    ] {
        send(line).error(404);
    }
    let tokens = send("POST /v1/oauth/tokens");
    assert_eq!((tokens.status, &tokens.json()["error"]), (400, &"unsupported_grant_type".into()));
    assert_eq!(get(server.address(), &format!("{TABLES}/orders")).status, 200);
    server.stop();
}

#[test]
fn a_token_is_required_for_everything() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("shop"), options()).unwrap();
    create(&database, "orders").publish(PublishOptions::new()).unwrap();
    let server = IcebergServer::start(database, &at_any_port().token("s3cret")).unwrap();
    let send = |path: &str, header: &str| {
        request(server.address(), &format!("GET {path}"), &format!("Host: example.org\r\n{header}"))
    };
    for path in ["/v1/config", "/v1/namespaces", TABLES, "/v1/namespaces/public/tables/orders", "/nothing"] {
        for header in
            ["", "Authorization: Bearer wrong\r\n", "Authorization: Basic s3cret\r\n", "Authorization: Bearer\r\n"]
        {
            let answer = send(path, header);
            assert_eq!(answer.error(401).0, "NotAuthorizedException", "{path} {header}");
            assert!(answer.head.contains("www-authenticate: bearer"), "{}", answer.head);
        }
    }
    assert_eq!(send(TABLES, "Authorization: Bearer s3cret\r\n").status, 200);
    server.stop();
}

#[test]
fn without_a_token_only_names_of_this_machine_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("shop"), options()).unwrap();
    let server = serve(database.folder());
    let send = |headers: &str| request(server.address(), "GET /v1/config", headers);
    assert_eq!(send("Host: rebound.example.org\r\n").error(403).0, "ForbiddenException");
    assert_eq!(send(&format!("Host: {}\r\n", server.address())).status, 200);
    server.stop();
}

#[test]
fn a_database_that_was_moved_is_an_error_and_not_an_empty_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let (shop, moved) = (folder.path().join("shop"), folder.path().join("moved"));
    let database = Database::create(&shop, options()).unwrap();
    create(&database, "orders").publish(PublishOptions::new()).unwrap();
    drop(database);
    // While it is served.
    let server = serve(&shop);
    fs::rename(&shop, &moved).unwrap();
    for path in [TABLES.to_owned(), format!("{TABLES}/orders")] {
        let (_, message) = get(server.address(), &path).error(500);
        assert!(message.contains("no longer at"), "{path}: {message}");
    }
    server.stop();
    // Before it is served: paths in its metadata are absolute.
    let server = serve(&moved);
    let load = || get(server.address(), &format!("{TABLES}/orders"));
    let (_, message) = load().error(500);
    assert!(message.contains("was moved from") && message.contains("publish it again"), "{message}");
    let database = Database::open(&moved, options()).unwrap();
    database.table("orders").unwrap().publish_now().unwrap();
    assert_eq!(load().status, 200);
    server.stop();
}

#[test]
fn clients_are_answered_at_the_same_time_and_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("shop"), options()).unwrap();
    let orders = create(&database, "orders");
    orders.publish(PublishOptions::new()).unwrap();
    let server = serve(database.folder());
    let at = server.address();
    // Connections that send nothing, or half of a request, hold up no other.
    let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(at).unwrap()).collect();
    (&silent[0]).write_all(b"GET /v1/conf").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let loaded = get(at, &format!("{TABLES}/orders")).json();
                    let current = &loaded["metadata"]["current-snapshot-id"];
                    assert!(
                        loaded["metadata"]["snapshots"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .any(|one| &one["snapshot-id"] == current)
                    );
                }
            });
        }
        for number in 0..10 {
            orders.upsert(&rows(number..number + 5)).unwrap();
            orders.publish_now().unwrap();
        }
    });
    let began = Instant::now();
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(60));
    assert!(TcpStream::connect(at).is_err());
}
