//! Damaged logs and missing files: an error, and never fewer rows.

use std::fs;

use serde_json::json;

use crate::delta_table::{Table, field, metadata, protocol, remove};

fn table() -> Table {
    let table = Table::new(&[]);
    for version in 1..4 {
        let add = table.file(&format!("{version}.parquet"), &[(version, "x")]);
        table.commit(version as u64, &[add]);
    }
    table
}

#[test]
fn a_missing_commit_is_named() {
    let table = table();
    fs::remove_file(table.log("00000000000000000002.json")).unwrap();
    assert!(table.error().contains("00000000000000000002.json"), "{}", table.error());
    assert_eq!(table.rows(Some(1)).unwrap(), ["1 x"]);
    fs::remove_file(table.log("00000000000000000000.json")).unwrap();
    assert!(table.rows(Some(1)).unwrap_err().to_string().contains("00000000000000000000.json"));
}

#[test]
fn every_commit_that_was_cut_short_is_an_error() {
    let table = table();
    let path = table.log("00000000000000000003.json");
    let text = fs::read(&path).unwrap();
    for len in 0..text.len() - 1 {
        fs::write(&path, &text[..len]).unwrap();
        assert!(table.error().contains("00000000000000000003.json"), "{len}: {}", table.error());
    }
    // Without the end of its line it is whole.
    fs::write(&path, &text[..text.len() - 1]).unwrap();
    assert_eq!(table.rows(None).unwrap().len(), 3);
    for damaged in
        ["[]", "null", "{\"add\":{}}", "{\"add\":{\"path\":5}}", "{\"remove\":{\"path\":null}}", "{\"add\":1}"]
    {
        fs::write(&path, format!("{damaged}\n")).unwrap();
        assert!(table.error().contains("line 1"), "{damaged}: {}", table.error());
    }
}

#[test]
fn a_missing_file_is_an_error() {
    let table = table();
    fs::remove_file(table.path().join("2.parquet")).unwrap();
    assert!(table.error().contains("2.parquet"), "{}", table.error());
    let lake = table.open(None).unwrap();
    assert!(lake.dataset().scan().count().is_err());
    assert!(lake.dataset().scan().filter("id = 3").unwrap().count().is_err());
}

#[test]
fn a_log_without_protocol_or_metadata_is_an_error() {
    let table = Table::empty();
    let fields = [field("id", json!("long"))];
    table.commit(0, &[protocol(1, None)]);
    assert!(table.error().contains("no metadata"), "{}", table.error());
    table.commit(0, &[metadata(&fields, &[], json!({}))]);
    assert!(table.error().contains("no protocol"), "{}", table.error());
    table.commit(0, &[protocol(1, None), metadata(&fields, &["absent"], json!({}))]);
    assert!(table.error().contains("\"absent\""), "{}", table.error());
    table.commit(0, &[protocol(1, None), metadata(&[field("id", json!("geometry"))], &[], json!({}))]);
    assert!(table.error().contains("geometry") && table.error().contains("\"id\""), "{}", table.error());
    let mode = json!({ "delta.columnMapping.mode": "name" });
    table.commit(0, &[protocol(2, None), metadata(&fields, &[], mode)]);
    assert!(table.error().contains("physical name"), "{}", table.error());
}

#[test]
fn a_file_with_two_deletion_vectors_and_a_wrong_partition_value_are_errors() {
    let table = Table::empty();
    let fields = [field("id", json!("long")), field("text", json!("integer"))];
    table.commit(0, &[protocol(3, Some(&["deletionVectors"])), metadata(&fields, &["text"], json!({}))]);
    let add = table.file("one.parquet", &[(1, "x")]);
    let mut twice = add.clone();
    twice["add"]["deletionVector"] =
        json!({ "storageType": "i", "pathOrInlineDv": "00000", "sizeInBytes": 4, "cardinality": 1 });
    table.commit(1, std::slice::from_ref(&add));
    table.commit(2, &[twice]);
    assert!(table.error().contains("one.parquet twice"), "{}", table.error());
    let mut wrong = add.clone();
    wrong["add"]["partitionValues"] = json!({ "text": "seven" });
    table.commit(2, &[remove(&add), wrong]);
    assert!(table.error().contains("partition column \"text\""), "{}", table.error());
}
