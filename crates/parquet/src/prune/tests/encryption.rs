//! Encrypted files: evidence that can be decrypted is used, the rest rules nothing out.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::encryption::encrypt::FileEncryptionProperties;
use parquet::file::properties::WriterProperties;

use super::{bound, check};
use crate::{DecryptionKeys, OpenOptions, ParquetFile};

const FOOTER_KEY: &[u8] = b"0123456789012345";
const COLUMN_KEY: &[u8] = b"01234567890123456789012345678901";

/// A file whose column `s` is encrypted, and `n` with it unless `only_text`.
fn written(only_text: bool, plaintext_footer: bool) -> ParquetFile {
    let columns: [(&str, ArrayRef); 2] = [
        ("n", Arc::new(Int64Array::from_iter_values(0..4000))),
        ("s", Arc::new(StringArray::from_iter_values((0..4000).map(|row| format!("text {}", row / 100))))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut encryption = FileEncryptionProperties::builder(FOOTER_KEY.to_vec())
        .with_column_key("s", COLUMN_KEY.to_vec())
        .with_plaintext_footer(plaintext_footer);
    if !only_text {
        encryption = encryption.with_column_key("n", COLUMN_KEY.to_vec());
    }
    let properties = WriterProperties::builder()
        .set_column_dictionary_enabled("n".into(), false)
        .set_data_page_row_count_limit(200)
        .set_write_batch_size(100)
        .set_max_row_group_row_count(Some(2000))
        .with_file_encryption_properties(encryption.build().unwrap())
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let keys = DecryptionKeys::new(FOOTER_KEY).column_key("s", COLUMN_KEY).column_key("n", COLUMN_KEY);
    OpenOptions::new().decryption(keys).from_bytes(bytes.into()).unwrap()
}

#[test]
fn indexes_and_dictionaries_are_decrypted() {
    for (only_text, plaintext_footer) in [(false, false), (false, true), (true, false), (true, true)] {
        let file = written(only_text, plaintext_footer);
        for text in ["n = 77", "s = 'text 3'", "n BETWEEN 150 AND 450 AND s <> 'text 2'", "s = 'text 20x'"] {
            let report = check(&file, &bound(&file, text), &(text, only_text, plaintext_footer));
            assert!(report.page_index.rows > 0, "{text} {report:?}");
        }
        let report = check(&file, &bound(&file, "s = 'text 20x'"), &"dictionary");
        assert!(report.dictionary.row_groups > 0, "{report:?}");
    }
}
