//! Published tables, read as Iceberg's specification says by the format crate and the reader of Parquet files alone.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod crash;
mod delta;
mod kill;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt16Array};
use arrow_schema::{DataType, Field, Schema};
use fastrand::Rng;
use lath_iceberg::{
    FileContent, ManifestLocation, Snapshot, TableMetadata, read_deletion_vector, read_manifest, read_manifest_list,
    read_puffin_footer,
};
use lath_parquet::{DeleteMask, ParquetFile};
use lath_table::{Error, PublishOptions, Table, TableOptions};
use lath_testkit::Seeded;

type Rows = BTreeMap<i64, Option<i64>>;

fn options() -> TableOptions {
    TableOptions::new().background(false).file_rows(50).merge_files(2).bulk_rows(200)
}

fn batch(rows: &Rows) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.keys().copied()));
    let values: ArrayRef = Arc::new(rows.values().copied().collect::<Int64Array>());
    RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("value", values, true)]).unwrap()
}

fn create(folder: &Path) -> Table {
    Table::create(folder, &batch(&Rows::new()).schema(), &["id"], options()).unwrap()
}

/// The metadata file that the hint names.
fn hinted(folder: &Path) -> PathBuf {
    let number = fs::read_to_string(folder.join("metadata/version-hint.text")).unwrap();
    folder.join(format!("metadata/v{number}.metadata.json"))
}

fn metadata(file: &Path) -> TableMetadata {
    TableMetadata::from_bytes(&fs::read(file).unwrap()).unwrap()
}

/// The rows of a snapshot. `folder` has the files that its paths lead to.
fn read(snapshot: &Snapshot, folder: &Path, location: &str) -> Rows {
    let open = |path: &str| {
        let path = folder.join(path.strip_prefix(location).unwrap().trim_start_matches('/'));
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let ManifestLocation::List(list) = &snapshot.manifests else { panic!("no manifest list") };
    let (mut data, mut masks) = (Vec::new(), BTreeMap::new());
    for manifest in read_manifest_list(&open(list)).unwrap() {
        for entry in read_manifest(&open(&manifest.manifest_path), &manifest, |_| true).unwrap() {
            let file = entry.data_file;
            if file.content == FileContent::Data {
                data.push(file);
                continue;
            }
            let puffin = open(&file.file_path);
            assert_eq!(puffin.len() as u64, file.file_size_in_bytes);
            let (start, length) = (file.content_offset.unwrap(), file.content_size_in_bytes.unwrap());
            let blobs = read_puffin_footer(&puffin).unwrap();
            for (at, blob) in blobs.iter().enumerate() {
                // DuckDB reads so far ahead at most, and finds the wrong bytes for a vector that it has read ahead.
                let next_but_one = blobs.get(at + 2).map_or(puffin.len() as u64 - 12, |blob| blob.offset);
                let is_last = at + 1 == blobs.len();
                assert!(is_last || next_but_one - blob.offset - blob.length > blob.length, "{blobs:?}");
            }
            assert!(blobs.iter().any(|blob| (blob.offset, blob.length) == (start, length)), "{blobs:?}");
            let vector = &puffin[start as usize..(start + length) as usize];
            let mask = DeleteMask::from_bytes(read_deletion_vector(vector).unwrap()).unwrap();
            assert_eq!(mask.len(), file.record_count);
            assert!(masks.insert(file.referenced_data_file.unwrap(), mask).is_none(), "two vectors of a file");
        }
    }
    let mut rows = Rows::new();
    let mut numbers = Vec::new();
    for file in data {
        let path = folder.join(file.file_path.strip_prefix(location).unwrap().trim_start_matches('/'));
        assert_eq!(fs::metadata(&path).unwrap().len(), file.file_size_in_bytes);
        let first = file.first_row_id.unwrap();
        numbers.push((first, first + file.record_count as i64));
        let mask = masks.remove(&file.file_path).unwrap_or_default();
        let scan = ParquetFile::open(&path).unwrap().scan().deleted([(0, mask)]);
        for batch in scan.build().unwrap() {
            let batch = batch.unwrap();
            let (ids, values) =
                (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<Int64Type>());
            for row in 0..batch.num_rows() {
                let value = values.is_valid(row).then(|| values.value(row));
                assert!(rows.insert(ids.value(row), value).is_none(), "key {} twice", ids.value(row));
                let bound = |bounds: &[(i32, Vec<u8>)], id| {
                    let bytes = bounds.iter().find(|(known, _)| *known == id)?.1.clone();
                    Some(i64::from_le_bytes(bytes.try_into().unwrap()))
                };
                for (id, value) in [(1, Some(ids.value(row))), (2, value)] {
                    let Some(value) = value else { continue };
                    assert!(
                        bound(&file.lower_bounds, id).unwrap() <= value
                            && value <= bound(&file.upper_bounds, id).unwrap()
                    );
                }
            }
        }
    }
    assert!(masks.is_empty(), "a vector of a file that is not there");
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|pair| pair[0].1 <= pair[1].0), "rows share numbers: {numbers:?}");
    rows
}

pub(crate) fn read_newest(folder: &Path) -> Rows {
    let metadata = metadata(&hinted(folder));
    read(metadata.current_snapshot().unwrap(), folder, &metadata.location)
}

/// The number of the newest metadata file, also if the hint does not name it yet.
fn newest_number(folder: &Path) -> Option<u64> {
    let number = |name: &str| name.strip_prefix('v')?.strip_suffix(".metadata.json")?.parse().ok();
    names(&folder.join("metadata")).iter().filter_map(|name| number(name)).max()
}

/// The names in a folder; none if it does not exist.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// What readers find by the hint and by the newest metadata file: each snapshot, with the version of the table that it shows, and its rows. The
/// current snapshot is the last one. Empty if the table was not published yet.
fn read_all(folder: &Path) -> Vec<Vec<(u64, Rows)>> {
    let Some(number) = newest_number(folder) else { return Vec::new() };
    let newest = folder.join(format!("metadata/v{number}.metadata.json"));
    // The first publication has no hint for a moment.
    let hint = folder.join("metadata/version-hint.text").exists().then(|| hinted(folder));
    let files: BTreeSet<PathBuf> = hint.into_iter().chain([newest]).collect();
    let read_file = |file: &PathBuf| {
        let metadata = metadata(file);
        let version = |snapshot: &Snapshot| snapshot.summary["lath.version"].parse().unwrap();
        let rows = |snapshot: &Snapshot| (version(snapshot), read(snapshot, folder, &metadata.location));
        let mut found: Vec<(u64, Rows)> = metadata.snapshots.iter().map(rows).collect();
        found.push(rows(metadata.current_snapshot().unwrap()));
        found
    };
    files.iter().map(read_file).collect()
}

/// The key of the row that [`assert_no_leftovers`] puts.
const EXTRA_KEY: i64 = -100;

/// Panics unless, after two more publications that keep nothing else, the folder has exactly the files of the two last snapshots.
fn assert_no_leftovers(table: &Table, folder: &Path, what: &str) {
    table.publish(PublishOptions::new().keep(Duration::ZERO)).unwrap();
    for step in 0..2 {
        table.upsert(&batch(&Rows::from([(EXTRA_KEY, Some(step))]))).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        table.publish_now().unwrap();
    }
    table.vacuum().unwrap();
    let number = newest_number(folder).unwrap();
    let newest = metadata(&folder.join(format!("metadata/v{number}.metadata.json")));
    assert_eq!(newest.snapshots.len(), 2, "{what}");
    let mut needed = BTreeSet::from(["version-hint.text".to_owned()]);
    needed.extend([number - 1, number].map(|number| format!("v{number}.metadata.json")));
    let mut data = BTreeSet::new();
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    for snapshot in &newest.snapshots {
        let ManifestLocation::List(list) = &snapshot.manifests else { panic!("no manifest list") };
        needed.insert(name(list));
        let list = fs::read(folder.join("metadata").join(name(list))).unwrap();
        for manifest in read_manifest_list(&list).unwrap() {
            needed.insert(name(&manifest.manifest_path));
            let bytes = fs::read(folder.join("metadata").join(name(&manifest.manifest_path))).unwrap();
            for entry in read_manifest(&bytes, &manifest, |_| true).unwrap() {
                let files = if entry.data_file.content == FileContent::Data { &mut data } else { &mut needed };
                files.insert(name(&entry.data_file.file_path));
            }
        }
    }
    assert_eq!(names(&folder.join("metadata")), needed, "{what}");
    let mut files = names(&folder.join("_data"));
    files.remove("_README");
    assert_eq!(files, data, "{what}");
}

/// Every snapshot that is kept, of every step of a random history, has the rows of the commit that it names.
#[test]
fn published_snapshots_have_the_rows_of_their_commits() {
    let seeded = Seeded::new("publish");
    let mut random = Rng::with_seed(seeded.seed());
    for _ in 0..12 {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap().join("table");
        let mut table = create(&folder);
        let mut rows = Rows::new();
        let mut versions: BTreeMap<u64, Rows> = BTreeMap::new();
        versions.insert(table.snapshot().unwrap().version(), rows.clone());
        table.publish(PublishOptions::new()).unwrap();
        for _ in 0..40 {
            match random.u8(..12) {
                0..=3 => {
                    let count = if random.u8(..6) == 0 { 300 } else { random.usize(1..30) };
                    let put: Rows = (0..count)
                        .map(|_| (random.i64(0..400), (random.u8(..5) > 0).then(|| random.i64(0..1000))))
                        .collect();
                    table.upsert(&batch(&put)).unwrap();
                    rows.extend(put);
                }
                4 | 5 => {
                    let keys: Vec<i64> = (0..random.usize(1..20)).map(|_| random.i64(0..400)).collect();
                    rows.retain(|key, _| !keys.contains(key));
                    table.delete(keys).unwrap();
                }
                6..=8 => drop(table.flush().unwrap()),
                9 => drop(table.compact().unwrap()),
                10 => drop(table.vacuum().unwrap()),
                _ => {
                    drop(table);
                    table = Table::open(&folder, options()).unwrap();
                }
            }
            versions.insert(table.snapshot().unwrap().version(), rows.clone());
            let metadata = metadata(&hinted(&folder));
            for snapshot in &metadata.snapshots {
                let version: u64 = snapshot.summary["lath.version"].parse().unwrap();
                let (_, expected) = versions.range(..=version).next_back().unwrap();
                assert!(read(snapshot, &folder, &metadata.location) == *expected, "version {version}");
            }
        }
        let published = table.publish_now().unwrap();
        assert_eq!(read_newest(&folder), rows);
        assert_eq!(published.rows, rows.len() as u64);
        let publication = table.publication().unwrap().unwrap();
        assert_eq!((publication.version, &publication.metadata), (published.version, &published.metadata));
        assert!(table.check().unwrap().is_intact());
        // Nothing has changed, so no snapshot is added.
        assert_eq!(table.publish_now().unwrap().metadata, published.metadata);
    }
}

#[test]
fn files_of_snapshots_that_are_not_kept_are_removed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("table");
    let table = create(&folder);
    table.publish(PublishOptions::new().keep(Duration::ZERO)).unwrap();
    let files = |ends: &str, below: &str| {
        let names =
            fs::read_dir(folder.join(below)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(ends)).count()
    };
    for step in 0..60 {
        let rows: Rows = (0..40).map(|id| (id * 7 % 100, Some(step))).collect();
        table.upsert(&batch(&rows)).unwrap();
        table.flush().unwrap();
        table.compact().unwrap();
        std::thread::sleep(Duration::from_millis(2));
        table.vacuum().unwrap();
        let metadata = metadata(&hinted(&folder));
        assert!(metadata.snapshots.len() <= 2);
        for snapshot in &metadata.snapshots {
            read(snapshot, &folder, &metadata.location);
        }
    }
    assert!(files(".pq", "_data") < 20, "{} files", files(".pq", "_data"));
    assert!(files(".avro", "metadata") <= 6 && files(".metadata.json", "metadata") <= 3);
    assert!(files(".puffin", "metadata") <= 20);
    table.stop_publishing().unwrap();
    assert!(!folder.join("metadata").exists());
    assert!(table.publication().unwrap().is_none());
    assert!(matches!(table.publish_now(), Err(Error::Publish { .. })));
}

#[test]
fn a_moved_table_is_published_again_under_its_new_path() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let table = create(&home.join("before"));
    let mut rows: Rows = (0..80).map(|id| (id, Some(id))).collect();
    table.upsert(&batch(&rows)).unwrap();
    table.publish(PublishOptions::new()).unwrap();
    table.delete([5]).unwrap();
    table.publish_now().unwrap();
    rows.remove(&5);
    drop(table);
    let folder = home.join("after");
    fs::rename(home.join("before"), &folder).unwrap();
    let table = Table::open(&folder, options()).unwrap();
    let published = table.publish_now().unwrap();
    assert!(published.metadata.ends_with("v3.metadata.json"));
    let metadata = metadata(&hinted(&folder));
    assert_eq!((metadata.location.as_str(), metadata.snapshots.len()), (folder.to_str().unwrap(), 1));
    assert_eq!(read_newest(&folder), rows);
}

#[test]
fn metadata_of_another_program_is_not_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("table");
    let table = create(&folder);
    table.upsert(&batch(&Rows::from([(1, Some(1))]))).unwrap();
    let published = table.publish(PublishOptions::new()).unwrap();
    // It sets a property, and leaves the snapshot.
    let mut changed = metadata(&published.metadata);
    changed.last_updated_ms += 1;
    changed.properties.insert("owner".to_owned(), "other".to_owned());
    let foreign = folder.join("metadata/v2.metadata.json");
    fs::write(&foreign, changed.to_bytes().unwrap()).unwrap();
    table.upsert(&batch(&Rows::from([(2, Some(2))]))).unwrap();
    let error = table.flush().unwrap_err();
    assert!(matches!(&error, Error::ForeignMetadata { path } if *path == foreign), "{error}");
    assert!(matches!(table.publication(), Err(Error::ForeignMetadata { .. })));
    assert_eq!(fs::read(&foreign).unwrap(), changed.to_bytes().unwrap());
    assert_eq!(table.count().unwrap(), 2);
    fs::remove_file(&foreign).unwrap();
    // A catalog's name of a metadata file.
    let foreign = folder.join("metadata/00003-0d2e.metadata.json");
    fs::write(&foreign, b"{}").unwrap();
    assert!(matches!(table.publish_now(), Err(Error::ForeignMetadata { .. })));
    fs::remove_file(&foreign).unwrap();
    table.publish_now().unwrap();
    assert_eq!(read_newest(&folder), Rows::from([(1, Some(1)), (2, Some(2))]));
    // Publishing can be ended nevertheless, and then removes nothing.
    fs::write(&foreign, b"{}").unwrap();
    table.stop_publishing().unwrap();
    assert!(foreign.exists() && hinted(&folder).exists() && table.publication().unwrap().is_none());
    table.delete([1]).unwrap();
    table.flush().unwrap();
}

#[test]
fn a_type_that_iceberg_lacks_is_an_error_that_names_the_column() {
    let home = tempfile::tempdir().unwrap();
    let schema =
        Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("port", DataType::UInt16, true)]);
    let table = Table::create(home.path().join("table"), &schema, &["id"], options()).unwrap();
    let ports: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(vec![1])), Arc::new(UInt16Array::from(vec![80]))];
    table.upsert(&RecordBatch::try_new(Arc::new(schema), ports).unwrap()).unwrap();
    let error = table.publish(PublishOptions::new()).unwrap_err();
    let what = "the table cannot be published: column port: Iceberg has no type for the values of UInt16: it can be published as Int32, with the option \
                map_types (--map-types)";
    assert_eq!(error.to_string(), what);
    // It is not set to be published, so flushes go on.
    table.upsert(&table.get(1).unwrap().unwrap()).unwrap();
    table.flush().unwrap();
    table.publish(PublishOptions::new().map_types(true)).unwrap();
    table.add_column(&Field::new("big", DataType::UInt64, true), None).unwrap();
    let error = table.publish_now().unwrap_err();
    assert!(error.to_string().contains("column big: Iceberg has no type for the values of UInt64"), "{error}");
}

/// Types that Iceberg lacks are published in wider ones, with bounds as these have them, and each flush goes on to do so.
#[test]
fn columns_are_published_in_wider_types_if_asked() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("table");
    let point = DataType::Struct(vec![Field::new("x", DataType::UInt16, true)].into());
    let schema = Schema::new(vec![
        Field::new("id", DataType::UInt16, false),
        Field::new("port", DataType::UInt16, true),
        Field::new("half", DataType::Float16, true),
        Field::new("point", point, true),
    ]);
    let half = DataType::Float16;
    let rows = |ids: [u16; 2]| {
        let point = arrow_array::StructArray::from(vec![(
            Arc::new(Field::new("x", DataType::UInt16, true)),
            Arc::new(UInt16Array::from(ids.to_vec())) as ArrayRef,
        )]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt16Array::from(ids.to_vec())),
            Arc::new(UInt16Array::from(vec![1, u16::MAX])),
            arrow_cast::cast(&arrow_array::Float32Array::from(vec![-1.5, 65504.0]), &half).unwrap(),
            Arc::new(point),
        ];
        RecordBatch::try_new(Arc::new(schema.clone()), columns).unwrap()
    };
    let table = Table::create(&folder, &schema, &["id"], options()).unwrap();
    table.upsert(&rows([0, u16::MAX])).unwrap();
    let published = table.publish(PublishOptions::new().map_types(true)).unwrap();
    let mapped = |mapped: &[lath_table::MappedColumn]| -> Vec<(String, DataType, DataType)> {
        mapped.iter().map(|mapped| (mapped.column.clone(), mapped.from.clone(), mapped.to.clone())).collect()
    };
    let expected: Vec<(String, DataType, DataType)> = vec![
        ("id".to_owned(), DataType::UInt16, DataType::Int32),
        ("port".to_owned(), DataType::UInt16, DataType::Int32),
        ("half".to_owned(), DataType::Float16, DataType::Float32),
        ("point.x".to_owned(), DataType::UInt16, DataType::Int32),
    ];
    assert_eq!(mapped(&published.mapped), expected);
    drop(table);
    let table = Table::open(&folder, options()).unwrap();
    assert_eq!(mapped(&table.publication().unwrap().unwrap().mapped), expected);
    table.upsert(&rows([7, 8])).unwrap();
    table.flush().unwrap();
    let metadata = metadata(&hinted(&folder));
    let types: Vec<String> = metadata
        .current_schema()
        .unwrap()
        .fields
        .iter()
        .take(3)
        .map(|field| field.field_type.as_primitive().unwrap().to_string())
        .collect();
    assert_eq!(types, ["int", "int", "float"]);
    let snapshot = metadata.current_snapshot().unwrap();
    let ManifestLocation::List(list) = &snapshot.manifests else { panic!("no manifest list") };
    let manifest = &read_manifest_list(&fs::read(list).unwrap()).unwrap()[0];
    let entries = read_manifest(&fs::read(&manifest.manifest_path).unwrap(), manifest, |_| true).unwrap();
    let bounds = |id: i32| {
        let bound = |bounds: &[(i32, Vec<u8>)]| bounds.iter().find(|(known, _)| *known == id).unwrap().1.clone();
        let file = entries.iter().map(|entry| &entry.data_file).find(|file| bound(&file.lower_bounds)[0] == 0).unwrap();
        (bound(&file.lower_bounds), bound(&file.upper_bounds))
    };
    assert_eq!(bounds(1), (0_i32.to_le_bytes().to_vec(), i32::from(u16::MAX).to_le_bytes().to_vec()));
    assert_eq!(entries.len(), 2);
}

#[test]
fn a_column_that_was_widened_beyond_iceberg_is_an_error_that_names_the_column() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("table");
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("n", DataType::Int32, true)]);
    let table = Table::create(&folder, &schema, &["id"], options()).unwrap();
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from(vec![1])), Arc::new(arrow_array::Int32Array::from(vec![7]))];
    table.upsert(&RecordBatch::try_new(Arc::new(schema), columns).unwrap()).unwrap();
    table.publish(PublishOptions::new()).unwrap();
    table.widen_column("n", &DataType::Float64).unwrap();
    let error = table.publish_now().unwrap_err();
    assert!(error.to_string().contains("column n: files have it in a narrower type"), "{error}");
}

/// Readers find fields within columns by numbers, which no two fields of the table share, also if the fields of batches have other ones.
#[test]
fn fields_within_columns_have_numbers_that_no_other_field_has() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("table");
    // As pyarrow gives the fields of a file that another program has written.
    let foreign = |name: &str| {
        let metadata = [("PARQUET:field_id".to_owned(), "1".to_owned())].into();
        Field::new(name, DataType::Int64, true).with_metadata(metadata)
    };
    let point = DataType::Struct(vec![foreign("x"), foreign("y")].into());
    let list = DataType::List(Arc::new(Field::new("item", point.clone(), true)));
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("points", list, true),
        Field::new("point", point.clone(), true),
    ]);
    let table = Table::create(&folder, &schema, &["id"], options()).unwrap();
    let rows = |table: &Table| {
        let schema = table.schema().unwrap();
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
        let nulls = schema.fields().iter().skip(1).map(|field| arrow_array::new_null_array(field.data_type(), 100));
        RecordBatch::try_new(Arc::clone(&schema), std::iter::once(ids).chain(nulls).collect()).unwrap()
    };
    table.upsert(&rows(&table)).unwrap();
    table.publish(PublishOptions::new()).unwrap();
    table.drop_column("point").unwrap();
    table.add_column(&Field::new("point", point.clone(), true), None).unwrap();
    table.upsert(&rows(&table)).unwrap();
    drop(table);
    let table = Table::open(&folder, options()).unwrap();
    table.publish_now().unwrap();
    assert!(table.check().unwrap().is_intact());
    let metadata = metadata(&hinted(&folder));
    let [first, .., last] = &metadata.schemas[..] else { panic!("one schema") };
    let id =
        |schema: &lath_iceberg::Schema, name: &str| schema.fields.iter().find(|field| field.name == name).unwrap().id;
    assert_eq!((id(first, "point"), id(last, "point")), (3, 9));
    assert_eq!((first.highest_field_id(), last.highest_field_id(), metadata.last_column_id), (8, 11, 11));
    // The types of the table, and so of the batches that it takes and gives, have what they were given.
    assert_eq!(*table.schema().unwrap().field(2).data_type(), point);
    assert_eq!(*table.get(7).unwrap().unwrap().column(2).data_type(), point);
}
