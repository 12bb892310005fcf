//! Tables in format 4: without checksums of files, and with float keys by their bits.

use std::path::Path;

use lath_store::{RecordReader, Store};

/// Bytes of a record's checksum.
const CHECKSUM: usize = 4;

/// A record without its last field, a number of 4 bytes.
fn without_last_number(record: &[u8]) -> Vec<u8> {
    with_checksum(&record[..record.len() - CHECKSUM - 4])
}

fn with_checksum(fields: &[u8]) -> Vec<u8> {
    let checksum = xxhash_rust::xxh3::xxh3_64(fields) as u32;
    [fields, &checksum.to_le_bytes()].concat()
}

/// Converts a closed table to format 4: its files lose their checksums. If `floats`, its schemas, which must have no
/// rows, encode floats by their bits.
pub(crate) fn make_old(folder: &Path, floats: bool) {
    let store = Store::open(folder.join("_table.lath")).unwrap();
    let snapshot = store.snapshot().unwrap();
    let entries = |tree: &str| -> Vec<(Vec<u8>, Vec<u8>)> {
        let Some(tree) = snapshot.tree(tree).unwrap() else { return Vec::new() };
        tree.iter().map(|entry| entry.unwrap()).map(|(key, value)| (key, value.to_vec())).collect()
    };
    let mut transaction = store.begin().unwrap();
    let files = entries("table/files");
    for (key, entry) in &files {
        transaction.tree("table/files").unwrap().put(key, &without_last_number(entry)).unwrap();
    }
    transaction.drop_tree("table/checksums").unwrap();
    for (key, record) in entries("table/meta") {
        let old = match &key[..] {
            b"state" => with_checksum(&[&4_u32.to_le_bytes(), &record[4..record.len() - CHECKSUM]].concat()),
            key if key.starts_with(b"schema/") && floats => without_last_number(&record),
            _ => continue,
        };
        RecordReader::new("a record of format 4", &old).unwrap();
        transaction.tree("table/meta").unwrap().put(&key, &old).unwrap();
    }
    transaction.commit().unwrap();
}
