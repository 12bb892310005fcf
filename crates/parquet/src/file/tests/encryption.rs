use std::path::PathBuf;

use crate::error::Error;
use crate::file::{DecryptionKeys, OpenOptions, ParquetFile};
use crate::schema::Projection;

const FOOTER_KEY: &[u8; 16] = b"0123456789012345";
const COLUMN_KEYS: [(&str, &[u8; 16]); 2] =
    [("double_field", b"1234567890123450"), ("float_field", b"1234567890123451")];

fn keys() -> DecryptionKeys {
    COLUMN_KEYS.iter().fold(DecryptionKeys::new(*FOOTER_KEY), |keys, (path, key)| keys.column_key(*path, **key))
}

fn keys_of_32_bytes() -> DecryptionKeys {
    let footer: Vec<u8> = b"0123456789".iter().copied().cycle().take(32).collect();
    let fields = [
        "double_field",
        "float_field",
        "boolean_field",
        "int32_field",
        "ba_field",
        "flba_field",
        "int64_field.list.element",
        "int96_field",
    ];
    fields.into_iter().zip(b'2'..).fold(DecryptionKeys::new(footer), |keys, (path, last)| {
        let mut key: Vec<u8> = b"1234567890".iter().copied().cycle().take(31).collect();
        key.push(last);
        keys.column_key(path, key)
    })
}

fn data(name: &str) -> Option<PathBuf> {
    Some(lath_testkit::parquet_test_data()?.join("data").join(name))
}

fn open(name: &str, keys: DecryptionKeys) -> Option<Result<ParquetFile, Error>> {
    Some(OpenOptions::new().decryption(keys).open(data(name)?))
}

#[test]
fn files_with_encrypted_footers_open_with_their_keys() {
    let plain = ["encrypt_columns_and_footer", "uniform_encryption", "encrypt_columns_plaintext_footer"];
    for name in plain {
        for (folder, keys) in [("", keys()), ("aes256/", keys_of_32_bytes())] {
            let Some(file) = open(&format!("{folder}{name}.parquet.encrypted"), keys) else { return };
            let file = file.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(file.row_count(), 50);
            assert_eq!(file.plan(None, None).unwrap().chunks.len(), 8);
            file.page_index().unwrap();
        }
    }
}

#[test]
fn an_aad_prefix_that_the_file_does_not_hold_has_to_be_given() {
    let name = "encrypt_columns_and_footer_disable_aad_storage.parquet.encrypted";
    let Some(file) = open(name, keys().aad_prefix("tester")) else { return };
    assert_eq!(file.unwrap().row_count(), 50);
    let Some(refused) = open(name, keys()) else { return };
    assert!(refused.unwrap_err().to_string().contains("AAD prefix"));
}

#[test]
fn a_retriever_is_asked_with_the_key_metadata_of_the_file() {
    let retriever = DecryptionKeys::from_retriever(|metadata| match metadata {
        b"kf" => Ok(FOOTER_KEY.to_vec()),
        b"kc1" => Ok(COLUMN_KEYS[0].1.to_vec()),
        b"kc2" => Ok(COLUMN_KEYS[1].1.to_vec()),
        other => Err(format!("no key {other:?}").into()),
    });
    let Some(file) = open("encrypt_columns_and_footer.parquet.encrypted", retriever) else { return };
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(file.plan(None, None).unwrap().chunks.len(), 8);
}

#[test]
fn missing_and_wrong_keys_are_told_apart_from_damage() {
    let Some(path) = data("encrypt_columns_and_footer.parquet.encrypted") else { return };
    let error = ParquetFile::open(&path).unwrap_err();
    assert!(matches!(&error, Error::Encrypted { what, .. } if what == "the footer"), "{error}");
    let wrong = OpenOptions::new().decryption(DecryptionKeys::new(*b"5432109876543210")).open(&path).unwrap_err();
    assert!(wrong.to_string().contains("decrypt"), "{wrong}");
    let short = OpenOptions::new().decryption(DecryptionKeys::new("short")).open(&path).unwrap_err();
    assert!(short.to_string().contains("key"), "{short}");
}

#[test]
fn columns_that_are_not_encrypted_need_no_keys() {
    let Some(path) = data("encrypt_columns_plaintext_footer.parquet.encrypted") else { return };
    let file = ParquetFile::open(path).unwrap();
    let readable = file.plan(Some(&Projection::from_paths(["int32_field"])), None).unwrap();
    assert_eq!(readable.chunks.len(), 1);
    let error = file.plan(Some(&Projection::from_paths(["double_field"])), None).unwrap_err();
    assert!(matches!(&error, Error::Encrypted { what, .. } if what == "column double_field"), "{error}");
    assert_eq!(error.location().unwrap().column.as_deref(), Some("double_field"));
}

#[test]
fn the_page_index_leaves_out_columns_whose_key_was_not_given() {
    let name = "encrypt_columns_plaintext_footer.parquet.encrypted";
    let some_keys = || DecryptionKeys::new(*FOOTER_KEY).column_key(COLUMN_KEYS[0].0, *COLUMN_KEYS[0].1);
    for (keys, locked) in [(None, 2), (Some(some_keys()), 1), (Some(keys()), 0)] {
        let Some(path) = data(name) else { return };
        let options = OpenOptions::new();
        let file = match keys {
            Some(keys) => options.decryption(keys).open(path).unwrap(),
            None => options.open(path).unwrap(),
        };
        let (metadata, indexes) = (file.metadata(), file.page_index().unwrap());
        let without_pages: Vec<usize> = (0..8).filter(|&column| indexes.offset_index(0, column).is_none()).collect();
        let is_locked = |column: &usize| metadata.chunk(0, *column).unwrap().is_encrypted();
        assert!(without_pages.iter().all(is_locked) && without_pages.len() == locked, "{without_pages:?}");
        for column in without_pages {
            assert!(indexes.column_index(0, column).is_none());
            assert!(metadata.chunk(0, column).unwrap().offset_index().is_some());
        }
    }
}

#[test]
fn keys_are_not_shown() {
    let shown = format!("{:?}", keys());
    assert!(shown.contains("double_field"), "{shown}");
    assert!(!shown.contains("48") && !shown.contains("0123"), "{shown}");
}
