//! REST catalogs of Iceberg: what they send, and in which pieces.

use bytes::Bytes;
use lath_iceberg::{Field, PrimitiveType, Schema, TableMetadata};
use lath_lake::{Error, LakeOptions, RestCatalog, open};
use lath_testkit::server::{Fault, Server};
use serde_json::{Value, json};

fn files(answers: &[(&str, Value)]) -> Vec<(String, Bytes)> {
    answers.iter().map(|(path, body)| ((*path).to_owned(), Bytes::from(body.to_string()))).collect()
}

fn location(server: &Server, rest: &str) -> String {
    server.url(rest).replacen("http://", "rest://", 1)
}

/// The metadata of a table without rows.
fn metadata() -> Value {
    let column = Field::new(1, "id", false, PrimitiveType::Long);
    let schema = Schema::new(0, vec![column], Vec::new()).unwrap();
    let metadata = TableMetadata::new("9c12d441-03fe-4693-9a96-a0705ddf69c1", "file:/nowhere/t", schema, 0);
    serde_json::from_slice(&metadata.to_bytes().unwrap()).unwrap()
}

#[test]
fn lists_come_in_pages_and_names_are_encoded() {
    let identifiers =
        |names: &[&str]| names.iter().map(|name| json!({ "namespace": ["a", "d e"], "name": name })).collect::<Value>();
    let server = Server::of(files(&[
        (
            "v1/config?warehouse=w%20w",
            json!({ "defaults": { "prefix": "other", "clients": null }, "overrides": { "prefix": "cat/x", "namespace-separator": "%2E" } }),
        ),
        ("v1/cat/x/namespaces", json!({ "namespaces": [["a"]], "next-page-token": "2 &" })),
        ("v1/cat/x/namespaces?pageToken=2%20%26", json!({ "namespaces": [["b.c"]], "next-page-token": null })),
        ("v1/cat/x/namespaces?parent=a", json!({ "namespaces": [["a", "d e"]] })),
        // Lists all of them, whatever the parent.
        ("v1/cat/x/namespaces?parent=b.c", json!({ "namespaces": [["a"], ["b.c"]] })),
        ("v1/cat/x/namespaces/a%2Ed%20e/tables", json!({ "identifiers": [] })),
        ("v1/cat/x/namespaces/a%2Ed%20e/tables/t%2F1", json!({ "metadata": metadata() })),
        ("v1/cat/x/namespaces/b.c/tables", json!({ "identifiers": identifiers(&["t/1"]), "next-page-token": "x" })),
        ("v1/cat/x/namespaces/b.c/tables?pageToken=x", json!({ "identifiers": identifiers(&["u"]) })),
    ]));
    let catalog = RestCatalog::connect(&location(&server, "?warehouse=w%20w"), &LakeOptions::new()).unwrap();
    assert_eq!(catalog.namespaces().unwrap(), ["a", "a.d e", "b%2Ec"]);
    assert_eq!(catalog.tables("b%2Ec").unwrap(), ["t/1", "u"]);
    assert_eq!(catalog.tables("a.d e").unwrap(), [""; 0]);
    let lake = catalog.open("a.d e", "t/1", &LakeOptions::new()).unwrap();
    assert_eq!(lake.schema().field(0).name(), "id");
    let lake = open(&location(&server, "a.d%20e/t%2F1?warehouse=w%20w"), &LakeOptions::new()).unwrap();
    assert_eq!(lake.dataset().scan().count().unwrap(), 0);
}

#[test]
fn other_answers_are_errors() {
    let table = ("v1/namespaces/n/tables/t", json!({ "metadata": metadata() }));
    let config = ("v1/config", json!({ "defaults": {}, "overrides": {} }));
    let fails = |server: &Server, table: &str| open(&location(server, table), &LakeOptions::new()).unwrap_err();

    let server = Server::of(files(&[config.clone(), table.clone()]));
    let error = fails(&server, "n/u");
    assert!(matches!(error, Error::Invalid { .. }) && error.to_string().contains("/namespaces/n/tables/u"), "{error}");
    let server = Server::of(files(&[("v1/config", json!("<html>"))]));
    let error = fails(&server, "n/t");
    assert!(
        matches!(error, Error::Corrupt { .. }) && error.to_string().contains("not one of a REST catalog"),
        "{error}"
    );
    let server = Server::of(files(&[
        config.clone(),
        ("v1/namespaces/n/tables/t", json!({ "metadata": { "format-version": 9 } })),
    ]));
    assert!(matches!(fails(&server, "n/t"), Error::Unsupported { .. }));

    for (status, what) in
        [(401, "LATH_REST_TOKEN"), (403, "LATH_REST_TOKEN"), (500, "answers 500"), (418, "answers 418")]
    {
        let server = Server::with_faults(files(&[config.clone(), table.clone()]), move |request, _| {
            match request.path.contains("config") {
                true => Fault::None,
                false => Fault::Status(status),
            }
        });
        let error = fails(&server, "n/t");
        assert!(matches!(error, Error::Io { .. }) && error.to_string().contains(what), "{status}: {error}");
    }
    // A list whose last page names itself has no end.
    let again = json!({ "identifiers": [], "next-page-token": "x" });
    let server = Server::of(files(&[
        config.clone(),
        ("v1/namespaces/n/tables", again.clone()),
        ("v1/namespaces/n/tables?pageToken=x", again),
    ]));
    let catalog = RestCatalog::connect(&location(&server, ""), &LakeOptions::new()).unwrap();
    assert!(catalog.tables("n").unwrap_err().to_string().contains("without an end"));
}

#[test]
fn a_busy_catalog_is_asked_again() {
    let answers =
        [("v1/config", json!({ "overrides": {} })), ("v1/namespaces/n/tables/t", json!({ "metadata": metadata() }))];
    let server = Server::with_faults(files(&answers), |_, number| match number {
        0 => Fault::Status(503),
        2 => Fault::Status(429),
        3 => Fault::Reset,
        _ => Fault::None,
    });
    assert!(open(&location(&server, "n/t"), &LakeOptions::new()).is_ok());
    assert_eq!(server.requests().len(), 5);
}
