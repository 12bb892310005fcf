//! Reads what pyiceberg and fastavro wrote. `fixtures/make.py` writes the files, and the answers of those libraries.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use lath_iceberg::{
    EntryStatus, Error, FileContent, Literal, ManifestContent, ManifestFile, ManifestLocation, ManifestSettings,
    PrimitiveType, TableMetadata, Transform, Type, read_deletion_vector, read_manifest, read_manifest_list,
    write_manifest, write_manifest_list,
};
use roaring::RoaringTreemap;
use serde_json::{Value, json};

fn fixture(path: impl AsRef<Path>) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn expected(version: u8) -> Value {
    serde_json::from_slice(&fixture(format!("v{version}/expected.json"))).unwrap()
}

fn file_name(location: &str) -> &str {
    location.rsplit('/').next().unwrap_or(location)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn plain(literal: &Literal) -> Value {
    match literal {
        Literal::Int(value) => (*value).into(),
        Literal::Long(value) => (*value).into(),
        Literal::String(value) => value.as_str().into(),
        Literal::Decimal(value) => value.to_string().into(),
        other => panic!("{other:?} is not in the fixtures"),
    }
}

/// A manifest as `make.py` describes it.
fn describe(folder: &str, manifest: &ManifestFile) -> Value {
    let bytes = fixture(format!("{folder}/{}", file_name(&manifest.manifest_path)));
    let entries = read_manifest(&bytes, manifest, |_| true).unwrap();
    let pairs = |counts: &[(i32, i64)]| {
        let mut counts = counts.to_vec();
        counts.sort_unstable();
        json!(counts)
    };
    let bounds = |bounds: &[(i32, Vec<u8>)]| {
        let mut bounds: Vec<_> = bounds.iter().map(|(id, bound)| (*id, hex(bound))).collect();
        bounds.sort_unstable();
        json!(bounds)
    };
    let entry = |entry: &lath_iceberg::ManifestEntry| {
        let file = &entry.data_file;
        let status = match entry.status {
            EntryStatus::Existing => 0,
            EntryStatus::Added => 1,
            EntryStatus::Deleted => 2,
        };
        json!({
            "status": status, "snapshot": entry.snapshot_id, "sequence": entry.sequence_number,
            "content": if file.content == FileContent::Data { 0 } else { 1 }, "path": file.file_path, "format": file.file_format,
            "partition": file.partition.iter().map(|(_, value)| value.as_ref().map(plain)).collect::<Vec<_>>(),
            "records": file.record_count, "bytes": file.file_size_in_bytes, "value_counts": pairs(&file.value_counts),
            "nulls": pairs(&file.null_value_counts), "lower": bounds(&file.lower_bounds), "upper": bounds(&file.upper_bounds),
        })
    };
    let partition = |summary: &lath_iceberg::PartitionSummary| {
        json!({
            "null": summary.contains_null, "nan": summary.contains_nan,
            "lower": summary.lower_bound.as_deref().map(hex), "upper": summary.upper_bound.as_deref().map(hex),
        })
    };
    json!({
        "path": manifest.manifest_path, "bytes": manifest.manifest_length, "spec": manifest.partition_spec_id,
        "content": if manifest.content == ManifestContent::Data { 0 } else { 1 },
        "sequence": manifest.sequence_number, "snapshot": manifest.added_snapshot_id,
        "added": manifest.added_files, "existing": manifest.existing_files, "deleted": manifest.deleted_files,
        "partitions": manifest.partitions.iter().map(partition).collect::<Vec<_>>(),
        "entries": entries.iter().map(entry).collect::<Vec<_>>(),
    })
}

#[test]
fn tables_of_pyiceberg_are_read_as_it_reads_them() {
    for version in [1, 2] {
        let expected = expected(version);
        let metadata = TableMetadata::from_bytes(&fixture(format!("v{version}/metadata.json"))).unwrap();
        assert_eq!(metadata.format_version, version);
        assert_eq!(metadata.table_uuid.as_deref(), expected["uuid"].as_str());
        assert_eq!(metadata.location, expected["location"]);
        let snapshots: Vec<Value> = metadata
            .snapshots
            .iter()
            .map(|snapshot| {
                let operation = &snapshot.summary["operation"];
                json!([snapshot.snapshot_id, snapshot.sequence_number, snapshot.timestamp_ms, operation])
            })
            .collect();
        assert_eq!(json!(snapshots), expected["snapshots"]);
        assert_eq!(metadata.refs.len(), 2);
        assert!(!metadata.refs["first"].is_branch);

        let current = metadata.current_snapshot().unwrap();
        assert_eq!(
            current.manifests,
            ManifestLocation::List(match &current.manifests {
                ManifestLocation::List(list) => list.clone(),
                ManifestLocation::Inline(_) => panic!("a snapshot without a manifest list"),
            })
        );
        let manifests = read_manifest_list(&fixture(format!("v{version}/list.avro"))).unwrap();
        let described: Vec<Value> = manifests.iter().map(|file| describe(&format!("v{version}"), file)).collect();
        assert_eq!(json!(described), expected["manifests"]);
    }
}

#[test]
fn schemas_of_pyiceberg_have_numbers_at_every_depth() {
    let metadata = TableMetadata::from_bytes(&fixture("v2/metadata.json")).unwrap();
    assert_eq!(metadata.schemas.len(), 2);
    let schema = metadata.current_schema().unwrap();
    assert_eq!(schema.identifier_field_ids, [1]);
    let names: Vec<&str> = schema.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["id", "name", "price", "day", "at", "tags", "counts", "place", "is_even", "more"]);
    assert_eq!(schema.fields[1].doc.as_deref(), Some("a name"));
    assert_eq!(schema.fields[2].field_type, Type::Primitive(PrimitiveType::Decimal { precision: 9, scale: 2 }));
    let numbers: Vec<(&str, bool)> = (10..=13)
        .map(|id| {
            let field = schema.field(id).unwrap();
            (field.name.as_str(), field.required)
        })
        .collect();
    assert_eq!(numbers, [("element", false), ("key", true), ("value", false), ("x", false)]);
    let path: Vec<&str> = schema.path(13).unwrap().into_iter().map(|field| field.name.as_str()).collect();
    assert_eq!(path, ["place", "x"]);
    let transforms: Vec<&Transform> = metadata.partition_specs[0].fields.iter().map(|field| &field.transform).collect();
    assert_eq!(transforms, [&Transform::Bucket(4), &Transform::Day, &Transform::Truncate(2), &Transform::Identity]);
    let schema = schema.to_arrow().unwrap();
    assert_eq!(schema.field(0).metadata()["PARQUET:field_id"], "1");
}

/// pyiceberg computed the partitions of the rows that `make.py` writes.
#[test]
fn transforms_are_those_of_pyiceberg() {
    use PrimitiveType as P;
    let metadata = TableMetadata::from_bytes(&fixture("v2/metadata.json")).unwrap();
    let spec = metadata.partition_spec(0).unwrap();
    let mut checked = 0;
    for manifest in read_manifest_list(&fixture("v2/list.avro")).unwrap() {
        let bytes = fixture(format!("v2/{}", file_name(&manifest.manifest_path)));
        for entry in read_manifest(&bytes, &manifest, |_| true).unwrap() {
            // Each file has one row, so both bounds are its value.
            let file = entry.data_file;
            assert_eq!(file.record_count, 1);
            for (field, (id, value)) in spec.fields.iter().zip(&file.partition) {
                assert_eq!(field.field_id, *id);
                let source = field.source_ids[0];
                let Some((_, bound)) = file.lower_bounds.iter().find(|(id, _)| *id == source) else {
                    assert_eq!(*value, None);
                    continue;
                };
                let source = match metadata.current_schema().unwrap().field(source).unwrap().field_type.as_primitive() {
                    Some(primitive) => primitive.clone(),
                    None => P::Unknown,
                };
                let made = field.transform.apply(&source, &Literal::from_bytes(&source, bound).unwrap()).unwrap();
                assert_eq!(made, *value, "{}", field.transform);
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn manifests_of_fastavro_are_read_by_numbers_of_fields_in_every_codec() {
    let mut manifest = ManifestFile::inline("vectors.avro");
    manifest.content = ManifestContent::Deletes;
    manifest.sequence_number = 9;
    manifest.added_snapshot_id = 77;
    for codec in ["null", "deflate", "snappy", "zstandard"] {
        let bytes = fixture(format!("v3/vectors-{codec}.avro"));
        let entries = read_manifest(&bytes, &manifest, |_| true).unwrap();
        assert_eq!(entries.len(), 40, "{codec}");
        for (entry, n) in entries.iter().zip(0_u64..) {
            assert_eq!((entry.status, entry.snapshot_id), (EntryStatus::Added, Some(77)));
            assert_eq!((entry.sequence_number, entry.file_sequence_number), (Some(9), Some(9)));
            let file = &entry.data_file;
            assert_eq!((file.content, &file.file_format[..]), (FileContent::PositionDeletes, "PUFFIN"));
            assert_eq!(file.referenced_data_file, Some(format!("/lake/{n}.parquet")));
            assert_eq!((file.content_offset, file.content_size_in_bytes), (Some(4 + n), Some(40 + n)));
            assert_eq!((file.record_count, file.file_size_in_bytes), (n, 1 << 20));
            let bounds: &[(i32, Vec<u8>)] = if n % 3 == 0 { &[(7, vec![n as u8])] } else { &[] };
            assert_eq!(file.lower_bounds, bounds);
        }
        assert!(read_manifest(&bytes, &manifest, |id| id != 7).unwrap()[0].data_file.lower_bounds.is_empty());
        let data = ManifestFile::inline("vectors.avro");
        assert!(matches!(read_manifest(&bytes, &data, |_| true), Err(Error::Corrupt { .. })), "a file of another kind");
    }
}

#[test]
fn a_deletion_vector_of_pyroaring_is_read() {
    let bitmap = fixture("v3/vector.bin");
    let rows = RoaringTreemap::deserialize_from(read_deletion_vector(&bitmap).unwrap()).unwrap();
    let expected: RoaringTreemap =
        [1, 5, 70_000, 1 << 33].into_iter().chain((200_000..240_000).step_by(3)).chain(400_000..450_000).collect();
    assert_eq!(rows, expected);
}

#[test]
fn what_was_read_is_written_and_read_again() {
    for version in [1, 2] {
        let mut metadata = TableMetadata::from_bytes(&fixture(format!("v{version}/metadata.json"))).unwrap();
        if version == 1 {
            assert!(matches!(metadata.to_bytes(), Err(Error::Unsupported { .. })));
            metadata.format_version = 2;
        }
        assert_eq!(TableMetadata::from_bytes(&metadata.to_bytes().unwrap()).unwrap(), metadata);
        let mut manifests = read_manifest_list(&fixture(format!("v{version}/list.avro"))).unwrap();
        for manifest in &mut manifests {
            let bytes = fixture(format!("v{version}/{}", file_name(&manifest.manifest_path)));
            let entries = read_manifest(&bytes, manifest, |_| true).unwrap();
            let settings = ManifestSettings {
                content: manifest.content,
                schema: metadata.current_schema().unwrap(),
                partition_spec: metadata.partition_spec(manifest.partition_spec_id).unwrap(),
                snapshot_id: manifest.added_snapshot_id,
                sequence_number: manifest.sequence_number,
            };
            let (bytes, written) = write_manifest(&manifest.manifest_path, settings, &entries).unwrap();
            assert_eq!(read_manifest(&bytes, &written, |_| true).unwrap(), entries);
            manifest.manifest_length = bytes.len() as u64;
            // pyiceberg computes it of files that are not deleted alone.
            manifest.min_sequence_number = written.min_sequence_number;
            assert_eq!(&written, manifest);
        }
        let first = 1000;
        let (bytes, next) = write_manifest_list(1, None, 5, first, &manifests).unwrap();
        let read = read_manifest_list(&bytes).unwrap();
        let rows: u64 = manifests.iter().map(|file| file.added_rows.unwrap() + file.existing_rows.unwrap()).sum();
        assert_eq!(next as u64, 1000 + rows);
        assert_eq!(read[0].first_row_id, Some(first));
        for (mut read, manifest) in read.into_iter().zip(manifests) {
            read.first_row_id = None;
            assert_eq!(read, manifest);
        }
    }
}

/// Damage is an error or another answer, never a panic.
#[test]
fn damaged_bytes_do_not_panic() {
    let mut random = fastrand::Rng::with_seed(5);
    for path in
        ["v1/metadata.json", "v2/metadata.json", "v2/list.avro", "v3/vectors-null.avro", "v3/vectors-snappy.avro"]
    {
        let whole = fixture(path);
        let mut manifest = ManifestFile::inline(path);
        manifest.content = ManifestContent::Deletes;
        for _ in 0..4000 {
            let mut bytes = whole.clone();
            bytes.truncate(if random.bool() { bytes.len() } else { random.usize(..bytes.len()) });
            for _ in 0..random.usize(0..4).min(bytes.len()) {
                let at = random.usize(..bytes.len());
                bytes[at] = if random.bool() { random.u8(..) } else { bytes[at] ^ 1 << random.u8(..8) };
            }
            let _ = TableMetadata::from_bytes(&bytes);
            let _ = read_manifest_list(&bytes);
            let _ = read_manifest(&bytes, &manifest, |_| true);
            let _ = lath_iceberg::read_puffin_footer(&bytes);
        }
    }
}

/// The header of an Avro file with this schema, and one block.
fn avro(schema: &str, count: i64, block: &[u8]) -> Vec<u8> {
    fn long(bytes: &mut Vec<u8>, value: i64) {
        let mut rest = (value << 1 ^ value >> 63) as u64;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    let mut bytes = b"Obj\x01".to_vec();
    long(&mut bytes, 1);
    for text in ["avro.schema", schema] {
        long(&mut bytes, text.len() as i64);
        bytes.extend(text.as_bytes());
    }
    bytes.push(0);
    bytes.extend([7; 16]);
    long(&mut bytes, count);
    long(&mut bytes, block.len() as i64);
    bytes.extend(block);
    bytes.extend([7; 16]);
    bytes
}

#[test]
fn hostile_files_of_avro_end_soon() {
    let count = |schema: &str| format!(r#"{{"type":"record","name":"m","fields":[{{"name":"x","type":{schema}}}]}}"#);
    // Records in records, each of which has the one before it twice.
    let mut nested = r#"{"type":"record","name":"r0","fields":[]}"#.to_owned();
    for level in 1..60 {
        let below = level - 1;
        nested = format!(
            r#"{{"type":"record","name":"r{level}","fields":[{{"name":"a","type":{nested}}},{{"name":"b","type":"r{below}"}}]}}"#
        );
    }
    let long = r#"{"name":"y","type":"long"}"#;
    let nested = format!(r#"{{"type":"record","name":"m","fields":[{{"name":"x","type":{nested}}},{long}]}}"#);
    let cases = [
        avro(&nested, 1, &[0]),
        avro(&count(r#""null""#), i64::MAX, &[]),
        avro(
            &count(r#"{"type":"array","items":"null"}"#),
            1,
            &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0],
        ),
        avro(
            &count(r#"{"type":"array","items":"long"}"#),
            1,
            &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0],
        ),
        avro(
            &count(r#"{"type":"array","items":"long"}"#),
            1,
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0],
        ),
        avro(&count(r#""bytes""#), 1, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        avro(&count(r#"{"type":"fixed","name":"f","size":9223372036854775807}"#), 1, &[0]),
        avro(&count(r#""long""#), 1 << 40, &[0]),
        avro(&count(r#"["null",["null","long"]]"#), 1, &[2, 0]),
        avro(&count(r#""m""#), 1, &[0]),
        avro(&("[".repeat(100_000) + &"]".repeat(100_000)), 1, &[0]),
    ];
    for (case, bytes) in cases.iter().enumerate() {
        let error = read_manifest_list(bytes).expect_err("a hostile file");
        assert!(matches!(error, Error::Corrupt { .. }), "case {case}: {error}");
    }
}

#[test]
fn metadata_that_refers_to_what_is_missing_is_an_error() {
    let whole: Value = serde_json::from_slice(&fixture("v2/metadata.json")).unwrap();
    for (name, value, expected) in [
        ("current-schema-id", json!(9), "damaged table metadata: the current schema 9 is missing"),
        ("default-spec-id", json!(9), "damaged table metadata: the partition spec 9 is missing"),
        ("current-snapshot-id", json!(9), "damaged table metadata: the current snapshot 9 is missing"),
        ("format-version", json!(4), "not supported: version 4 of Iceberg's format"),
        ("location", json!(4), "damaged table metadata: 'location' is not text"),
        ("last-updated-ms", Value::Null, "damaged table metadata: 'last-updated-ms' is missing"),
    ] {
        let mut metadata = whole.clone();
        metadata[name] = value;
        let error = TableMetadata::from_bytes(metadata.to_string().as_bytes()).expect_err(name);
        assert_eq!(error.to_string(), expected);
    }
}
