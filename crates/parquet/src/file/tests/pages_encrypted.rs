use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::encryption::encrypt::FileEncryptionProperties;
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::error::Error;
use crate::page::{Page, PageOptions, PageReader};
use crate::{DecryptionKeys, Limits, OpenOptions, ParquetFile, Result};

const FOOTER_KEY: &[u8] = b"0123456789012345";
const COLUMN_KEY: &[u8] = b"01234567890123456789012345678901";

/// A file of two row groups, a column with a dictionary and one without, in several pages each.
fn written(encryption: Option<Arc<FileEncryptionProperties>>, version: WriterVersion) -> Bytes {
    let columns: [(&str, ArrayRef); 2] = [
        ("number", Arc::new(Int64Array::from_iter_values(0..4000))),
        ("text", Arc::new(StringArray::from_iter_values((0..4000).map(|row| format!("text {}", row % 50))))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let mut properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(parquet::basic::Compression::SNAPPY)
        .set_column_dictionary_enabled("number".into(), false)
        .set_data_page_row_count_limit(500)
        .set_write_batch_size(100)
        .set_max_row_group_row_count(Some(2500));
    if let Some(encryption) = encryption {
        properties = properties.with_file_encryption_properties(encryption);
    }
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties.build())).expect("a writer");
    writer.write(&batch).expect("a batch that can be written");
    writer.close().expect("a file that can be finished");
    Bytes::from(file)
}

fn keys() -> DecryptionKeys {
    DecryptionKeys::new(FOOTER_KEY).column_key("text", COLUMN_KEY)
}

fn open(file: Bytes, keys: DecryptionKeys) -> Result<ParquetFile> {
    OpenOptions::new().decryption(keys).from_bytes(file)
}

fn pages(file: &ParquetFile, row_group: usize, column: usize) -> Result<Vec<Page>> {
    let options = PageOptions { verify_crc: true, limits: Limits::default() };
    let mut reader = PageReader::new(Arc::clone(file.source()), file.chunk_spec(row_group, column)?, options)?;
    std::iter::from_fn(|| reader.next_page().transpose()).collect()
}

/// Kind, number of values and bytes of each page.
fn contents(pages: &[Page]) -> Vec<(bool, usize, &[u8])> {
    let contents = pages.iter().map(|page| match page {
        Page::Dictionary(page) => (true, page.value_count, page.values.as_slice()),
        Page::Data(page) => (false, page.value_count, page.values.as_slice()),
    });
    contents.collect()
}

#[test]
fn decrypted_pages_are_those_of_the_file_that_is_not_encrypted() {
    let footer = || FileEncryptionProperties::builder(FOOTER_KEY.to_vec());
    let column = || footer().with_column_key("text", COLUMN_KEY.to_vec());
    let uniform = || DecryptionKeys::new(FOOTER_KEY);
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let plain = ParquetFile::from_bytes(written(None, version)).expect("a sound file");
        for (properties, keys) in [
            (footer(), uniform()),
            (column(), keys()),
            (column().with_plaintext_footer(true), keys()),
            (footer().with_aad_prefix(b"prefix".to_vec()).with_aad_prefix_storage(true), uniform()),
            (
                footer().with_aad_prefix(b"prefix".to_vec()).with_aad_prefix_storage(false),
                uniform().aad_prefix(b"prefix"),
            ),
        ] {
            let file = written(Some(properties.build().expect("sound properties")), version);
            let file = open(file, keys).expect("a sound file");
            for (row_group, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let (ours, expected) = (pages(&file, row_group, column), pages(&plain, row_group, column));
                let (ours, expected) = (ours.expect("sound pages"), expected.expect("sound pages"));
                assert!(expected.len() > 2);
                assert_eq!(contents(&ours), contents(&expected));
            }
        }
    }
}

#[test]
fn keys_that_are_missing_or_wrong_are_told_apart_from_sound_pages() {
    let encrypted = FileEncryptionProperties::builder(FOOTER_KEY.to_vec())
        .with_column_key("text", COLUMN_KEY.to_vec())
        .with_plaintext_footer(true)
        .build()
        .expect("sound properties");
    let file = written(Some(encrypted), WriterVersion::PARQUET_1_0);
    // Metadata of the column is encrypted too, so that the file may be refused as a whole.
    let read = |keys| open(file.clone(), keys).and_then(|file| pages(&file, 0, 1));
    let missing = read(DecryptionKeys::new(FOOTER_KEY));
    assert!(matches!(missing, Err(Error::Encrypted { what, .. }) if what == "column text"));
    let wrong = read(DecryptionKeys::new(FOOTER_KEY).column_key("text", [7; 32]));
    assert!(matches!(wrong, Err(Error::Corrupt { what, .. }) if what.contains("decrypt")));
    let unopened = ParquetFile::from_bytes(file).and_then(|file| pages(&file, 0, 1));
    assert!(matches!(unopened, Err(Error::Encrypted { .. })));
}

#[test]
fn a_changed_byte_in_any_page_is_found() {
    let encrypted = FileEncryptionProperties::builder(FOOTER_KEY.to_vec()).build().expect("sound properties");
    let file = written(Some(encrypted), WriterVersion::PARQUET_2_0);
    let opened = open(file.clone(), DecryptionKeys::new(FOOTER_KEY)).expect("a sound file");
    let chunk = opened.chunk_spec(0, 1).expect("a sound chunk");
    for position in (chunk.start..chunk.start + chunk.len).step_by(7) {
        let mut changed = file.to_vec();
        changed[position as usize] ^= 0x10;
        let changed = open(Bytes::from(changed), DecryptionKeys::new(FOOTER_KEY)).expect("a sound footer");
        let error = pages(&changed, 0, 1).expect_err("a changed page");
        assert!(error.location().is_some_and(|at| at.page.is_some() && at.offset.is_some()), "{error}");
    }
}
