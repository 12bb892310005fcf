//! Makes tables of Delta Lake by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_cast::display::array_value_to_string;
use lath_lake::{At, Lake, LakeOptions, Result, open};
use lath_parquet::{DeleteMask, Scan};
use lath_writer::{ParquetWriter, WriteOptions};
use serde_json::{Value, json};

/// A table in a temporary folder.
pub(crate) struct Table {
    folder: tempfile::TempDir,
}

impl Table {
    /// A table without a log.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("_delta_log")).unwrap();
        Self { folder }
    }

    /// Version 0, with the columns `id` and `text`, partitioned by `partitions`.
    pub(crate) fn new(partitions: &[&str]) -> Self {
        let table = Self::empty();
        let fields = [field("id", json!("long")), field("text", json!("string"))];
        table.commit(0, &[protocol(1, None), metadata(&fields, partitions, json!({}))]);
        table
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.path().join("_delta_log").join(name)
    }

    /// Writes the commit of a version, with an action on each line.
    pub(crate) fn commit(&self, version: u64, actions: &[Value]) {
        self.write_log(&format!("{version:020}.json"), actions);
    }

    /// Writes a file of the log with an action on each line.
    pub(crate) fn write_log(&self, name: &str, actions: &[Value]) {
        let text: String = actions.iter().map(|action| format!("{action}\n")).collect();
        fs::write(self.log(name), text).unwrap();
    }

    /// Writes a file with rows of `id` and `text`, and returns its `add`.
    pub(crate) fn file(&self, name: &str, rows: &[(i64, &str)]) -> Value {
        let ids: ArrayRef = Arc::new(rows.iter().map(|(id, _)| *id).collect::<Int64Array>());
        let texts: ArrayRef = Arc::new(rows.iter().map(|(_, text)| Some(*text)).collect::<StringArray>());
        self.batch(name, &RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap())
    }

    /// Writes a file with the rows of a batch, and returns its `add`.
    pub(crate) fn batch(&self, name: &str, batch: &RecordBatch) -> Value {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, batch);
        let len = fs::metadata(&path).unwrap().len();
        json!({ "add": { "path": name, "partitionValues": {}, "size": len, "modificationTime": 0, "dataChange": true } })
    }

    pub(crate) fn open(&self, at: Option<At>) -> Result<Lake> {
        let options = at.into_iter().fold(LakeOptions::new(), LakeOptions::at);
        open(self.path().to_str().unwrap(), &options)
    }

    /// The rows of a version, sorted, as texts with a space between values.
    pub(crate) fn rows(&self, version: Option<i64>) -> Result<Vec<String>> {
        rows(self.open(version.map(At::Version))?.dataset().scan())
    }

    /// The text of the error of reading the latest version.
    pub(crate) fn error(&self) -> String {
        self.rows(None).unwrap_err().to_string()
    }
}

/// The rows of a scan, sorted, as texts with a space between values.
pub(crate) fn rows(scan: Scan) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    for batch in scan.build()? {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let value = |column: &ArrayRef| match column.is_null(row) {
                true => "-".to_owned(),
                false => array_value_to_string(column, row).unwrap(),
            };
            rows.push(batch.columns().iter().map(value).collect::<Vec<_>>().join(" "));
        }
    }
    rows.sort();
    Ok(rows)
}

/// Writes a Parquet file.
pub(crate) fn write(path: &Path, batch: &RecordBatch) {
    let mut writer = ParquetWriter::create(path, &batch.schema(), WriteOptions::default()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

pub(crate) fn protocol(reader: i32, features: Option<&[&str]>) -> Value {
    let mut protocol = json!({ "minReaderVersion": reader, "minWriterVersion": if reader == 3 { 7 } else { 2 } });
    if let Some(features) = features {
        protocol["readerFeatures"] = json!(features);
        protocol["writerFeatures"] = json!(features);
    }
    json!({ "protocol": protocol })
}

pub(crate) fn metadata(fields: &[Value], partitions: &[&str], configuration: Value) -> Value {
    let schema = json!({ "type": "struct", "fields": fields }).to_string();
    json!({ "metaData": {
        "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9", "format": { "provider": "parquet", "options": {} },
        "schemaString": schema, "partitionColumns": partitions, "configuration": configuration, "createdTime": 0
    } })
}

pub(crate) fn field(name: &str, data_type: Value) -> Value {
    json!({ "name": name, "type": data_type, "nullable": true, "metadata": {} })
}

/// A field with a physical name and an ID.
pub(crate) fn mapped(name: &str, data_type: Value, physical: &str, id: i32) -> Value {
    json!({ "name": name, "type": data_type, "nullable": true, "metadata": {
        "delta.columnMapping.id": id, "delta.columnMapping.physicalName": physical
    } })
}

/// `add` with partition values.
pub(crate) fn in_partition(mut add: Value, values: Value) -> Value {
    add["add"]["partitionValues"] = values;
    add
}

/// `add` with a deletion vector.
pub(crate) fn with_vector(mut add: Value, vector: &Value) -> Value {
    add["add"]["deletionVector"] = vector.clone();
    add
}

/// The `remove` of a file that was added.
pub(crate) fn remove(add: &Value) -> Value {
    let mut remove = json!({ "path": add["add"]["path"], "deletionTimestamp": 1, "dataChange": true });
    if let Some(vector) = add["add"].get("deletionVector") {
        remove["deletionVector"] = vector.clone();
    }
    json!({ "remove": remove })
}

/// The bytes of a deletion vector: its magic number, and a Roaring bitmap of 64 bits.
pub(crate) fn vector_bytes(rows: &[u64]) -> Vec<u8> {
    let mask: DeleteMask = rows.iter().copied().collect();
    [&1_681_511_377u32.to_le_bytes()[..], &mask.to_bytes()].concat()
}

/// The bytes of a file of vectors, and the offset of each.
pub(crate) fn vector_file(vectors: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>) {
    let (mut bytes, mut offsets) = (vec![1], Vec::new());
    for vector in vectors {
        offsets.push(bytes.len() as u64);
        bytes.extend((vector.len() as u32).to_be_bytes());
        bytes.extend(vector);
        bytes.extend(crc32fast::hash(vector).to_be_bytes());
    }
    (bytes, offsets)
}

/// Bytes, of which there are a multiple of four, as Z85.
pub(crate) fn z85(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 85] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    let mut text = String::new();
    for group in bytes.chunks(4) {
        let value = u32::from_be_bytes(group.try_into().unwrap());
        let digits = (0..5).rev().map(|power| char::from(DIGITS[(value / 85u32.pow(power) % 85) as usize]));
        text.extend(digits);
    }
    text
}
