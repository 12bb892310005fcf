//! Reads manifest lists.

use super::{ManifestContent, ManifestFile, PartitionSummary};
use crate::avro::{AvroType, Container, Cursor, Record};
use crate::error::{Error, Result};

const LIST: &str = "manifest list";

/// Reads a manifest list.
///
/// # Errors
/// [`Error::Corrupt`] and [`Error::Unsupported`].
pub fn read_manifest_list(bytes: &[u8]) -> Result<Vec<ManifestFile>> {
    let mut manifests = Vec::new();
    Container::open(bytes, LIST)?.records(|cursor, record| {
        manifests.push(read_manifest_file(cursor, record)?);
        Ok::<_, Error>(())
    })?;
    Ok(manifests)
}

fn read_manifest_file(cursor: &mut Cursor<'_>, record: &Record) -> Result<ManifestFile> {
    let mut file = ManifestFile::inline("");
    let mut has_path = false;
    for field in &record.fields {
        let avro = &field.avro;
        match field.id.unwrap_or_else(|| field_id(&field.name)) {
            500 => {
                file.manifest_path = cursor.text(avro)?;
                has_path = true;
            }
            501 => file.manifest_length = cursor.count(avro)?,
            502 => file.partition_spec_id = cursor.int(avro)?,
            517 => {
                file.content = match cursor.int_if_any(avro)?.unwrap_or(0) {
                    0 => ManifestContent::Data,
                    1 => ManifestContent::Deletes,
                    other => return Err(cursor.error(format!("a manifest has the content {other}"))),
                };
            }
            515 => file.sequence_number = cursor.long_if_any(avro)?.unwrap_or(0),
            516 => file.min_sequence_number = cursor.long_if_any(avro)?.unwrap_or(0),
            503 => file.added_snapshot_id = cursor.long_if_any(avro)?.unwrap_or(0),
            504 => file.added_files = read_count(cursor, avro)?,
            505 => file.existing_files = read_count(cursor, avro)?,
            506 => file.deleted_files = read_count(cursor, avro)?,
            512 => file.added_rows = read_count(cursor, avro)?,
            513 => file.existing_rows = read_count(cursor, avro)?,
            514 => file.deleted_rows = read_count(cursor, avro)?,
            507 => cursor.items(avro, |cursor, item| {
                let Some(record) = cursor.record_if_any(item)? else {
                    return Err(cursor.error("a summary of partitions is null"));
                };
                file.partitions.push(read_summary(cursor, record)?);
                Ok(())
            })?,
            519 => file.key_metadata = cursor.bytes_if_any(avro)?.map(<[u8]>::to_vec),
            520 => file.first_row_id = cursor.long_if_any(avro)?,
            _ => cursor.skip(avro)?,
        }
    }
    if !has_path {
        return Err(cursor.error("a manifest has no location"));
    }
    Ok(file)
}

/// A count; writers that do not know one say null or -1.
fn read_count(cursor: &mut Cursor<'_>, avro: &AvroType) -> Result<Option<u64>> {
    Ok(cursor.long_if_any(avro)?.and_then(|count| u64::try_from(count).ok()))
}

fn read_summary(cursor: &mut Cursor<'_>, record: &Record) -> Result<PartitionSummary> {
    let mut summary = PartitionSummary::default();
    for field in &record.fields {
        let avro = &field.avro;
        match field.id.unwrap_or_else(|| field_id(&field.name)) {
            // Without a value, a null is possible.
            509 => summary.contains_null = cursor.boolean_if_any(avro)?.unwrap_or(true),
            518 => summary.contains_nan = cursor.boolean_if_any(avro)?,
            510 => summary.lower_bound = cursor.bytes_if_any(avro)?.map(<[u8]>::to_vec),
            511 => summary.upper_bound = cursor.bytes_if_any(avro)?.map(<[u8]>::to_vec),
            _ => cursor.skip(avro)?,
        }
    }
    Ok(summary)
}

/// The number of a field that a writer left out; -1 for others.
fn field_id(name: &str) -> i32 {
    match name {
        "manifest_path" => 500,
        "manifest_length" => 501,
        "partition_spec_id" => 502,
        "content" => 517,
        "sequence_number" => 515,
        "min_sequence_number" => 516,
        "added_snapshot_id" => 503,
        "added_files_count" | "added_data_files_count" => 504,
        "existing_files_count" | "existing_data_files_count" => 505,
        "deleted_files_count" | "deleted_data_files_count" => 506,
        "added_rows_count" => 512,
        "existing_rows_count" => 513,
        "deleted_rows_count" => 514,
        "partitions" => 507,
        "contains_null" => 509,
        "contains_nan" => 518,
        "lower_bound" => 510,
        "upper_bound" => 511,
        "key_metadata" => 519,
        "first_row_id" => 520,
        _ => -1,
    }
}
