//! Encrypted files read back unchanged with their keys, by Lath and by the `parquet` crate, and not at all without.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use lath_parquet::{DecryptionKeys, Error, OpenOptions, ParquetFile};
use lath_testkit::Seeded;
use lath_testkit::equality::same_values;
use lath_testkit::random::{SchemaShape, record_batch, schema};
use lath_writer::{ColumnOptions, EncryptionKeys, ParquetWriter, Profile, WriteOptions};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::encryption::decrypt::FileDecryptionProperties;

use crate::check::has_alp;
use crate::reading::{collect, read_with_crate};
use crate::writing::{Choices, write};

const FOOTER_KEY: &[u8; 32] = b"0123456789abcdef0123456789abcdef";
const COLUMN_KEY: &[u8; 16] = b"1234567890123450";

struct SavedFile {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl SavedFile {
    fn new(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("encrypted.parquet");
        std::fs::write(&path, bytes).unwrap();
        Self { _folder: folder, path }
    }

    fn open(&self, keys: DecryptionKeys) -> Result<ParquetFile, Error> {
        OpenOptions::new().decryption(keys).open(&self.path)
    }
}

/// Keys for some of the columns at `paths`, and their choices for the footer and the prefix.
struct RandomKeys {
    write: EncryptionKeys,
    read: DecryptionKeys,
    crate_keys: Arc<FileDecryptionProperties>,
    /// The first part of the path of each column without encryption, if readers without keys can open the file.
    readable: Option<Vec<String>>,
}

impl RandomKeys {
    fn new(random: &mut fastrand::Rng, paths: &[String]) -> Self {
        let mut write = EncryptionKeys::new(*FOOTER_KEY);
        let mut theirs = FileDecryptionProperties::builder(FOOTER_KEY.to_vec());
        let mut plain = Vec::new();
        for path in paths {
            match random.usize(..4) {
                0 => {
                    write = write.column_key(path.clone(), *COLUMN_KEY);
                    theirs = theirs.with_column_key(path, COLUMN_KEY.to_vec());
                }
                1 => {
                    write = write.plaintext_column(path.clone());
                    plain.push(path.clone());
                }
                _ => {}
            }
        }
        let has_plaintext_footer = random.bool();
        write = write.plaintext_footer(has_plaintext_footer);
        if random.bool() {
            let stored = random.bool();
            write = write.aad_prefix(*b"orders", stored);
            theirs = theirs.with_aad_prefix(b"orders".to_vec());
        }
        let read = write.decryption_keys();
        let readable = has_plaintext_footer.then_some(plain);
        Self { write, read, crate_keys: theirs.build().unwrap(), readable }
    }
}

fn leaf_paths(schema: &SchemaRef) -> Vec<String> {
    let descr = lath_writer::parquet_schema(schema).unwrap();
    descr.columns().iter().map(|column| column.path().string()).collect()
}

#[test]
fn random_data_reads_back_with_its_keys() {
    let mut random = Seeded::new("random_data_reads_back_with_its_keys");
    for case in 0..60 {
        let seed = random.u64(..);
        let mut choices = fastrand::Rng::with_seed(seed);
        let schema = schema(&mut choices, SchemaShape { fields: 5, depth: 3 });
        let batches: Vec<_> = (0..choices.usize(..3)).map(|_| record_batch(&mut choices, &schema, 400)).collect();
        let mut paths = leaf_paths(&schema);
        paths.sort();
        paths.dedup();
        let keys = RandomKeys::new(&mut choices, &paths);
        let options = Choices::random(&mut choices).options(&schema).encryption(keys.write.clone());
        let at = format!("case {case} with seed {seed:#x}: {options:?}\n{schema:#?}");
        let (bytes, summary) = write(&schema, &batches, options).unwrap_or_else(|error| panic!("{error}\n{at}"));
        assert_eq!(summary.bytes, bytes.len() as u64);
        let stored = SavedFile::new(&bytes);
        let file = stored.open(keys.read.clone()).unwrap_or_else(|error| panic!("{error}\n{at}"));
        file.page_index().unwrap_or_else(|error| panic!("{error}\n{at}"));
        let own = file.scan().build().and_then(collect).unwrap_or_else(|error| panic!("{error}\n{at}"));
        same_values((&schema, &batches), (&own.0, &own.1)).unwrap_or_else(|what| panic!("by Lath: {what}\n{at}"));
        if !has_alp(&file) {
            let options = ArrowReaderOptions::new().with_file_decryption_properties(Arc::clone(&keys.crate_keys));
            let theirs = read_with_crate(&bytes, options, None).unwrap_or_else(|error| panic!("{error}\n{at}"));
            same_values((&schema, &batches), (&theirs.0, &theirs.1))
                .unwrap_or_else(|what| panic!("by the crate: {what}\n{at}"));
        }
        check_without_keys(&stored, &keys, &at);
    }
}

/// Without keys a file with a plaintext footer gives the columns without encryption, and other files give nothing.
fn check_without_keys(stored: &SavedFile, keys: &RandomKeys, at: &str) {
    let opened = ParquetFile::open(&stored.path);
    let Some(readable) = &keys.readable else {
        assert!(matches!(opened, Err(Error::Encrypted { .. })), "{opened:?}\n{at}");
        return;
    };
    let file = opened.unwrap_or_else(|error| panic!("{error}\n{at}"));
    // Maps and lists of structs need several of their leaves.
    for (leaf, column) in file.metadata().schema_descr().columns().iter().enumerate() {
        let path = column.path().string();
        if file.row_count() == 0 || path.contains('.') {
            continue;
        }
        let is_read = file.scan().select([path.clone()]).build().and_then(collect).is_ok();
        assert_eq!(is_read, readable.contains(&path), "column {path} ({leaf})\n{at}");
    }
}

fn orders() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_000));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..10_000).map(|id| format!("customer-{id}"))));
    RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap()
}

fn orders_with(keys: EncryptionKeys) -> Bytes {
    let batch = orders();
    let options = WriteOptions::profile(Profile::Lookup).key_columns(["id", "name"]).encryption(keys);
    let options = options.row_group_rows(4_000).all_columns(ColumnOptions::new().page_rows(500));
    write(&batch.schema(), &[batch], options).unwrap().0
}

#[test]
fn values_are_found_by_indexes_and_filters_and_are_not_in_the_bytes() {
    let keys = EncryptionKeys::new(*FOOTER_KEY).column_key("name", *COLUMN_KEY);
    let bytes = orders_with(keys.clone());
    let is_in = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!is_in("customer-") && !is_in("name") && !is_in("lath"));
    let file = SavedFile::new(&bytes).open(keys.decryption_keys()).unwrap();
    for (filter, rows) in [("id = 4711", 1), ("name = 'customer-9999'", 1), ("id = -1", 0), ("name = 'x'", 0)] {
        assert_eq!(file.scan().filter(filter).unwrap().count().unwrap(), rows, "{filter}");
    }
}

#[test]
fn every_changed_byte_is_noticed_or_harmless() {
    let keys = EncryptionKeys::new(*FOOTER_KEY);
    let bytes = orders_with(keys.clone());
    let whole = orders();
    let mut random = Seeded::new("every_changed_byte_is_noticed_or_harmless");
    for _ in 0..200 {
        let at = random.usize(..bytes.len());
        let mut changed = bytes.to_vec();
        changed[at] ^= 1 << random.u32(..8);
        let read = SavedFile::new(&changed).open(keys.decryption_keys()).and_then(|file| collect(file.scan().build()?));
        // Bloom filters are not read by a scan.
        if let Ok((schema, batches)) = read {
            same_values((&whole.schema(), std::slice::from_ref(&whole)), (&schema, &batches)).unwrap();
        }
    }
}

#[test]
fn pages_of_another_file_with_the_same_keys_are_refused() {
    let keys = EncryptionKeys::new(*FOOTER_KEY);
    let (one, other) = (orders_with(keys.clone()), orders_with(keys.clone()));
    assert_ne!(one, other);
    assert_eq!(one.len(), other.len());
    // The first page of the other file, in this one.
    let mut mixed = one.to_vec();
    mixed[4..400].copy_from_slice(&other[4..400]);
    let file = SavedFile::new(&mixed).open(keys.decryption_keys()).unwrap();
    let read = file.scan().build().and_then(collect);
    assert!(matches!(read, Err(Error::Corrupt { .. })), "{read:?}");
}

#[test]
fn keys_that_cannot_be_used_are_refused_before_writing() {
    let batch = orders();
    let refused = |keys: EncryptionKeys| {
        let writer = ParquetWriter::new(Vec::new(), &batch.schema(), WriteOptions::default().encryption(keys));
        writer.map(drop).expect_err("refused").to_string()
    };
    let good = || EncryptionKeys::new(*FOOTER_KEY);
    assert!(refused(EncryptionKeys::new(*b"short")).contains("16 or 32"));
    assert!(refused(good().column_key("name", *b"")).contains("16 or 32"));
    assert!(refused(good().column_key("nome", *COLUMN_KEY)).contains("column nome"));
    assert!(refused(good().plaintext_column("nome")).contains("column nome"));
    let both = good().plaintext_column("name").column_key("name", *COLUMN_KEY);
    assert!(refused(both).contains("without encryption"));
}

#[test]
fn row_groups_are_not_copied_into_an_encrypted_file() {
    let batch = orders();
    let (bytes, _) = write(&batch.schema(), std::slice::from_ref(&batch), WriteOptions::default()).unwrap();
    let file = ParquetFile::from_bytes(bytes).unwrap();
    let options = WriteOptions::default().encryption(EncryptionKeys::new(*FOOTER_KEY));
    let mut writer = ParquetWriter::new(Vec::new(), &batch.schema(), options).unwrap();
    assert!(matches!(writer.can_copy(&file), Err(Error::Unsupported { .. })));
    assert!(matches!(writer.copy_row_group(&file, 0), Err(Error::Unsupported { .. })));
}

#[test]
fn more_pages_than_an_encrypted_chunk_can_have_are_an_error() {
    let batch = orders();
    let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(0..32_769));
    let batch_of_pages = RecordBatch::try_from_iter([("id", rows)]).unwrap();
    let options = |keys| {
        let one_row = WriteOptions::default().all_columns(ColumnOptions::new().page_rows(1).dictionary(false));
        one_row.encryption(keys)
    };
    let keys = EncryptionKeys::new(*FOOTER_KEY);
    let error = write(&batch_of_pages.schema(), &[batch_of_pages], options(keys.clone())).unwrap_err();
    assert!(error.to_string().contains("pages in a column chunk"), "{error}");
    write(&batch.schema(), std::slice::from_ref(&batch), options(keys)).unwrap();
}

#[test]
fn options_with_keys_are_not_sent() {
    let options = WriteOptions::default().encryption(EncryptionKeys::new(*FOOTER_KEY));
    assert!(serde_json::to_string(&options).unwrap_err().to_string().contains("keys"));
}
