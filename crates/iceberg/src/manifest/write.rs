//! Writes manifests and manifest lists.

use super::file_schema::{PartitionFieldType, decimal_length, list_schema, manifest_schema};
use super::{DataFile, EntryStatus, FileContent, ManifestContent, ManifestEntry, ManifestFile, PartitionSummary};
use crate::avro::{ContainerWriter, Encoder};
use crate::error::{Error, Result};
use crate::partition::{PartitionField, PartitionSpec};
use crate::schema::{Literal, PrimitiveType, Schema};

const MANIFEST: &str = "manifest";

/// Properties that all files of a manifest share.
#[derive(Debug, Clone, Copy)]
pub struct ManifestSettings<'s> {
    /// The kind of its files.
    pub content: ManifestContent,
    /// The schema of the table.
    pub schema: &'s Schema,
    /// The partition spec of the files.
    pub partition_spec: &'s PartitionSpec,
    /// The snapshot that adds the manifest.
    pub snapshot_id: i64,
    /// The sequence number of that snapshot.
    pub sequence_number: i64,
}

/// Writes a manifest that will be at `path`. Returns its bytes, and its entry for the manifest list, which has no number of its first row yet.
///
/// # Errors
/// [`Error::Corrupt`] if a file is of another kind or has values of another spec, [`Error::Unsupported`] for partitions whose type is not known.
pub fn write_manifest(
    path: impl Into<String>,
    settings: ManifestSettings<'_>,
    entries: &[ManifestEntry],
) -> Result<(Vec<u8>, ManifestFile)> {
    let ManifestSettings { content, schema, partition_spec, snapshot_id, sequence_number } = settings;
    let types = partition_types(schema, partition_spec)?;
    let fields: Vec<PartitionFieldType<'_>> = partition_spec
        .fields
        .iter()
        .zip(&types)
        .map(|(field, primitive)| PartitionFieldType { field, primitive })
        .collect();
    let header = [
        ("schema", schema.to_json().to_string()),
        ("schema-id", schema.schema_id.to_string()),
        ("partition-spec", partition_spec.fields_to_json().to_string()),
        ("partition-spec-id", partition_spec.spec_id.to_string()),
        ("format-version", "3".to_owned()),
        ("content", if content == ManifestContent::Data { "data" } else { "deletes" }.to_owned()),
    ];
    let mut writer = ContainerWriter::new(&manifest_schema(&fields), &header);
    let mut file = ManifestFile::inline(path);
    file.partition_spec_id = partition_spec.spec_id;
    file.content = content;
    file.sequence_number = sequence_number;
    file.min_sequence_number = sequence_number;
    file.added_snapshot_id = snapshot_id;
    let mut counts = [(0_u64, 0_u64); 3];
    for entry in entries {
        check_entry(entry, content)?;
        let (files, rows) = &mut counts[status_number(entry.status) as usize];
        (*files, *rows) = (*files + 1, *rows + entry.data_file.record_count);
        if entry.status != EntryStatus::Deleted {
            file.min_sequence_number = file.min_sequence_number.min(entry.sequence_number.unwrap_or(sequence_number));
        }
        let values = partition_values(&entry.data_file, partition_spec)?;
        writer.record(|encoder| write_entry(encoder, entry, &values, &fields))?;
    }
    file.partitions = summarize(entries, partition_spec)?;
    let [existing, added, deleted] = counts;
    (file.existing_files, file.existing_rows) = (Some(existing.0), Some(existing.1));
    (file.added_files, file.added_rows) = (Some(added.0), Some(added.1));
    (file.deleted_files, file.deleted_rows) = (Some(deleted.0), Some(deleted.1));
    let bytes = writer.finish()?;
    file.manifest_length = bytes.len() as u64;
    Ok((bytes, file))
}

/// Writes a manifest list of a snapshot. Data manifests without the number of their first row get one, from
/// `first_row_id` on. Returns the bytes, and the number after the last row.
///
/// # Errors
/// [`Error::Corrupt`] if a count is missing or too high.
pub fn write_manifest_list(
    snapshot_id: i64,
    parent_snapshot_id: Option<i64>,
    sequence_number: i64,
    first_row_id: i64,
    manifests: &[ManifestFile],
) -> Result<(Vec<u8>, i64)> {
    let parent = parent_snapshot_id.map_or_else(|| "null".to_owned(), |id| id.to_string());
    let header = [
        ("snapshot-id", snapshot_id.to_string()),
        ("parent-snapshot-id", parent),
        ("sequence-number", sequence_number.to_string()),
        ("first-row-id", first_row_id.to_string()),
        ("format-version", "3".to_owned()),
    ];
    let mut writer = ContainerWriter::new(&list_schema(), &header);
    let mut next_row_id = first_row_id;
    for manifest in manifests {
        let missing = || Error::corrupt("manifest list", format!("{} has no counts", manifest.manifest_path));
        let counts = [manifest.added_files, manifest.existing_files, manifest.deleted_files];
        let rows = [manifest.added_rows, manifest.existing_rows, manifest.deleted_rows];
        let number = |count: Option<u64>| count.and_then(|count| i64::try_from(count).ok()).ok_or_else(missing);
        let (counts, rows) = (counts.map(number), rows.map(number));
        let [added, existing, _] = rows.clone();
        let mut first = manifest.first_row_id;
        if manifest.content == ManifestContent::Data && first.is_none() {
            first = Some(next_row_id);
            let after = next_row_id.checked_add(added?).and_then(|next| next.checked_add(existing.ok()?));
            next_row_id = after.ok_or_else(missing)?;
        }
        let counts = counts.into_iter().chain(rows).collect::<Result<Vec<_>>>()?;
        writer.record(|encoder| {
            encoder.bytes(manifest.manifest_path.as_bytes());
            encoder.long(manifest.manifest_length.cast_signed());
            encoder.int(manifest.partition_spec_id);
            encoder.int((manifest.content == ManifestContent::Deletes).into());
            encoder.long(manifest.sequence_number);
            encoder.long(manifest.min_sequence_number);
            encoder.long(manifest.added_snapshot_id);
            counts.iter().for_each(|count| encoder.long(*count));
            encoder.if_any(Some(&manifest.partitions), |encoder, partitions| {
                encoder.items(partitions, write_summary);
            });
            encoder.if_any(manifest.key_metadata.as_deref(), Encoder::bytes);
            encoder.if_any(first, Encoder::long);
        })?;
    }
    Ok((writer.finish()?, next_row_id))
}

fn write_summary(encoder: &mut Encoder, summary: &PartitionSummary) {
    encoder.boolean(summary.contains_null);
    encoder.if_any(summary.contains_nan, Encoder::boolean);
    encoder.if_any(summary.lower_bound.as_deref(), Encoder::bytes);
    encoder.if_any(summary.upper_bound.as_deref(), Encoder::bytes);
}

fn check_entry(entry: &ManifestEntry, content: ManifestContent) -> Result<()> {
    let file = &entry.data_file;
    if (file.content == FileContent::Data) != (content == ManifestContent::Data) {
        return Err(Error::corrupt(MANIFEST, format!("{} is a file of another kind", file.file_path)));
    }
    let has_numbers = entry.sequence_number.is_some() && entry.file_sequence_number.is_some();
    if entry.status != EntryStatus::Added && !has_numbers {
        return Err(Error::corrupt(MANIFEST, format!("{} has no sequence number", file.file_path)));
    }
    Ok(())
}

fn partition_types(schema: &Schema, spec: &PartitionSpec) -> Result<Vec<PrimitiveType>> {
    let result = |field: &PartitionField| {
        let source = schema.field(*field.source_ids.first()?)?.field_type.as_primitive()?;
        field.transform.result_type(source)
    };
    let types = spec.fields.iter().map(|field| {
        let unknown = || Error::unsupported(format!("the type of the partition field {}", field.name));
        result(field).ok_or_else(unknown)
    });
    types.collect()
}

/// The values of a file's partition, in the order of the spec.
fn partition_values<'f>(file: &'f DataFile, spec: &PartitionSpec) -> Result<Vec<Option<&'f Literal>>> {
    let value = |field: &PartitionField| {
        let value = file.partition.iter().find(|(id, _)| *id == field.field_id);
        let missing = || Error::corrupt(MANIFEST, format!("{} has no value of {}", file.file_path, field.name));
        value.map(|(_, value)| value.as_ref()).ok_or_else(missing)
    };
    spec.fields.iter().map(value).collect()
}

/// The values of each field of the partitions of these files.
fn summarize(entries: &[ManifestEntry], spec: &PartitionSpec) -> Result<Vec<PartitionSummary>> {
    let mut summaries = vec![PartitionSummary::default(); spec.fields.len()];
    let mut bounds: Vec<Option<(&Literal, &Literal)>> = vec![None; spec.fields.len()];
    for entry in entries {
        for (at, value) in partition_values(&entry.data_file, spec)?.into_iter().enumerate() {
            let Some(value) = value else {
                summaries[at].contains_null = true;
                continue;
            };
            if matches!(value, Literal::Float(value) if value.is_nan())
                || matches!(value, Literal::Double(value) if value.is_nan())
            {
                summaries[at].contains_nan = Some(true);
                continue;
            }
            summaries[at].contains_nan.get_or_insert(false);
            let (low, high) = bounds[at].get_or_insert((value, value));
            if value < *low {
                *low = value;
            }
            if value > *high {
                *high = value;
            }
        }
    }
    for (summary, bounds) in summaries.iter_mut().zip(bounds) {
        summary.lower_bound = bounds.map(|(low, _)| low.to_bytes());
        summary.upper_bound = bounds.map(|(_, high)| high.to_bytes());
    }
    Ok(summaries)
}

fn status_number(status: EntryStatus) -> i32 {
    match status {
        EntryStatus::Existing => 0,
        EntryStatus::Added => 1,
        EntryStatus::Deleted => 2,
    }
}

fn write_entry(
    encoder: &mut Encoder,
    entry: &ManifestEntry,
    partition: &[Option<&Literal>],
    fields: &[PartitionFieldType<'_>],
) {
    encoder.int(status_number(entry.status));
    encoder.if_any(entry.snapshot_id, Encoder::long);
    encoder.if_any(entry.sequence_number, Encoder::long);
    encoder.if_any(entry.file_sequence_number, Encoder::long);
    let file = &entry.data_file;
    encoder.int(match file.content {
        FileContent::Data => 0,
        FileContent::PositionDeletes => 1,
        FileContent::EqualityDeletes => 2,
    });
    encoder.bytes(file.file_path.as_bytes());
    encoder.bytes(file.file_format.as_bytes());
    for (value, field) in partition.iter().zip(fields) {
        encoder.if_any(*value, |encoder, value| match (value, field.primitive) {
            (Literal::Decimal(value), PrimitiveType::Decimal { precision, .. }) => {
                encoder.fixed_decimal(*value, decimal_length(*precision));
            }
            _ => encoder.literal(value),
        });
    }
    encoder.long(file.record_count.cast_signed());
    encoder.long(file.file_size_in_bytes.cast_signed());
    for counts in [&file.column_sizes, &file.value_counts, &file.null_value_counts, &file.nan_value_counts] {
        encoder.if_any(Some(counts).filter(|counts| !counts.is_empty()), |encoder, counts| {
            encoder.items(counts, |encoder, (id, count)| {
                encoder.int(*id);
                encoder.long(*count);
            });
        });
    }
    for bounds in [&file.lower_bounds, &file.upper_bounds] {
        encoder.if_any(Some(bounds).filter(|bounds| !bounds.is_empty()), |encoder, bounds| {
            encoder.items(bounds, |encoder, (id, bound)| {
                encoder.int(*id);
                encoder.bytes(bound);
            });
        });
    }
    encoder.if_any(file.key_metadata.as_deref(), Encoder::bytes);
    encoder.if_any(Some(&file.split_offsets).filter(|offsets| !offsets.is_empty()), |encoder, offsets| {
        encoder.items(offsets, |encoder, offset| encoder.long(*offset));
    });
    encoder.if_any(Some(&file.equality_ids).filter(|ids| !ids.is_empty()), |encoder, ids| {
        encoder.items(ids, |encoder, id| encoder.int(*id));
    });
    encoder.if_any(file.sort_order_id, Encoder::int);
    encoder.if_any(file.first_row_id, Encoder::long);
    encoder.if_any(file.referenced_data_file.as_deref(), |encoder, path| encoder.bytes(path.as_bytes()));
    encoder.if_any(file.content_offset, |encoder, offset| encoder.long(offset.cast_signed()));
    encoder.if_any(file.content_size_in_bytes, |encoder, length| encoder.long(length.cast_signed()));
}
