//! Tables of Iceberg with deleted rows of every kind, in partitions of several specs, give the rows that the specification says.
//!
//! Data files and delete files are written here; the oracle applies every delete file to every row, one by one. `LATH_CASES` sets the
//! number of tables, `LATH_SEED` repeats a run, and `LATH_KEEP` names a folder for tables and their rows, for other readers.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use lath_iceberg::{
    DataFile, FileContent, Literal, ManifestContent, ManifestEntry, ManifestFile, ManifestSettings, PuffinWriter,
    TableMetadata, Transform, write_deletion_vector, write_manifest, write_manifest_list,
};
use lath_lake::{At, Error, LakeOptions, open};
use lath_parquet::{Dataset, DeleteMask, Precision, Predicate, Pruning};
use lath_testkit::Seeded;
use lath_writer::{ParquetWriter, WriteOptions};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    id: Option<i32>,
    part: Option<i64>,
    text: Option<String>,
    /// A field within a struct that may be null.
    inner: Option<Option<i32>>,
}

/// A data file, as the oracle knows it.
#[derive(Debug, Clone)]
struct Data {
    path: String,
    rows: Vec<Row>,
    sequence_number: i64,
    spec: i32,
    partition: Vec<Option<Literal>>,
    /// Rows in its deletion vector.
    vector: Vec<u64>,
}

/// A delete file, as the oracle knows it.
#[derive(Debug, Clone)]
enum Delete {
    Positions { rows: Vec<(String, u64)>, sequence_number: i64, spec: i32, partition: Vec<Option<Literal>> },
    Keys { ids: Vec<i32>, rows: Vec<Row>, sequence_number: i64, spec: i32, partition: Vec<Option<Literal>> },
}

struct Table {
    folder: PathBuf,
    /// The table's location in its metadata.
    location: String,
    version: u8,
    metadata: Value,
    data: Vec<Data>,
    deletes: Vec<Delete>,
    entries: Vec<(i32, ManifestEntry)>,
    sequence_number: i64,
    files: usize,
    /// Rows of each snapshot.
    expected: Vec<(i64, Vec<Row>)>,
}

fn id(field: Field, id: i32) -> Field {
    field.with_metadata([("PARQUET:field_id".to_owned(), id.to_string())].into())
}

fn write_file(path: &Path, columns: Vec<(Field, ArrayRef)>, row_group_rows: usize) -> u64 {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let options = WriteOptions::default().row_group_rows(row_group_rows);
    let mut writer = ParquetWriter::create(path, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    fs::metadata(path).unwrap().len()
}

/// The columns of rows, under the names of files, for the columns with these numbers.
fn columns(rows: &[Row], ids: &[i32]) -> Vec<(Field, ArrayRef)> {
    let ints = |pick: &dyn Fn(&Row) -> Option<i32>| {
        let mut builder = Int32Builder::new();
        rows.iter().for_each(|row| builder.append_option(pick(row)));
        Arc::new(builder.finish()) as ArrayRef
    };
    let mut columns = Vec::new();
    for number in ids {
        columns.push(match number {
            1 => (id(Field::new("key", DataType::Int32, true), 1), ints(&|row| row.id)),
            2 => {
                let mut builder = Int64Builder::new();
                rows.iter().for_each(|row| builder.append_option(row.part));
                (id(Field::new("part", DataType::Int64, true), 2), Arc::new(builder.finish()) as ArrayRef)
            }
            3 => {
                let mut builder = StringBuilder::new();
                rows.iter().for_each(|row| builder.append_option(row.text.as_ref()));
                (id(Field::new("text", DataType::Utf8, true), 3), Arc::new(builder.finish()) as ArrayRef)
            }
            _ => {
                let field = Arc::new(id(Field::new("x", DataType::Int32, true), 5));
                let nulls = rows.iter().map(|row| row.inner.is_some()).collect::<Vec<_>>().into();
                let inner = ints(&|row| row.inner.flatten());
                let array = StructArray::new(vec![field].into(), vec![inner], Some(nulls));
                (id(Field::new("s", array.data_type().clone(), true), 4), Arc::new(array) as ArrayRef)
            }
        });
    }
    columns
}

impl Table {
    fn new(folder: &Path, version: u8, location: &str) -> Self {
        for below in ["metadata", "data"] {
            fs::create_dir_all(folder.join(below)).unwrap();
        }
        let field = |id: i32, name: &str, data_type: Value| json!({"id": id, "name": name, "required": false, "type": data_type});
        let inner = json!({"type": "struct", "fields": [field(5, "x", json!("int"))]});
        let fields = [
            field(1, "id", json!("int")),
            field(2, "p", json!("long")),
            field(3, "t", json!("string")),
            field(4, "s", inner),
        ];
        let spec = |spec: i32, fields: Value| json!({"spec-id": spec, "fields": fields});
        let part = |field: i32, source: i32, transform: &str| json!([{"source-id": source, "field-id": field, "name": format!("f{field}"), "transform": transform}]);
        let metadata = json!({
            "format-version": version,
            "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": location,
            "last-sequence-number": 0,
            "last-updated-ms": 0,
            "last-column-id": 5,
            "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
            "current-schema-id": 0,
            "partition-specs": [
                spec(0, json!([])),
                spec(1, part(1000, 2, "identity")),
                spec(2, part(1001, 1, "bucket[3]")),
                spec(3, part(1002, 3, "truncate[1]")),
                spec(4, part(1003, 1, "void")),
            ],
            "default-spec-id": 0,
            "last-partition-id": 1003,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "properties": {},
            "next-row-id": 0,
            "snapshots": [],
            "snapshot-log": [],
        });
        Self {
            folder: folder.to_owned(),
            location: location.to_owned(),
            version,
            metadata,
            data: Vec::new(),
            deletes: Vec::new(),
            entries: Vec::new(),
            sequence_number: 0,
            files: 0,
            expected: Vec::new(),
        }
    }

    /// A new path: as metadata has it, and as it is.
    fn new_path(&mut self, end: &str) -> (String, PathBuf) {
        self.files += 1;
        let name = format!("data/{}%2F{end}", self.files);
        (format!("{}/{name}", self.location), self.folder.join(name))
    }

    fn add_data(&mut self, random: &mut fastrand::Rng) {
        let spec = random.i32(0..5);
        let model = random_row(random);
        let own = partition(spec, &model);
        let mut rows: Vec<Row> = Vec::new();
        let count = random.usize(1..25);
        while rows.len() < count {
            let row = random_row(random);
            rows.extend((partition(spec, &row) == own).then_some(row));
        }
        let (path, place) = self.new_path("data.parquet");
        // Files of tables that were migrated lack the columns of the directories.
        let mut ids = vec![1, 3, 4];
        if spec != 1 || random.bool() {
            ids.push(2);
        }
        let size = write_file(&place, columns(&rows, &ids), random.usize(1..20));
        let mut file = DataFile::new(FileContent::Data, &path, rows.len() as u64, size);
        set_partition(&mut file, spec, &own);
        if random.bool() {
            let ids: Vec<i32> = rows.iter().filter_map(|row| row.id).collect();
            file.null_value_counts = vec![(1, (rows.len() - ids.len()) as i64)];
            file.lower_bounds = ids.iter().min().map(|min| (1, min.to_le_bytes().to_vec())).into_iter().collect();
            file.upper_bounds = ids.iter().max().map(|max| (1, max.to_le_bytes().to_vec())).into_iter().collect();
        }
        self.entries.push((spec, ManifestEntry::added(file)));
        let sequence_number = self.sequence_number;
        self.data.push(Data { path, rows, sequence_number, spec, partition: own, vector: Vec::new() });
    }

    /// A file of positions for one data file, or for all of a partition.
    fn add_positions(&mut self, random: &mut fastrand::Rng) {
        let like = random.choice(&self.data).unwrap().clone();
        let is_same = |data: &&Data| data.spec == like.spec && data.partition == like.partition;
        let only = random.bool();
        let mut rows: Vec<(String, u64)> = Vec::new();
        for data in self.data.iter().filter(is_same).filter(|data| !only || data.path == like.path) {
            let deleted = (0..data.rows.len() as u64).filter(|_| random.u8(..4) == 0);
            rows.extend(deleted.map(|row| (data.path.clone(), row)));
        }
        if rows.is_empty() {
            return;
        }
        if !only && random.bool() {
            rows.push((format!("{}/data/compacted.parquet", self.location), 7));
        }
        rows.sort();
        let (path, place) = self.new_path("positions.parquet");
        let paths: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|(path, _)| path)));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|(_, row)| *row as i64)));
        let columns = vec![
            (id(Field::new("file_path", DataType::Utf8, false), i32::MAX - 101), paths),
            (id(Field::new("pos", DataType::Int64, false), i32::MAX - 102), numbers),
        ];
        let size = write_file(&place, columns, 10);
        let mut file = DataFile::new(FileContent::PositionDeletes, path, rows.len() as u64, size);
        set_partition(&mut file, like.spec, &like.partition);
        let bound = match random.u8(..3) {
            0 if only => {
                file.referenced_data_file = Some(like.path.clone());
                None
            }
            1 if only => Some(like.path.clone()),
            // As some writers cut both bounds, so that they are equal and neither is the path of a file.
            2 => Some(format!("{}/data/", self.location)),
            _ => None,
        };
        file.lower_bounds = bound.into_iter().map(|bound| (i32::MAX - 101, bound.into_bytes())).collect();
        file.upper_bounds = file.lower_bounds.clone();
        self.entries.push((like.spec, ManifestEntry::added(file)));
        let (spec, partition, sequence_number) = (like.spec, like.partition, self.sequence_number);
        self.deletes.push(Delete::Positions { rows, sequence_number, spec, partition });
    }

    /// A deletion vector that takes the place of an older one, and of older files of positions.
    fn add_vector(&mut self, random: &mut fastrand::Rng) {
        let at = random.usize(..self.data.len());
        let mut rows: HashSet<u64> = self.data[at].vector.iter().copied().collect();
        for delete in &self.deletes {
            if let Delete::Positions { rows: deleted, .. } = delete {
                let own = deleted.iter().filter(|(path, _)| *path == self.data[at].path);
                rows.extend(own.map(|(_, row)| *row));
            }
        }
        rows.extend((0..self.data[at].rows.len() as u64).filter(|_| random.u8(..4) == 0));
        let mask: DeleteMask = rows.iter().copied().collect();
        if mask.is_empty() {
            return;
        }
        let vector = write_deletion_vector(&mask.to_bytes()).unwrap();
        let (path, place) = self.new_path("vectors.puffin");
        let data = &mut self.data[at];
        let mut writer = PuffinWriter::new();
        let offset = writer.add_deletion_vector(&vector, &data.path, mask.len());
        let bytes = writer.finish().unwrap();
        fs::write(place, &bytes).unwrap();
        let len = vector.len() as u64;
        let mut file = DataFile::deletion_vector(path, bytes.len() as u64, &data.path, mask.len(), offset, len);
        set_partition(&mut file, data.spec, &data.partition);
        self.entries.retain(|(_, entry)| {
            let file = &entry.data_file;
            file.file_format != "PUFFIN" || file.referenced_data_file.as_ref() != Some(&data.path)
        });
        self.entries.push((data.spec, ManifestEntry::added(file)));
        data.vector = mask.iter().collect();
    }

    /// A file of keys for all rows, or for a partition. A spec whose fields were all removed (`void`) has no partitions.
    fn add_keys(&mut self, random: &mut fastrand::Rng) {
        let ids = random.choice([vec![1], vec![2], vec![1, 3], vec![5], vec![3, 5]]).unwrap();
        let (spec, partition) = match random.bool() {
            true => (0, Vec::new()),
            false => random.choice(&self.data).map(|data| (data.spec, data.partition.clone())).unwrap(),
        };
        let rows: Vec<Row> = (0..random.usize(1..4)).map(|_| random_row(random)).collect();
        let (path, place) = self.new_path("keys.parquet");
        let stored: Vec<i32> = ids.iter().map(|id| if *id == 5 { 4 } else { *id }).collect();
        let size = write_file(&place, columns(&rows, &stored), 10);
        let mut file = DataFile::new(FileContent::EqualityDeletes, path, rows.len() as u64, size);
        file.equality_ids.clone_from(&ids);
        set_partition(&mut file, spec, &partition);
        self.entries.push((spec, ManifestEntry::added(file)));
        self.deletes.push(Delete::Keys { ids, rows, sequence_number: self.sequence_number, spec, partition });
    }

    fn commit(&mut self, random: &mut fastrand::Rng) {
        self.sequence_number += 1;
        for _ in 0..random.usize(1..3) {
            self.add_data(random);
        }
        if random.u8(..3) > 0 {
            match self.version {
                3 => self.add_vector(random),
                _ => self.add_positions(random),
            }
        }
        if random.u8(..3) == 0 {
            self.add_keys(random);
        }
        let snapshot = 100 + self.sequence_number;
        let metadata = TableMetadata::from_bytes(self.metadata.to_string().as_bytes()).unwrap();
        let mut manifests: Vec<ManifestFile> = Vec::new();
        for content in [ManifestContent::Data, ManifestContent::Deletes] {
            for spec in 0..5 {
                let is_here = |(own, entry): &&(i32, ManifestEntry)| {
                    let is_data = entry.data_file.content == FileContent::Data;
                    *own == spec && is_data == (content == ManifestContent::Data)
                };
                let entries: Vec<ManifestEntry> =
                    self.entries.iter().filter(is_here).map(|(_, entry)| entry.clone()).collect();
                if entries.is_empty() {
                    continue;
                }
                let name = format!("metadata/m{snapshot}-{spec}-{content:?}.avro");
                let settings = ManifestSettings {
                    content,
                    schema: metadata.current_schema().unwrap(),
                    partition_spec: metadata.partition_spec(spec).unwrap(),
                    snapshot_id: snapshot,
                    sequence_number: self.sequence_number,
                };
                let path = format!("{}/{name}", self.location);
                let (bytes, manifest) = write_manifest(path, settings, &entries).unwrap();
                fs::write(self.folder.join(name), bytes).unwrap();
                manifests.push(manifest);
            }
        }
        let list = format!("metadata/snap-{snapshot}.avro");
        let (bytes, _) = write_manifest_list(snapshot, None, self.sequence_number, 0, &manifests).unwrap();
        fs::write(self.folder.join(&list), bytes).unwrap();
        // From now on these files are not new.
        for (_, entry) in &mut self.entries {
            if entry.sequence_number.is_none() {
                *entry = ManifestEntry::existing(snapshot, self.sequence_number, entry.data_file.clone());
            }
        }
        let time = self.sequence_number * 1000;
        let metadata = &mut self.metadata;
        metadata["snapshots"].as_array_mut().unwrap().push(json!({
            "snapshot-id": snapshot,
            "sequence-number": self.sequence_number,
            "timestamp-ms": time,
            "manifest-list": format!("{}/{list}", self.location),
            "summary": {"operation": "append"},
            "schema-id": 0,
            "first-row-id": 0,
            "added-rows": 0,
        }));
        metadata["snapshot-log"].as_array_mut().unwrap().push(json!({"timestamp-ms": time, "snapshot-id": snapshot}));
        metadata["current-snapshot-id"] = json!(snapshot);
        metadata["last-sequence-number"] = json!(self.sequence_number);
        metadata["refs"] =
            json!({"main": {"type": "branch", "snapshot-id": snapshot}, "first": {"type": "tag", "snapshot-id": 101}});
        let name = format!("metadata/v{}.metadata.json", self.sequence_number);
        fs::write(self.folder.join(name), metadata.to_string()).unwrap();
        fs::write(self.folder.join("metadata/version-hint.text"), self.sequence_number.to_string()).unwrap();
        let mut rows = self.live_rows();
        rows.sort();
        self.expected.push((snapshot, rows));
    }

    /// The rows that no delete file deletes.
    fn live_rows(&self) -> Vec<Row> {
        let mut live = Vec::new();
        for data in &self.data {
            for (number, row) in data.rows.iter().enumerate() {
                let number = number as u64;
                let is_deleted = |delete: &Delete| match delete {
                    Delete::Positions { rows, sequence_number, spec, partition } => {
                        *sequence_number >= data.sequence_number
                            && (*spec, partition) == (data.spec, &data.partition)
                            && rows.contains(&(data.path.clone(), number))
                    }
                    Delete::Keys { ids, rows, sequence_number, spec, partition } => {
                        *sequence_number > data.sequence_number
                            && (*spec == 0 || *spec == 4 || (*spec, partition) == (data.spec, &data.partition))
                            && rows.iter().any(|key| ids.iter().all(|id| value(key, *id) == value(row, *id)))
                    }
                };
                if !data.vector.contains(&number) && !self.deletes.iter().any(is_deleted) {
                    live.push(row.clone());
                }
            }
        }
        live
    }
}

/// A value as text; null for a field of a null struct.
fn value(row: &Row, id: i32) -> Option<String> {
    match id {
        1 => row.id.map(|value| value.to_string()),
        2 => row.part.map(|value| value.to_string()),
        3 => row.text.clone(),
        _ => row.inner.flatten().map(|value| value.to_string()),
    }
}

fn random_row(random: &mut fastrand::Rng) -> Row {
    let maybe = |random: &mut fastrand::Rng| random.u8(..6) > 0;
    Row {
        id: maybe(random).then(|| random.i32(0..12)),
        part: maybe(random).then(|| random.i64(0..3)),
        text: maybe(random).then(|| random.choice(["", "a", "ab", "ø", "b"]).unwrap().to_owned()),
        inner: maybe(random).then(|| maybe(random).then(|| random.i32(0..4))),
    }
}

fn partition(spec: i32, row: &Row) -> Vec<Option<Literal>> {
    let apply = |transform: &str, primitive, value: Option<Literal>| {
        let transform = Transform::parse(transform);
        vec![value.and_then(|value| transform.apply(&primitive, &value).unwrap())]
    };
    match spec {
        0 => Vec::new(),
        1 => vec![row.part.map(Literal::Long)],
        2 => apply("bucket[3]", lath_iceberg::PrimitiveType::Int, row.id.map(Literal::Int)),
        4 => vec![None],
        _ => apply("truncate[1]", lath_iceberg::PrimitiveType::String, row.text.clone().map(Literal::String)),
    }
}

fn set_partition(file: &mut DataFile, spec: i32, partition: &[Option<Literal>]) {
    file.partition = partition.iter().map(|value| (999 + spec, value.clone())).collect();
}

fn read(dataset: &Dataset, condition: Option<&str>, pruning: Pruning) -> Result<Vec<Row>, Error> {
    let scan = dataset.scan().pruning(pruning);
    let scan = condition.into_iter().try_fold(scan, lath_parquet::Scan::filter)?;
    let mut rows = Vec::new();
    for batch in scan.build()? {
        let batch = batch?;
        let (ids, parts) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_primitive::<Int64Type>());
        let (texts, inner) = (batch.column(2).as_string_view(), batch.column(3).as_struct());
        let x = inner.column(0).as_primitive::<Int32Type>();
        rows.extend((0..batch.num_rows()).map(|at| Row {
            id: ids.is_valid(at).then(|| ids.value(at)),
            part: parts.is_valid(at).then(|| parts.value(at)),
            text: texts.is_valid(at).then(|| texts.value(at).to_owned()),
            inner: inner.is_valid(at).then(|| x.is_valid(at).then(|| x.value(at))),
        }));
    }
    rows.sort();
    Ok(rows)
}

/// Where tables were written, before they were moved.
const MOVED_FROM: &str = "file:///before/it/moved";

fn random_table(random: &mut fastrand::Rng, folder: &Path, location: &str, case: usize) -> Table {
    let mut table = Table::new(folder, if case.is_multiple_of(2) { 2 } else { 3 }, location);
    for _ in 0..random.usize(1..6) {
        table.commit(random);
    }
    table
}

#[test]
fn deleted_rows_are_those_of_the_specification() {
    let mut random = Seeded::new("deleted rows are those of the specification");
    let cases = std::env::var("LATH_CASES").map_or(60, |cases| cases.parse().unwrap());
    let kept = std::env::var_os("LATH_KEEP").map(PathBuf::from);
    let mut left_out = 0;
    for case in 0..cases {
        let temporary = tempfile::tempdir().unwrap();
        let folder = kept.as_ref().map_or_else(|| temporary.path().to_owned(), |kept| kept.join(case.to_string()));
        let location = folder.to_str().unwrap();
        let table = random_table(&mut random, &folder, if kept.is_some() { location } else { MOVED_FROM }, case);
        for (snapshot, expected) in &table.expected {
            let lake = open(location, &LakeOptions::new().at(At::Version(*snapshot))).unwrap();
            let context = format!("case {case}, snapshot {snapshot}");
            assert_eq!(lake.version(), *snapshot);
            let dataset = lake.dataset();
            assert_eq!(read(dataset, None, Pruning::default()).unwrap(), *expected, "{context}");
            assert_eq!(dataset.scan().count().unwrap(), expected.len() as u64, "{context}");
            assert_eq!(dataset.statistics().unwrap().row_count, Precision::Exact(expected.len() as u64), "{context}");
            let (id, part) = (random.i32(0..12), random.i64(0..3));
            type Test = Box<dyn Fn(&Row) -> bool>;
            let conditions: [(String, Test); 5] = [
                (format!("id = {id}"), Box::new(move |row| row.id == Some(id))),
                (
                    format!("p = {part} AND id < {id}"),
                    Box::new(move |row| row.part == Some(part) && row.id.is_some_and(|own| own < id)),
                ),
                ("t = 'ab'".to_owned(), Box::new(|row| row.text.as_deref() == Some("ab"))),
                ("t IS NULL OR p IS NULL".to_owned(), Box::new(|row| row.text.is_none() || row.part.is_none())),
                ("s.x > 1".to_owned(), Box::new(|row| row.inner.flatten().is_some_and(|x| x > 1))),
            ];
            for (condition, is_true) in conditions {
                let wanted: Vec<Row> = expected.iter().filter(|row| is_true(row)).cloned().collect();
                for pruning in [Pruning::default(), Pruning::none()] {
                    let found = read(dataset, Some(&condition), pruning).unwrap();
                    assert_eq!(found, wanted, "{context}, {condition}");
                }
                let options =
                    LakeOptions::new().at(At::Version(*snapshot)).filter(Predicate::parse(&condition).unwrap());
                let few = open(location, &options).unwrap();
                left_out += dataset.files().len() - few.dataset().files().len();
                let found = read(few.dataset(), Some(&condition), Pruning::default()).unwrap();
                assert_eq!(found, wanted, "{context}, {condition} when the table is opened");
            }
        }
        let by = |at: At| open(location, &LakeOptions::new().at(at)).map(|lake| lake.version());
        let newest = table.expected.last().unwrap().0;
        assert_eq!(by(At::Time(1_000_000)).unwrap(), 101);
        assert_eq!(by(At::Time(i64::MAX)).unwrap(), newest);
        assert!(matches!(by(At::Time(999_999)), Err(Error::Invalid { .. })));
        assert_eq!(by(At::Name("first".to_owned())).unwrap(), 101);
        assert_eq!(by(At::Name("main".to_owned())).unwrap(), newest);
        assert!(matches!(by(At::Name("last".to_owned())), Err(Error::Invalid { .. })));
        assert!(matches!(by(At::Version(7)), Err(Error::Invalid { .. })));
        if kept.is_some() {
            let text = |row: &Row| json!([row.id, row.part, row.text, row.inner.map(|x| json!({"x": x}))]);
            let rows: Vec<Value> = table.expected.iter().map(|(_, rows)| rows.iter().map(text).collect()).collect();
            fs::write(folder.join("rows.json"), json!({"version": table.version, "rows": rows}).to_string()).unwrap();
        }
    }
    assert!(left_out > cases, "{left_out} files left out");
}

/// The newest rows of a table, or the error of reading them.
fn newest_rows(folder: &Path) -> Result<Vec<Row>, Error> {
    let lake = open(folder.to_str().unwrap(), &LakeOptions::new())?;
    read(lake.dataset(), None, Pruning::default())
}

#[test]
fn damaged_and_missing_files_are_errors_and_never_fewer_rows() {
    let mut random = Seeded::new("damaged and missing files are errors and never fewer rows");
    for case in 0..6 {
        let temporary = tempfile::tempdir().unwrap();
        let table = random_table(&mut random, temporary.path(), MOVED_FROM, case);
        let expected = &table.expected.last().unwrap().1;
        let (mut errors, mut same) = (0, 0);
        for folder in ["data", "metadata"] {
            for entry in fs::read_dir(temporary.path().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let whole = fs::read(&path).unwrap();
                let mut check = |what: &str| match newest_rows(temporary.path()) {
                    Err(_) => errors += 1,
                    Ok(rows) => {
                        assert_eq!(rows, *expected, "{what} {}", path.display());
                        same += 1;
                    }
                };
                fs::remove_file(&path).unwrap();
                // Without the newest metadata and the hint, the table is an older one.
                if !path.to_str().unwrap().ends_with(".metadata.json") {
                    check("without");
                }
                for _ in 0..4 {
                    fs::write(&path, &whole[..random.usize(..whole.len())]).unwrap();
                    if path.to_str().unwrap().ends_with(".text") {
                        continue;
                    }
                    check("cut");
                }
                fs::write(&path, whole).unwrap();
            }
        }
        assert!(errors * 4 > same, "{errors} errors, {same} files that are not read");
    }
}

#[test]
fn variants_are_their_two_parts_and_shredded_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |values: [Option<&'static [u8]>; 2]| Arc::new(BinaryArray::from(values.to_vec())) as ArrayRef;
    let (metadata, values) = (bytes([Some(&[1, 0, 0]), Some(&[1, 0, 0])]), bytes([Some(&[12, 7]), None]));
    let typed: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(7)]));
    for is_shredded in [false, true] {
        let mut table = Table::new(&folder.path().join(is_shredded.to_string()), 3, "/lake/t");
        let variant = |id: i32, name: &str| json!({"id": id, "name": name, "required": false, "type": "variant"});
        table.metadata["schemas"][0]["fields"].as_array_mut().unwrap().push(variant(6, "v"));
        table.metadata["last-column-id"] = json!(6);
        let mut parts = vec![
            (Arc::new(Field::new("metadata", DataType::Binary, false)), Arc::clone(&metadata)),
            (Arc::new(Field::new("value", DataType::Binary, true)), Arc::clone(&values)),
        ];
        if is_shredded {
            parts.push((Arc::new(Field::new("typed_value", DataType::Int64, true)), Arc::clone(&typed)));
        }
        let array = StructArray::from(parts);
        let stored = id(Field::new("renamed", array.data_type().clone(), true), 6);
        let (path, place) = table.new_path("data.parquet");
        let size = write_file(&place, vec![(stored, Arc::new(array))], 10);
        table.entries.push((0, ManifestEntry::added(DataFile::new(FileContent::Data, &path, 2, size))));
        // Other files lack the column.
        table.commit(&mut fastrand::Rng::with_seed(1));
        let read = open(table.folder.to_str().unwrap(), &LakeOptions::new()).and_then(|lake| {
            let dataset = lake.dataset();
            assert_eq!(dataset.schema().field(4).extension_type_name(), Some("arrow.parquet.variant"));
            dataset.scan().select(["v"]).build()?.collect::<Result<Vec<_>, _>>()
        });
        if is_shredded {
            let error = read.unwrap_err().to_string();
            assert!(error.contains("column \"v\" is a shredded Variant"), "{error}");
            continue;
        }
        let mut found = Vec::new();
        for batch in read.unwrap() {
            let variants = batch.column(0).as_struct();
            let part = |name: &str| variants.column_by_name(name).unwrap().as_binary_view().clone();
            let (metadata, values) = (part("metadata"), part("value"));
            found.extend(
                (0..batch.num_rows()).filter(|row| variants.is_valid(*row)).map(|row| {
                    (metadata.value(row).to_vec(), values.is_valid(row).then(|| values.value(row).to_vec()))
                }),
            );
        }
        assert_eq!(found, [(vec![1, 0, 0], Some(vec![12, 7])), (vec![1, 0, 0], None)]);
    }
}

#[test]
fn features_of_other_versions_are_errors_that_name_them() {
    let temporary = tempfile::tempdir().unwrap();
    let mut table = Table::new(temporary.path(), 2, MOVED_FROM);
    table.commit(&mut fastrand::Rng::with_seed(1));
    let path = temporary.path().join("metadata/v1.metadata.json");
    let message = |metadata: &Value| {
        fs::write(&path, metadata.to_string()).unwrap();
        newest_rows(temporary.path()).map(drop).unwrap_err().to_string()
    };
    let mut metadata = table.metadata.clone();
    metadata["format-version"] = json!(4);
    assert!(message(&metadata).contains("version 4"));
    let mut metadata = table.metadata.clone();
    metadata["schemas"][0]["fields"][0]["type"] = json!("interval");
    let message = message(&metadata);
    assert!(message.contains("interval"), "{message}");
}
