//! Reads manifests.

use std::io::Read;

use super::{DataFile, EntryStatus, FileContent, ManifestContent, ManifestEntry, ManifestFile};
use crate::avro::{AvroType, Container, Cursor, Record};
use crate::error::{Error, Result};

const MANIFEST: &str = "manifest";

/// Reads the entries of a manifest, with the snapshots, sequence numbers and numbers of rows that they inherit from `manifest`. Metrics and
/// bounds are kept for the fields whose numbers `has_metrics` accepts.
///
/// # Errors
/// [`Error::Corrupt`] and [`Error::Unsupported`].
pub fn read_manifest(
    bytes: &[u8],
    manifest: &ManifestFile,
    has_metrics: impl Fn(i32) -> bool,
) -> Result<Vec<ManifestEntry>> {
    let mut entries = Vec::new();
    for_each_entry(bytes, manifest, &EntryParts { has_metrics: &has_metrics, has_sizes: true }, |entry| {
        entries.push(entry);
        Ok::<_, Error>(())
    })?;
    Ok(entries)
}

/// Calls `each` with the entries of a manifest, as [`read_manifest`] returns them, but without sizes of columns, numbers of values and offsets of
/// row groups, which a reader of rows does not need. A manifest may be long: a part of it at a time is in memory.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Unsupported`] and [`Error::Io`], and errors of `each`.
pub fn visit_manifest<E: From<Error>>(
    bytes: impl Read,
    manifest: &ManifestFile,
    has_metrics: impl Fn(i32) -> bool,
    each: impl FnMut(ManifestEntry) -> Result<(), E>,
) -> Result<(), E> {
    for_each_entry(bytes, manifest, &EntryParts { has_metrics: &has_metrics, has_sizes: false }, each)
}

/// The parts of entries that are kept.
struct EntryParts<'k> {
    has_metrics: &'k dyn Fn(i32) -> bool,
    has_sizes: bool,
}

fn for_each_entry<E: From<Error>>(
    bytes: impl Read,
    manifest: &ManifestFile,
    kept: &EntryParts<'_>,
    mut each: impl FnMut(ManifestEntry) -> Result<(), E>,
) -> Result<(), E> {
    if manifest.key_metadata.is_some() {
        return Err(Error::unsupported("an encrypted manifest").into());
    }
    let mut next_row_id = manifest.first_row_id.filter(|_| manifest.content == ManifestContent::Data);
    Container::open(bytes, MANIFEST)?.records(|cursor, record| {
        let mut entry = read_entry(cursor, record, kept)?;
        let is_data = entry.data_file.content == FileContent::Data;
        if is_data != (manifest.content == ManifestContent::Data) {
            return Err(cursor.error(format!("{} is a file of another kind", entry.data_file.file_path)).into());
        }
        inherit(&mut entry, manifest, &mut next_row_id)?;
        each(entry)
    })
}

fn inherit(entry: &mut ManifestEntry, manifest: &ManifestFile, next_row_id: &mut Option<i64>) -> Result<()> {
    entry.snapshot_id.get_or_insert(manifest.added_snapshot_id);
    // Version 1 has no numbers; later, files that are not new have their own.
    if manifest.sequence_number == 0 || entry.status == EntryStatus::Added {
        entry.sequence_number.get_or_insert(manifest.sequence_number);
        entry.file_sequence_number.get_or_insert(manifest.sequence_number);
    }
    let file = &mut entry.data_file;
    if entry.sequence_number.is_none() {
        return Err(Error::corrupt(MANIFEST, format!("{} has no sequence number", file.file_path)));
    }
    if let Some(next) = next_row_id
        && entry.status != EntryStatus::Deleted
        && file.first_row_id.is_none()
    {
        file.first_row_id = Some(*next);
        let after = i64::try_from(file.record_count).ok().and_then(|rows| next.checked_add(rows));
        *next = after.ok_or_else(|| Error::corrupt(MANIFEST, "its rows have no numbers"))?;
    }
    Ok(())
}

fn read_entry(cursor: &mut Cursor<'_>, record: &Record, kept: &EntryParts<'_>) -> Result<ManifestEntry> {
    let mut status = None;
    let mut data_file = None;
    let (mut snapshot_id, mut sequence_number, mut file_sequence_number) = (None, None, None);
    for field in &record.fields {
        match field.id.unwrap_or_else(|| entry_field_id(&field.name)) {
            0 => {
                status = Some(match cursor.int(&field.avro)? {
                    0 => EntryStatus::Existing,
                    1 => EntryStatus::Added,
                    2 => EntryStatus::Deleted,
                    other => return Err(cursor.error(format!("a file has the status {other}"))),
                });
            }
            1 => snapshot_id = cursor.long_if_any(&field.avro)?,
            3 => sequence_number = cursor.long_if_any(&field.avro)?,
            4 => file_sequence_number = cursor.long_if_any(&field.avro)?,
            2 => {
                let Some(record) = cursor.record_if_any(&field.avro)? else { continue };
                data_file = Some(read_data_file(cursor, record, kept)?);
            }
            _ => cursor.skip(&field.avro)?,
        }
    }
    let status = status.ok_or_else(|| cursor.error("an entry has no status"))?;
    let data_file = data_file.ok_or_else(|| cursor.error("an entry has no file"))?;
    Ok(ManifestEntry { status, snapshot_id, sequence_number, file_sequence_number, data_file })
}

fn read_data_file(cursor: &mut Cursor<'_>, record: &Record, kept: &EntryParts<'_>) -> Result<DataFile> {
    let has_metrics = kept.has_metrics;
    let mut file = DataFile::new(FileContent::Data, "", 0, 0);
    let (mut has_path, mut has_count) = (false, false);
    for field in &record.fields {
        let avro = &field.avro;
        match field.id.unwrap_or_else(|| data_file_field_id(&field.name)) {
            134 => {
                file.content = match cursor.int_if_any(avro)?.unwrap_or(0) {
                    0 => FileContent::Data,
                    1 => FileContent::PositionDeletes,
                    2 => FileContent::EqualityDeletes,
                    other => return Err(cursor.error(format!("a file has the content {other}"))),
                };
            }
            100 => {
                file.file_path = cursor.text(avro)?;
                has_path = true;
            }
            101 => file.file_format = cursor.text(avro)?.to_ascii_uppercase(),
            102 => {
                let Some(partition) = cursor.record_if_any(avro)? else { continue };
                for (field, position) in partition.fields.iter().zip(1000..) {
                    let value = cursor.literal_if_any(&field.avro)?;
                    file.partition.push((field.id.unwrap_or(position), value));
                }
            }
            103 => {
                file.record_count = cursor.count(avro)?;
                has_count = true;
            }
            104 => file.file_size_in_bytes = cursor.count(avro)?,
            108 | 109 | 132 if !kept.has_sizes => cursor.skip(avro)?,
            108 => file.column_sizes = read_counts(cursor, avro, has_metrics)?,
            109 => file.value_counts = read_counts(cursor, avro, has_metrics)?,
            110 => file.null_value_counts = read_counts(cursor, avro, has_metrics)?,
            137 => file.nan_value_counts = read_counts(cursor, avro, has_metrics)?,
            125 => file.lower_bounds = read_bounds(cursor, avro, has_metrics)?,
            128 => file.upper_bounds = read_bounds(cursor, avro, has_metrics)?,
            131 => file.key_metadata = cursor.bytes_if_any(avro)?.map(<[u8]>::to_vec),
            132 => cursor.items(avro, |cursor, item| {
                file.split_offsets.push(cursor.long(item)?);
                Ok(())
            })?,
            135 => cursor.items(avro, |cursor, item| {
                file.equality_ids.push(cursor.int(item)?);
                Ok(())
            })?,
            140 => file.sort_order_id = cursor.int_if_any(avro)?,
            142 => file.first_row_id = cursor.long_if_any(avro)?,
            143 => file.referenced_data_file = cursor.text_if_any(avro)?,
            144 => file.content_offset = read_offset(cursor, avro)?,
            145 => file.content_size_in_bytes = read_offset(cursor, avro)?,
            _ => cursor.skip(avro)?,
        }
    }
    if !has_path || !has_count {
        return Err(cursor.error("a file has no location or no number of rows"));
    }
    Ok(file)
}

fn read_offset(cursor: &mut Cursor<'_>, avro: &AvroType) -> Result<Option<u64>> {
    let value = cursor.long_if_any(avro)?;
    value.map(|value| u64::try_from(value).map_err(|_| cursor.error(format!("{value} is not an offset")))).transpose()
}

/// Maps from numbers are arrays of records with a key and a value.
fn read_map(
    cursor: &mut Cursor<'_>,
    avro: &AvroType,
    mut read: impl FnMut(&mut Cursor<'_>, i32, &AvroType) -> Result<()>,
) -> Result<()> {
    cursor.items(avro, |cursor, item| {
        let Some(entry) = cursor.record_if_any(item)? else { return Err(cursor.error("an entry of a map is null")) };
        let [key, value] = &entry.fields[..] else {
            return Err(cursor.error("an entry of a map is not a key and a value"));
        };
        let key = cursor.int(&key.avro)?;
        read(cursor, key, &value.avro)
    })
}

fn read_counts(cursor: &mut Cursor<'_>, avro: &AvroType, is_kept: &dyn Fn(i32) -> bool) -> Result<Vec<(i32, i64)>> {
    let mut counts = Vec::new();
    read_map(cursor, avro, |cursor, key, avro| {
        let value = cursor.long_if_any(avro)?;
        counts.extend(value.filter(|_| is_kept(key)).map(|value| (key, value)));
        Ok(())
    })?;
    Ok(counts)
}

fn read_bounds(cursor: &mut Cursor<'_>, avro: &AvroType, is_kept: &dyn Fn(i32) -> bool) -> Result<Vec<(i32, Vec<u8>)>> {
    let mut bounds = Vec::new();
    read_map(cursor, avro, |cursor, key, avro| {
        let value = cursor.bytes_if_any(avro)?;
        bounds.extend(value.filter(|_| is_kept(key)).map(|value| (key, value.to_vec())));
        Ok(())
    })?;
    Ok(bounds)
}

/// The number of a field that a writer left out; -1 for others.
fn entry_field_id(name: &str) -> i32 {
    match name {
        "status" => 0,
        "snapshot_id" => 1,
        "data_file" => 2,
        "sequence_number" => 3,
        "file_sequence_number" => 4,
        _ => -1,
    }
}

fn data_file_field_id(name: &str) -> i32 {
    match name {
        "content" => 134,
        "file_path" => 100,
        "file_format" => 101,
        "partition" => 102,
        "record_count" => 103,
        "file_size_in_bytes" => 104,
        "column_sizes" => 108,
        "value_counts" => 109,
        "null_value_counts" => 110,
        "nan_value_counts" => 137,
        "lower_bounds" => 125,
        "upper_bounds" => 128,
        "key_metadata" => 131,
        "split_offsets" => 132,
        "equality_ids" => 135,
        "sort_order_id" => 140,
        "first_row_id" => 142,
        "referenced_data_file" => 143,
        "content_offset" => 144,
        "content_size_in_bytes" => 145,
        _ => -1,
    }
}
