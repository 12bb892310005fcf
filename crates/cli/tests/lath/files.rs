//! Files written for a test, and what the `parquet` crate reads from files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::WriterProperties;

/// All rows of a file, as the `parquet` crate reads them.
pub(crate) fn oracle(path: impl AsRef<Path>) -> RecordBatch {
    read(Bytes::from(std::fs::read(path).unwrap()))
}

/// All rows of a file in memory, as the `parquet` crate reads them.
pub(crate) fn read(bytes: Bytes) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let schema = builder.schema().clone();
    let batches: Vec<RecordBatch> = builder.build().unwrap().collect::<Result<_, _>>().unwrap();
    concat_batches(&schema, &batches).unwrap()
}

/// Writes `rows` in row groups of `group` rows.
pub(crate) fn write(path: &Path, rows: &RecordBatch, group: usize) -> PathBuf {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(group.div_ceil(4))
        .set_write_batch_size(64)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    path.to_owned()
}

/// Rows with the numbers of `ids` and a text for each.
pub(crate) fn numbered(ids: std::ops::Range<i64>) -> RecordBatch {
    let names: StringArray = ids.clone().map(|id| (id % 7 != 3).then(|| format!("name {}", id % 10))).collect();
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("name", Arc::new(names), true)]).unwrap()
}

/// The bytes of a file with the first page header of row group 1 overwritten.
pub(crate) fn broken(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.clone())).unwrap();
    let start = metadata.row_group(1).column(0).byte_range().0 as usize;
    bytes[start..start + 16].fill(0xff);
    bytes
}

/// The rows with every string as offsets, so that layouts do not matter.
pub(crate) fn plain(rows: &RecordBatch) -> RecordBatch {
    let columns: Vec<_> = rows
        .schema()
        .fields()
        .iter()
        .zip(rows.columns())
        .map(|(field, column)| {
            let data_type = plain_type(column.data_type());
            (field.name().clone(), cast(column, &data_type).unwrap())
        })
        .collect();
    RecordBatch::try_from_iter(columns).unwrap()
}

fn plain_type(data_type: &DataType) -> DataType {
    let child = |field: &Arc<Field>| Arc::new(Field::new(field.name(), plain_type(field.data_type()), true));
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect()),
        DataType::List(field) => DataType::List(child(field)),
        other => other.clone(),
    }
}

/// Relative paths of all files whose names end so.
pub(crate) fn files_below(root: &Path, ending: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_str().unwrap().ends_with(ending) {
                names.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    names.sort();
    names
}
