//! Checkpoints: Parquet files of actions, each in its own column.

use std::path::Path;
use std::sync::Arc;

use arrow_json::{LineDelimitedWriter, ReaderBuilder};
use arrow_schema::{DataType, Field, Fields, Schema};
use lath_parquet::ParquetFile;
use lath_writer::{ParquetWriter, WriteOptions};
use serde_json::Value;

use crate::error::{Error, Result};

/// The bytes of a checkpoint with these actions.
pub(super) fn to_bytes(actions: &[Value]) -> Result<Vec<u8>> {
    let schema = Arc::new(schema());
    let mut decoder = ReaderBuilder::new(Arc::clone(&schema)).with_batch_size(actions.len().max(1)).build_decoder()?;
    decoder.serialize(actions)?;
    let mut bytes = Vec::new();
    let mut writer = ParquetWriter::new(&mut bytes, &schema, WriteOptions::default())?;
    if let Some(batch) = decoder.flush()? {
        writer.write(&batch)?;
    }
    writer.finish()?;
    Ok(bytes)
}

/// The actions of the checkpoint with these bytes. Errors name its path.
pub(super) fn read(bytes: Vec<u8>, path: &Path) -> Result<Vec<Value>> {
    let located = |error: lath_parquet::Error| {
        error.locate(|at| {
            at.file.get_or_insert_with(|| path.to_string_lossy().into());
        })
    };
    let mut lines = LineDelimitedWriter::new(Vec::new());
    let file = ParquetFile::from_bytes(bytes.into()).map_err(located)?;
    for batch in file.scan().build().map_err(located)? {
        lines.write(&batch.map_err(located)?)?;
    }
    lines.finish()?;
    let parse = |line: &[u8]| {
        serde_json::from_slice(line).map_err(|error| Error::corrupt(format!("{}: {error}", path.display())))
    };
    lines.into_inner().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(parse).collect()
}

fn schema() -> Schema {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let long = |name: &str| Field::new(name, DataType::Int64, true);
    let int = |name: &str| Field::new(name, DataType::Int32, true);
    let flag = |name: &str| Field::new(name, DataType::Boolean, true);
    let group = |name: &str, fields: Vec<Field>| Field::new(name, DataType::Struct(Fields::from(fields)), true);
    let texts =
        |name: &str| Field::new(name, DataType::List(Arc::new(Field::new("element", DataType::Utf8, true))), true);
    let map = |name: &str| {
        let entries = Fields::from(vec![Field::new("key", DataType::Utf8, false), text("value")]);
        Field::new(
            name,
            DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entries), false)), false),
            true,
        )
    };
    let vector = || {
        let fields =
            vec![text("storageType"), text("pathOrInlineDv"), int("offset"), int("sizeInBytes"), long("cardinality")];
        group("deletionVector", fields)
    };
    Schema::new(vec![
        group("txn", vec![text("appId"), long("version"), long("lastUpdated")]),
        group(
            "add",
            vec![
                text("path"),
                map("partitionValues"),
                long("size"),
                long("modificationTime"),
                flag("dataChange"),
                text("stats"),
                vector(),
            ],
        ),
        group(
            "remove",
            vec![
                text("path"),
                long("deletionTimestamp"),
                flag("dataChange"),
                flag("extendedFileMetadata"),
                map("partitionValues"),
                long("size"),
                vector(),
            ],
        ),
        group(
            "metaData",
            vec![
                text("id"),
                text("name"),
                text("description"),
                group("format", vec![text("provider"), map("options")]),
                text("schemaString"),
                texts("partitionColumns"),
                map("configuration"),
                long("createdTime"),
            ],
        ),
        group(
            "protocol",
            vec![int("minReaderVersion"), int("minWriterVersion"), texts("readerFeatures"), texts("writerFeatures")],
        ),
    ])
}
